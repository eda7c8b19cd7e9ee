"""Socket Mode: the app connects, and each payload goes to one of its connections."""

import asyncio
from collections.abc import Callable
from typing import Any

from fastapi import WebSocket, WebSocketDisconnect

from seconder.sandbox import limits
from seconder.sandbox.delivery import Answer, Kind
from seconder.sandbox.storage import Doc

MOST_CONNECTIONS = 10
REFRESH_SECONDS = 1.0


class SocketMode:
    """A `Delivery` over WebSockets; connections take turns."""

    def __init__(self, *, app_id: str, fresh: Callable[[], str], changed: Callable[[], None]) -> None:
        self._app_id = app_id
        self._fresh = fresh
        self._changed = changed
        self._tickets: set[str] = set()
        self._connections: list[WebSocket] = []
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def ticket(self) -> str:
        """The secret part of a WebSocket address, good for one connection."""
        ticket = self._fresh()
        self._tickets.add(ticket)
        return ticket

    async def serve(self, socket: WebSocket, ticket: str) -> None:
        """Keep one connection until it ends."""
        if ticket not in self._tickets or len(self._connections) >= MOST_CONNECTIONS:
            await socket.close(code=1008)
            return
        self._tickets.discard(ticket)
        await socket.accept()
        self._connections.append(socket)
        self._changed()
        try:
            await socket.send_json(self._hello())
            while True:
                self._take(await socket.receive_json())
        except (WebSocketDisconnect, ValueError, RuntimeError):
            pass
        finally:
            self._leave(socket)

    async def send(self, kind: Kind, payload: Doc, *, retry: tuple[int, str] | None = None) -> Answer:
        envelope = self._fresh()
        message: Doc = {"envelope_id": envelope, "type": kind, "payload": payload}
        message["accepts_response_payload"] = kind != "events_api"
        if kind == "events_api":
            message |= {"retry_attempt": retry[0] if retry else 0, "retry_reason": retry[1] if retry else ""}
        waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[envelope] = waiting
        try:
            if not await self._hand_over(message):
                return Answer(acked=False, error="not_connected")
            body = await asyncio.wait_for(waiting, limits.ACK_SECONDS)
            return Answer(acked=True, body=body, status=200)
        except TimeoutError:
            return Answer(acked=False, error="timeout")
        finally:
            self._waiting.pop(envelope, None)

    async def connected(self) -> bool:
        return bool(self._connections)

    @property
    def connections(self) -> int:
        return len(self._connections)

    async def refresh(self, reason: str = "refresh_requested") -> int:
        """Tell every connection to come back, as Slack does now and then; how many were told."""
        told = list(self._connections)
        for socket in told:
            self._leave(socket)
            await socket.send_json({"type": "disconnect", "reason": reason, "debug_info": {"host": "sandbox"}})
            task = asyncio.get_running_loop().create_task(_close(socket))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
        return len(told)

    async def _hand_over(self, message: Doc) -> bool:
        while self._connections:
            socket = self._connections.pop(0)
            self._connections.append(socket)
            try:
                await socket.send_json(message)
                return True
            except (RuntimeError, WebSocketDisconnect):
                self._leave(socket)
        return False

    def _take(self, message: Any) -> None:
        if not isinstance(message, dict):
            return
        waiting = self._waiting.get(str(message.get("envelope_id")))
        if waiting is not None and not waiting.done():
            waiting.set_result(message.get("payload"))

    def _leave(self, socket: WebSocket) -> None:
        if socket in self._connections:
            self._connections.remove(socket)
            self._changed()

    def _hello(self) -> Doc:
        return {
            "type": "hello",
            "num_connections": len(self._connections),
            "debug_info": {"host": "sandbox", "build_number": 1, "approximate_connection_time": 18060},
            "connection_info": {"app_id": self._app_id},
        }


async def _close(socket: WebSocket) -> None:
    await asyncio.sleep(REFRESH_SECONDS)
    try:
        await socket.close()
    except RuntimeError:
        return
