"""What goes over the wire, what comes back as our errors, and what is sent again."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from seconder import errors
from seconder.gate import Claim, EffectStart, connect
from seconder.gate import http as gate_http
from seconder.gate.http import HttpClient

pytestmark = pytest.mark.anyio

EXACT = 2**63 + 1


@dataclass
class Server:
    """Answers from a list of what to answer, one a request: a response, an error to raise; keeps the requests."""

    answers: list[httpx.Response | Exception]
    requests: list[httpx.Request] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def client(self) -> HttpClient:
        return HttpClient("http://desk.test/", "sdr_secret", transport=httpx.MockTransport(self))

    def body(self, index: int = 0) -> Any:
        return json.loads(self.requests[index].content)


def ok(value: Any, status: int = 200) -> httpx.Response:
    return httpx.Response(status, content=json.dumps(value))


def error(status: int, code: str, message: str = "why", fields: list[Any] | None = None) -> httpx.Response:
    said = {"error": {"code": code, "message": message, "fields": fields or [], "request_id": "rq_1"}}
    return httpx.Response(status, content=json.dumps(said))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_http, "FIRST_DELAY", 0.001)
    monkeypatch.setattr(gate_http, "LONGEST_DELAY", 0.001)


async def test_integers_are_exact_both_ways() -> None:
    server = Server([ok({"final": EXACT})])

    answer = await server.client.submit_pause({"state": EXACT})

    assert answer == {"final": EXACT}
    assert f'"state":{EXACT}'.encode() in server.requests[0].content


async def test_the_token_is_sent_as_a_bearer() -> None:
    server = Server([ok({"id": "rv_1"})])

    await server.client.review("rv_1")

    assert server.requests[0].headers["authorization"] == "Bearer sdr_secret"


async def test_a_long_poll_waits_longer_than_the_server() -> None:
    server = Server([ok({"id": "rv_1"})])

    await server.client.review("rv_1", wait=30)

    assert server.requests[0].url.params["wait"] == "30"
    assert server.requests[0].extensions["timeout"]["read"] == 40


async def test_an_id_cannot_leave_its_place_in_the_path() -> None:
    server = Server([ok({})])

    await server.client.pause("../reviews?x=1")

    assert server.requests[0].url.raw_path == b"/v1/pauses/..%2Freviews%3Fx%3D1"


async def test_a_claim_comes_back_as_a_claim() -> None:
    claim = {"pause": {"id": "ps_1", "run_state": {"a": 1}}, "reviews": [{"id": "rv_1"}], "fence": 3}
    server = Server([ok({"claim": claim}), ok({"claim": None})])
    client = server.client

    assert await client.claim(agents=["desk"], worker="w", wait=20) == Claim(
        pause=claim["pause"],  # type: ignore[arg-type]
        reviews=({"id": "rv_1"},),
        fence=3,
    )
    assert await client.claim(agents=["desk"], worker="w", pause_id="ps_1") is None
    assert server.body() == {"agents": ["desk"], "worker": "w", "wait": 20}
    assert server.body(1)["pause_id"] == "ps_1"


async def test_the_workers_calls_say_the_fence() -> None:
    started = {"verdict": "run", "effect_id": "ef_1", "key": "k", "arguments": {"a": EXACT}}
    server = Server([ok({"lease_seconds": 10}), ok(started), ok({}), ok({"id": "ps_1"})])
    client = server.client

    await client.heartbeat("ps_1", fence=7)
    effect = await client.start_effect("ps_1", fence=7, review_id="rv_1", digest="sha256:0")
    await client.end_effect("ef_1", pause_id="ps_1", fence=7, status="succeeded", result=1)
    await client.finish("ps_1", fence=7, outcome="finished", final_output="x")

    assert effect == EffectStart(verdict="run", effect_id="ef_1", key="k", arguments={"a": EXACT})
    assert [server.body(index)["fence"] for index in range(4)] == [7, 7, 7, 7]
    assert [request.url.path for request in server.requests] == [
        "/v1/pauses/ps_1/heartbeat",
        "/v1/effects/start",
        "/v1/effects/end",
        "/v1/pauses/ps_1/finish",
    ]


async def test_the_other_calls_have_the_paths_of_the_contract() -> None:
    server = Server([ok({}) for _ in range(4)])
    client = server.client

    await client.submit_review({"kind": "question"}, idempotency_key="mine")
    await client.cancel("rv_1")
    await client.consume("rv_1")
    await client.report("rv_1", status="succeeded", result="x")

    assert [(request.method, request.url.path) for request in server.requests] == [
        ("POST", "/v1/reviews"),
        ("DELETE", "/v1/reviews/rv_1"),
        ("POST", "/v1/reviews/rv_1/consume"),
        ("POST", "/v1/reviews/rv_1/outcome"),
    ]
    assert server.requests[0].headers["idempotency-key"] == "mine"


REFUSALS: list[tuple[httpx.Response, type[Exception], Callable[[Any], bool]]] = [
    (error(401, "unauthorized"), errors.ConfigurationError, lambda e: "SECONDER_TOKEN" in str(e)),
    (error(404, "not_found", "no pause ps_1"), errors.NotFound, lambda e: (e.what, e.ident) == ("pause", "ps_1")),
    (error(409, "lease_lost"), errors.LeaseLost, lambda e: str(e) == "why"),
    (error(409, "uncertain"), errors.EffectUncertain, lambda e: str(e) == "why"),
    (error(409, "already_consumed"), errors.CannotConsume, lambda e: e.code == "already_consumed"),
    (error(409, "expired"), errors.CannotConsume, lambda e: e.code == "expired"),
    (error(409, "outcome_conflict"), errors.OutcomeConflict, bool),
    (error(409, "idempotency_conflict"), errors.IdempotencyConflict, bool),
    (
        error(409, "already_decided", "review rv_1 is expired: cannot cancel"),
        errors.IllegalTransition,
        lambda e: (e.review_id, e.status, e.step) == ("rv_1", "expired", "cancel"),
    ),
    (
        error(413, "too_large", "state is larger than 8,388,608 bytes"),
        errors.TooLarge,
        lambda e: (e.part, e.limit) == ("state", 8_388_608),
    ),
    (
        error(422, "invalid", fields=[{"path": "a.b", "message": "is wrong"}]),
        errors.InvalidInput,
        lambda e: e.faults == (errors.Fault("a.b", "is wrong"),) and not isinstance(e, errors.NotCanonical),
    ),
    (error(422, "not_canonical", fields=[{"path": "a", "message": "NaN"}]), errors.NotCanonical, bool),
    (httpx.Response(404, content="<html>"), errors.Unreachable, lambda e: "SECONDER_BASE_URL" in str(e)),
    (httpx.Response(500, content="oops"), errors.Unreachable, lambda e: "500" in str(e)),
    (httpx.Response(200, content="[]"), errors.Unreachable, lambda e: "is it Seconder" in str(e)),
]


@pytest.mark.parametrize(("answer", "expected", "says"), REFUSALS)
async def test_a_refusal_of_the_server_is_our_error(
    answer: httpx.Response, expected: type[Exception], says: Callable[[Any], bool]
) -> None:
    with pytest.raises(expected) as raised:
        await Server([answer]).client.finish("ps_1", fence=1, outcome="finished")

    assert says(raised.value)


async def test_what_never_reached_the_server_is_sent_again() -> None:
    server = Server([httpx.ConnectError("refused"), httpx.ConnectError("refused"), ok({"arguments": {}})])

    assert await server.client.consume("rv_1") == {"arguments": {}}


async def test_an_effect_is_not_started_again_when_the_answer_was_lost() -> None:
    server = Server([httpx.ReadError("gone"), ok({})])

    with pytest.raises(errors.Unreachable, match="did not answer"):
        await server.client.start_effect("ps_1", fence=1, review_id="rv_1", digest="d")

    assert len(server.requests) == 1


@pytest.mark.parametrize("lost", [httpx.ReadError("gone"), httpx.Response(503), httpx.ReadTimeout("late")])
async def test_an_outcome_is_reported_until_it_is_known(lost: httpx.Response | Exception) -> None:
    server = Server([lost, ok({"id": "ps_1"})])

    assert await server.client.finish("ps_1", fence=1, outcome="finished") == {"id": "ps_1"}
    assert server.body(0) == server.body(1)


async def test_a_submission_that_is_sent_again_has_the_same_key_and_the_next_one_another() -> None:
    server = Server([httpx.ReadError("gone"), ok({}), ok({})])
    client = server.client

    await client.submit_pause({"run": "r"})
    await client.submit_pause({"run": "r"})

    first, again, other = (request.headers["idempotency-key"] for request in server.requests)
    assert first == again
    assert first != other


async def test_after_a_while_the_server_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server([httpx.ConnectError("refused")] * 10_000)
    monkeypatch.setattr(gate_http, "LONGEST_DELAY", 0.05)
    call = gate_http._Call(method="GET", path="/v1/reviews/rv_1", patience=0.1)

    with pytest.raises(errors.Unreachable, match=r"http://desk\.test did not answer: ConnectError refused"):
        await server.client._send(call)


@pytest.mark.parametrize("value", [float("nan"), object(), {"a": {1, 2}}])
async def test_what_has_no_json_form_is_refused_before_it_is_sent(value: Any) -> None:
    server = Server([])

    with pytest.raises(errors.NotCanonical, match="has no JSON form"):
        await server.client.submit_pause({"state": value})

    assert server.requests == []


@pytest.mark.parametrize("address", ["localhost:8710", "ftp://desk", "http://", "http://desk:port"])
def test_an_address_that_is_none_is_named(address: str) -> None:
    with pytest.raises(errors.ConfigurationError, match="SECONDER_BASE_URL"):
        HttpClient(address, "sdr_x")


async def test_connect_reads_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECONDER_BASE_URL", "http://there.test:1")
    monkeypatch.setenv("SECONDER_TOKEN", "sdr_x")

    client = connect()

    assert isinstance(client, HttpClient)
    assert client._address == "http://there.test:1"
    await client.aclose()


def test_connect_without_a_token_says_where_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SECONDER_TOKEN", raising=False)

    with pytest.raises(errors.ConfigurationError, match="seconder tokens create"):
        connect()
