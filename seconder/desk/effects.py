"""A gated call runs once: recorded before and after, and a person is asked where the end is missing."""

import hashlib
from dataclasses import dataclass
from typing import Any

from seconder.action import Action, Json, canonical
from seconder.decision import (
    Answered,
    Approved,
    Decision,
    Edited,
    Rejected,
    TakenOver,
    Verdict,
    VerdictKind,
)
from seconder.desk.desk import Desk, subject_of
from seconder.desk.shown import refresh_card
from seconder.errors import CannotConsume, EffectUncertain, LeaseLost, NotFound, OutcomeConflict
from seconder.review import Agent, Interrupt, Kind, Outcome, OutcomeStatus, Question, Review, Status
from seconder.store.effects import Effect, EffectState
from seconder.store.tx import Tx

HAPPENED = "It happened"
NOT_HAPPENED = "It did not happen: run it now"
STOP = "I cannot tell: do not run it"
ENDS = {"succeeded": EffectState.SUCCEEDED, "failed": EffectState.FAILED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """`run`: it was recorded as started, run it now; `done`: it ran before; `told`: a person said what happened."""

    verdict: str
    effect_id: str
    key: str
    action: Action
    result: Json = None
    error: str | None = None


def consume(desk: Desk, review_id: str, *, agent: str) -> Started:
    """The decided action, to be run once by an agent that waits for itself.

    Raises: NotFound, CannotConsume.
    """

    def write(tx: Tx) -> Started:
        review = owned(tx, review_id, agent, lock=True)
        if review.pause_id is not None:
            raise CannotConsume("nothing_to_run", "this review belongs to a pause; the worker that resumes it runs it")
        action = runnable(review)
        if not tx.reviews.consume(review_id, tx.now()):
            raise CannotConsume("already_consumed", "this decision was used before; it runs once")
        started = _start(desk, tx, review, action, fence=0)
        tx.trail.append(subject_of(review_id), "consumed", {"digest": action.digest}, at=tx.now())
        return started

    return desk.store.write(write)


def report(
    desk: Desk, review_id: str, *, agent: str, status: OutcomeStatus, result: Json = None, error: str | None = None
) -> Review:
    """The review with its outcome; the same outcome again changes nothing.

    Raises: NotFound, CannotConsume where it was never consumed, OutcomeConflict where another was reported.
    """

    def write(tx: Tx) -> Review:
        review = owned(tx, review_id, agent, lock=True)
        runnable(review)
        effect = tx.effects.of_review(review_id)
        if effect is None or not review.consumed:
            raise CannotConsume("not_consumed", "this decision was not consumed, so there is no outcome to report")
        if review.outcome is not None:
            if (review.outcome.status, review.outcome.result, review.outcome.error) == (status, result, error):
                return review
            raise OutcomeConflict(f"the outcome of review {review_id} is already {review.outcome.status}")
        _end(tx, effect, ENDS[status], result, error)
        return tx.reviews.get(review_id)

    return desk.store.write(write)


def start_effect(desk: Desk, pause_id: str, *, agent: str, fence: int, review_id: str, digest: str) -> Started:
    """The gated call of this review is recorded as started under this lease, or was recorded before.

    Raises: NotFound, LeaseLost, CannotConsume, EffectUncertain.
    """

    def write(tx: Tx) -> Started:
        tx.pauses.check_lease(pause_id, fence)
        review = owned(tx, review_id, agent, lock=True)
        if review.pause_id != pause_id:
            raise NotFound("review", review_id)
        action = runnable(review)
        if action.digest != digest:
            raise CannotConsume("digest_mismatch", "the arguments to run are not those that were decided")
        effect = tx.effects.of_review(review_id)
        if effect is None:
            tx.reviews.consume(review_id, tx.now())
            return _start(desk, tx, review, action, fence=fence)
        return _again(tx, effect, action, fence)

    return desk.store.write(write)


def end_effect(
    desk: Desk,
    effect_id: str,
    *,
    agent: str,
    pause_id: str,
    fence: int,
    status: str,
    result: Json = None,
    error: str | None = None,
) -> None:
    """The call is recorded as succeeded or failed; the same again changes nothing. Raises: NotFound, LeaseLost."""

    def write(tx: Tx) -> None:
        tx.pauses.check_lease(pause_id, fence)
        effect = tx.effects.get(effect_id)
        if effect is None or effect.pause_id != pause_id:
            raise NotFound("effect", effect_id)
        owned(tx, effect.review_id, agent, lock=True)
        if effect.fence != fence:
            raise LeaseLost(f"effect {effect_id} belongs to another lease")
        if effect.state is EffectState.STARTED:
            _end(tx, effect, ENDS[status], result, error)

    desk.store.write(write)


def runnable(review: Review) -> Action:
    """The action that may run. Raises: CannotConsume with the code and the sentence why not."""
    match review.status:
        case Status.PENDING:
            raise CannotConsume("pending", "nobody has decided yet")
        case Status.DENIED:
            raise CannotConsume("denied", review.verdict.because)
        case Status.EXPIRED:
            raise CannotConsume("expired", "nobody decided before the deadline")
        case Status.CANCELLED:
            raise CannotConsume("cancelled", "the request was cancelled")
        case Status.ALLOWED | Status.DECIDED:
            return _decided_action(review)


def _decided_action(review: Review) -> Action:
    match review.decision:
        case Edited(action=action):
            return action
        case Approved() if review.action is not None:
            return review.action
        case Rejected(reason=reason):
            raise CannotConsume("rejected", reason)
        case Approved() | Answered() | TakenOver() | None:
            raise CannotConsume("nothing_to_run", "the decision carries no action to run")


def ask_what_happened(effect: Effect, review: Review, agent: Agent) -> tuple[Interrupt, Verdict]:
    """The question to a person about an effect that started and never ended."""
    tool = review.action.tool if review.action else "the action"
    prompt = (
        f"{tool} was started at {effect.started_at:%Y-%m-%d %H:%M:%S} UTC and its worker never came back. "
        f"Did it happen? Look in the system it acts on (idempotency key {effect.key}) before you answer."
    )
    question = Question(prompt=prompt, options=(HAPPENED, NOT_HAPPENED, STOP))
    interrupt = Interrupt(
        kind=Kind.QUESTION,
        agent=agent,
        question=question,
        reason=f"The run stops here until somebody says what became of {tool}.",
        session=review.interrupt.session,
        requester=review.interrupt.requester,
        environment=review.interrupt.environment,
    )
    verdict = Verdict(
        kind=VerdictKind.ASK,
        rule="uncertain effects",
        because="A call that may have happened is never run again without a person's word.",
        source="seconder",
        route=review.verdict.route,
        fields=review.verdict.fields,
        requester_none_ok=True,
    )
    return interrupt, verdict


def mark_uncertain(tx: Tx, effect: Effect) -> bool:
    """Started -> uncertain; the review says so. Whether it was still started."""
    now = tx.now()
    if not tx.effects.end(effect, EffectState.UNCERTAIN, of=EffectState.STARTED, at=now):
        return False
    tx.reviews.set_outcome(effect.review_id, Outcome(status=OutcomeStatus.UNCERTAIN, at=now))
    tx.trail.append(subject_of(effect.review_id), "uncertain", {"effect": effect.id, "key": effect.key}, at=now)
    refresh_card(tx, effect.review_id)
    return True


def settle_uncertain(tx: Tx, question: Review, decision: Decision | None) -> None:
    """What a person said (or nobody: None) of an uncertain effect becomes its state."""
    effect = None if question.effect_id is None else tx.effects.get(question.effect_id)
    if effect is None:
        return
    answer = decision.answer if isinstance(decision, Answered) else STOP
    now = tx.now()
    state = EffectState.CLEARED if answer == NOT_HAPPENED else EffectState.TOLD
    result = {"result": _told(answer, decision), "error": None}
    if not tx.effects.end(effect, state, of=EffectState.UNCERTAIN, at=now, result=result):
        return
    by = list(decision.by) if decision is not None else []
    tx.trail.append(subject_of(effect.review_id), "settled", {"answer": answer, "by": by}, at=now)
    if answer == HAPPENED:
        outcome = Outcome(status=OutcomeStatus.SUCCEEDED, at=now, result="A person confirmed that it happened.")
        tx.reviews.set_outcome(effect.review_id, outcome)
    refresh_card(tx, effect.review_id)


def owned(tx: Tx, review_id: str, agent: str, *, lock: bool = False) -> Review:
    """The review, if it is this agent's. Raises: NotFound."""
    review = tx.reviews.get(review_id, lock=lock)
    if review.interrupt.agent.name != agent:
        raise NotFound("review", review_id)
    return review


def _start(desk: Desk, tx: Tx, review: Review, action: Action, *, fence: int) -> Started:
    effect = Effect(
        id=desk.new_id("ef"),
        review_id=review.id,
        pause_id=review.pause_id,
        fence=fence,
        digest=action.digest,
        key=idempotency_key(review, action),
        state=EffectState.STARTED,
        started_at=tx.now(),
    )
    tx.effects.add(effect)
    record = {"effect": effect.id, "digest": action.digest, "key": effect.key, "fence": fence}
    tx.trail.append(subject_of(review.id), "started", record, at=tx.now())
    return Started(verdict="run", effect_id=effect.id, key=effect.key, action=action)


def _again(tx: Tx, effect: Effect, action: Action, fence: int) -> Started:
    said: dict[str, Any] = {"effect_id": effect.id, "key": effect.key, "action": action}
    ended = effect.result or {}
    match effect.state:
        case EffectState.SUCCEEDED | EffectState.FAILED:
            return Started(verdict="done", result=ended.get("result"), error=ended.get("error"), **said)
        case EffectState.TOLD:
            return Started(verdict="told", result=ended.get("result"), **said)
        case EffectState.CLEARED:
            tx.effects.restart(effect, fence=fence, at=tx.now())
            tx.trail.append(subject_of(effect.review_id), "started", {"effect": effect.id, "fence": fence}, at=tx.now())
            return Started(verdict="run", **said)
        case EffectState.STARTED | EffectState.UNCERTAIN:
            raise EffectUncertain(f"effect {effect.id} was started before and never ended; it is not run again")


def _end(tx: Tx, effect: Effect, state: EffectState, result: Json, error: str | None) -> None:
    now = tx.now()
    if not tx.effects.end(effect, state, of=EffectState.STARTED, at=now, result={"result": result, "error": error}):
        raise OutcomeConflict(f"effect {effect.id} is not running any more")
    outcome = Outcome(status=OutcomeStatus(state.value), at=now, result=result, error=error)
    tx.reviews.set_outcome(effect.review_id, outcome)
    if state is EffectState.FAILED:
        tx.reservations.release(effect.review_id)
    tx.trail.append(subject_of(effect.review_id), "ended", {"status": state, "result": result, "error": error}, at=now)
    refresh_card(tx, effect.review_id)


def idempotency_key(review: Review, action: Action) -> str:
    """The same for the same call of the same run with the same arguments, and for nothing else."""
    interrupt = review.interrupt
    parts = [review.run_id or review.id, interrupt.call_id or review.id, action.digest]
    return "sdr_" + hashlib.sha256(canonical(parts, path="key")).hexdigest()[:40]


def _told(answer: Json, decision: Decision | None) -> str:
    if answer == HAPPENED:
        return "This call ran before; a person confirmed that it happened. It was not run again."
    if decision is None:
        return "This call may have happened before a crash, and nobody answered whether it did. It was not run again."
    return "It is not known whether this call happened before a crash. It was not run again; tell the user so."
