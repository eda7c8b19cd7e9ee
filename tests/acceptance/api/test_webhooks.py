"""An agent that named a callback address is told how its review ended, signed and at least once."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from standardwebhooks.webhooks import Webhook

from seconder.api.webhooks import Webhooks
from seconder.clockwork import sweep
from seconder.desk import cancel, decide, look, tokens
from seconder.desk.decide import Approve
from seconder.desk.desk import Desk
from tests.support.api import a_door, bearer, call_of, error_of, pause_of
from tests.support.desk import ALICE, a_desk, press_on, push_clock


@dataclass
class Listener:
    """What was posted, and the statuses to answer with: the last one from then on."""

    url: str = ""
    answers: list[int] = field(default_factory=lambda: [200])
    heard: list[tuple[dict[str, str], str]] = field(default_factory=list)


@contextmanager
def listening(*answers: int) -> Iterator[Listener]:
    listener = Listener(answers=list(answers) or [200])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            listener.heard.append(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(listener.answers.pop(0) if len(listener.answers) > 1 else listener.answers[0])
            self.send_header("location", "/elsewhere")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the standard library
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    listener.url = f"http://127.0.0.1:{server.server_port}/hook"
    try:
        yield listener
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def sending(desk: Desk) -> Iterator[Webhooks]:
    sender = Webhooks(desk, worker_name="test")
    sender.start()
    try:
        yield sender
    finally:
        sender.stop()


def drained(desk: Desk) -> bool:
    """Waits until no webhook is queued any more."""
    for _ in range(100):
        seen = desk.store.changes.count
        if not [item for item in look.queued(desk) if item.topic == "webhook"]:
            return True
        desk.store.changes.wait(seen, 0.1)
    return False


@pytest.mark.parametrize("end", ["decided", "expired", "cancelled"])
def test_every_end_is_told_with_the_review_and_a_valid_signature(database_url: str, end: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door, listening() as listener:
        made = tokens.create(desk, "shop", random=os.urandom)
        body = call_of(callback_url=listener.url)
        if end == "expired":
            body["action"]["tool"] = "wire"
        ident = door.post("/v1/reviews", json=body, headers=bearer(made.secret)).json()["id"]
        assert listener.heard == []
        match end:
            case "decided":
                decide.decide(desk, press_on(desk, ident, ALICE), Approve())
            case "expired":
                push_clock(desk, timedelta(hours=25))
                sweep(desk)
            case _:
                cancel.cancel(desk, ident, by="admin")
        with sending(desk):
            assert drained(desk)
        [(headers, text)] = listener.heard

        said = Webhook(made.webhook_secret).verify(text, headers)
        assert said["type"] == f"review.{end}"
        assert said["data"] == door.get(f"/v1/reviews/{ident}").json()
        assert headers["webhook-id"] == f"{ident}_{end}"


def test_each_review_of_a_pause_is_told_to_its_own_address(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door, listening() as listener, sending(desk):
        calls = [call_of(call_id=name, callback_url=f"{listener.url}/{name}") for name in ("a", "b")]
        for review in door.post("/v1/pauses", json=pause_of(*calls, call_of(call_id="c"))).json()["reviews"]:
            decide.decide(desk, press_on(desk, review["id"], ALICE), Approve())
        assert drained(desk)

        assert sorted(json.loads(text)["data"]["call_id"] for _, text in listener.heard) == ["a", "b"]


def test_what_was_not_taken_is_sent_again_under_the_same_id(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door, listening(500, 302, 204) as listener:
        ident = door.post("/v1/reviews", json=call_of(callback_url=listener.url)).json()["id"]
        cancel.cancel(desk, ident, by="admin")
        sender = Webhooks(desk, worker_name="test")
        worked = []
        for _ in range(3):
            worked += [sender.work_once(), sender.work_once()]
            push_clock(desk, timedelta(minutes=1))
        left = look.queued(desk)

        assert worked == [1, 0, 1, 0, 1, 0]
        assert {headers["webhook-id"] for headers, _ in listener.heard} == {f"{ident}_cancelled"}
        assert [item.topic for item in left] == ["card"]


def test_an_address_that_never_answers_is_given_up_and_visible(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door, listening() as listener:
        gone = listener.url
        with listening(410) as unwanted:
            for url in (gone.replace("127.0.0.1", "127.0.0.1.invalid"), unwanted.url):
                ident = door.post("/v1/reviews", json=call_of(callback_url=url)).json()["id"]
                cancel.cancel(desk, ident, by="admin")
            sender = Webhooks(desk, worker_name="test")
            for _ in range(13):
                sender.work_once()
                push_clock(desk, timedelta(minutes=11))
            dead = look.queued(desk, state="dead")

            assert [(item.topic, item.attempts) for item in dead] == [("webhook", 12)]
            assert dead[0].error is not None
            assert "ConnectError" in dead[0].error
            assert len(unwanted.heard) == 1


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/x",
        "file:///etc/passwd",
        "http://",
        "https://user:pass@host/",
        "http://[",
        "http://a b/",
        "javascript:x",
    ],
)
def test_an_address_that_cannot_be_called_is_refused(tmp_path: Path, url: str) -> None:
    with a_desk(f"sqlite:///{tmp_path}/a.db") as desk, a_door(desk) as door:
        answer = door.post("/v1/reviews", json=call_of(callback_url=url))

        assert error_of(answer) == (422, "invalid")
        assert [found["path"] for found in answer.json()["error"]["fields"]] == ["callback_url"]
