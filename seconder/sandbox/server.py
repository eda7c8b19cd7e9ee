"""The local Slack workspace as a server: `Sandbox` in a thread, `run` for the command line."""

import secrets
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Literal

import uvicorn
from fastapi import FastAPI, WebSocket

from seconder.sandbox.callbacks import Callbacks
from seconder.sandbox.control import Control, refused
from seconder.sandbox.delivery import Delivery
from seconder.sandbox.forms import Forms
from seconder.sandbox.guard import Guard, check_tokens, is_loopback
from seconder.sandbox.journal import Faults, Journal, Rates
from seconder.sandbox.page import CLOSING, Page
from seconder.sandbox.people_acts import Acts
from seconder.sandbox.refusal import Refused
from seconder.sandbox.seed import APP_TOKEN, BOT_TOKEN, DEMO_SEED, SIGNING_SECRET, Seed
from seconder.sandbox.socket_mode import SocketMode
from seconder.sandbox.storage import Storage
from seconder.sandbox.webapi import WebApi
from seconder.sandbox.workspace import Workspace

START_SECONDS = 15.0
STOP_SECONDS = 10.0

Mode = Literal["socket", "http"]


def build(
    acts: Acts, *, rates: Rates, bot_token: str = BOT_TOKEN, app_token: str = APP_TOKEN,
    advance: Callable[[timedelta], None] | None = None,
) -> FastAPI:  # fmt: skip
    """The whole workspace as one application: Web API, control door, page, and the socket where there is one."""
    faults = Faults()
    connections = acts.delivery if isinstance(acts.delivery, SocketMode) else None
    api = WebApi(acts, rates=rates, faults=faults, socket=connections, bot_token=bot_token, app_token=app_token)
    control = Control(acts, Forms(acts), rates=rates, faults=faults, socket=connections, advance=advance)
    page = Page(acts, can_advance=advance is not None)
    acts.workspace.changed = page.publish

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        acts.cancel()

    app = FastAPI(title="Sandbox", openapi_url=None, lifespan=lifespan)
    app.add_middleware(Guard)
    for error in (Refused, ValueError):
        app.add_exception_handler(error, refused)
    for router in (api.router, control.router, page.router):
        app.include_router(router)
    app.mount("/static", page.static)
    if connections is not None:
        _link(app, connections)
    return app


def _link(app: FastAPI, connections: SocketMode) -> None:
    @app.websocket("/link/")
    async def link(websocket: WebSocket, ticket: str = "") -> None:
        await connections.serve(websocket, ticket)


class _Server(uvicorn.Server):
    """Lets open pages go before it ends, so that nothing has to be cut off."""

    def __init__(self, config: uvicorn.Config, farewell: Callable[[], None]) -> None:
        super().__init__(config)
        self._farewell = farewell

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._farewell()
        await super().shutdown(sockets)


class Sandbox:
    """A workspace kept in the file `path`; `port` 0 takes a free one. It listens from `start` to `stop`.

    `advance` moves the clock of the app beside it. Raises ValueError for a host that is not this machine and for
    tokens that look real.
    """

    def __init__(
        self, path: Path, *, host: str = "127.0.0.1", port: int = 8711, mode: Mode = "socket",
        request_url: str | None = None, signing_secret: str = SIGNING_SECRET,
        bot_token: str = BOT_TOKEN, app_token: str = APP_TOKEN,
        advance: Callable[[timedelta], None] | None = None, seed: Seed = DEMO_SEED,
        clock: Callable[[], float] = time.time, fresh: Callable[[], str] = lambda: secrets.token_hex(16),
        rates: bool = True,
    ) -> None:  # fmt: skip
        check_tokens(bot_token, app_token)
        if mode == "http" and not request_url:
            raise ValueError("The sandbox needs a request URL to call the app over HTTP.")
        if not is_loopback(host):
            raise ValueError(f"The sandbox listens on this machine only, not on {host}; use 127.0.0.1.")
        self._listener = _bind(host, port)
        self.url = f"http://{host}:{self._listener.getsockname()[1]}"
        self.api_url = f"{self.url}/api/"
        self._storage = Storage(Path(path))
        self.workspace = Workspace(self._storage, seed, clock=clock, fresh=fresh)
        self._rates = Rates(clock, enabled=rates)
        delivery = self._delivery(mode, request_url, signing_secret)
        self.acts = Acts(self.workspace, delivery, Journal(clock), url=self.url)
        self.app = build(self.acts, rates=self._rates, bot_token=bot_token, app_token=app_token, advance=advance)
        config = uvicorn.Config(self.app, log_level="error", ws_ping_interval=None, timeout_graceful_shutdown=1)
        self._server = _Server(config, lambda: self.workspace.changed(CLOSING))
        self._thread = threading.Thread(target=self._serve, name="sandbox", daemon=True)

    @property
    def rates(self) -> bool:
        """Whether Slack's rate limits are kept."""
        return self._rates.enabled

    @rates.setter
    def rates(self, enabled: bool) -> None:
        self._rates.enabled = enabled

    @property
    def connections(self) -> int:
        """How many connections the app holds in Socket Mode."""
        delivery = self.acts.delivery
        return delivery.connections if isinstance(delivery, SocketMode) else 0

    def start(self) -> None:
        """Listen in a background thread; returns when calls are accepted."""
        self._thread.start()
        deadline = time.monotonic() + START_SECONDS
        while not self._server.started:
            if time.monotonic() > deadline or not self._thread.is_alive():
                raise RuntimeError("the sandbox did not start")
            time.sleep(0.01)

    def stop(self) -> None:
        """Close every connection and the file; the workspace can be opened again from its path."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)
        self._listener.close()
        self._storage.close()

    def serve(self) -> None:
        """Listen in this thread until the process is told to end."""
        try:
            self._serve()
        finally:
            self._listener.close()
            self._storage.close()

    def _serve(self) -> None:
        self._server.run(sockets=[self._listener])

    def _delivery(self, mode: Mode, request_url: str | None, signing_secret: str) -> Delivery:
        work = self.workspace
        if mode == "socket":
            return SocketMode(app_id=work.seed.app_id, fresh=work.fresh, changed=lambda: work.changed({}))
        return Callbacks(request_url or "", signing_secret, clock=time.time)


def run(
    path: Path, port: int = 8711, *, mode: Mode = "socket", request_url: str | None = None,
    signing_secret: str = SIGNING_SECRET, advance: Callable[[timedelta], None] | None = None,
    ready: Callable[[str], None] = lambda _url: None,
) -> None:  # fmt: skip
    """Serve a workspace until the process is told to end; `ready` hears the page's address first."""
    sandbox = Sandbox(
        path, port=port, mode=mode, request_url=request_url, signing_secret=signing_secret, advance=advance
    )
    ready(sandbox.url)
    sandbox.serve()


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # without it asyncio leaves Nagle on
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError:
        listener.close()
        raise
    listener.listen(128)
    return listener
