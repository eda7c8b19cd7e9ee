"""Facts about people that are too old are looked at in Slack, without asking it too often or waiting too long."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from seconder.bot import ids
from seconder.bot.people import PEOPLE_AT_A_TIME, Refresher
from seconder.bot.slack import make_client
from seconder.desk import people
from seconder.review import Review, Status
from seconder.sandbox.seed import BOT_TOKEN
from tests.support.bot import Bot, a_bot, button
from tests.support.desk import ALICE, BOB, LENA, TEAM, refund

ANSWER_IN = 3.0  # seconds, by Slack's rule


def pressed_at_once(bot: Bot, payloads: Sequence[dict[str, object]]) -> list[tuple[httpx.Response, float]]:
    """The answers, each with the seconds it took."""

    def press(payload: dict[str, object]) -> tuple[httpx.Response, float]:
        begun = time.monotonic()
        return bot.send(payload), time.monotonic() - begun

    with ThreadPoolExecutor(len(payloads)) as pool:
        return list(pool.map(press, payloads))


def presses(bot: Bot, number: int) -> tuple[Review, list[dict[str, object]]]:
    """A review, and so many presses of Approve on its card, by one person."""
    review, _ = bot.asked(refund())
    [card] = bot.messages(review)
    return review, [button(ALICE, card, ids.APPROVE) for _ in range(number)]


def test_presses_that_come_together_ask_slack_once(http_bot: Bot) -> None:
    _, payloads = presses(http_bot, 20)

    answers = pressed_at_once(http_bot, payloads)

    assert {answer.status_code for answer, _ in answers} == {200}
    assert len(http_bot.calls("users.info")) <= 2
    assert len(http_bot.calls("usergroups.users.list")) <= 2


def test_looks_that_hang_are_not_in_the_way_of_the_next_press(http_bot: Bot) -> None:
    review, payloads = presses(http_bot, 20)
    http_bot.fault("users.info", "timeout_after", times=20)

    answers = pressed_at_once(http_bot, payloads)
    http_bot.hand.do("faults", kind="500", times=0)
    time.sleep(0.7)  # what hung ends two seconds after it began
    [(again, took)] = pressed_at_once(http_bot, payloads[:1])

    assert max(seconds for _, seconds in answers) < ANSWER_IN
    assert (again.status_code, took < ANSWER_IN) == (200, True)
    assert http_bot.review(review).status is Status.DECIDED


def test_every_group_of_the_policy_is_looked_at_in_one_call(one_bot: Bot) -> None:
    refresher = Refresher(one_bot.desk, make_client(BOT_TOKEN, one_bot.sandbox.api_url))

    refresher.refresh_known()

    groups = one_bot.desk.store.read(lambda tx: [tx.people.group(TEAM, name) for name in ("S0FINANCE", "S0LEADS")])
    assert [group and sorted(group.members) for group in groups] == [[ALICE, BOB], [LENA]]
    assert len(one_bot.calls("usergroups.list")) == 1
    assert not one_bot.calls("usergroups.users.list")
    refresher.close()


def test_people_that_the_policy_names_are_looked_at_by_turns(sqlite_url: str, tmp_path: Path) -> None:
    users = [f"U{number:04}" for number in range(PEOPLE_AT_A_TIME + 2)]
    policy = f"""
version: 1
roles:
  many: {{users: [{", ".join(users)}]}}
fallback: {{channel: "#agents", roles: [many]}}
rules: []
"""
    with a_bot(sqlite_url, tmp_path, policy=policy) as bot:
        refresher = Refresher(bot.desk, make_client(BOT_TOKEN, bot.sandbox.api_url))

        refresher.refresh_known()
        first = [call["args"]["user"] for call in bot.calls("users.info")]
        refresher.refresh_known()
        second = [call["args"]["user"] for call in bot.calls("users.info")][len(first) :]

        assert sorted(first) == users[:PEOPLE_AT_A_TIME]
        assert sorted(second) == users[PEOPLE_AT_A_TIME:]
        refresher.close()


@pytest.mark.parametrize("seconds", [59, 61])
def test_facts_count_for_a_minute(one_bot: Bot, seconds: int) -> None:
    refresher = Refresher(one_bot.desk, make_client(BOT_TOKEN, one_bot.sandbox.api_url))
    refresher.refresh([ALICE], ["S0FINANCE"])
    seen = people.now(one_bot.desk)
    _, card = one_bot.asked(refund())
    spent = people.now(one_bot.desk) - seen

    one_bot.desk.store.write(lambda tx: tx.push_clock(timedelta(seconds=seconds) - spent))
    one_bot.press(ALICE, card, "Approve")

    assert len(one_bot.calls("users.info")) == (1 if seconds < 60 else 2)
    refresher.close()
