"""Signed HTTP: each payload is posted to the app's request URL."""

import asyncio
import hashlib
import hmac
import json
import socket
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any

from seconder.sandbox import limits
from seconder.sandbox.delivery import Answer, Kind
from seconder.sandbox.storage import Doc


class Callbacks:
    """A `Delivery` over HTTP, signed by Slack's v0 rule; `clock` is in epoch seconds."""

    def __init__(self, request_url: str, signing_secret: str, *, clock: Callable[[], float]) -> None:
        if urllib.parse.urlsplit(request_url).scheme not in {"http", "https"}:
            raise ValueError(f"The request URL must begin with http:// or https://, not {request_url}.")
        self._url = request_url
        self._secret = signing_secret.encode()
        self._clock = clock
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    async def send(self, kind: Kind, payload: Doc, *, retry: tuple[int, str] | None = None) -> Answer:
        body, content = _encoded(kind, payload)
        headers = {"Content-Type": content, "User-Agent": "Slackbot 1.0 (sandbox)", **self.signed(body)}
        if retry:
            headers |= {"X-Slack-Retry-Num": str(retry[0]), "X-Slack-Retry-Reason": retry[1]}
        try:
            return await asyncio.wait_for(asyncio.to_thread(self._post, body, headers), limits.ACK_SECONDS)
        except TimeoutError:
            return Answer(acked=False, error="timeout")

    def signed(self, body: bytes) -> dict[str, str]:
        """The two headers by which the app knows that we wrote `body`."""
        at = str(int(self._clock()))
        digest = hmac.new(self._secret, b"v0:" + at.encode() + b":" + body, hashlib.sha256).hexdigest()
        return {"X-Slack-Request-Timestamp": at, "X-Slack-Signature": f"v0={digest}"}

    async def connected(self) -> bool:
        return await asyncio.to_thread(self._listening)

    def _listening(self) -> bool:
        where = urllib.parse.urlsplit(self._url)
        port = where.port or (443 if where.scheme == "https" else 80)
        try:
            with socket.create_connection((where.hostname or "127.0.0.1", port), timeout=0.5):
                return True
        except OSError:
            return False

    def _post(self, body: bytes, headers: dict[str, str]) -> Answer:
        request = urllib.request.Request(self._url, data=body, headers=headers, method="POST")  # noqa: S310  checked
        try:
            with self._opener.open(request, timeout=limits.ACK_SECONDS) as response:
                return Answer(acked=True, status=response.status, body=_decoded(response.read()))
        except urllib.error.HTTPError as refused:
            no_retry = refused.headers.get("x-slack-no-retry") == "1"
            return Answer(acked=False, status=refused.code, error=f"http_{refused.code}", no_retry=no_retry)
        except TimeoutError:
            return Answer(acked=False, error="timeout")
        except (OSError, ValueError) as failed:
            late = isinstance(getattr(failed, "reason", None), TimeoutError)
            return Answer(acked=False, error="timeout" if late else "not_connected")


def _encoded(kind: Kind, payload: Doc) -> tuple[bytes, str]:
    if kind == "events_api":
        return json.dumps(payload).encode(), "application/json"
    fields = {"payload": json.dumps(payload)} if kind == "interactive" else payload
    return urllib.parse.urlencode(fields).encode(), "application/x-www-form-urlencoded"


def _decoded(body: bytes) -> Any:
    if not body:
        return None
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")
