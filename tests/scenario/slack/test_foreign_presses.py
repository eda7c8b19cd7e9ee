"""Presses from where our cards are not: each part of a card's place is compared, and the presser is told."""

from collections.abc import Callable
from typing import Any

import pytest

from seconder.bot import ids
from seconder.review import Review, Status
from seconder.store.messages import Message
from tests.support.bot import Bot, button
from tests.support.desk import ALICE, OLGA, refund

Change = Callable[[dict[str, Any]], object]


def posted(bot: Bot) -> tuple[Review, Message]:
    review, _ = bot.asked(refund())
    [card] = bot.messages(review)
    return review, card


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda body: body["actions"][0].update(value="f" * 32), id="another token"),
        pytest.param(lambda body: body["actions"][0].pop("value"), id="no token"),
        pytest.param(lambda body: body["user"].update(team_id="T0OTHER"), id="a person of another workspace"),
        pytest.param(
            lambda body: (body["team"].update(id="T0OTHER"), body["user"].pop("team_id")), id="another workspace"
        ),
        pytest.param(lambda body: body.update(enterprise={"id": "E0OTHER"}), id="an organisation"),
        pytest.param(
            lambda body: (body.update(team=None, enterprise={"id": "E1"}), body["user"].pop("team_id")),
            id="an organisation without a workspace",
        ),
        pytest.param(
            lambda body: body.update(channel={"id": "C06GENERAL"}, container={"channel_id": "C06GENERAL"}),
            id="another channel",
        ),
        pytest.param(lambda body: body.update(message={"ts": "1.5"}, container={"message_ts": "1.5"}), id="a copy"),
        pytest.param(lambda body: (body.pop("message"), body.pop("container")), id="no message"),
    ],
)
def test_a_press_from_elsewhere_decides_nothing_and_is_told(http_bot: Bot, change: Change) -> None:
    review, card = posted(http_bot)
    payload = button(ALICE, card, ids.APPROVE)
    change(payload)

    answer = http_bot.send(payload)

    assert answer.status_code == 200
    http_bot.told(ALICE, "Nothing was decided")
    assert http_bot.review(review).status is Status.PENDING


def test_a_press_that_says_no_place_at_all_decides_nothing(http_bot: Bot) -> None:
    review, card = posted(http_bot)
    payload = button(ALICE, card, ids.APPROVE)
    for part in ("channel", "message", "container"):
        payload.pop(part)

    http_bot.send(payload)

    assert http_bot.review(review).status is Status.PENDING
    assert http_bot.trail(review).count("decided") == 0


def test_somebody_who_only_looks_into_the_channel_is_told_as_well(one_bot: Bot) -> None:
    review, card = one_bot.asked(refund())
    directory = one_bot.sandbox.workspace.directory
    members = directory.channel("C01REFUNDS")["members"]
    directory.change_channel("C01REFUNDS", members=[person for person in members if person != OLGA])

    one_bot.press(OLGA, card, "Approve")

    one_bot.told(OLGA, "Only finance can decide this.")
    assert one_bot.review(review).status is Status.PENDING
