"""Agents that named a `callback_url` are told when a review is settled."""

from seconder.review import Review
from seconder.store.queue import Priority
from seconder.store.tx import Tx

WEBHOOK = "webhook"  # queue topic: tell the agent how this review ended


def announce(tx: Tx, review: Review) -> None:
    """The review's `callback_url`, if it has one, will hear of its end."""
    if review.interrupt.callback_url is not None:
        tx.queue.put(WEBHOOK, review.id, now=tx.now(), priority=Priority.NOTE)
