"""What a real Bolt app can do with a modal: hear its buttons, suggest options, push, update, clear."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.sandbox import Door, Hand, bolt, connected, eventually, running


def text(words: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": words}


def button(action: str) -> dict[str, Any]:
    return {"type": "button", "action_id": action, "text": text(action)}


def view(name: str, **changes: Any) -> dict[str, Any]:
    why = {"type": "plain_text_input", "action_id": "v", "initial_value": "as proposed"}
    order = {"type": "external_select", "action_id": "order", "min_query_length": 1}
    return {
        "type": "modal",
        "callback_id": "form",
        "title": text(name),
        "submit": text("Send"),
        "private_metadata": "r1",
        "blocks": [
            {"type": "input", "block_id": "why", "label": text("Why"), "element": why},
            {"type": "input", "block_id": "order", "optional": True, "label": text("Order"), "element": order},
            {"type": "actions", "block_id": "more", "elements": [button("peek"), button("deeper")]},
        ],
        **changes,
    }


class Scene:
    def __init__(self, hand: Hand) -> None:
        self.hand = hand
        self.heard: list[dict[str, Any]] = []
        self.reply: dict[str, Any] = {}

    def open(self) -> dict[str, Any]:
        """A fresh modal of alice's, opened by pressing a card."""
        self.hand.do("close", user="alice")
        blocks = [{"type": "actions", "elements": [button("start")]}]
        ts = self.hand.api("chat.postMessage", channel="C01REFUNDS", text="x", blocks=blocks)["ts"]
        self.hand.do("press", user="alice", channel="refunds", ts=ts, action_id="start")
        [opened] = eventually(lambda: self.hand.see("modals", user="alice"))
        self.heard.clear()
        return dict(opened)

    def titles(self) -> list[str]:
        return [v["title"]["text"] for v in self.hand.see("modals", user="alice")]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    door = Door()
    path = tmp_path_factory.mktemp("workspace") / "w.db"
    with running(path, mode="http", request_url=door.url) as (sandbox, hand):
        scene, app = Scene(hand), bolt(sandbox.api_url)

        @app.action("start")
        def start(ack: Any, body: dict[str, Any], client: Any) -> None:
            ack()
            client.views_open(trigger_id=body["trigger_id"], view=view("First"))

        @app.action("peek")
        def peek(ack: Any, body: dict[str, Any]) -> None:
            scene.heard.append(body)
            ack()

        @app.action("deeper")
        def deeper(ack: Any, body: dict[str, Any], client: Any) -> None:
            ack()
            client.views_push(trigger_id=body["trigger_id"], view=view("Second", clear_on_close=True))

        @app.options("order")
        def options(ack: Any, body: dict[str, Any]) -> None:
            scene.heard.append(body)
            ack(options=[{"text": text(f"Order {body['value']}"), "value": body["value"]}])

        @app.view("form")
        def form(ack: Any, body: dict[str, Any]) -> None:
            scene.heard.append(body)
            ack(**scene.reply)

        door.app = app
        yield scene
    door.close()


def test_a_button_in_a_modal_tells_the_view_with_what_was_typed(scene: Scene) -> None:
    opened = scene.open()
    state = {"why": {"v": {"type": "plain_text_input", "value": "half"}}}

    told = scene.hand.do("press", user="alice", view_id=opened["id"], action_id="peek", state=state)

    assert told["acked"]
    [body] = scene.heard
    assert body["container"] == {"type": "view", "view_id": opened["id"]}
    assert body["view"]["state"]["values"]["why"]["v"]["value"] == "half"
    assert body["view"]["private_metadata"] == "r1"
    assert not {"message", "channel", "response_url"} & set(body)


def test_options_are_suggested_and_the_chosen_one_is_sent(scene: Scene) -> None:
    opened, scene.reply = scene.open(), {}

    told = scene.hand.do("suggest", user="alice", view_id=opened["id"], action_id="order", query="O-9")
    scene.hand.do("submit", user="alice", values={"order": {"order": told["options"][0]}})

    asked, sent = scene.heard
    assert (asked["type"], asked["action_id"], asked["block_id"], asked["value"]) == (
        "block_suggestion", "order", "order", "O-9",
    )  # fmt: skip
    assert sent["view"]["state"]["values"]["order"]["order"]["selected_option"]["value"] == "O-9"


def test_a_pushed_view_lies_on_top_and_closing_it_may_clear_all(scene: Scene) -> None:
    opened = scene.open()

    scene.hand.do("press", user="alice", view_id=opened["id"], action_id="deeper")

    assert scene.titles() == ["First", "Second"]
    scene.hand.do("close", user="alice")
    assert scene.titles() == []


@pytest.mark.parametrize(
    ("reply", "left"),
    [
        ({}, []),
        ({"response_action": "clear"}, []),
        ({"response_action": "update", "view": view("Changed")}, ["Changed"]),
        ({"response_action": "push", "view": view("Pushed")}, ["First", "Pushed"]),
    ],
    ids=["nothing", "clear", "update", "push"],
)
def test_the_answer_to_a_form_decides_what_is_shown_next(scene: Scene, reply: dict[str, Any], left: list[str]) -> None:
    scene.open()
    scene.reply = reply

    told = scene.hand.do("submit", user="alice")

    assert (told["acked"], told["response_action"]) == (True, reply.get("response_action"))
    assert scene.titles() == left


@pytest.mark.parametrize(
    "reply",
    [
        {"response_action": "errors", "errors": {"nowhere": "x"}},
        {"response_action": "update", "view": view("A title of more than 24 letters")},
    ],
    ids=["unknown block", "bad view"],
)
def test_an_answer_that_slack_cannot_use_is_trouble_for_the_person(scene: Scene, reply: dict[str, Any]) -> None:
    scene.open()
    scene.reply = reply

    told = scene.hand.do("submit", user="alice")

    assert told["acked"] is False
    assert told["said"] == "We had some trouble connecting. Try again?"
    assert scene.titles() == ["First"]


def test_a_payload_goes_to_one_of_several_connections(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("workspace") / "w.db"
    heard: list[str] = []
    with running(path) as (sandbox, hand):
        apps = [bolt(sandbox.api_url) for _ in range(2)]
        for number, app in enumerate(apps):
            app.action("start")(_noting(heard, str(number)))
        with connected(apps[0]), connected(apps[1]):
            eventually(lambda: sandbox.connections == 2)
            blocks = [{"type": "actions", "elements": [button("start")]}]
            ts = hand.api("chat.postMessage", channel="C01REFUNDS", text="x", blocks=blocks)["ts"]
            for _ in range(4):
                assert hand.do("press", user="alice", channel="refunds", ts=ts, action_id="start")["acked"]
            assert sorted(heard) == ["0", "0", "1", "1"]
            told = hand.do("refresh")["told"]
            eventually(lambda: sandbox.connections == 2)

            again = hand.do("press", user="alice", channel="refunds", ts=ts, action_id="start")

            assert (told, again["acked"]) == (2, True)


def _noting(heard: list[str], name: str) -> Callable[[Any], None]:
    def listener(ack: Any) -> None:
        ack()
        heard.append(name)

    return listener
