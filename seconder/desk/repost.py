"""A card that vanished from Slack is asked for again, with a new token."""

from dataclasses import replace

from seconder.desk.desk import Desk, subject_of
from seconder.desk.shown import CARD
from seconder.review import Delivery, Review, Status
from seconder.store.messages import Message
from seconder.store.queue import Priority
from seconder.store.tx import Tx


def repost(desk: Desk, review_id: str) -> None:
    """A pending review whose live card is gone gets a new one in the same channel; otherwise nothing changes."""

    def write(tx: Tx) -> None:
        review = tx.reviews.get(review_id, lock=True)
        cards = [message for message in tx.messages.of_review(review_id) if message.kind == "card"]
        current = [card for card in cards if card.revision == review.revision]
        if review.status is not Status.PENDING or any(card.state != "gone" for card in current):
            return
        tx.messages.add(_again(desk, tx, review, current))
        tx.reviews.set_delivery(review_id, Delivery.QUEUED)
        tx.trail.append(subject_of(review_id), "card_gone", {"channel": current[-1].channel}, at=tx.now())
        tx.queue.put(CARD, review_id, now=tx.now(), priority=Priority.POST)

    desk.store.write(write)


def doubt(desk: Desk, *, after: str, limit: int) -> str:
    """So many cards of pending reviews will be shown anew, as if nobody knew what Slack shows of them.

    Somebody may have deleted one: that is found then. The answer is where to go on; empty at the end.
    """

    def write(tx: Tx) -> str:
        found = tx.messages.live(after=after, limit=limit)
        for message_id, review_id in found:
            tx.messages.change(message_id, shown=None)
            tx.queue.put(CARD, review_id, now=tx.now(), priority=Priority.NOTE)
        return found[-1][0] if len(found) == limit else ""

    return desk.store.write(write)


def in_thread_of(reply: Message, card: Message) -> Message:
    """The reply as a message of the card's channel."""
    return replace(reply, channel_id=card.channel_id)


def _again(desk: Desk, tx: Tx, review: Review, gone: list[Message]) -> Message:
    return Message(
        id=desk.new_id("ms"),
        review_id=review.id,
        kind="card",
        name=f"revision {review.revision}, card {len(gone) + 1}",
        revision=review.revision,
        digest=review.digest,
        channel=gone[-1].channel,
        state="new",
        created_at=tx.now(),
        token=desk.new_id("tk").removeprefix("tk_"),
    )
