"""What is shown of a review: the digest that a press agrees to, and the cards that are to show it."""

from collections.abc import Mapping
from dataclasses import asdict

from seconder.action import Action, Json, canonical, digest_of
from seconder.desk.desk import Desk
from seconder.review import MAX_RUN_STATE, Interrupt, Review
from seconder.store.messages import Message
from seconder.store.queue import Priority
from seconder.store.tx import Tx

CARD = "card"  # queue topic: make Slack show this review as it is now
REMINDER, MOVED = "reminder", "moved"  # how the names of replies begin


def digest_shown(interrupt: Interrupt) -> str:
    """Of the action, or of the question or state where there is no action. Raises: NotCanonical."""
    if interrupt.action is not None:
        return interrupt.action.digest
    if interrupt.state is not None:
        return state_action(interrupt.state.value, interrupt.state.schema).digest
    value = None if interrupt.question is None else asdict(interrupt.question)
    return digest_of(canonical({"question": value}, path="question", limit=MAX_RUN_STATE))


def state_action(value: Json, schema: Mapping[str, Json] | None) -> Action:
    """A state to be edited, as the action that `Review.action` shows."""
    return Action(tool="edit_state", arguments={"state": value}, schema=schema)


def add_card(desk: Desk, tx: Tx, review: Review) -> None:
    """The card of this revision in the channel of its route will be posted; older ones lose their buttons."""
    route = review.verdict.route
    if route is None:
        message = f"review {review.id} has no route to post a card in"
        raise RuntimeError(message)
    now = tx.now()
    card = Message(
        id=desk.new_id("ms"),
        review_id=review.id,
        kind="card",
        name=f"revision {review.revision}",
        revision=review.revision,
        digest=review.digest,
        channel=route.channel,
        state="new",
        created_at=now,
        token=desk.new_id("tk").removeprefix("tk_"),
    )
    tx.messages.add(card)
    tx.queue.put(CARD, review.id, now=now, priority=Priority.POST)


def refresh_card(tx: Tx, review_id: str, *, priority: Priority = Priority.NOTE) -> None:
    """Slack will show the review as it is now."""
    tx.queue.put(CARD, review_id, now=tx.now(), priority=priority)
