"""An interrupt becomes a review: judged, stored with its run state, and queued to be shown, in one commit."""

from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar

from seconder.action import Json
from seconder.decision import Approved, Decision, Default, DefaultKind, Source, Verdict, VerdictKind
from seconder.desk.desk import Desk, subject_of
from seconder.desk.shown import add_card, digest_shown
from seconder.errors import Fault, IdempotencyConflict, InvalidInput
from seconder.faults import crash_point
from seconder.policies import Case, HistoryNeed, Reservation
from seconder.review import (
    DEFAULT_DEADLINE,
    MAX_INTERRUPTS,
    Agent,
    Delivery,
    Interrupt,
    Kind,
    Pause,
    PauseState,
    Review,
    Status,
)
from seconder.store.mapping import dump_interrupt, dump_verdict
from seconder.store.pauses import PauseOrigin
from seconder.store.reviews import Submitted
from seconder.store.tokens import Token
from seconder.store.tx import Tx

T = TypeVar("T")

STATUS = {VerdictKind.ALLOW: Status.ALLOWED, VerdictKind.DENY: Status.DENIED, VerdictKind.ASK: Status.PENDING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """What makes a submission idempotent: the caller's key and the digest of the body."""

    key: str
    body_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseRequest:
    """A stopped run: its state as bytes, and what it asks."""

    run: str
    agent: Agent
    framework: str
    framework_version: str
    run_state: bytes
    interrupts: tuple[Interrupt, ...]


def submit_review(desk: Desk, caller: Token, interrupt: Interrupt, once: Once | None = None) -> tuple[Review, bool]:
    """The review, whatever the verdict, and whether it is new.

    Raises: IdempotencyConflict; InvalidInput where the agent is not the token's.
    """
    _check_agent(caller, interrupt.agent)

    def write(tx: Tx) -> tuple[Review, bool]:
        if once is not None:
            known = tx.reviews.by_idempotency_key(caller.id, once.key)
            if known is not None:
                return _same_body(known[1], once, known[0]), False
        return add_review(desk, tx, caller, interrupt, Submitted(**_once(once))), True

    return desk.store.write(write)


def submit_pause(desk: Desk, caller: Token, request: PauseRequest, once: Once | None = None) -> tuple[str, bool]:
    """The id of the pause, and whether it is new; its reviews are submitted with it or not at all.

    Raises: IdempotencyConflict; InvalidInput.
    """
    check_pause(caller, request)

    def write(tx: Tx) -> tuple[str, bool]:
        if once is not None:
            known = tx.pauses.by_idempotency_key(caller.id, once.key)
            if known is not None:
                return _same_body(known[1], once, known[0]), False
        return add_pause(desk, tx, caller, request, PauseOrigin(token_id=caller.id, **_once(once))), True

    submitted = desk.store.write(write)
    crash_point("desk.submitted")
    return submitted


def check_pause(caller: Token, request: PauseRequest) -> None:
    """Raises: InvalidInput with every fault."""
    _check_agent(caller, request.agent)
    faults = []
    if not 1 <= len(request.interrupts) <= MAX_INTERRUPTS:
        faults.append(Fault("interrupts", f"send 1 to {MAX_INTERRUPTS} interrupts"))
    calls = [interrupt.call_id for interrupt in request.interrupts if interrupt.call_id is not None]
    twice = sorted({call for call in calls if calls.count(call) > 1})
    faults += [Fault("interrupts", f"the call id {call_id!r} stands twice in one pause") for call_id in twice]
    for index, interrupt in enumerate(request.interrupts):
        if interrupt.agent.name != request.agent.name:
            faults.append(Fault(f"interrupts[{index}].agent.name", f"must be the pause's agent {request.agent.name!r}"))
    if faults:
        raise InvalidInput(faults)


def add_pause(desk: Desk, tx: Tx, caller: Token, request: PauseRequest, origin: PauseOrigin) -> str:
    """The pause and its reviews are stored; its id. It is ready at once where nobody has to be asked."""
    now = tx.now()
    run_id = tx.pauses.run(agent=request.agent.name, name=request.run, ident=desk.new_id("rn"), at=now)
    pause = Pause(
        id=desk.new_id("ps"),
        run_id=run_id,
        agent=request.agent,
        framework=request.framework,
        framework_version=request.framework_version,
        state=PauseState.WAITING,
        created_at=now,
        reviews=(),
        run_state=request.run_state,
    )
    tx.pauses.add(pause, origin)
    reviews = [
        add_review(desk, tx, caller, interrupt, Submitted(position=position), pause=pause)
        for position, interrupt in enumerate(request.interrupts)
    ]
    if all(review.status is not Status.PENDING for review in reviews):
        tx.pauses.set_ready(pause.id, now)
    return pause.id


def add_review(
    desk: Desk,
    tx: Tx,
    caller: Token,
    interrupt: Interrupt,
    submitted: Submitted,
    *,
    pause: Pause | None = None,
    verdict: Verdict | None = None,
    effect_id: str | None = None,
) -> Review:
    """The review as stored; judged by the policy in force unless a verdict is given."""
    digest = digest_shown(interrupt)  # refuses what has no canonical form before a condition sees it
    judged, reserve = (verdict, ()) if verdict else judge(desk, tx, interrupt)
    now = tx.now()
    if interrupt.deadline is not None and interrupt.deadline <= now:
        raise InvalidInput([Fault("deadline", "is in the past; send a later one or none")])
    deadline, default = deadline_of(interrupt, judged, now)
    review = Review(
        id=desk.new_id("rv"),
        status=STATUS[judged.kind],
        revision=1,
        interrupt=interrupt,
        verdict=judged,
        digest=digest,
        created_at=now,
        deadline=deadline,
        deadline_default=default,
        rung=0,
        delivery=Delivery.QUEUED,
        agent_token=caller.id,
        pause_id=pause.id if pause else None,
        run_id=pause.run_id if pause else None,
        effect_id=effect_id,
        requester_user=_requester_user(tx, interrupt),
        decision=_allowed(judged, now),
        decided_at=None if judged.kind is VerdictKind.ASK else now,
    )
    review = replace(review, undecidable=_undecidable(review))
    pending = review.status is Status.PENDING
    tx.reviews.add(review, submitted, due_at=next_due(review) if pending else None)
    for reservation in reserve:
        _reserve(tx, review.id, reservation, now)
    tx.trail.append(subject_of(review.id), "submitted", _record(review, interrupt), at=now)
    if pending:
        add_card(desk, tx, review)
    return review


def deadline_of(interrupt: Interrupt, verdict: Verdict, now: datetime) -> tuple[datetime, str]:
    """When the review ends and how: the earlier of the interrupt's deadline (expire) and the ladder's default."""
    end, kind = now + DEFAULT_DEADLINE, DefaultKind.EXPIRE
    for rung in verdict.ladder:
        if isinstance(rung.step, Default):
            end, kind = now + rung.after, rung.step.kind
    if interrupt.deadline is not None and interrupt.deadline < end:
        return interrupt.deadline, DefaultKind.EXPIRE
    return end, kind


def next_due(review: Review) -> datetime:
    """When the sweep has to look at the review: its next rung or its deadline."""
    rungs = review.verdict.ladder[review.rung :]
    if rungs and not isinstance(rungs[0].step, Default):
        return min(review.created_at + rungs[0].after, review.deadline)
    return review.deadline


def judge(desk: Desk, tx: Tx, interrupt: Interrupt) -> tuple[Verdict, tuple[Reservation, ...]]:
    """The verdict of the policy in force, and what an `allow` under a cap has to reserve."""
    policy, case = desk.policy(), Case(interrupt=interrupt)
    needs = policy.needs(case)
    tx.reservations.lock(need.rule for need in needs)
    now = tx.now()
    history = {need: _spent(tx, need, now) for need in needs}
    judgement = policy.judge(case, history)
    if interrupt.kind is Kind.QUESTION and judgement.verdict.kind is VerdictKind.ALLOW:
        asked = replace(judgement.verdict, kind=VerdictKind.ASK, route=policy.fallback)
        return replace(asked, because="A question needs a person to answer it."), ()
    return judgement.verdict, judgement.reserve


def _spent(tx: Tx, need: HistoryNeed, now: datetime) -> Decimal:
    since = now - need.window
    return tx.reservations.spent(rule=need.rule, measure=need.measure, per=need.per, key=need.key, since=since)


def _reserve(tx: Tx, review_id: str, reservation: Reservation, now: datetime) -> None:
    need = reservation.need
    tx.reservations.add(
        review_id=review_id,
        rule=need.rule,
        measure=need.measure,
        per=need.per,
        key=need.key,
        amount=reservation.amount,
        at=now,
    )


def _allowed(verdict: Verdict, now: datetime) -> Decision | None:
    return Approved(by=(), source=Source.POLICY, at=now) if verdict.kind is VerdictKind.ALLOW else None


def _requester_user(tx: Tx, interrupt: Interrupt) -> str | None:
    requester, workspace = interrupt.requester, tx.people.workspace()
    if requester is None:
        return None
    if requester.slack_user is not None or requester.email is None or workspace is None:
        return requester.slack_user
    found = tx.people.by_email(workspace.team_id, requester.email)
    return found[0].user_id if len(found) == 1 else None


def _undecidable(review: Review) -> str | None:
    requester = review.interrupt.requester
    if review.status is not Status.PENDING or review.verdict.requester_none_ok or review.effect_id is not None:
        return None
    if requester is None or (requester.slack_user is None and requester.email is None):
        return (
            "It is not known for whom the agent acts, so nobody can approve this: send `requester` with a Slack user "
            f"or an e-mail, or set `requester: none_ok` on the rule “{review.verdict.rule}”."
        )
    return None


def _record(review: Review, interrupt: Interrupt) -> Json:
    action = interrupt.action
    return {
        "status": review.status,
        "digest": review.digest,
        "action": None if action is None else {"tool": action.tool, "arguments": action.canonical.decode()},
        "interrupt": dump_interrupt(interrupt),
        "verdict": dump_verdict(review.verdict),
        "deadline": review.deadline.isoformat(),
        "pause": review.pause_id,
    }


def _check_agent(caller: Token, agent: Agent) -> None:
    if agent.name != caller.agent:
        fault = Fault("agent.name", f"this token belongs to agent {caller.agent!r}, not {agent.name!r}")
        raise InvalidInput([fault])


def _once(once: Once | None) -> dict[str, Any]:
    return {} if once is None else {"idempotency_key": once.key, "body_digest": once.body_digest}


def _same_body(known_digest: str, once: Once, value: T) -> T:
    if known_digest != once.body_digest:
        message = f"the idempotency key {once.key!r} was used with another body; send a new key"
        raise IdempotencyConflict(message)
    return value
