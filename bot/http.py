"""Slack over HTTP: what is malformed is refused before Bolt sees it; Bolt runs in a thread pool.

Bolt reads the payload before it has looked at the signature, and answers what it cannot read with 500, as it
does bad timestamps. Here the signature comes first (401), then the shape (400). Bodies are never logged.
"""

import hmac
import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

import anyio
import structlog
from slack_bolt import App, BoltRequest, BoltResponse
from slack_sdk.signature import SignatureVerifier

from seconder.bot.shapes import well_formed

MAX_BODY = 1024 * 1024  # bytes
THREADS = 32
STAMP = re.compile(r"[0-9]{1,12}")
SIGNATURE = re.compile(r"v0=[0-9a-f]{64}")

log = structlog.get_logger("seconder.bot")

Headers = Mapping[str, str | Sequence[str]]


class SlackEvents:
    """An ASGI application for `POST /slack/events`."""

    def __init__(self, app: App, *, signing_secret: str) -> None:
        self._app, self._verifier = app, SignatureVerifier(signing_secret)
        self._threads: anyio.CapacityLimiter | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = await _body(receive)
        headers: dict[str, str | Sequence[str]] = {
            name.decode("latin-1").lower(): [value.decode("latin-1")] for name, value in scope["headers"]
        }
        if body is None:
            await _send(send, BoltResponse(status=413))
        elif not self._signed(body, headers):
            await _send(send, BoltResponse(status=401))
        elif not _readable(body, headers):
            await _send(send, BoltResponse(status=400))
        else:
            self._threads = self._threads or anyio.CapacityLimiter(THREADS)
            request = BoltRequest(body=body.decode("utf-8"), headers=headers)
            await _send(send, await anyio.to_thread.run_sync(self._app.dispatch, request, limiter=self._threads))

    def _signed(self, body: bytes, headers: Headers) -> bool:
        """Whether Slack sent it, lately: looked at before anything in it is read."""
        timestamp, signature = _first(headers, "x-slack-request-timestamp"), _first(headers, "x-slack-signature")
        if not STAMP.fullmatch(timestamp) or not SIGNATURE.fullmatch(signature):
            return False
        try:
            if self._verifier.is_valid(body, timestamp, signature):
                return True
            ours = self._verifier.generate_signature(timestamp=timestamp, body=body) or ""
        except UnicodeDecodeError:  # the verifier reads text; Slack sends no other
            return False
        if hmac.compare_digest(ours, signature):
            apart = round(time.time() - int(timestamp))
            log.warning("slack.refused_for_its_time", seconds_apart=apart, note="set this machine's clock, or a replay")
        return False


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


def _readable(body: bytes, headers: Headers) -> bool:
    """Whether Bolt can parse it, and the listeners can read what comes of it; parsed as Bolt does."""
    try:
        text = body.decode("utf-8")
        if _first(headers, "content-type").split(";")[0] == "application/json" or text.startswith("{"):
            return well_formed(json.loads(text))
        payload = dict(parse_qsl(text, keep_blank_values=True)).get("payload")
        return payload is None or well_formed(json.loads(payload))
    except (ValueError, RecursionError):
        return False


def _first(headers: Headers, name: str) -> str:
    return headers.get(name, [""])[0]


async def _send(send: Any, answer: BoltResponse) -> None:
    headers = [
        (name.encode("latin-1"), value.encode("latin-1")) for name, values in answer.headers.items() for value in values
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": (answer.body or "").encode()})
