"""Keeps the workspace to this machine: loopback names only, and no page of another origin may act in it."""

import ipaddress
import re
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

REAL_TOKEN = re.compile(r"xox[a-z]-\d+-|xapp-\d+-[A-Z0-9]+-\d+-")


def is_loopback(host: str) -> bool:
    """Whether a host name or address means this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_tokens(*tokens: str) -> None:
    """Raises: ValueError for a token that looks as if it belonged to a real workspace."""
    if any(REAL_TOKEN.match(token) for token in tokens):
        raise ValueError("The sandbox takes no real Slack tokens; use its own, such as xoxb-sandbox.")


class Guard:
    """An ASGI layer that answers 403 to whoever is not on this machine or comes from a foreign page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in {"http", "websocket"} and not _allowed(scope):
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            else:
                await PlainTextResponse("The sandbox answers this machine only.", 403)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _allowed(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    host = urlsplit(f"//{headers.get('host', '')}").hostname or ""
    client = scope.get("client")
    if not is_loopback(host) or (client and not is_loopback(client[0]) and client[0] != "testclient"):
        return False
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == headers["host"]
