"""What the dispatcher does when Slack is slow, silent, full of limits, or has lost what was posted."""

import logging
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from slack_sdk import WebClient

from seconder.action import Action
from seconder.bot.dispatcher import Dispatcher
from seconder.bot.people import Refresher
from seconder.bot.reconciler import Reconciler
from seconder.desk import delivery, look
from seconder.review import Delivery, Interrupt, Requester, Review
from seconder.sandbox.seed import BOT_TOKEN
from seconder.sandbox.server import Sandbox
from seconder.store.queue import MAX_ATTEMPTS
from tests.support.bot import Bot, a_bot
from tests.support.desk import ALICE, OLGA, refund
from tests.support.sandbox import eventually

MINUTE = timedelta(minutes=1)


def of_tool(tool: str, call_id: str = "call_1") -> Interrupt:
    return refund(action=Action(tool=tool, arguments={"amount": 240, "order": "O-991"}), call_id=call_id)


def cards_of(bot: Bot, channel: str) -> list[str]:
    return [card.ts for card in bot.cards(channel)]


def is_delivered(bot: Bot, review: Review, how: Delivery) -> Callable[[], bool]:
    return lambda: bot.review(review).delivery is how


def waits_for_certainty(bot: Bot, review: Review) -> None:
    """The post has failed, and nobody knows whether Slack has it."""
    eventually(
        lambda: bot.messages(review)[0].state == "posting" and [one for one in look.queued(bot.desk) if one.error]
    )


class Refusing(WebClient):
    """Slack as it is when it refuses a layout: the whole card gets a block that the workspace does not know."""

    def chat_postMessage(self, **sent: Any) -> Any:  # noqa: N802
        return super().chat_postMessage(**self._spoiled(sent))

    def chat_update(self, **sent: Any) -> Any:
        return super().chat_update(**self._spoiled(sent))

    def _spoiled(self, sent: dict[str, Any]) -> dict[str, Any]:
        minimal = any(block.get("block_id") == "minimal" for block in sent["blocks"])
        return sent if minimal else {**sent, "blocks": [*sent["blocks"], {"type": "of tomorrow"}]}


def test_a_rate_limit_in_one_channel_holds_up_no_other(one_bot: Bot) -> None:
    one_bot.fault("chat.postMessage", "429", retry_after=3)
    slow = one_bot.submit(refund())
    eventually(lambda: one_bot.calls("chat.postMessage"))
    quick = one_bot.submit(of_tool("send_mail"))

    one_bot.posted(quick, "outbound-mail")
    assert not one_bot.cards("refunds")
    one_bot.posted(slow)

    limited, other, again = one_bot.calls("chat.postMessage")
    assert (limited["status"], other["status"], again["status"]) == (429, 200, 200)
    assert 3 <= again["at"] - limited["at"] < 6


def test_a_burst_in_one_channel_is_posted_a_card_a_second(one_bot: Bot) -> None:
    one_bot.sandbox.rates = True
    reviews = [one_bot.submit(refund(call_id=f"call_{number}")) for number in range(4)]

    for review in reviews:
        one_bot.posted(review)

    posts = one_bot.calls("chat.postMessage")
    assert [post["status"] for post in posts] == [200] * 4
    assert posts[-1]["at"] - posts[0]["at"] > 2


def test_a_hundred_cards_for_one_channel_do_not_all_come_again_every_second(sqlite_url: str, tmp_path: Path) -> None:
    with a_bot(sqlite_url, tmp_path, dispatching=False) as bot:
        for number in range(100):
            bot.submit(refund(call_id=f"call_{number}"))
        while bot.dispatcher.work_once():
            pass

        posted = len(bot.cards("refunds"))
        dues = [item.due_at for item in look.queued(bot.desk)]

        assert posted + len(dues) == 100
        assert max(dues) - min(dues) > timedelta(seconds=90)


def test_a_post_whose_answer_is_lost_gives_one_card(database_url: str, tmp_path: Path) -> None:
    with a_bot(database_url, tmp_path, timeout=1) as bot:
        bot.fault("chat.postMessage", "timeout_after")
        review = bot.submit(refund())
        eventually(lambda: bot.cards("refunds"))
        waits_for_certainty(bot, review)
        bot.later(timedelta(seconds=11))

        card = bot.posted(review)

        assert cards_of(bot, "refunds") == [card.ts]
        assert len(bot.calls("chat.postMessage")) == 1
        bot.press(ALICE, card, "Approve")
        bot.card("refunds", "Approved by")


def test_a_press_on_a_card_whose_answer_was_lost_counts_and_there_stays_one_card(
    sqlite_url: str, tmp_path: Path
) -> None:
    with a_bot(sqlite_url, tmp_path, timeout=1) as bot:
        bot.fault("chat.postMessage", "timeout_after")
        review = bot.submit(refund())
        card = bot.card("refunds", "Approve")

        bot.press(ALICE, card, "Approve")
        bot.later(timedelta(seconds=11))
        bot.card("refunds", "Approved by")

        assert bot.review(review).decision is not None
        assert cards_of(bot, "refunds") == [card.ts]


def test_a_post_that_never_arrived_is_made_again(database_url: str, tmp_path: Path) -> None:
    with a_bot(database_url, tmp_path) as bot:
        bot.fault("chat.postMessage", "drop")
        review = bot.submit(refund())
        waits_for_certainty(bot, review)
        bot.later(timedelta(seconds=11))

        card = bot.posted(review)

        assert cards_of(bot, "refunds") == [card.ts]
        assert len(bot.calls("chat.postMessage")) == 2


def test_two_dispatchers_post_a_card_once(bot: Bot) -> None:
    client = WebClient(token=BOT_TOKEN, base_url=bot.sandbox.api_url, retry_handlers=[])
    refresher = Refresher(bot.desk, client)
    other = Dispatcher(bot.desk, client, refresher, worker_name="other", monotonic=bot.clock)
    other.start()
    reviews = [bot.submit(of_tool("send_mail", f"call_{number}")) for number in range(5)]

    for review in reviews:
        bot.posted(review, "outbound-mail")
    other.stop()
    refresher.close()

    assert len(bot.cards("outbound-mail")) == 5
    assert len([one for one in bot.calls("chat.postMessage") if one["ok"]]) == 5


def test_only_one_of_two_announces_a_post(database_url: str, tmp_path: Path) -> None:
    with a_bot(database_url, tmp_path, dispatching=False) as bot:
        [message] = bot.messages(bot.submit(refund()))

        announced = [delivery.posting(bot.desk, message.id, channel_id="C01REFUNDS") for _ in range(2)]

        assert announced == [True, False]


def test_a_deleted_card_of_a_pending_review_is_posted_again_with_another_token(bot: Bot) -> None:
    review, card = bot.asked(of_tool("wire"))
    [gone] = bot.messages(review)
    assert bot.hand.api("chat.delete", channel=gone.channel_id, ts=gone.ts)["ok"]

    Reconciler(bot.desk).check_some()
    fresh = eventually(lambda: next((c for c in bot.cards("refunds") if c.ts != card.ts), None))
    bot.press(ALICE, card, "Approve", stale=True)
    again = bot.posted(review)

    assert again.ts == fresh.ts
    assert len(bot.cards("refunds")) == 1
    assert len({message.token for message in bot.messages(review)}) == 2
    assert "card_gone" in bot.trail(review)


def test_a_missing_channel_is_a_visible_state_and_the_card_comes_once_it_exists(bot: Bot) -> None:
    review = bot.submit(of_tool("elsewhere"))
    eventually(is_delivered(bot, review, Delivery.UNDELIVERED))
    [error] = eventually(lambda: [item.error for item in look.queued(bot.desk) if item.error is not None])
    assert error == "there is no channel #not-there-yet that the bot can see"
    assert bot.trail(review) == ["submitted", "undelivered"]

    directory = bot.sandbox.workspace.directory
    place = directory.channel_named("support")
    directory.change_channel(place["id"], name="not-there-yet")
    bot.later(MINUTE)

    bot.posted(review, "not-there-yet")
    assert bot.review(review).delivery is Delivery.POSTED
    assert bot.trail(review) == ["submitted", "undelivered", "posted"]


def test_a_channel_without_the_bot_is_a_visible_state_and_the_card_comes_once_it_is_invited(one_bot: Bot) -> None:
    one_bot.hand.do("people", user="U0SECONDER", channel="refunds", member=False)
    review = one_bot.submit(refund())
    eventually(is_delivered(one_bot, review, Delivery.UNDELIVERED))
    assert [call["error"] for call in one_bot.calls("chat.postMessage")] == ["not_in_channel"]

    one_bot.hand.do("people", user="U0SECONDER", channel="refunds", member=True)
    one_bot.later(MINUTE)

    one_bot.posted(review)
    assert one_bot.review(review).delivery is Delivery.POSTED


def test_what_was_tried_too_often_is_undelivered_and_can_be_tried_again(sqlite_url: str, tmp_path: Path) -> None:
    with a_bot(sqlite_url, tmp_path, dispatching=False) as bot:
        bot.fault("conversations.list", "500", times=MAX_ATTEMPTS)
        review = bot.submit(of_tool("wire"))
        for _ in range(MAX_ATTEMPTS):
            assert bot.dispatcher.work_once() == 1
            bot.later(timedelta(minutes=15))
        [item] = look.queued(bot.desk, state="dead")

        assert item.attempts == MAX_ATTEMPTS
        assert bot.review(review).delivery is Delivery.UNDELIVERED
        assert delivery.retry(bot.desk, item.id)
        assert bot.dispatcher.work_once() == 1
        assert bot.review(review).delivery is Delivery.POSTED


def test_a_channel_that_is_missing_for_a_day_is_not_given_up(sqlite_url: str, tmp_path: Path) -> None:
    with a_bot(sqlite_url, tmp_path, dispatching=False) as bot:
        interrupt = of_tool("elsewhere")
        bot.submit(interrupt)

        for _ in range(2 * MAX_ATTEMPTS):
            assert bot.dispatcher.work_once() == 1
            bot.later(timedelta(minutes=1))

        assert not look.queued(bot.desk, state="dead")


def test_a_layout_that_slack_refuses_is_replaced_by_a_minimal_card(sqlite_url: str, tmp_path: Path) -> None:
    with a_bot(sqlite_url, tmp_path, client=Refusing) as bot:
        review, card = bot.asked(refund())

        assert "Slack refused the whole card. Open View all before you decide." in card.text
        assert {"Approve", "Edit…", "Reject…", "View all"} <= set(card.buttons)
        bot.press(ALICE, card, "Approve")
        shown = bot.card("refunds", "Approved by")

        assert bot.review(review).delivery is Delivery.POSTED
        assert "Approve" not in shown.buttons
        assert not look.queued(bot.desk)


def test_an_update_that_slack_limits_is_made_later(one_bot: Bot) -> None:
    _, card = one_bot.asked(refund())
    one_bot.fault("chat.update", "429", retry_after=2)

    one_bot.press(ALICE, card, "Approve")
    one_bot.card("refunds", "Approved by")

    limited, again = one_bot.calls("chat.update")
    assert 2 <= again["at"] - limited["at"] < 5


def test_an_email_that_slack_will_not_look_up_leaves_the_review_undelivered_until_it_does(one_bot: Bot) -> None:
    for _ in range(2):
        one_bot.fault("users.lookupByEmail", "500")
    review = one_bot.submit(refund(requester=Requester(email="riley@acme.example")))
    eventually(lambda: len(one_bot.calls("users.lookupByEmail")) == 1)
    assert not one_bot.cards("refunds")
    one_bot.later(MINUTE)
    one_bot.later(MINUTE)

    one_bot.posted(review)
    assert one_bot.review(review).requester_user == "U01RILEY"


def test_a_rung_that_is_done_while_the_bot_is_away_is_shown_when_it_is_back(sqlite_url: str, tmp_path: Path) -> None:
    with a_bot(sqlite_url, tmp_path, dispatching=False) as bot:
        review = bot.submit(refund())
        bot.later(timedelta(minutes=25))
        bot.dispatcher.start()

        bot.posted(review, "finance-leads")
        bot.dispatcher.stop()

        assert not bot.cards("refunds")
        assert len(bot.cards("finance-leads")) == 1


def test_presses_arrive_again_after_the_workspace_was_away(sqlite_url: str, tmp_path: Path) -> None:
    with a_bot(sqlite_url, tmp_path) as bot:
        review, card = bot.asked(refund())
        port = int(bot.sandbox.url.rsplit(":", 1)[1])
        bot.sandbox.stop()
        assert bot.socket is not None
        assert not bot.socket.connected
        again = Sandbox(tmp_path / "workspace.db", port=port, rates=False, clock=bot.clock.wall)
        again.start()
        try:
            eventually(lambda: again.connections, seconds=15)
            assert bot.press(ALICE, card, "Approve")["acked"]
            bot.card("refunds", "Approved by", seconds=15)
        finally:
            again.stop()

        assert bot.review(review).decision is not None


def test_a_connection_that_slack_wants_renewed_is_renewed(one_bot: Bot) -> None:
    _, card = one_bot.asked(refund())

    one_bot.hand.do("refresh")
    eventually(lambda: one_bot.sandbox.connections == 1, seconds=10)

    assert one_bot.press(ALICE, card, "Approve")["acked"]


def test_no_token_and_no_argument_is_logged(
    sqlite_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    with a_bot(sqlite_url, tmp_path, over="http") as bot:
        review, card = bot.asked(refund(action=Action(tool="issue_refund", arguments={"order": "secret-order"})))
        bot.press(OLGA, card, "Approve")
        bot.told(OLGA, "Only finance")
        bot.press(ALICE, card, "Edit…")
        bot.form(ALICE)
        [payload, _] = bot.deliveries("block_actions")
        bot.post(b"payload=secret-order", {"x-slack-signature": "v0=" + "0" * 64, "x-slack-request-timestamp": "1"})
        bot.send({**payload, "actions": "secret-order"})
        bot.press(ALICE, card, "Approve")
        bot.card("refunds", "Approved by")
        tokens = [message.token for message in bot.messages(review)]
    out, err = capfd.readouterr()
    logged = caplog.text + out + err

    assert "bot.refused" in logged
    assert all(secret not in logged for secret in ("secret-order", "xoxb-", *filter(None, tokens)))
