"""A bot in this process: a real store, a local workspace, the dispatcher's thread, one of the two ways in."""

import hashlib
import hmac
import json
import os
import socket
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from slack_bolt import App
from slack_sdk import WebClient

from seconder.api.app import build_api
from seconder.bot import bolt
from seconder.bot.bolt import build_app
from seconder.bot.dispatcher import Dispatcher
from seconder.bot.http import SlackEvents
from seconder.bot.people import Refresher
from seconder.bot.socket import Socket
from seconder.demo.people import Card, Form, Workspace
from seconder.desk import climb, look, submit
from seconder.desk.desk import Desk
from seconder.policies import Policy, parse
from seconder.review import Interrupt, Review
from seconder.sandbox.seed import APP_TOKEN, BOT_TOKEN, SIGNING_SECRET
from seconder.sandbox.server import Sandbox
from seconder.store.messages import Message
from tests.support.desk import TEAM, token
from tests.support.sandbox import Hand, eventually, running
from tests.support.store import opened

POLICY = """
version: 1
roles:
  finance: {user_groups: [S0FINANCE]}
  leads: {user_groups: [S0LEADS]}
fallback: {channel: "#agents", roles: [leads]}
rules:
  - name: refunds
    tool: issue_refund
    verdict: ask
    because: Refunds need a person.
    route: {channel: "#refunds", roles: [finance], approvals: 1}
    fields: {order: {edit: false}}
    ladder:
      - {after: 10m, remind: true}
      - {after: 20m, escalate: {channel: "#finance-leads", roles: [leads]}}
      - {after: 4h, default: reject}
  - name: wires
    tool: wire
    verdict: ask
    because: Wires need two.
    route: {channel: "#refunds", roles: [finance, leads], approvals: 2}
  - name: contracts
    tool: sign
    verdict: ask
    must_open: true
    route: {channel: "#refunds", roles: [finance]}
  - name: elsewhere
    tool: elsewhere
    verdict: ask
    route: {channel: "#not-there-yet", roles: [finance]}
  - name: mail
    tool: send_mail
    verdict: ask
    route: {channel: "#outbound-mail", roles: [finance]}
"""


class Clock:
    """A monotonic clock that a test pushes forward."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead

    def wall(self) -> float:
        return time.time() + self.ahead


@dataclass
class Bot:
    """The parts of a running bot and of the workspace it works in."""

    desk: Desk
    sandbox: Sandbox
    hand: Hand
    people: Workspace
    app: App
    dispatcher: Dispatcher
    url: str  #: where signed requests are taken; empty over Socket Mode
    clock: Clock
    socket: Socket | None = None
    http: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=15))

    def submit(self, interrupt: Interrupt) -> Review:
        """A review of its own; its card is on its way."""
        return submit.submit_review(self.desk, token(interrupt.agent.name), interrupt)[0]

    def asked(self, interrupt: Interrupt, channel: str = "refunds") -> tuple[Review, Card]:
        """A review whose card is in this channel."""
        review = self.submit(interrupt)
        return review, self.posted(review, channel)

    def posted(self, review: Review, channel: str = "refunds") -> Card:
        """The newest card of the review, once it is in this channel and the row knows."""
        message = eventually(lambda: self._placed(review), seconds=15)
        return next(card for card in self.cards(channel) if card.ts == message.ts)

    def cards(self, channel: str) -> list[Card]:
        """The channel's messages, oldest first; single spaces between words."""
        return [replace(card, text=" ".join(card.text.split())) for card in self.people.cards(channel)]

    def card(self, channel: str, holding: str, seconds: float = 10) -> Card:
        """The newest card of the channel that says or offers this, once there is one."""

        def look_for() -> Card | None:
            found = [card for card in self.cards(channel) if holding in card.text or holding in card.buttons]
            return found[-1] if found else None

        card: Card = eventually(look_for, seconds)
        return card

    def press(self, person: str, card: Card, label: str, **more: Any) -> dict[str, Any]:
        """What Slack was answered; `stale=True` presses what an earlier version of the card showed."""
        action_id = more.pop("action_id", None) or card.buttons[label]
        body = {"user": person, "channel": card.channel, "ts": card.ts, "action_id": action_id, **more}
        return self.hand.do("press", **body)

    def told(self, person: str, holding: str, seconds: float = 10) -> str:
        """The private sentence to this person that holds these words, once it is there."""

        def look_for() -> str | None:
            return next((said for said in self.whispers(person) if holding in said), None)

        found: str = eventually(look_for, seconds)
        return found

    def whispers(self, person: str) -> list[str]:
        return [message["text"] for message in self.people.private(person)]

    def form(self, person: str) -> Form:
        """The modal on top of this person's screen, once it is there."""
        found: Form = eventually(lambda: self.people.form(person))
        return found

    def modal(self, person: str) -> dict[str, Any]:
        """The same, as Slack has it."""
        found: dict[str, Any] = eventually(lambda: self.hand.see("modals", user=person))[-1]
        return found

    def review(self, review: Review) -> Review:
        """As it is now."""
        return look.review(self.desk, review.id)

    def trail(self, review: Review) -> list[str]:
        return [entry.kind for entry in look.history(self.desk, review.id)]

    def messages(self, review: Review) -> list[Message]:
        return self.desk.store.read(lambda tx: tx.messages.of_review(review.id))

    def later(self, by: timedelta) -> None:
        """It is later for the database, for the bot's pace and for the workspace; due rungs are climbed."""
        self.desk.store.write(lambda tx: tx.push_clock(by))
        self.clock.ahead += by.total_seconds()
        for review_id in climb.due(self.desk):
            while climb.climb(self.desk, review_id) is not None:
                pass

    def calls(self, method: str) -> list[dict[str, Any]]:
        """The calls of this method of the Web API so far, oldest first."""
        return [entry for entry in self.hand.see("log") if entry["kind"] == "api" and entry["method"] == method]

    def deliveries(self, what: str) -> list[dict[str, Any]]:
        """The payloads of this type that Slack sent so far, oldest first."""
        return [one["payload"] for one in self.hand.see("log") if one["kind"] == "delivery" and one["what"] == what]

    def fault(self, method: str, kind: str, **more: Any) -> None:
        """The next call of this method goes wrong."""
        self.hand.do("faults", method=method, kind=kind, **more)

    def send(self, payload: dict[str, Any]) -> httpx.Response:
        """An interaction, signed and posted as Slack does."""
        body = urllib.parse.urlencode({"payload": json.dumps(payload)}).encode()
        return self.post(body, {"content-type": "application/x-www-form-urlencoded", **signed(body)})

    def post(self, body: bytes, headers: dict[str, str]) -> httpx.Response:
        return self.http.post(self.url, content=body, headers=headers)

    def close(self) -> None:
        self.people.close()
        self.http.close()

    def _placed(self, review: Review) -> Message | None:
        cards = [one for one in self.messages(review) if one.kind == "card" and one.state != "gone"]
        return cards[-1] if cards and cards[-1].ts is not None else None


@contextmanager
def a_bot(
    url: str, folder: Path, *, over: str = "socket", policy: str = POLICY, client: Callable[..., WebClient] = WebClient,
    dispatching: bool = True, timeout: int = 10, **changes: Any,
) -> Iterator[Bot]:  # fmt: skip
    """A bot that runs while the block does; `over` is socket or http."""
    with ExitStack() as stack:
        store = stack.enter_context(opened(url))
        held: Policy = parse(policy, name="policy.yml")
        desk = Desk(
            store=store, policy=lambda: held, new_id=lambda prefix: f"{prefix}_{os.urandom(16).hex()}", **changes
        )
        listener = stack.enter_context(_listening())
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/slack/events"
        clock = Clock()
        where: dict[str, Any] = {"mode": "http", "request_url": address} if over == "http" else {}
        sandbox, hand = stack.enter_context(running(folder / "workspace.db", clock=clock.wall, **where))
        slack = client(token=BOT_TOKEN, base_url=sandbox.api_url, retry_handlers=[], timeout=timeout)
        refresher = Refresher(desk, slack)
        stack.callback(refresher.close)
        refresher.refresh_workspace()
        executor = stack.enter_context(ThreadPoolExecutor(bolt.THREADS, thread_name_prefix="bolt"))
        secret = SIGNING_SECRET if over == "http" else None
        app = build_app(desk, slack, refresher, signing_secret=secret, executor=executor)
        link = None
        if over == "http":
            api = build_api(desk, ready=dict, slack=SlackEvents(app, signing_secret=SIGNING_SECRET))
            stack.enter_context(_serving(api, listener))
        else:
            link = Socket(app, APP_TOKEN)
            stack.callback(link.stop)
            link.start()
        dispatcher = Dispatcher(desk, slack, refresher, worker_name="test", monotonic=clock)
        if dispatching:
            dispatcher.start()
            stack.callback(dispatcher.stop)
        url = address if over == "http" else ""
        made = Bot(desk, sandbox, hand, Workspace(sandbox.url), app, dispatcher, url, clock, link)
        stack.callback(made.close)
        yield made


def signed(body: bytes, *, secret: str = SIGNING_SECRET, at: float | None = None) -> dict[str, str]:
    """The two headers by which Slack signs a body."""
    stamp = str(int(time.time() if at is None else at))
    digest = hmac.new(secret.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
    return {"x-slack-request-timestamp": stamp, "x-slack-signature": f"v0={digest}"}


def button(person: str, card: Message, action_id: str, *, value: str | None = None) -> dict[str, Any]:
    """The payload of a press on this card; `value` is another token than its own."""
    held = card.token if value is None else value
    return {
        "type": "block_actions",
        "api_app_id": "A0SECONDER",
        "team": {"id": TEAM, "domain": "acme"},
        "enterprise": None,
        "user": {"id": person, "team_id": TEAM, "username": person.lower()},
        "channel": {"id": card.channel_id, "name": "refunds"},
        "container": {"type": "message", "channel_id": card.channel_id, "message_ts": card.ts},
        "message": {"ts": card.ts, "type": "message"},
        "trigger_id": f"{person}.1",
        "actions": [
            {"type": "button", "action_id": action_id, "block_id": "buttons", "value": held, "action_ts": "1.0"}
        ],
    }


def submission(person: str, view: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """The payload of a submitted form."""
    return {
        "type": "view_submission",
        "api_app_id": "A0SECONDER",
        "team": {"id": TEAM, "domain": "acme"},
        "enterprise": None,
        "user": {"id": person, "team_id": TEAM, "username": person.lower()},
        "view": {"id": "V1", "hash": "1.h", "team_id": TEAM, **view, "state": {"values": values}},
    }


def _new_id(prefix: str) -> str:
    return f"{prefix}_{os.urandom(16).hex()}"


@contextmanager
def _listening() -> Iterator[socket.socket]:
    with socket.socket() as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        yield listener


@contextmanager
def _serving(app: Any, listener: socket.socket) -> Iterator[None]:
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=2))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    eventually(lambda: server.started)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(10)
