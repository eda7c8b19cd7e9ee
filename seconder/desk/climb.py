"""What happens while nobody answers: the rungs of the ladder that are due, then the end.

Each rung is done once: the review's `rung` grows in the same commit. A review past its deadline
goes straight to its end.
"""

from dataclasses import replace
from datetime import timedelta

from seconder.action import Json
from seconder.decision import Approved, DefaultKind, Escalate, Rejected, Remind, Source
from seconder.desk.announce import announce
from seconder.desk.decide import settle, settle_pause
from seconder.desk.desk import Desk, subject_of
from seconder.desk.effects import settle_uncertain
from seconder.desk.shown import CARD, MOVED, REMINDER, add_card, refresh_card
from seconder.desk.submit import next_due
from seconder.faults import crash_point
from seconder.review import Review, Status, Step
from seconder.store.messages import Message
from seconder.store.queue import Priority
from seconder.store.tx import Tx


def due(desk: Desk, *, limit: int = 100) -> list[str]:
    """Ids of pending reviews that the clock has to look at, longest overdue first."""
    return desk.store.read(lambda tx: tx.reviews.due(tx.now(), limit))


def climb(desk: Desk, review_id: str) -> str | None:
    """What was done, as one word: remind, escalate, reject, expire or allow; None where nothing was due."""

    def write(tx: Tx) -> str | None:
        first = tx.reviews.get(review_id)
        if first.pause_id is not None:
            tx.pauses.lock(first.pause_id)
        review = tx.reviews.get(review_id, lock=True)
        now = tx.now()
        if review.status is not Status.PENDING:
            return None
        if now >= review.deadline:
            return _end(tx, review)
        rungs = review.verdict.ladder[review.rung :]
        if not rungs or now < review.created_at + rungs[0].after:
            tx.reviews.put_off(review_id, next_due(review))
            return None
        match rungs[0].step:
            case Escalate(route=route):
                escalated = replace(review, verdict=replace(review.verdict, route=route))
                return _climbed(desk, tx, review, escalated, revision=review.revision + 1)
            case _:
                return _climbed(desk, tx, review, review, revision=review.revision)

    done = desk.store.write(write)
    if done == "escalate":
        crash_point("desk.escalated")
    return done


def _climbed(desk: Desk, tx: Tx, before: Review, review: Review, *, revision: int) -> str:
    rung = before.verdict.ladder[before.rung]
    climbed = replace(review, rung=before.rung + 1)
    tx.reviews.climb(climbed, revision=revision, due_at=next_due(climbed))
    waited = (tx.now() - before.created_at) // timedelta(seconds=1)
    record: dict[str, Json] = {"rung": climbed.rung, "waited_seconds": waited, "revision": revision}
    if isinstance(rung.step, Remind):
        tx.trail.append(subject_of(review.id), "reminded", record, at=tx.now())
        _reply(desk, tx, climbed, f"{REMINDER} {climbed.rung}")
        return "remind"
    fresh = tx.reviews.get(review.id)
    route = review.verdict.route
    record["channel"] = None if route is None else route.channel
    tx.trail.append(subject_of(review.id), "escalated", record, at=tx.now())
    _reply(desk, tx, before, f"{MOVED} {climbed.rung}")
    add_card(desk, tx, fresh)
    return "escalate"


def _reply(desk: Desk, tx: Tx, review: Review, name: str) -> None:
    """A reply in the thread of this revision's card will be posted, once."""
    route = review.verdict.route
    reply = Message(
        id=desk.new_id("ms"),
        review_id=review.id,
        kind="reply",
        name=name,
        revision=review.revision,
        digest=review.digest,
        channel="" if route is None else route.channel,
        state="new",
        created_at=tx.now(),
    )
    tx.messages.add(reply)
    tx.queue.put(CARD, review.id, now=tx.now(), priority=Priority.NOTE)


def _end(tx: Tx, review: Review) -> str:
    now = tx.now()
    kind = DefaultKind(review.deadline_default)
    match kind:
        case DefaultKind.REJECT:
            reason = "Nobody decided before the deadline; the rule rejects then."
            settle(tx, review, Rejected(by=(), source=Source.CLOCK, at=now, reason=reason))
        case DefaultKind.ALLOW:
            settle(tx, review, Approved(by=(), source=Source.CLOCK, at=now))
        case DefaultKind.EXPIRE:
            tx.reviews.end(review, Step.EXPIRE, at=now)
            tx.reservations.release(review.id)
            tx.trail.append(subject_of(review.id), "expired", {"deadline": review.deadline.isoformat()}, at=now)
            settle_uncertain(tx, review, None)
            settle_pause(tx, review)
            announce(tx, review)
            refresh_card(tx, review.id, priority=Priority.DECISION)
    return kind.value
