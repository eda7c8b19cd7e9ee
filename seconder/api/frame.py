"""The frame around every request: an id, counts, and no traceback to the outside."""

import re
import time
from collections.abc import Callable

from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from seconder.api.metrics import Metrics
from seconder.api.replies import internal

REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
HEADER = "x-request-id"


class Frame:
    """Around the application; the id is the caller's own where it sent a usable one."""

    def __init__(self, app: ASGIApp, metrics: Metrics, new_id: Callable[[], str]) -> None:
        self._app, self._metrics, self._new_id = app, metrics, new_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(HEADER, "")
        scope["request_id"] = given if REQUEST_ID.fullmatch(given) else self._new_id()
        status = 0
        began = time.monotonic()

        async def framed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[HEADER] = scope["request_id"]
            await send(message)

        try:
            await self._app(scope, receive, framed)
        except Exception as error:  # noqa: BLE001 - a bug is logged and answered, and the door stays open
            answer = internal(Request(scope), error)
            if not status:
                await answer(scope, receive, framed)
        finally:
            self._metrics.count(scope["method"], _route(scope), status, time.monotonic() - began)


def _route(scope: Scope) -> str:
    """The pattern of the path, so that ids do not become labels."""
    return getattr(scope.get("route"), "path", "none")
