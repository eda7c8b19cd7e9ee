"""Slack over HTTP: what is malformed is refused before Bolt sees it; Bolt runs in a thread pool.

Bolt answers a bad timestamp or signature header with 500, and a bad payload before it looked at the
signature; both are refused here with 401 and 400. Bodies are never logged.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs

import anyio
from slack_bolt import App, BoltRequest, BoltResponse

MAX_BODY = 1024 * 1024  # bytes
THREADS = 32
SIGNATURE_LENGTH = 67  # v0= and 64 hexadecimal digits


class SlackEvents:
    """An ASGI application for `POST /slack/events`."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._threads: anyio.CapacityLimiter | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = await _body(receive)
        headers: dict[str, str | Sequence[str]] = {
            name.decode("latin-1").lower(): [value.decode("latin-1")] for name, value in scope["headers"]
        }
        answer = _refusal(body, headers)
        if answer is None and body is not None:
            self._threads = self._threads or anyio.CapacityLimiter(THREADS)
            request = BoltRequest(body=body.decode("utf-8"), headers=headers)
            answer = await anyio.to_thread.run_sync(self._app.dispatch, request, limiter=self._threads)
        await _send(send, answer or BoltResponse(status=400))


async def _body(receive: Any) -> bytes | None:
    """The whole body; None beyond MAX_BODY."""
    parts, size = [], 0
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MAX_BODY:
            return None
        if not message.get("more_body"):
            return b"".join(parts)


def _refusal(body: bytes | None, headers: Mapping[str, str | Sequence[str]]) -> BoltResponse | None:
    if body is None:
        return BoltResponse(status=413)
    timestamp = headers.get("x-slack-request-timestamp", [""])[0]
    signature = headers.get("x-slack-signature", [""])[0]
    if not (timestamp.isascii() and timestamp.isdigit()):
        return BoltResponse(status=401)
    if not (signature.isascii() and len(signature) == SIGNATURE_LENGTH and signature.startswith("v0=")):
        return BoltResponse(status=401)
    return None if _readable(body, headers.get("content-type", [""])[0]) else BoltResponse(status=400)


def _readable(body: bytes, content_type: str) -> bool:
    """Whether Bolt can parse it: JSON, or a form whose `payload` is a JSON object."""
    try:
        text = body.decode("utf-8")
        if content_type.startswith("application/json"):
            return isinstance(json.loads(text), dict)
        payload = parse_qs(text, keep_blank_values=True).get("payload")
        return payload is None or isinstance(json.loads(payload[0]), dict)
    except (ValueError, RecursionError):
        return False


async def _send(send: Any, answer: BoltResponse) -> None:
    headers = [
        (name.encode("latin-1"), value.encode("latin-1")) for name, values in answer.headers.items() for value in values
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": (answer.body or "").encode()})
