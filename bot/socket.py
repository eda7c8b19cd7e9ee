"""Slack over Socket Mode: the connection is made, watched, and ended."""

import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import structlog
from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk.socket_mode import SocketModeClient

THREADS = 32  # presses answered at once; the SDK's own ten starve when facts have to be looked at
PING_EVERY = 3  # seconds; as often the SDK looks whether the connection is there, and makes it again

log = structlog.get_logger("seconder.socket")


class Socket:
    """A connection in the background; lost ones are made again by the SDK."""

    def __init__(self, app: App, app_token: str) -> None:
        self._handler = _Handler(app, app_token)

    @property
    def connected(self) -> bool:
        """Whether presses can arrive now."""
        return bool(self._handler.client.is_connected())

    def start(self) -> None:
        """The connection is made."""
        self._handler.connect()  # type: ignore[no-untyped-call]
        log.info("socket.connected")

    def stop(self) -> None:
        """No press arrives any more; those that arrived are answered."""
        client = self._handler.client
        client.auto_reconnect_enabled = False
        client.current_session_state.terminated = True
        session = client.current_session
        if session is not None and session.sock is not None:
            with suppress(OSError):  # wakes the reader, for whom `close` would wait seconds
                session.sock.shutdown(socket.SHUT_RD)
        self._handler.close()  # type: ignore[no-untyped-call]


class _Handler(SocketModeHandler):
    """The SDK's handler with a client of ours."""

    def __init__(self, app: App, app_token: str) -> None:
        self.app, self.app_token = app, app_token
        self.client = _Client(
            app_token, logger=app.logger, web_client=app.client, concurrency=THREADS, ping_interval=PING_EVERY
        )
        self.client.socket_mode_request_listeners.append(self.handle)  # type: ignore[arg-type]


class _Client(SocketModeClient):
    """Takes the end of a connection for its end.

    The SDK goes on reading a connection that ended without a closing frame, as fast as it can, until five
    pings have failed.
    """

    def connect(self) -> None:
        super().connect()
        session = self.current_session
        if session is not None and session.sock is not None:
            session.sock = _Ended(session.sock, lambda: self.current_session_state.terminated)  # type: ignore[assignment]


class _Ended:
    """A socket whose `recv` raises where the other side has gone, unless that was wanted."""

    def __init__(self, sock: socket.socket, wanted: Callable[[], bool]) -> None:
        self._sock, self._wanted = sock, wanted

    def recv(self, size: int) -> bytes:
        received = self._sock.recv(size)
        if not received and not self._wanted():
            raise ConnectionResetError("the connection ended")
        return received

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)
