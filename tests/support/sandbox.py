"""A running sandbox, a client of its Web API and control door, and a real Bolt app beside it."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
from slack_bolt import App, BoltRequest
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_bolt.authorization import AuthorizeResult
from slack_sdk import WebClient

from seconder.sandbox.seed import BOT_TOKEN
from seconder.sandbox.server import Sandbox

SECRET = "sandbox-signing-secret"


class Hand:
    """Calls the control door and the Web API of one sandbox."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._http = httpx.Client(base_url=url, timeout=10)

    def api(self, method: str, *, token: str = BOT_TOKEN, **arguments: Any) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        answer: dict[str, Any] = self._http.post(f"/api/{method}", json=arguments, headers=headers).json()
        return answer

    def raw(self, method: str, **arguments: Any) -> httpx.Response:
        headers = {"Authorization": "Bearer xoxb-sandbox"}
        return self._http.post(f"/api/{method}", json=arguments, headers=headers)

    def do(self, act: str, **body: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self._http.post(f"/control/{act}", json=body).json()
        return answer

    def see(self, what: str, **query: str) -> Any:
        return self._http.get(f"/control/{what}", params=query).json()

    def post_url(self, url: str, **body: Any) -> httpx.Response:
        return self._http.post(url, json=body)

    def close(self) -> None:
        self._http.close()


@contextmanager
def running(path: Path, **options: Any) -> Iterator[tuple[Sandbox, Hand]]:
    """A started sandbox on a free port, without rate limits where nothing else is said."""
    sandbox = Sandbox(path, **{"port": 0, "rates": False, **options})
    sandbox.start()
    hand = Hand(sandbox.url)
    try:
        yield sandbox, hand
    finally:
        hand.close()
        sandbox.stop()


def bolt(api_url: str) -> App:
    """A real Bolt app that answers before it returns."""
    authorised = AuthorizeResult(
        enterprise_id=None, team_id="T0DEMO", bot_token="xoxb-sandbox", bot_id="B0SECONDER", bot_user_id="U0SECONDER"
    )
    return App(
        client=WebClient(token="xoxb-sandbox", base_url=api_url), signing_secret=SECRET,
        authorize=lambda: authorised, process_before_response=True,
        listener_executor=ThreadPoolExecutor(max_workers=16),
    )  # fmt: skip


@contextmanager
def connected(app: App) -> Iterator[SocketModeHandler]:
    """The app on Socket Mode, connected while the block runs."""
    handler = SocketModeHandler(app, "xapp-sandbox", web_client=app.client)
    handler.connect()
    try:
        yield handler
    finally:
        handler.close()


class Door:
    """An HTTP server at whose address a Bolt app, once given, takes signed requests."""

    def __init__(self) -> None:
        self.app: App | None = None
        self.seen: list[dict[str, str]] = []
        self.refuse_next = 0
        door = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                door.answer(self)

            def log_message(self, *_: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/slack/events"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.seen.append(headers)
        if self.refuse_next or self.app is None:
            self.refuse_next -= 1
            status, text, answered = 500, "", {}
        else:
            reply = self.app.dispatch(BoltRequest(body=body.decode(), headers={**headers}))
            status, text, answered = reply.status, reply.body or "", reply.headers
        request.send_response(status)
        for name, values in answered.items():
            for value in values:
                request.send_header(name, value)
        request.end_headers()
        request.wfile.write(text.encode())

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def eventually(found: Callable[[], Any], seconds: float = 5.0) -> Any:
    """The first true answer of `found`; fails when there is none in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        answer = found()
        if answer:
            return answer
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")
