"""What a payload of Slack's says about who pressed what where."""

from typing import Any

import pytest

from seconder.bot.presses import Kept, kept, pressed, sent

PRESS: dict[str, Any] = {
    "type": "block_actions",
    "user": {"id": "U02ALICE", "team_id": "T0DEMO"},
    "team": {"id": "T0DEMO"},
    "enterprise": None,
    "channel": {"id": "C01REFUNDS"},
    "message": {"ts": "1.5"},
    "container": {"type": "message", "channel_id": "C01REFUNDS", "message_ts": "1.5"},
    "actions": [{"action_id": "approve", "value": "a" * 32}],
}


def test_a_press_says_who_where_and_on_which_token() -> None:
    press = pressed(PRESS)

    assert (press.user_id, press.team_id, press.enterprise_id) == ("U02ALICE", "T0DEMO", None)
    assert (press.channel_id, press.ts, press.token) == ("C01REFUNDS", "1.5", "a" * 32)


def test_the_workspace_of_a_person_counts_not_the_one_of_the_channel() -> None:
    assert pressed({**PRESS, "user": {"id": "U1", "team_id": "T0OTHER"}}).team_id == "T0OTHER"


def test_an_organisation_without_a_team_is_told_apart() -> None:
    press = pressed({**PRESS, "user": {"id": "U1"}, "team": None, "enterprise": {"id": "E1"}})

    assert (press.team_id, press.enterprise_id) == ("", "E1")


@pytest.mark.parametrize(
    "missing",
    [
        {"channel": None, "message": None, "container": None},
        {"channel": None, "container": {"type": "view", "view_id": "V1"}},
        {"message": None, "container": {"channel_id": "C01REFUNDS"}},
        {"channel": None, "container": {"message_ts": "1.5"}},
    ],
)
def test_a_button_without_a_message_is_nowhere_and_never_taken_for_a_form(missing: dict[str, Any]) -> None:
    press = pressed({**PRESS, **missing})

    assert (press.channel_id, press.ts) == ("", "")


def test_the_container_says_the_place_of_an_ephemeral_message() -> None:
    press = pressed({**PRESS, "channel": None, "message": None})

    assert (press.channel_id, press.ts) == ("C01REFUNDS", "1.5")


@pytest.mark.parametrize("value", [None, 5, "", "x" * 300, "a\nb", "ü"])
def test_a_value_that_no_token_of_ours_has_is_an_empty_token(value: object) -> None:
    assert pressed({**PRESS, "actions": [{"action_id": "approve", "value": value}]}).token == ""


def test_a_form_has_its_token_and_no_place() -> None:
    press = sent({**PRESS, "view": {"id": "V1", "private_metadata": '{"token": "abc", "page": 3}'}})

    assert (press.token, press.channel_id, press.ts) == ("abc", None, None)


@pytest.mark.parametrize("held", ["", "{", "[]", "5", '{"page": "x"}', '{"token": 5}', "[" * 100_000])
def test_a_view_that_is_not_ours_has_no_token(held: str) -> None:
    assert kept({"view": {"private_metadata": held}}) == Kept("", 0)
