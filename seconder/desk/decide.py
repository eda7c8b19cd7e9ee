"""A press becomes a vote or a decision: one guarded commit, with its trail entry and what follows from it.

Refused presses are recorded too: the refusal is committed, then raised.
"""

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from seconder.action import Action, Json
from seconder.decision import (
    Answered,
    Approved,
    Decision,
    Edited,
    Edits,
    Rejected,
    Source,
    TakenOver,
    VerdictKind,
    Vote,
    kind_of,
)
from seconder.desk.announce import announce
from seconder.desk.arguments import check_arguments, schema_faults
from seconder.desk.desk import Desk, subject_of
from seconder.desk.effects import settle_uncertain
from seconder.desk.eligibility import check_approvable, check_eligible, drop_votes, still_eligible
from seconder.desk.press import Press, check_revision, pressed_review, record_stray
from seconder.desk.shown import add_card, refresh_card
from seconder.desk.submit import judge
from seconder.errors import (
    AlreadyVoted,
    DeadlinePassed,
    Fault,
    IllegalTransition,
    InvalidInput,
    NotEligible,
    Superseded,
    UnboundCard,
)
from seconder.review import Interrupt, Kind, Review, StateValue, Status, Step, after
from seconder.store.queue import Priority
from seconder.store.tx import Tx


@dataclass(frozen=True, slots=True)
class Approve:
    pass


@dataclass(frozen=True, slots=True)
class Edit:
    arguments: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Reject:
    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    answer: Json


@dataclass(frozen=True, slots=True)
class TakeOver:
    result: str


Choice: TypeAlias = Approve | Edit | Reject | Answer | TakeOver

REFUSALS = (NotEligible, DeadlinePassed, IllegalTransition, Superseded, AlreadyVoted)

WORDS = {Approve: "approved", Edit: "edited", Reject: "rejected", Answer: "answered", TakeOver: "taken_over"}


def decide(desk: Desk, press: Press, choice: Choice) -> Review:
    """The review after the press: decided, or pending with one vote more.

    Raises: UnboundCard, NotEligible, DeadlinePassed, IllegalTransition (somebody was first),
    Superseded, AlreadyVoted, StaleFacts (nothing recorded: look again and retry), InvalidInput.
    """

    def write(tx: Tx) -> Review | Exception:
        try:
            review, card = pressed_review(tx, press)
        except UnboundCard as refusal:
            return record_stray(tx, press, WORDS[type(choice)], refusal)
        try:
            check_revision(review, card)
            decided = _decide(desk, tx, review, press, choice)
        except REFUSALS as refusal:
            record = {"by": press.user_id, "team": press.team_id, "pressed": WORDS[type(choice)], "why": str(refusal)}
            tx.trail.append(subject_of(review.id), "refused", record, at=tx.now())
            refresh_card(tx, review.id)
            return refusal
        return decided

    result = desk.store.write(write)
    if isinstance(result, Exception):
        raise result
    return result


def mark_opened(desk: Desk, press: Press) -> Review:
    """This person has the full view before them; rules with `must_open` let them approve from now on.

    Raises: UnboundCard.
    """

    def write(tx: Tx) -> Review:
        review, card = pressed_review(tx, press)
        tx.reviews.mark_opened(review.id, press.user_id, card.digest, tx.now())
        return review

    return desk.store.write(write)


def _decide(desk: Desk, tx: Tx, review: Review, press: Press, choice: Choice) -> Review:
    after(review.status, Step.DECIDE, review_id=review.id)
    now = tx.now()
    if now >= review.deadline:
        raise DeadlinePassed(review.id, review.deadline)
    _check_offered(review, choice)
    check_eligible(desk, tx, review, team_id=press.team_id, user_id=press.user_id)
    who: dict[str, Any] = {"by": (press.user_id,), "source": Source.PERSON, "at": now}
    match choice:
        case Approve():
            check_approvable(tx, review, user_id=press.user_id)
            return _vote(desk, tx, review, press)
        case Edit(arguments):
            return _edit(desk, tx, review, press, arguments)
        case Reject(reason):
            return settle(tx, review, Rejected(**who, reason=reason))
        case Answer(answer):
            _check_answer(review, answer)
            return settle(tx, review, Answered(**who, answer=answer))
        case TakeOver(result):
            return settle(tx, review, TakenOver(**who, result=result))


def _vote(desk: Desk, tx: Tx, review: Review, press: Press) -> Review:
    now = tx.now()
    vote = Vote(person=press.user_id, digest=review.digest, at=now)
    if not tx.reviews.vote(review.id, vote):
        raise AlreadyVoted("Your approval is already counted.")
    voters = [known.person for known in tx.reviews.get(review.id).votes if known.digest == review.digest]
    needed = review.verdict.route.approvals if review.verdict.route else 1
    if len(voters) >= needed:
        counted = still_eligible(desk, tx, review, voters, press.team_id)
        if len(counted) >= needed:
            return settle(tx, review, _approval(review, counted, tx))
        drop_votes(tx, review, [voter for voter in voters if voter not in counted])
    record = {"by": press.user_id, "team": press.team_id, "digest": review.digest}
    tx.trail.append(subject_of(review.id), "vote", record, at=now)
    refresh_card(tx, review.id, priority=Priority.DECISION)
    return tx.reviews.get(review.id)


def _approval(review: Review, people: tuple[str, ...], tx: Tx) -> Decision:
    """Approved as the agent proposed it, or edited where a person wrote the arguments of this revision."""
    if review.editor is None or review.action is None:
        return Approved(by=people, source=Source.PERSON, at=tx.now())
    by = (review.editor, *(person for person in people if person != review.editor))
    return Edited(by=by, source=Source.PERSON, at=tx.now(), action=review.action)


def _edit(desk: Desk, tx: Tx, review: Review, press: Press, arguments: dict[str, Json]) -> Review:
    check_approvable(tx, review, user_id=press.user_id)
    shown = review.action
    if shown is None:
        raise NotEligible("There is nothing to edit here.")
    edited = shown.with_arguments(arguments)
    if edited.digest == shown.digest:
        return _vote(desk, tx, review, press)
    check_arguments(edited, locked=_locked(review), original=shown)
    interrupt = with_action(review.interrupt, edited)
    verdict, _ = judge(desk, tx, interrupt)
    if verdict.kind is VerdictKind.DENY:
        raise InvalidInput([Fault("arguments", f"The policy denies this edit: {verdict.because}")])
    needed = review.verdict.route.approvals if review.verdict.route else 1
    if review.verdict.edits is Edits.OWN and needed == 1:
        now = tx.now()
        return settle(tx, review, Edited(by=(press.user_id,), source=Source.PERSON, at=now, action=edited))
    return _revise(desk, tx, review, press, interrupt, edited)


def _revise(desk: Desk, tx: Tx, review: Review, press: Press, interrupt: Interrupt, edited: Action) -> Review:
    now, revision = tx.now(), review.revision + 1
    revised = replace(review, interrupt=interrupt, digest=edited.digest, editor=press.user_id)
    tx.reviews.revise(revised, revision=revision)
    record = {
        "by": press.user_id,
        "arguments": edited.canonical.decode(),
        "digest": edited.digest,
        "revision": revision,
    }
    tx.trail.append(subject_of(review.id), "revised", record, at=now)
    if review.verdict.edits is Edits.OWN:
        tx.reviews.vote(review.id, Vote(person=press.user_id, digest=edited.digest, at=now))
    fresh = tx.reviews.get(review.id)
    add_card(desk, tx, fresh)
    return fresh


def settle(tx: Tx, review: Review, decision: Decision) -> Review:
    """The review is decided with this decision; its pause is ready where it was the last, its card is refreshed.

    Raises: IllegalTransition.
    """
    now = tx.now()
    tx.reviews.decide(review, decision, at=now)
    if isinstance(decision, Rejected | Answered | TakenOver):
        tx.reservations.release(review.id)
    tx.trail.append(subject_of(review.id), "decided", _record(review, decision), at=now)
    if review.effect_id is not None:
        settle_uncertain(tx, review, decision)
    settle_pause(tx, review)
    announce(tx, review)
    refresh_card(tx, review.id, priority=Priority.DECISION)
    return tx.reviews.get(review.id)


def settle_pause(tx: Tx, review: Review) -> None:
    """The pause of the review is ready where none of its reviews is pending any more."""
    if review.pause_id is None:
        return
    if all(other.status is not Status.PENDING for other in tx.reviews.of_pause(review.pause_id)):
        tx.pauses.set_ready(review.pause_id, tx.now())


def with_action(interrupt: Interrupt, action: Action) -> Interrupt:
    """The interrupt about this action; a state edit gets the edited state."""
    if interrupt.kind is Kind.STATE_EDIT and interrupt.state is not None:
        return replace(interrupt, state=StateValue(value=action.arguments["state"], schema=interrupt.state.schema))
    return replace(interrupt, action=action)


def offered(review: Review) -> frozenset[str]:
    """The decisions that this review takes: what its kind has, less what the interrupt or the rule leaves out."""
    kinds = {
        Kind.TOOL_CALL: {"approved", "edited", "rejected", "taken_over"},
        Kind.APPROVAL: {"approved", "edited", "rejected"},
        Kind.STATE_EDIT: {"approved", "edited", "rejected"},
        Kind.QUESTION: {"answered", "rejected"},
    }[review.interrupt.kind]
    if review.verdict.edits is Edits.FORBIDDEN:
        kinds = kinds - {"edited"}
    wanted = frozenset(review.interrupt.allowed_decisions)
    return frozenset(kinds & wanted) if wanted else frozenset(kinds)


def _check_offered(review: Review, choice: Choice) -> None:
    if WORDS[type(choice)] not in offered(review):
        raise NotEligible(f"This request cannot be {WORDS[type(choice)].replace('_', ' ')}.")


def _check_answer(review: Review, answer: Json) -> None:
    question = review.interrupt.question
    if question is None:
        raise NotEligible("There is no question to answer here.")
    if question.answer_schema is not None:
        faults = schema_faults(question.answer_schema, answer)
    elif question.options and answer not in question.options:
        faults = [Fault("answer", "choose one of the options")]
    else:
        faults = [] if isinstance(answer, str) and answer.strip() else [Fault("answer", "write an answer")]
    if faults:
        raise InvalidInput(faults)


def _locked(review: Review) -> frozenset[str]:
    return frozenset(name for name, rule in review.verdict.fields.items() if not rule.edit)


def _record(review: Review, decision: Decision) -> Json:
    record: dict[str, Json] = {
        "kind": kind_of(decision),
        "by": list(decision.by),
        "source": decision.source,
        "revision": review.revision,
        "digest": review.digest,
    }
    match decision:
        case Approved():
            record["arguments"] = None if review.action is None else review.action.canonical.decode()
        case Edited(action=action):
            record["proposed"] = None if review.action is None else review.action.canonical.decode()
            record["arguments"], record["digest"] = action.canonical.decode(), action.digest
        case Rejected(reason=reason):
            record["reason"] = reason
        case Answered(answer=answer):
            record["answer"] = answer
        case TakenOver(result=result):
            record["result"] = result
    return record
