"""Presses, forms and events reach a real Bolt app, over Socket Mode and over signed HTTP."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from slack_bolt import App

from tests.support.sandbox import Door, Hand, bolt, connected, eventually, running

CARD = [
    {"type": "header", "text": {"type": "plain_text", "text": "Refund 240"}},
    {"type": "actions", "block_id": "b1", "elements": [
        {"type": "button", "action_id": "approve", "style": "primary", "value": "t1",
         "text": {"type": "plain_text", "text": "Approve"}},
        {"type": "overflow", "action_id": "more", "options": [
            {"text": {"type": "plain_text", "text": "Ask"}, "value": "ask"},
            {"text": {"type": "plain_text", "text": "Take over"}, "value": "take"}]},
    ]},
]  # fmt: skip
FORM = {
    "type": "modal", "callback_id": "edit", "private_metadata": "r1", "notify_on_close": True,
    "title": {"type": "plain_text", "text": "Edit"}, "submit": {"type": "plain_text", "text": "Send"},
    "blocks": [
        {"type": "input", "block_id": "amount", "label": {"type": "plain_text", "text": "Amount"},
         "element": {"type": "number_input", "action_id": "v", "is_decimal_allowed": True, "initial_value": "240"}},
        {"type": "input", "block_id": "why", "optional": True, "label": {"type": "plain_text", "text": "Why"},
         "element": {"type": "plain_text_input", "action_id": "v"}},
    ],
}  # fmt: skip


class Scene:
    """A sandbox and one app that notes what it hears."""

    def __init__(self, hand: Hand, app: App) -> None:
        self.hand = hand
        self.app = app
        self.heard: list[dict[str, Any]] = []

    def card(self) -> str:
        return str(self.hand.api("chat.postMessage", channel="#refunds", text="Refund", blocks=CARD)["ts"])


@pytest.fixture(scope="module", params=["socket", "http"])
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    tmp_path = tmp_path_factory.mktemp("workspace")
    with ExitStack() as stack:
        door = Door()
        stack.callback(door.close)
        options = {"mode": request.param, "request_url": door.url}
        sandbox, hand = stack.enter_context(running(tmp_path / "w.db", **options))
        app = bolt(sandbox.api_url)
        scene = Scene(hand, app)
        _listen(scene)
        door.app = app
        if request.param == "socket":
            stack.enter_context(connected(app))
            eventually(lambda: hand.see("status")["connected"])
        yield scene


@pytest.fixture
def scene(stage: Scene) -> Scene:
    """The stage, cleared: the apps need seconds to say goodbye, so they stay for all tests of a transport."""
    stage.hand.do("close", user="alice")
    stage.heard.clear()
    return stage


def _listen(scene: Scene) -> None:
    app = scene.app

    @app.action("approve")
    def approve(ack: Any, body: dict[str, Any], client: Any) -> None:
        scene.heard.append(body)
        ack()
        client.views_open(trigger_id=body["trigger_id"], view=FORM)

    @app.action("more")
    def more(ack: Any, body: dict[str, Any]) -> None:
        scene.heard.append(body)
        ack()

    @app.action("slow")
    def slow(ack: Any) -> None:
        time.sleep(3.3)
        ack()

    @app.view("edit")
    def edit(ack: Any, body: dict[str, Any]) -> None:
        scene.heard.append(body)
        if body["view"]["state"]["values"]["amount"]["v"]["value"] == "999":
            ack(response_action="errors", errors={"amount": "Too much."})
        else:
            ack()

    @app.view_closed("edit")
    def closed(ack: Any, body: dict[str, Any]) -> None:
        scene.heard.append(body)
        ack()

    @app.event("message")
    def message(body: dict[str, Any]) -> None:
        scene.heard.append(body)

    @app.event("app_home_opened")
    def home(event: dict[str, Any], client: Any) -> None:
        blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "Nothing waits."}}]
        client.views_publish(user_id=event["user"], view={"type": "home", "blocks": blocks})

    @app.command("/reviews")
    def reviews(ack: Any, body: dict[str, Any]) -> None:
        ack(f"Hello {body['user_name']}, you said {body['text']}")


def test_a_press_arrives_in_the_shape_in_which_slack_sends_it(scene: Scene) -> None:
    ts = scene.card()

    told = scene.hand.do("press", user="alice", channel="refunds", ts=ts, action_id="approve")

    assert told == {"acked": True, "status": 200}
    [body] = scene.heard
    assert body["type"] == "block_actions"
    assert body["user"] == {"id": "U02ALICE", "username": "alice", "name": "alice", "team_id": "T0DEMO"}
    assert body["container"] == {
        "type": "message", "message_ts": ts, "channel_id": "C01REFUNDS", "is_ephemeral": False,
    }  # fmt: skip
    assert body["channel"] == {"id": "C01REFUNDS", "name": "refunds"}
    assert body["message"]["ts"] == ts
    assert (body["enterprise"], body["is_enterprise_install"]) == (None, False)
    [action] = body["actions"]
    assert (action["action_id"], action["block_id"], action["value"]) == ("approve", "b1", "t1")
    assert action["text"] == {"type": "plain_text", "text": "Approve", "emoji": True}
    assert body["state"] == {"values": {}}


def test_an_overflow_choice_arrives_as_the_selected_option(scene: Scene) -> None:
    ts = scene.card()

    scene.hand.do("press", user="alice", channel="refunds", ts=ts, action_id="more", value="take")

    [action] = scene.heard[0]["actions"]
    assert action["selected_option"]["value"] == "take"


def test_untouched_prefilled_fields_are_sent_with_the_form(scene: Scene) -> None:
    scene.hand.do("press", user="alice", channel="refunds", ts=scene.card(), action_id="approve")
    eventually(lambda: scene.hand.see("modals", user="alice"))

    told = scene.hand.do("submit", user="alice", values={"why": {"v": "half"}})

    assert (told["acked"], told["view"]) == (True, None)
    values = scene.heard[-1]["view"]["state"]["values"]
    assert values == {
        "amount": {"v": {"type": "number_input", "value": "240"}},
        "why": {"v": {"type": "plain_text_input", "value": "half"}},
    }


def test_an_error_from_the_app_keeps_the_form_open_with_what_was_typed(scene: Scene) -> None:
    scene.hand.do("press", user="alice", channel="refunds", ts=scene.card(), action_id="approve")
    eventually(lambda: scene.hand.see("modals", user="alice"))

    told = scene.hand.do("submit", user="alice", values={"amount": {"v": 999}})

    assert (told["response_action"], told["errors"]) == ("errors", {"amount": "Too much."})
    [view] = scene.hand.see("modals", user="alice")
    assert view["state"]["values"]["amount"]["v"]["value"] == "999"


def test_a_closed_form_is_told_to_the_app(scene: Scene) -> None:
    scene.hand.do("press", user="alice", channel="refunds", ts=scene.card(), action_id="approve")
    eventually(lambda: scene.hand.see("modals", user="alice"))

    told = scene.hand.do("close", user="alice")

    assert told["acked"]
    assert (scene.heard[-1]["type"], scene.heard[-1]["is_cleared"]) == ("view_closed", False)
    assert scene.hand.see("modals", user="alice") == []


def test_an_app_that_takes_longer_than_three_seconds_has_not_answered(scene: Scene) -> None:
    button = {"type": "button", "action_id": "slow", "text": {"type": "plain_text", "text": "Slow"}}
    ts = scene.hand.api("chat.postMessage", channel="#refunds", text="x", blocks=[_actions(button)])["ts"]

    told = scene.hand.do("press", user="bob", channel="refunds", ts=ts, action_id="slow")

    assert told == {"acked": False, "status": 0, "error": "timeout"}


def test_a_reply_in_a_thread_is_an_event(scene: Scene) -> None:
    ts = scene.card()

    scene.hand.do("post", user="riley", channel="#refunds", text="It was damaged", thread_ts=ts)

    event = eventually(lambda: scene.heard and scene.heard[0])["event"]
    assert (event["type"], event["thread_ts"], event["channel_type"]) == ("message", ts, "channel")


def test_opening_the_home_lets_the_app_publish_it(scene: Scene) -> None:
    scene.hand.do("home", user="adam")

    view = eventually(lambda: scene.hand.see("home", user="adam"))
    assert view["blocks"][0]["text"]["text"] == "Nothing waits."


def test_a_command_is_answered_privately(scene: Scene) -> None:
    told = scene.hand.do("command", user="adam", channel="general", command="/reviews", text="mine")

    assert told["acked"]
    [answer] = scene.hand.see("ephemerals", user="adam")
    assert answer["text"] == "Hello adam, you said mine"


def test_an_action_nobody_listens_to_fails_for_the_person(scene: Scene) -> None:
    button = {"type": "button", "action_id": "nobody", "text": {"type": "plain_text", "text": "Hm"}}
    ts = scene.hand.api("chat.postMessage", channel="#refunds", text="x", blocks=[_actions(button)])["ts"]

    told = scene.hand.do("press", user="bob", channel="refunds", ts=ts, action_id="nobody")

    assert told["acked"] is False


def _actions(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "actions", "elements": list(elements)}
