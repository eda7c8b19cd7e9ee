"""Whatever is posted to `/slack/events`: no shape of it is answered with 500, and nothing unsigned is read."""

import asyncio
import json
import urllib.parse
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from slack_sdk import WebClient

from seconder.bot.bolt import build_app
from seconder.bot.http import MAX_BODY, SlackEvents
from seconder.bot.people import Refresher
from seconder.sandbox.seed import SIGNING_SECRET
from tests.support.bot import POLICY, button, signed, submission
from tests.support.desk import ALICE, a_desk, press_on, refund, submitted

NOWHERE = "http://127.0.0.1:9/api/"  # nothing listens there: Slack is down
FORM = "application/x-www-form-urlencoded"
FUZZ = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Door:
    """The ASGI application, called as a server does."""

    def __init__(self, app: SlackEvents) -> None:
        self._app = app

    def post(self, body: bytes, headers: dict[str, str], parts: int = 1) -> int:
        """The status of the answer."""
        size = max(1, -(-len(body) // parts))
        pieces = [body[at : at + size] for at in range(0, len(body), size)] or [b""]
        messages = [
            {"type": "http.request", "body": piece, "more_body": number < len(pieces) - 1}
            for number, piece in enumerate(pieces)
        ]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return messages.pop(0)

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        raw = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers.items()]
        asyncio.run(self._app({"type": "http", "headers": raw}, receive, send))
        status: int = sent[0]["status"]
        return status

    def signed(self, body: bytes, kind: str = FORM) -> int:
        return self.post(body, {"content-type": kind, **signed(body)})

    def payload(self, payload: object) -> int:
        return self.signed(urllib.parse.urlencode({"payload": json.dumps(payload)}).encode())


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    folder: Path = tmp_path_factory.mktemp("http")
    with a_desk(f"sqlite:///{folder / 'seconder.db'}", POLICY.replace("#finance-leads", "#leads")) as desk:
        client = WebClient(token="xoxb-nobody", base_url=NOWHERE, retry_handlers=[], timeout=1)
        refresher = Refresher(desk, client)
        with ThreadPoolExecutor(4) as executor:
            app = build_app(desk, client, refresher, signing_secret=SIGNING_SECRET, executor=executor)
            made = Door(SlackEvents(app, signing_secret=SIGNING_SECRET))
            review = submitted(desk, refund())
            press_on(desk, review.id, ALICE)
            [made.card] = desk.store.read(lambda tx: tx.messages.of_review(review.id))  # type: ignore[attr-defined]
            yield made
        refresher.close()


def test_another_secret_is_401(door: Door) -> None:
    assert door.post(b"{}", signed(b"{}", secret="another")) == 401


def test_a_body_that_was_changed_on_the_way_is_401(door: Door) -> None:
    assert door.post(b"payload=1", signed(b"payload=2")) == 401


@pytest.mark.parametrize("parts", [1, 40])
def test_a_body_beyond_the_limit_is_413_and_one_at_the_limit_is_read(door: Door, parts: int) -> None:
    at, beyond = b"a" * MAX_BODY, b"a" * (MAX_BODY + 1)

    assert door.post(beyond, signed(beyond), parts) == 413
    assert door.post(at, {"content-type": FORM, **signed(at)}, parts) in {200, 404}


@pytest.mark.parametrize(
    "payload",
    [
        {},
        [],
        None,
        5,
        {"type": "block_actions"},
        {"type": "block_actions", "user": {"id": ALICE}, "actions": []},
        {"type": "block_actions", "user": {"id": ALICE}, "actions": [5]},
        {"type": "block_actions", "user": {"id": "U\x00"}, "actions": [{"action_id": "approve"}]},
        {"type": "block_actions", "user": {"id": "U\ud800"}, "actions": [{"action_id": "approve"}]},
        {"type": "block_actions", "user": "U1", "actions": [{"action_id": "approve"}]},
        {"type": "view_submission", "user": {"id": ALICE}, "view": {"id": "V1"}},
        {"type": "view_submission", "user": {"id": ALICE}, "view": {"id": "V1", "state": {"values": {"a": 1}}}},
        {"type": "event_callback"},
        {"type": "event_callback", "event": {"type": "user_change", "user": "U1"}},
        {"type": "event_callback", "event": {"type": "subteam_updated"}},
        {"type": "event_callback", "event": {"type": "message"}, "authorizations": [1]},
    ],
)
def test_what_has_not_the_shape_of_a_payload_is_400(door: Door, payload: object) -> None:
    assert door.payload(payload) == 400
    body = json.dumps(payload).encode()
    assert door.signed(body, "application/json") == 400


@pytest.mark.parametrize("body", [b"payload=", b"payload=%7B", b"{", b"payload=" + b"[" * 200_000, b"{" * 200_000])
def test_what_is_not_json_is_400(door: Door, body: bytes) -> None:
    assert door.signed(body) == 400


def test_a_form_is_read_as_bolt_reads_it(door: Door) -> None:
    assert door.signed(b"{not json", FORM) == 400
    assert door.signed(b'payload={"type":"x"}&payload={', FORM) == 400
    assert door.signed(b"{", "application/json; charset=utf-8") == 400


def test_slack_asking_whether_we_are_there_is_answered(door: Door) -> None:
    body = b'{"type": "url_verification", "challenge": "abc", "token": "t"}'

    assert door.signed(body, "application/json") == 200


def test_what_nobody_listens_to_is_404(door: Door) -> None:
    assert door.signed(b"command=%2Freview&team_id=T0DEMO&user_id=U1", FORM) == 404
    assert door.payload({"type": "shortcut", "callback_id": "x", "user": {"id": "U1"}}) == 404


JSON_LEAVES = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from([ALICE, "T0DEMO", "1.5"])
)
JSON = st.recursive(
    JSON_LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)
HEADERS = st.dictionaries(
    st.sampled_from(["x-slack-signature", "x-slack-request-timestamp", "content-type", "x-slack-retry-num", "cookie"]),
    st.text(st.characters(max_codepoint=255), max_size=80)
    | st.sampled_from(["application/json", FORM, "v0=" + "a" * 64]),
)


@FUZZ
@given(body=st.binary(max_size=300), headers=HEADERS)
def test_whatever_is_not_signed_is_401(door: Door, body: bytes, headers: dict[str, str]) -> None:
    assert door.post(body, headers) == 401


@FUZZ
@given(
    body=st.binary(max_size=300)
    | st.text(max_size=100).map(str.encode)
    | JSON.map(lambda value: json.dumps(value).encode()),
    kind=st.sampled_from([FORM, "application/json", "application/json; charset=utf-8", "text/plain", ""]),
)
def test_whatever_is_signed_is_never_500(door: Door, body: bytes, kind: str) -> None:
    assert door.signed(body, kind) in {200, 400, 401, 404}


def replaced(value: Any, path: list[Any], by: Any) -> Any:
    """The same value with another one in this place."""
    if not path:
        return by
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(copy[path[0]], path[1:], by)
    return copy


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_payload_of_slacks_with_anything_else_in_one_place_is_never_500(door: Door, data: st.DataObject) -> None:
    card = door.card  # type: ignore[attr-defined]
    kept = {
        "type": "modal",
        "private_metadata": json.dumps({"token": card.token, "page": 1}),
        "blocks": [{"type": "input"}],
    }
    real = data.draw(
        st.sampled_from(
            [
                button("U06OLGA", card, "approve"),
                button("U06OLGA", card, "edit"),
                button("U06OLGA", card, "view_all"),
                {**button("U06OLGA", card, "page_next"), "view": {"id": "V1", "hash": "h", **kept}},
                submission("U06OLGA", {"callback_id": "edit_form", **kept}, {"field_0": {"value": {"value": "5"}}}),
                submission("U06OLGA", {"callback_id": "reject_form", **kept}, {"reason": {"value": {"value": "no"}}}),
                submission("U06OLGA", {"callback_id": "answer_form", **kept}, {"value": {"value": {"value": "x"}}}),
                {"type": "event_callback", "team_id": "T0DEMO", "authorizations": [{"team_id": "T0DEMO"}],
                 "event": {"type": "user_change", "user": {"id": "U0NOBODY"}}},
                {"type": "event_callback", "team_id": "T0DEMO", "event": {"type": "subteam_updated",
                 "subteam": {"id": "S0NOBODY"}}},
            ]
        )
    )  # fmt: skip
    path = data.draw(st.sampled_from(list(places(real))))
    odd = data.draw(JSON | st.sampled_from(["\x00", "\ud800", "U" * 300, {}, [], [{}], {"id": "\x00"}]))

    assert door.payload(replaced(real, list(path), odd)) in {200, 400, 404}
