"""Before a form opens: the press is bound, the review still asks, and this person may decide it."""

from seconder.desk.decide import REFUSALS, offered
from seconder.desk.desk import Desk, subject_of
from seconder.desk.eligibility import check_approvable, check_eligible
from seconder.desk.press import Press, check_revision, pressed_review, record_stray
from seconder.errors import DeadlinePassed, NotEligible, UnboundCard
from seconder.review import Review, Step, after
from seconder.store.tx import Tx


def open_form(desk: Desk, press: Press, decision: str) -> Review:
    """The review that a form for this decision (edited, rejected, answered) is about; nothing is decided.

    Raises: UnboundCard, NotEligible, DeadlinePassed, IllegalTransition, Superseded, StaleFacts.
    """

    def write(tx: Tx) -> Review | Exception:
        try:
            review, card = pressed_review(tx, press)
        except UnboundCard as refusal:
            return record_stray(tx, press, f"open {decision}", refusal)
        try:
            check_revision(review, card)
            after(review.status, Step.DECIDE, review_id=review.id)
            if tx.now() >= review.deadline:
                raise DeadlinePassed(review.id, review.deadline)
            if decision not in offered(review):
                raise NotEligible(f"This request cannot be {decision}.")
            check_eligible(desk, tx, review, team_id=press.team_id, user_id=press.user_id)
            if decision == "edited":
                check_approvable(tx, review, user_id=press.user_id)
        except REFUSALS as refusal:
            record = {"by": press.user_id, "team": press.team_id, "pressed": f"open {decision}", "why": str(refusal)}
            tx.trail.append(subject_of(review.id), "refused", record, at=tx.now())
            return refusal
        return review

    result = desk.store.write(write)
    if isinstance(result, Exception):
        raise result
    return result


def of_token(desk: Desk, token: str) -> Review | None:
    """The review that a card's token names, for reading a form or telling somebody; None where there is none."""

    def read(tx: Tx) -> Review | None:
        card = tx.messages.by_token(token)
        return None if card is None else tx.reviews.get(card.review_id)

    return desk.store.read(read)
