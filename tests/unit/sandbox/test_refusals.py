"""The sandbox refuses what Slack refuses, with Slack's words."""

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from seconder.sandbox.server import Sandbox
from tests.support.sandbox import Hand, running


class Clock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, clock: Clock) -> Iterator[tuple[Sandbox, Hand]]:
    with running(tmp_path_factory.mktemp("workspace") / "w.db", clock=clock) as found:
        yield found


@pytest.fixture
def hand(place: tuple[Sandbox, Hand]) -> Hand:
    return place[1]


@pytest.fixture
def trigger(place: tuple[Sandbox, Hand]) -> str:
    return _trigger(place[0])


def _trigger(sandbox: Sandbox) -> str:
    return sandbox.acts.handles.trigger("U02ALICE")


def text(words: str, kind: str = "plain_text") -> dict[str, Any]:
    return {"type": kind, "text": words}


def section(words: str) -> dict[str, Any]:
    return {"type": "section", "text": text(words, "mrkdwn")}


def button(**changes: Any) -> dict[str, Any]:
    return {"type": "button", "action_id": "a", "text": text("Go"), **changes}


def actions(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "actions", "elements": list(elements)}


def option(words: str, value: str) -> dict[str, Any]:
    return {"text": text(words), "value": value}


def modal(*blocks: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"type": "modal", "title": text("Form"), "blocks": list(blocks) or [section("x")], **changes}


TYPED = {"type": "plain_text_input", "action_id": "v"}
ENTRY: dict[str, Any] = {"type": "input", "block_id": "i", "label": text("Why"), "element": TYPED}
CONFIRM = {"title": text("x" * 101), "text": text("x"), "confirm": text("y"), "deny": text("n")}
CELL = {"type": "raw_text", "text": "x"}
PILLS = {"type": "static_select", "action_id": "s", "options": [option("A", "a")]}

BAD_BLOCKS = {
    "51 blocks": ([section("x")] * 51, "no more than 50 items allowed [json-pointer:/blocks]"),
    "a long section": ([section("x" * 3001)], "must be less than 3001 characters [json-pointer:/blocks/0/text/text]"),
    "ampersands count as entities": ([section("&" * 601)], "[json-pointer:/blocks/0/text/text]"),
    "angle brackets count in plain text": ([{"type": "header", "text": text("<" * 38)}], "must be less than 151"),
    "an empty text": ([section("")], "must be more than 0 characters"),
    "an empty rich text": (
        [
            {
                "type": "rich_text",
                "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": ""}]}],
            }
        ],
        "must be more than 0 characters",
    ),
    "a long header": ([{"type": "header", "text": text("x" * 151)}], "must be less than 151 characters"),
    "markup in a header": ([{"type": "header", "text": text("x", "mrkdwn")}], "'plain_text' was expected"),
    "a long field": (
        [{"type": "section", "fields": [text("x" * 2001)]}],
        "must be less than 2001 characters [json-pointer:/blocks/0/fields/0/text]",
    ),
    "eleven fields": ([{"type": "section", "fields": [text("x")] * 11}], "no more than 10 items allowed"),
    "eleven context elements": ([{"type": "context", "elements": [text("x")] * 11}], "no more than 10 items"),
    "26 buttons": ([actions(*[button(action_id=f"a{i}") for i in range(26)])], "no more than 25 items"),
    "a long button": ([actions(button(text=text("x" * 76)))], "[json-pointer:/blocks/0/elements/0/text/text]"),
    "a long value": ([actions(button(value="x" * 2001))], "[json-pointer:/blocks/0/elements/0/value]"),
    "a bad style": ([actions(button(style="green"))], "'green' is not one of"),
    "an unknown key": ([actions(button(colour="red"))], "'colour' was unexpected"),
    "an unknown block": ([{"type": "banner"}], "unsupported type: banner"),
    "an unknown element": ([actions({"type": "slider", "action_id": "a"})], "unsupported type: slider"),
    "a text input among actions": ([actions(TYPED)], "unsupported type: plain_text_input"),
    "an alert in a message": ([{"type": "alert", "text": text("x")}], "unsupported type: alert"),
    "an input in a message": ([ENTRY], "unsupported type: input"),
    "two blocks of one name": (
        [section("x") | {"block_id": "b"}, section("y") | {"block_id": "b"}],
        "`block_id` already exists: b",
    ),
    "two buttons of one name": ([actions(button(), button())], "`action_id` already exists: a"),
    "a long option": ([actions(PILLS | {"options": [option("x" * 76, "a")]})], "/options/0/text/text]"),
    "a long option value": ([actions(PILLS | {"options": [option("x", "v" * 151)]})], "/options/0/value]"),
    "101 options": ([actions(PILLS | {"options": [option("x", str(i)) for i in range(101)]})], "no more than 100"),
    "a foreign initial option": ([actions(PILLS | {"initial_option": option("B", "b")})], "initial option is not one"),
    "six in an overflow": (
        [
            actions(
                {"type": "overflow", "action_id": "o", "options": [option("x", str(i)) for i in range(6)]},
            )
        ],
        "no more than 5 items",
    ),
    "a long confirmation": (
        [actions(button(confirm=CONFIRM))],
        "/confirm/title/text]",
    ),
    "a wide table": ([{"type": "table", "rows": [[CELL] * 21]}], "no more than 20 items"),
    "a long block name": ([section("x") | {"block_id": "b" * 256}], "must be less than 256 characters"),
}


@pytest.mark.parametrize("case", BAD_BLOCKS)
def test_blocks_that_slack_refuses_are_refused_with_a_pointer(hand: Hand, case: str) -> None:
    blocks, said = BAD_BLOCKS[case]

    answer = hand.api("chat.postMessage", channel="C01REFUNDS", text="x", blocks=blocks)

    assert (answer["ok"], answer["error"]) == (False, "invalid_blocks")
    assert said in answer["response_metadata"]["messages"][0]


def test_all_text_of_a_message_is_limited_together(hand: Hand) -> None:
    answer = hand.api("chat.postMessage", channel="C01REFUNDS", text="x", blocks=[section("x" * 2500)] * 5)

    assert answer["error"] == "msg_blocks_too_long"


def test_a_good_message_comes_back_with_names_for_its_blocks(hand: Hand) -> None:
    answer = hand.api("chat.postMessage", channel="#refunds", text="Hi", blocks=[section("x"), actions(button())])

    assert (answer["ok"], answer["channel"]) == (True, "C01REFUNDS")
    assert all(block["block_id"] for block in answer["message"]["blocks"])
    assert answer["message"]["bot_id"] == "B0SECONDER"


BAD_CALLS: dict[str, tuple[str, dict[str, Any], str]] = {
    "nothing to say": ("chat.postMessage", {"channel": "C01REFUNDS"}, "no_text"),
    "no such channel": ("chat.postMessage", {"channel": "C0NOWHERE", "text": "x"}, "channel_not_found"),
    "no such thread": (
        "chat.postMessage",
        {"channel": "C01REFUNDS", "text": "x", "thread_ts": "1.000001"},
        "thread_not_found",
    ),
    "metadata without a type": (
        "chat.postMessage",
        {"channel": "C01REFUNDS", "text": "x", "metadata": {"a": 1}},
        "invalid_metadata_format",
    ),
    "no such message": ("chat.update", {"channel": "C01REFUNDS", "ts": "1.000001", "text": "x"}, "message_not_found"),
    "a long update": ("chat.update", {"channel": "C01REFUNDS", "ts": "1.1", "text": "x" * 4001}, "msg_too_long"),
    "deleting nothing": ("chat.delete", {"channel": "C01REFUNDS", "ts": "1.000001"}, "message_not_found"),
    "whispering to nobody": (
        "chat.postEphemeral",
        {"channel": "C01REFUNDS", "user": "U0NOBODY", "text": "x"},
        "user_not_found",
    ),
    "whispering outside": (
        "chat.postEphemeral",
        {"channel": "C02LEADS", "user": "U06OLGA", "text": "x"},
        "user_not_in_channel",
    ),
    "no such user": ("users.info", {"user": "U0NOBODY"}, "user_not_found"),
    "no such address": ("users.lookupByEmail", {"email": "no@acme.example"}, "users_not_found"),
    "no such group": ("usergroups.users.list", {"usergroup": "S0NONE"}, "no_such_subteam"),
    "no such method": ("chat.shout", {}, "unknown_method"),
    "an unknown trigger": ("views.open", {"trigger_id": "1.2.3", "view": modal()}, "invalid_trigger_id"),
    "no such view": ("views.update", {"view_id": "V0NONE", "view": modal()}, "not_found"),
    "a home for nobody": (
        "views.publish",
        {"user_id": "U0NOBODY", "view": {"type": "home", "blocks": []}},
        "user_not_found",
    ),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_calls_that_slack_refuses_are_refused_in_its_words(hand: Hand, case: str) -> None:
    method, arguments, error = BAD_CALLS[case]

    answer = hand.api(method, **arguments)

    assert (answer["ok"], answer["error"]) == (False, error)


def test_a_persons_message_cannot_be_updated_by_the_app(hand: Hand) -> None:
    ts = hand.do("post", user="riley", channel="refunds", text="Mine")["ts"]

    answer = hand.api("chat.update", channel="C01REFUNDS", ts=ts, text="Ours")

    assert answer["error"] == "cant_update_message"


def test_the_app_writes_only_where_it_is_a_member(place: tuple[Sandbox, Hand]) -> None:
    sandbox, hand = place
    directory = sandbox.workspace.directory
    directory.change_channel("C06GENERAL", members=["U01RILEY"])
    directory.change_channel("C05SUPPORT", is_archived=True)

    said = [hand.api("chat.postMessage", channel=c, text="x")["error"] for c in ("C06GENERAL", "C05SUPPORT")]

    assert said == ["not_in_channel", "is_archived"]


@pytest.mark.parametrize(
    ("token", "error"), [("", "not_authed"), ("xoxb-other", "invalid_auth"), ("xapp-sandbox", "not_allowed_token_type")]
)
def test_a_wrong_token_is_refused(hand: Hand, token: str, error: str) -> None:
    assert hand.api("auth.test", token=token) == {"ok": False, "error": error}


BAD_VIEWS = {
    "a long title": (modal(title=text("x" * 25)), "[json-pointer:/view/title/text]"),
    "a long submit": (modal(submit=text("x" * 25)), "[json-pointer:/view/submit/text]"),
    "an input without submit": (modal(ENTRY), "`submit` is required"),
    "much private metadata": (modal(private_metadata="x" * 3001), "[json-pointer:/view/private_metadata]"),
    "a table in a modal": (modal({"type": "table", "rows": [[CELL]]}), "unsupported type: table"),
    "markdown in a modal": (modal({"type": "markdown", "text": "x"}), "unsupported type: markdown"),
    "101 blocks": (modal(*[section("x")] * 101), "no more than 100 items"),
    "a number without its kind": (
        modal(ENTRY | {"element": {"type": "number_input", "action_id": "v"}}, submit=text("Go")),
        "`is_decimal_allowed` is a required field",
    ),
    "no title": ({"type": "modal", "blocks": []}, "`title` is a required field"),
}


@pytest.mark.parametrize("case", BAD_VIEWS)
def test_views_that_slack_refuses_are_refused_with_a_pointer(hand: Hand, trigger: str, case: str) -> None:
    view, said = BAD_VIEWS[case]

    answer = hand.api("views.open", trigger_id=trigger, view=view)

    assert answer["error"] == "invalid_arguments"
    assert any(said in message for message in answer["response_metadata"]["messages"])


def test_a_trigger_opens_one_view_and_dies_after_three_seconds(place: tuple[Sandbox, Hand], clock: Clock) -> None:
    sandbox, hand = place
    used, late = _trigger(sandbox), _trigger(sandbox)

    first = hand.api("views.open", trigger_id=used, view=modal())
    second = hand.api("views.open", trigger_id=used, view=modal())
    clock.now += 3.1
    third = hand.api("views.open", trigger_id=late, view=modal())

    assert [first["ok"], second["error"], third["error"]] == [True, "exchanged_trigger_id", "expired_trigger_id"]


def test_a_stale_hash_is_a_conflict(hand: Hand, trigger: str) -> None:
    view = hand.api("views.open", trigger_id=trigger, view=modal())["view"]

    fresh = hand.api("views.update", view_id=view["id"], hash=view["hash"], view=modal(section("y")))
    stale = hand.api("views.update", view_id=view["id"], hash=view["hash"], view=modal(section("z")))

    assert (fresh["ok"], stale["error"]) == (True, "hash_conflict")
    assert fresh["view"]["id"] == view["id"]


def test_a_fourth_modal_does_not_fit_on_the_stack(place: tuple[Sandbox, Hand]) -> None:
    sandbox, hand = place
    hand.api("views.open", trigger_id=_trigger(sandbox), view=modal())

    pushed = [hand.api("views.push", trigger_id=_trigger(sandbox), view=modal()) for _ in range(3)]

    assert [answer.get("error") for answer in pushed] == [None, None, "push_limit_reached"]
    assert len(hand.see("modals", user="alice")) == 3


def test_what_was_typed_survives_an_update_of_the_view(place: tuple[Sandbox, Hand], trigger: str) -> None:
    sandbox, hand = place
    entry = deepcopy(ENTRY)
    view = hand.api("views.open", trigger_id=trigger, view=modal(entry, submit=text("Go")))["view"]
    sandbox.acts.modals.type_in(view["id"], {"i": {"v": {"type": "plain_text_input", "value": "typed"}}})
    entry["element"]["initial_value"] = "ignored"

    updated = hand.api("views.update", view_id=view["id"], view=modal(entry, submit=text("Go")))

    assert updated["view"]["state"]["values"]["i"]["v"]["value"] == "typed"


def test_metadata_is_told_only_to_who_asks_for_it(hand: Hand) -> None:
    metadata = {"event_type": "review", "event_payload": {"id": "r1"}}
    ts = hand.api("chat.postMessage", channel="C04AGENTS", text="x", metadata=metadata)["ts"]

    [plain] = hand.api("conversations.history", channel="C04AGENTS")["messages"]
    [full] = hand.api("conversations.history", channel="C04AGENTS", include_all_metadata=True)["messages"]

    assert "metadata" not in plain
    assert (full["metadata"], full["ts"]) == (metadata, ts)


def test_a_real_token_is_not_taken(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no real Slack tokens"):
        Sandbox(tmp_path / "w.db", port=0, bot_token="xoxb-123456789012-123456789012-abcdefghijklmnopqrstuvwx")


def test_another_machine_cannot_be_served(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="this machine only"):
        Sandbox(tmp_path / "w.db", host="0.0.0.0", port=0)  # noqa: S104
