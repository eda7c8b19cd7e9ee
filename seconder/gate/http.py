"""The Client that speaks to the desk over HTTP, with integers exact both ways.

What never reached the server is sent again for a while, whatever it is; what may have reached it is
sent again only where the same again changes nothing (reads, claim, heartbeat, finish, the end of an
effect, submissions with their idempotency key).
"""

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote
from uuid import uuid4

import httpx

from seconder.action import parse_json
from seconder.errors import ConfigurationError, Fault, NotCanonical, SeconderError, Unreachable
from seconder.gate import LEASE, Claim, EffectStart
from seconder.gate.refusals import refusal

PATIENCE = 30.0  # seconds during which a call is tried again
BEAT_PATIENCE = LEASE / 2  # a heartbeat that comes later finds its lease gone
FIRST_DELAY, LONGEST_DELAY = 0.2, 5.0  # seconds between tries
ANSWER_SECONDS = 10.0  # for an answer, beside the wait of a long poll
GATEWAY_STATUSES = frozenset({502, 503, 504})

NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    method: str
    path: str
    body: Any = None
    params: dict[str, Any] | None = None
    headers: dict[str, str] | None = None
    wait: float = 0
    again: bool = True  #: the same again changes nothing
    patience: float = PATIENCE


class HttpClient:
    """A `seconder.gate.Client`; close it with `aclose`.

    Raises: ConfigurationError where the address is none.
    """

    def __init__(self, address: str, token: str, *, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._address = address.rstrip("/")
        headers = {"Authorization": f"Bearer {token}"}
        try:
            url = httpx.URL(self._address)
            self._http = httpx.AsyncClient(base_url=url, headers=headers, transport=transport)
        except (httpx.InvalidURL, UnicodeEncodeError) as error:
            message = f"SECONDER_BASE_URL or SECONDER_TOKEN cannot be used: {error}"
            raise ConfigurationError(message) from error
        if url.scheme not in {"http", "https"} or not url.host:
            message = f"SECONDER_BASE_URL: {address!r} is not an address like http://127.0.0.1:8710"
            raise ConfigurationError(message)

    async def submit_review(self, interrupt: dict[str, Any], *, idempotency_key: str | None = None) -> dict[str, Any]:
        return await self._object(_submission("/v1/reviews", interrupt, idempotency_key))

    async def review(self, review_id: str, *, wait: float = 0) -> dict[str, Any]:
        return await self._object(_look(f"/v1/reviews/{_part(review_id)}", wait))

    async def cancel(self, review_id: str) -> dict[str, Any]:
        return await self._object(_Call(method="DELETE", path=f"/v1/reviews/{_part(review_id)}"))

    async def consume(self, review_id: str) -> dict[str, Any]:
        return await self._object(_post(f"/v1/reviews/{_part(review_id)}/consume", {}, again=False))

    async def report(
        self, review_id: str, *, status: str, result: Any = None, error: str | None = None
    ) -> dict[str, Any]:
        body = {"status": status, "result": result, "error": error}
        return await self._object(_post(f"/v1/reviews/{_part(review_id)}/outcome", body))

    async def submit_pause(self, pause: dict[str, Any]) -> dict[str, Any]:
        return await self._object(_submission("/v1/pauses", pause, None))

    async def pause(self, pause_id: str, *, wait: float = 0) -> dict[str, Any]:
        return await self._object(_look(f"/v1/pauses/{_part(pause_id)}", wait))

    async def claim(
        self, *, agents: list[str], worker: str, pause_id: str | None = None, wait: float = 0
    ) -> Claim | None:
        body: dict[str, Any] = {"agents": agents, "worker": worker, "wait": wait}
        if pause_id is not None:
            body["pause_id"] = pause_id
        answer = await self._object(_Call(method="POST", path="/v1/pauses/claim", body=body, wait=wait))
        claimed = answer["claim"]
        if claimed is None:
            return None
        return Claim(pause=claimed["pause"], reviews=tuple(claimed["reviews"]), fence=claimed["fence"])

    async def heartbeat(self, pause_id: str, *, fence: int) -> None:
        path = f"/v1/pauses/{_part(pause_id)}/heartbeat"
        await self._send(_Call(method="POST", path=path, body={"fence": fence}, patience=BEAT_PATIENCE))

    async def finish(
        self,
        pause_id: str,
        *,
        fence: int,
        outcome: Literal["finished", "paused_again", "failed"],
        final_output: Any = None,
        error: str | None = None,
        retry: bool = False,
        next_pause: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        body: dict[str, Any] = {"fence": fence, "outcome": outcome, "final_output": final_output}
        body |= {"error": error, "retry": retry, "next_pause": next_pause}
        return await self._object(_post(f"/v1/pauses/{_part(pause_id)}/finish", body))

    async def start_effect(self, pause_id: str, *, fence: int, review_id: str, digest: str) -> EffectStart:
        body = {"pause_id": pause_id, "fence": fence, "review_id": review_id, "digest": digest}
        answer = await self._object(_post("/v1/effects/start", body, again=False))
        return EffectStart(
            verdict=answer["verdict"],
            effect_id=answer["effect_id"],
            key=answer["key"],
            arguments=answer["arguments"],
            result=answer.get("result"),
            error=answer.get("error"),
        )

    async def end_effect(
        self, effect_id: str, *, pause_id: str, fence: int, status: str, result: Any = None, error: str | None = None
    ) -> None:
        body = {"effect_id": effect_id, "pause_id": pause_id, "fence": fence, "status": status}
        await self._send(_post("/v1/effects/end", body | {"result": result, "error": error}))

    async def aclose(self) -> None:
        """The connections are closed."""
        await self._http.aclose()

    async def _object(self, call: _Call) -> dict[str, Any]:
        answer = await self._send(call)
        if not isinstance(answer, dict):
            message = f"{self._address} answered {call.path} with something else than an object: is it Seconder?"
            raise Unreachable(message)
        return answer

    async def _send(self, call: _Call) -> Any:
        """The answer's JSON. Raises: the errors of `seconder.errors`."""
        content = None if call.body is None else _encode(call.body)
        loop = asyncio.get_running_loop()
        end, delay = loop.time() + call.patience, FIRST_DELAY
        while True:
            trouble, sent = await self._try(call, content)
            if isinstance(trouble, httpx.Response):
                return self._read(trouble)
            if (sent and not call.again) or loop.time() + delay > end:
                raise Unreachable(f"{self._address} did not answer: {trouble}")
            await asyncio.sleep(delay)
            delay = min(2 * delay, LONGEST_DELAY)

    async def _try(self, call: _Call, content: bytes | None) -> tuple[httpx.Response | str, bool]:
        """The response, or what went wrong and whether the server may have seen the request."""
        headers = dict(call.headers or {})
        if content is not None:
            headers["Content-Type"] = "application/json"
        timeout = httpx.Timeout(call.wait + ANSWER_SECONDS, connect=ANSWER_SECONDS)
        try:
            response = await self._http.request(
                call.method, call.path, content=content, params=call.params, headers=headers, timeout=timeout
            )
        except httpx.TransportError as error:
            return f"{type(error).__name__} {error}".strip(), not isinstance(error, NOT_SENT)
        if response.status_code in GATEWAY_STATUSES:
            return f"status {response.status_code}", True
        return response, True

    def _read(self, response: httpx.Response) -> Any:
        if response.is_success:
            return parse_json(response.content, path="answer") if response.content else {}
        raise self._refusal(response)

    def _refusal(self, response: httpx.Response) -> SeconderError:
        if response.status_code in {401, 403}:
            return ConfigurationError(f"{self._address} does not know this token: check SECONDER_TOKEN")
        try:
            answer = parse_json(response.content, path="answer")
        except NotCanonical:
            answer = None
        error = answer.get("error") if isinstance(answer, dict) else None
        if response.is_server_error:
            return Unreachable(f"{self._address} failed with status {response.status_code}")
        if not isinstance(error, dict):
            message = f"{self._address} answered {response.status_code} without saying why: check SECONDER_BASE_URL"
            return Unreachable(message)
        return refusal(response.status_code, error)


def _post(path: str, body: Any, *, again: bool = True) -> _Call:
    return _Call(method="POST", path=path, body=body, again=again)


def _look(path: str, wait: float) -> _Call:
    return _Call(method="GET", path=path, params={"wait": wait} if wait else None, wait=wait)


def _submission(path: str, body: Any, key: str | None) -> _Call:
    """One key for all tries of this call, so that trying again submits once."""
    return _Call(method="POST", path=path, body=body, headers={"Idempotency-Key": key or uuid4().hex})


def _part(ident: str) -> str:
    return quote(ident, safe="")


def _encode(body: Any) -> bytes:
    try:
        return json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise NotCanonical([Fault("body", f"has no JSON form: {error}")]) from error
