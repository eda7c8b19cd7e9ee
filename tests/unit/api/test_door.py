"""What every answer of the door has in common."""

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send
from structlog.testing import capture_logs

from seconder.api.replies import encode
from seconder.desk import look
from seconder.desk.desk import Desk
from tests.support.api import a_door, action_of, call_of, error_of
from tests.support.desk import a_desk

CALLS = [
    ("POST", "/v1/reviews"),
    ("GET", "/v1/reviews"),
    ("GET", "/v1/reviews/rv_1"),
    ("DELETE", "/v1/reviews/rv_1"),
    ("POST", "/v1/reviews/rv_1/consume"),
    ("POST", "/v1/reviews/rv_1/outcome"),
    ("POST", "/v1/pauses"),
    ("GET", "/v1/pauses/ps_1"),
    ("POST", "/v1/pauses/claim"),
    ("POST", "/v1/pauses/ps_1/heartbeat"),
    ("POST", "/v1/pauses/ps_1/finish"),
    ("POST", "/v1/effects/start"),
    ("POST", "/v1/effects/end"),
]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'door.db'}"


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer nope", "Basic abc", "Bearer \xe9"])
def test_without_a_valid_token_every_call_is_refused_before_its_body_is_looked_at(url: str, header: str | None) -> None:
    with a_desk(url) as desk, a_door(desk) as door:
        del door.headers["Authorization"]
        sent = [] if header is None else [(b"Authorization", header.encode("latin-1"))]
        answers = [door.request(method, path, headers=sent, content=b"{") for method, path in CALLS]

        assert {error_of(answer) for answer in answers} == {(401, "unauthorized")}
        assert {answer.headers["www-authenticate"] for answer in answers} == {'Bearer realm="seconder"'}


def test_operators_need_no_token(url: str) -> None:
    with a_desk(url) as desk, a_door(desk) as door:
        del door.headers["Authorization"]
        paths = ("/healthz", "/readyz", "/metrics", "/openapi.json")

        assert [door.get(path).status_code for path in paths] == [200] * 4


def test_unknown_paths_ids_and_methods_are_answered_in_the_same_shape(url: str) -> None:
    with a_desk(url) as desk, a_door(desk) as door:
        absent = ("/", "/v1", "/v1/reviews/", "/v1/reviews/rv_none", "/v1/reviews/%00", f"/v1/reviews/{'x' * 500}")
        wrong = door.request("PUT", "/v1/reviews")

        assert {error_of(door.get(path)) for path in absent} == {(404, "not_found")}
        assert error_of(wrong) == (405, "method_not_allowed")
        assert wrong.headers["allow"] in {"GET", "POST"}


def test_a_request_keeps_the_callers_id_where_it_is_usable(url: str) -> None:
    with a_desk(url) as desk, a_door(desk) as door:
        kept = door.get("/v1/reviews/rv_none", headers={"X-Request-Id": "trace-1"})
        made = [door.get("/healthz", headers={"X-Request-Id": given}) for given in ("", "a b", "x" * 129, "<script>")]

        assert kept.headers["x-request-id"] == kept.json()["error"]["request_id"] == "trace-1"
        assert len({answer.headers["x-request-id"] for answer in made}) == 4
        assert all(answer.headers["x-request-id"].startswith("rq_") for answer in made)


def test_a_bug_is_logged_and_answered_without_a_traceback(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_desk: Desk, **_asked: Any) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(look, "listed", broken)
    with a_desk(url) as desk, a_door(desk) as door, capture_logs() as logs:
        answer = door.get("/v1/reviews")
        alive = door.get("/healthz")

        assert error_of(answer) == (500, "internal")
        assert "secret detail" not in answer.text
        assert [(entry["event"], entry["request_id"]) for entry in logs] == [
            ("api.failed", answer.headers["x-request-id"])
        ]
        assert alive.status_code == 200


def test_answers_may_not_be_cached_and_are_utf_8_json(url: str) -> None:
    with a_desk(url) as desk, a_door(desk) as door:
        answer = door.post("/v1/reviews", json=call_of(reason="grüezi 👋"))

        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["cache-control"] == "no-store"
        assert "grüezi 👋".encode() in answer.content


def test_half_a_character_in_an_answer_stays_an_escape() -> None:
    assert encode({"half": "\ud83d"}) == b'{"half":"\\ud83d"}'
    assert encode({"n": 2**200, "text": "ä"}) == f'{{"n":{2**200},"text":"ä"}}'.encode()


def test_readiness_names_what_is_not_ready(url: str) -> None:
    parts: dict[str, str | None] = {"slack": None, "worker": None}
    with a_desk(url) as desk, a_door(desk, ready=lambda: parts) as door:
        ready = door.get("/readyz")
        parts["slack"] = "the Socket Mode connection is down"
        unready = door.get("/readyz")

        assert (ready.status_code, ready.json()["reasons"]) == (200, {})
        assert (unready.status_code, unready.json()["reasons"]) == (503, {"slack": parts["slack"]})


def test_without_its_database_the_process_is_alive_and_not_ready(url: str, tmp_path: Path) -> None:
    with a_desk(url) as desk, a_door(desk) as door, capture_logs():
        desk.store.close()
        desk.store.engine.dispose()
        for file in tmp_path.glob("door.db*"):
            file.unlink()
        (tmp_path / "door.db").mkdir()
        answers = {path: door.get(path) for path in ("/healthz", "/readyz", "/v1/reviews")}
        (tmp_path / "door.db").rmdir()

        assert answers["/healthz"].status_code == 200
        assert answers["/readyz"].status_code == 503
        assert list(answers["/readyz"].json()["reasons"]) == ["database"]
        assert error_of(answers["/v1/reviews"]) == (503, "unavailable")


def test_the_numbers_show_requests_by_route_and_how_things_stand(url: str) -> None:
    with a_desk(url) as desk, a_door(desk) as door:
        ident = door.post("/v1/reviews", json=call_of()).json()["id"]
        door.get(f"/v1/reviews/{ident}")
        door.post("/v1/reviews", json=action_of("look_up"))
        text = door.get("/metrics").text
        lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))

        assert ident not in text
        assert lines['seconder_http_requests_total{method="POST",route="/v1/reviews",status="201"}'] == "2.0"
        assert lines['seconder_http_requests_total{method="GET",route="/v1/reviews/{review_id}",status="200"}'] == "1.0"
        assert lines["seconder_reviews_pending"] == "1.0"
        assert lines['seconder_decisions{kind="approved",source="policy"}'] == "1.0"
        assert lines['seconder_queue{state="queued",topic="card"}'] == "1.0"
        assert lines["seconder_queue_dead"] == "0.0"


def test_slack_posts_reach_the_part_that_takes_them_and_nobody_else_does(url: str) -> None:
    async def slack(scope: Scope, receive: Receive, send: Send) -> None:
        body = (await receive())["body"]
        await PlainTextResponse(f"{scope['path']} {body.decode()}")(scope, receive, send)

    with a_desk(url) as desk, a_door(desk) as without, a_door(desk, slack=slack) as door:
        taken = door.post("/slack/events", content=b"payload=1")

        assert (taken.status_code, taken.text) == (200, "/slack/events payload=1")
        assert error_of(door.get("/slack/events")) == (405, "method_not_allowed")
        assert error_of(without.post("/slack/events")) == (404, "not_found")


def test_the_contract_is_published_with_bodies_answers_and_errors(url: str) -> None:
    with a_desk(url) as desk, a_door(desk) as door:
        document = door.get("/openapi.json").json()
        described = {
            (method.upper(), path): call for path, calls in document["paths"].items() for method, call in calls.items()
        }
        names = {"rv_1": "{review_id}", "ps_1": "{pause_id}"}
        for method, path in CALLS:
            for ident, name in names.items():
                path = path.replace(ident, name)  # noqa: PLW2901 - the path as the document has it
            call = described[method, path]

            assert call["security"] == [{"token": []}]
            assert {"200", "401", "422"} <= set(call["responses"])
        wanted = set(_references(document))
        known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}

        assert wanted <= known
        assert "HTTPValidationError" not in json.dumps(document)


def _references(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return own + [found for value in node.values() for found in _references(value)]
    if isinstance(node, list):
        return [found for value in node for found in _references(value)]
    return []
