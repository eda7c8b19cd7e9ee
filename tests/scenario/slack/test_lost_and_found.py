"""What Slack did not answer, and what somebody deleted: the rows know in the end, and nothing stands twice."""

import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

from slack_sdk import WebClient

from seconder.desk import delivery, look
from seconder.review import Delivery, Review, Status
from seconder.store.messages import Message
from tests.support.bot import Bot, a_bot
from tests.support.desk import ALICE, refund
from tests.support.sandbox import eventually

REFUNDS = "C01REFUNDS"


def replies_of(bot: Bot, review: Review) -> list[Message]:
    return [one for one in bot.messages(review) if one.kind == "reply"]


def test_a_card_that_a_press_has_bound_is_posted(database_url: str, tmp_path: Path) -> None:
    with a_bot(database_url, tmp_path, timeout=1) as bot:
        bot.fault("chat.postMessage", "timeout_after")
        review = bot.submit(refund())

        bot.press(ALICE, bot.card("refunds", "Approve"), "Approve")

        bot.card("refunds", "Approved by")
        assert bot.review(review).delivery is Delivery.POSTED
        assert bot.trail(review) == ["submitted", "posted", "decided"]


def test_a_reminder_whose_answer_is_lost_stands_once(sqlite_url: str, tmp_path: Path) -> None:
    with a_bot(sqlite_url, tmp_path, timeout=1) as bot:
        review, _ = bot.asked(refund())
        bot.clock.ahead += 2
        bot.fault("chat.postMessage", "timeout_after")
        bot.later(timedelta(minutes=10))
        eventually(lambda: bot.people.replies("refunds"))
        eventually(lambda: [item.error for item in look.queued(bot.desk)] not in ([], [None]))

        bot.later(timedelta(seconds=11))

        eventually(lambda: replies_of(bot, review)[0].ts)
        assert len(bot.people.replies("refunds")) == 1
        assert len(bot.calls("chat.postMessage")) == 2


def test_a_reminder_for_a_card_that_was_deleted_brings_a_new_card_instead(sqlite_url: str, tmp_path: Path) -> None:
    with a_bot(sqlite_url, tmp_path) as bot:
        review, card = bot.asked(refund())
        bot.hand.api("chat.delete", channel=REFUNDS, ts=card.ts)

        bot.later(timedelta(minutes=10))

        fresh = bot.card("refunds", "Approve")
        assert fresh.ts != card.ts
        bot.press(ALICE, fresh, "Approve")
        eventually(lambda: bot.review(review).status is Status.DECIDED)


def test_a_reminder_after_a_new_card_stands_below_that_one(sqlite_url: str, tmp_path: Path) -> None:
    with a_bot(sqlite_url, tmp_path) as bot:
        review, card = bot.asked(refund())
        bot.hand.api("chat.delete", channel=REFUNDS, ts=card.ts)
        delivery.again(bot.desk, review.id)
        eventually(lambda: [one.ts for one in bot.people.cards("refunds")] not in ([], [card.ts]))
        bot.clock.ahead += 2

        bot.later(timedelta(minutes=10))

        [reply] = eventually(lambda: bot.people.replies("refunds"))
        assert "still waits" in reply.text


def test_a_post_is_found_however_much_was_said_in_the_channel_since(sqlite_url: str, tmp_path: Path) -> None:
    with a_bot(sqlite_url, tmp_path, timeout=1) as bot:
        bot.fault("chat.postMessage", "timeout_after")
        review = bot.submit(refund())
        eventually(lambda: bot.messages(review)[0].state == "posting" and bot.cards("refunds"))
        bot.dispatcher.stop()
        bot.clock.ahead += 7200
        for number in range(450):
            bot.sandbox.workspace.write(REFUNDS, ALICE, f"talk {number}", None)

        found = bot.messages(review)[0]
        assert found.ts is None
        bot.desk.store.write(lambda tx: tx.push_clock(timedelta(seconds=30)))
        while not bot.messages(review)[0].ts:
            bot.dispatcher.work_once()

        assert len([card for card in bot.people.cards("refunds") if card.buttons]) == 1
        assert len(bot.calls("conversations.history")) == 1


class SlowUpdates(WebClient):
    """The first update arrives only after `go`."""

    held: threading.Event | None = None
    go = threading.Event()

    def chat_update(self, **arguments: Any) -> Any:
        held, SlowUpdates.held = SlowUpdates.held, None
        if held is not None:
            held.set()
            SlowUpdates.go.wait(20)
        return super().chat_update(**arguments)


def test_an_update_that_lost_its_lease_is_made_again_lest_an_old_card_stays(sqlite_url: str, tmp_path: Path) -> None:
    with a_bot(sqlite_url, tmp_path, client=SlowUpdates, lease=timedelta(seconds=1)) as bot:
        review, card = bot.asked(refund())
        held = SlowUpdates.held = threading.Event()
        bot.press(ALICE, card, "Approve")
        assert held.wait(10)
        ts = bot.messages(review)[0].ts
        bot.desk.store.write(lambda tx: tx.push_clock(timedelta(seconds=5)))
        other = [one for one in delivery.claim(bot.desk, worker="another") if one.subject == review.id]
        assert other
        assert delivery.done(bot.desk, other[0])

        SlowUpdates.go.set()

        eventually(lambda: len(bot.calls("chat.update")) == 2)
        assert bot.messages(review)[0].ts == ts
        assert "Approved by" in bot.card("refunds", "Approved by").text
