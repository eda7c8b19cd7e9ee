"""A pending review is taken back: nobody needs to decide any more, and the waiting run learns `cancelled`."""

from seconder.desk.announce import announce
from seconder.desk.decide import settle_pause
from seconder.desk.desk import Desk, subject_of
from seconder.desk.effects import owned, settle_uncertain
from seconder.desk.shown import refresh_card
from seconder.review import Review, Status, Step
from seconder.store.queue import Priority
from seconder.store.tx import Tx


def cancel(desk: Desk, review_id: str, *, by: str, agent: str | None = None) -> Review:
    """The cancelled review; cancelling again changes nothing. `by` says who, for the trail.

    Raises: NotFound; IllegalTransition where it was settled otherwise.
    """

    def write(tx: Tx) -> Review:
        first = tx.reviews.get(review_id)
        if first.pause_id is not None:
            tx.pauses.lock(first.pause_id)
        review = tx.reviews.get(review_id, lock=True) if agent is None else owned(tx, review_id, agent, lock=True)
        if review.status is Status.CANCELLED:
            return review
        now = tx.now()
        tx.reviews.end(review, Step.CANCEL, at=now)
        tx.reservations.release(review_id)
        tx.trail.append(subject_of(review_id), "cancelled", {"by": by}, at=now)
        settle_uncertain(tx, review, None)
        settle_pause(tx, review)
        announce(tx, review)
        refresh_card(tx, review_id, priority=Priority.DECISION)
        return tx.reviews.get(review_id)

    return desk.store.write(write)
