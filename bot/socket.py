"""Slack over Socket Mode: the connection is made, watched, and ended."""

import structlog
from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler

log = structlog.get_logger("seconder.socket")


class Socket:
    """A connection in the background; lost ones are made again by the SDK."""

    def __init__(self, app: App, app_token: str) -> None:
        self._handler = SocketModeHandler(app, app_token, web_client=app.client)

    @property
    def connected(self) -> bool:
        """Whether presses can arrive now."""
        return bool(self._handler.client.is_connected())

    def start(self) -> None:
        """The connection is made."""
        self._handler.connect()  # type: ignore[no-untyped-call]
        log.info("socket.connected")

    def stop(self) -> None:
        """No press arrives any more."""
        self._handler.close()  # type: ignore[no-untyped-call]
