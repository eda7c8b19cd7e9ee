"""The table of reviews: every step out of a status is one guarded UPDATE."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import (
    Connection,
    RowMapping,
    and_,
    delete,
    insert,
    or_,
    select,
    update,
)

from seconder.decision import Decision, Vote, kind_of
from seconder.errors import NotFound, Superseded
from seconder.review import TRANSITIONS, Delivery, Outcome, Review, Status, Step, after
from seconder.store import mapping
from seconder.store.row import Sealer, from_millis, insert_into, lock_name, to_millis
from seconder.store.tables import decisions, opened, reviews, votes

T = "reviews"
REVIEW_KEYS = 3  # the kind of name that idempotency keys of reviews are locked under


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """How a review came in: where it stands in its pause, and what makes its submission idempotent."""

    position: int = 0
    idempotency_key: str | None = None
    body_digest: str | None = None


class Reviews:
    """Reviews, their votes and decisions, in one transaction."""

    def __init__(self, connection: Connection, sealer: Sealer) -> None:
        self._db, self._sealer = connection, sealer

    def add(self, review: Review, submitted: Submitted, *, due_at: datetime | None) -> None:
        """The review is stored as it is, with its decision if it has one."""
        self._db.execute(insert(reviews), {**self._columns(review, submitted), "due_at": to_millis(due_at)})
        if review.decision is not None:
            self._add_decision(review.id, review.decision)

    def get(self, review_id: str, *, lock: bool = False) -> Review:
        """The review as it is now; with `lock`, nobody else changes it before this transaction ends.

        Raises: NotFound.
        """
        query = select(reviews).where(reviews.c.id == review_id)
        row = self._db.execute(query.with_for_update() if lock else query).mappings().first()
        if row is None:
            raise NotFound("review", review_id)
        return self._read(row)

    def of_pause(self, pause_id: str) -> tuple[Review, ...]:
        """The reviews of a pause, in the order of submission."""
        query = select(reviews).where(reviews.c.pause_id == pause_id).order_by(reviews.c.position, reviews.c.id)
        return tuple(self._read(row) for row in self._db.execute(query).mappings())

    def by_idempotency_key(self, token_id: str, key: str) -> tuple[Review, str] | None:
        """The review submitted with this key, and the digest of the body that came with it.

        Nobody else submits with this key before the transaction ends.
        """
        lock_name(self._db, f"{token_id} {key}", REVIEW_KEYS)
        query = select(reviews).where(reviews.c.token_id == token_id, reviews.c.idempotency_key == key)
        row = self._db.execute(query).mappings().first()
        return None if row is None else (self._read(row), row["body_digest"])

    def listed(
        self, *, agent: str | None, status: Status | None, limit: int, after_cursor: tuple[int, str] | None = None
    ) -> list[Review]:
        """Newest first, at most `limit`, from behind the cursor (milliseconds of creation, id)."""
        query = select(reviews).order_by(reviews.c.created_at.desc(), reviews.c.id.desc()).limit(limit)
        if agent is not None:
            query = query.where(reviews.c.agent == agent)
        if status is not None:
            query = query.where(reviews.c.status == status)
        if after_cursor is not None:
            at, ident = after_cursor
            query = query.where(or_(reviews.c.created_at < at, and_(reviews.c.created_at == at, reviews.c.id < ident)))
        return [self._read(row) for row in self._db.execute(query).mappings()]

    def due(self, now: datetime, limit: int) -> list[str]:
        """Ids of pending reviews whose next rung or deadline has come, longest overdue first."""
        query = (
            select(reviews.c.id)
            .where(reviews.c.status == Status.PENDING, reviews.c.due_at <= to_millis(now))
            .order_by(reviews.c.due_at, reviews.c.id)
            .limit(limit)
        )
        return list(self._db.execute(query).scalars())

    # --- steps ----------------------------------------------------------------------------------

    def decide(self, review: Review, decision: Decision, *, at: datetime) -> None:
        """Pending -> decided, once, with this decision. Raises: IllegalTransition, Superseded."""
        self._leave_pending(review, Step.DECIDE, at=at)
        self._add_decision(review.id, decision)

    def end(self, review: Review, step: Step, *, at: datetime) -> None:
        """Pending -> expired or cancelled, once. Raises: IllegalTransition, Superseded."""
        self._leave_pending(review, step, at=at)

    def climb(self, review: Review, *, revision: int, due_at: datetime) -> None:
        """The next rung of the ladder is done; `review` holds rung and verdict as they are from now on.

        Raises: IllegalTransition, Superseded where the review was not at the revision that `review` has.
        """
        self._guarded(
            review,
            Step.REMIND,
            rung=review.rung,
            revision=revision,
            due_at=to_millis(due_at),
            body=self._seal_body(review),
        )

    def revise(self, review: Review, *, revision: int) -> None:
        """Another action is asked about from now on, as a new revision. Raises: IllegalTransition, Superseded."""
        action = review.interrupt.action
        self._guarded(
            review,
            Step.REVISE,
            revision=revision,
            digest=review.digest,
            body=self._seal_body(review),
            action=None if action is None else self._seal(action.canonical, "action", review.id),
        )

    def vote(self, review_id: str, vote: Vote) -> bool:
        """Whether the vote is new; a person counts once, for the action voted on last. Raises: IllegalTransition."""
        self._check(review_id, Step.VOTE)
        mine = and_(votes.c.review_id == review_id, votes.c.person == vote.person)
        known = self._db.execute(select(votes.c.digest).where(mine)).scalar()
        if known == vote.digest:
            return False
        self._db.execute(delete(votes).where(mine))
        self._db.execute(
            insert(votes).values(review_id=review_id, person=vote.person, digest=vote.digest, at=to_millis(vote.at))
        )
        return True

    def unvote(self, review_id: str, person: str) -> None:
        """This person's vote counts no longer; they may vote again."""
        self._db.execute(delete(votes).where(votes.c.review_id == review_id, votes.c.person == person))

    def mark_opened(self, review_id: str, person: str, digest: str, at: datetime) -> None:
        """This person has opened the full view of this very action."""
        query = insert_into(self._db, opened).on_conflict_do_nothing()
        self._db.execute(query.values(review_id=review_id, person=person, digest=digest, at=to_millis(at)))

    def has_opened(self, review_id: str, person: str, digest: str) -> bool:
        query = select(opened.c.at).where(
            opened.c.review_id == review_id, opened.c.person == person, opened.c.digest == digest
        )
        return self._db.execute(query).first() is not None

    def consume(self, review_id: str, at: datetime) -> bool:
        """Whether this was the first time. Raises: IllegalTransition."""
        query = update(reviews).where(
            reviews.c.id == review_id, reviews.c.status.in_(_from(Step.CONSUME)), reviews.c.consumed_at.is_(None)
        )
        if self._db.execute(query.values(consumed_at=to_millis(at))).rowcount == 1:
            return True
        self._check(review_id, Step.CONSUME)
        return False

    def set_outcome(self, review_id: str, outcome: Outcome) -> None:
        """The latest report counts. Raises: IllegalTransition."""
        value = self._sealer.seal_json(mapping.dump_outcome(outcome), table=T, column="outcome", row=review_id)
        query = update(reviews).where(reviews.c.id == review_id, reviews.c.status.in_(_from(Step.REPORT)))
        if self._db.execute(query.values(outcome=value)).rowcount != 1:
            self._check(review_id, Step.REPORT)

    def set_delivery(self, review_id: str, delivery: Delivery) -> None:
        self._db.execute(update(reviews).where(reviews.c.id == review_id).values(delivery=delivery))

    def set_requester(self, review_id: str, user_id: str | None, undecidable: str | None) -> None:
        values = {"requester_user": user_id, "undecidable": undecidable}
        self._db.execute(update(reviews).where(reviews.c.id == review_id).values(**values))

    def put_off(self, review_id: str, due_at: datetime) -> None:
        """The sweep looks again then, if the review is still pending."""
        mine = (reviews.c.id == review_id, reviews.c.status == Status.PENDING)
        self._db.execute(update(reviews).where(*mine).values(due_at=to_millis(due_at)))

    # --- rows -----------------------------------------------------------------------------------

    def _leave_pending(self, review: Review, step: Step, *, at: datetime) -> None:
        status = after(review.status, step, review_id=review.id)
        self._guarded(review, step, status=status, decided_at=to_millis(at), due_at=None)

    def _guarded(self, review: Review, step: Step, **values: object) -> None:
        after(review.status, step, review_id=review.id)
        query = update(reviews).where(
            reviews.c.id == review.id,
            reviews.c.status.in_(_from(step)),
            reviews.c.revision == review.revision,
        )
        if self._db.execute(query.values(**values)).rowcount != 1:
            self._check(review.id, step)
            raise Superseded(review.id, self.get(review.id).revision)

    def _check(self, review_id: str, step: Step) -> None:
        """The step is allowed from the status in the row. Raises: NotFound, IllegalTransition."""
        status = self._db.execute(select(reviews.c.status).where(reviews.c.id == review_id)).scalar()
        if status is None:
            raise NotFound("review", review_id)
        after(Status(status), step, review_id=review_id)

    def _add_decision(self, review_id: str, decision: Decision) -> None:
        body = self._sealer.seal_json(mapping.dump_decision(decision), table="decisions", column="body", row=review_id)
        self._db.execute(
            insert(decisions),
            {
                "review_id": review_id,
                "kind": kind_of(decision),
                "source": decision.source,
                "body": body,
                "at": to_millis(decision.at),
            },
        )

    def _seal(self, data: bytes, column: str, row: str) -> bytes:
        return self._sealer.seal(data, table=T, column=column, row=row)

    def _seal_body(self, review: Review) -> bytes:
        body = {
            "interrupt": mapping.dump_interrupt(review.interrupt),
            "verdict": mapping.dump_verdict(review.verdict),
            "editor": review.editor,
        }
        return self._sealer.seal_json(body, table=T, column="body", row=review.id)

    def _columns(self, review: Review, submitted: Submitted) -> dict[str, object]:
        interrupt, action = review.interrupt, review.interrupt.action
        return {
            "id": review.id,
            "status": review.status,
            "revision": review.revision,
            "kind": interrupt.kind,
            "agent": interrupt.agent.name,
            "tool": None if action is None else action.tool,
            "session": interrupt.session,
            "environment": interrupt.environment,
            "call_id": interrupt.call_id,
            "requester_user": review.requester_user,
            "digest": review.digest,
            "body": self._seal_body(review),
            "action": None if action is None else self._seal(action.canonical, "action", review.id),
            "pause_id": review.pause_id,
            "position": submitted.position,
            "run_id": review.run_id,
            "effect_id": review.effect_id,
            "token_id": review.agent_token,
            "idempotency_key": submitted.idempotency_key,
            "body_digest": submitted.body_digest,
            "created_at": to_millis(review.created_at),
            "deadline": to_millis(review.deadline),
            "deadline_default": review.deadline_default,
            "rung": review.rung,
            "delivery": review.delivery,
            "undecidable": review.undecidable,
            "decided_at": to_millis(review.decided_at),
        }

    def _read(self, row: RowMapping) -> Review:
        ident = row["id"]
        body = self._sealer.open_json(row["body"], table=T, column="body", row=ident)
        sealed = row["action"]
        action = None if sealed is None else self._sealer.open(sealed, table=T, column="action", row=ident)
        interrupt = mapping.load_interrupt(body["interrupt"], action)
        outcome = self._sealer.open_json(row["outcome"], table=T, column="outcome", row=ident)
        return Review(
            id=ident,
            status=Status(row["status"]),
            revision=row["revision"],
            interrupt=interrupt,
            verdict=mapping.load_verdict(body["verdict"]),
            digest=row["digest"],
            created_at=from_millis(row["created_at"]),
            deadline=from_millis(row["deadline"]),
            deadline_default=row["deadline_default"],
            rung=row["rung"],
            delivery=Delivery(row["delivery"]),
            agent_token=row["token_id"],
            pause_id=row["pause_id"],
            run_id=row["run_id"],
            effect_id=row["effect_id"],
            undecidable=row["undecidable"],
            votes=self._votes(ident),
            decision=self._decision(ident, interrupt),
            decided_at=from_millis(row["decided_at"]),
            outcome=None if outcome is None else mapping.load_outcome(outcome),
            consumed=row["consumed_at"] is not None,
            editor=body["editor"],
            requester_user=row["requester_user"],
        )

    def _votes(self, review_id: str) -> tuple[Vote, ...]:
        query = select(votes).where(votes.c.review_id == review_id).order_by(votes.c.at, votes.c.person)
        rows = self._db.execute(query).mappings()
        return tuple(Vote(person=row["person"], digest=row["digest"], at=from_millis(row["at"])) for row in rows)

    def _decision(self, review_id: str, interrupt: object) -> Decision | None:
        sealed = self._db.execute(select(decisions.c.body).where(decisions.c.review_id == review_id)).scalar()
        value = self._sealer.open_json(sealed, table="decisions", column="body", row=review_id)
        return None if value is None else mapping.load_decision(value, getattr(interrupt, "action", None))


def _from(step: Step) -> list[Status]:
    """The statuses that this step is allowed from."""
    return [status for status, allowed in TRANSITIONS if allowed is step]
