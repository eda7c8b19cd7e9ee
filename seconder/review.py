"""A review lives from interrupt to outcome; this is its status machine.

    submit ─┬─> allowed ──────────────────────────── (consume, report)
            ├─> denied
            └─> pending ─┬─ vote, remind, escalate, revise, bind ─> pending
                         ├─ decide ─> decided ────── (consume, report)
                         ├─ expire ─> expired
                         └─ cancel ─> cancelled

* Only `pending` can change its status, and only once: every step out of it is one guarded UPDATE.
* `revision` grows when the action or the route changes (escalate, revise), never by a vote.
* Steps on a status that is not in TRANSITIONS raise IllegalTransition and change nothing.
* `expired` is not `rejected`: the clock's default `reject` gives `decided`, `expire` gives `expired`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias

from seconder.action import Action, Json
from seconder.decision import Decision, Verdict, Vote
from seconder.errors import IllegalTransition

DEFAULT_DEADLINE = timedelta(hours=24)  # where neither interrupt nor ladder says one
MAX_INTERRUPTS = 50  # reviews in one pause
MAX_RUN_STATE = 8 * 1024 * 1024  # bytes


class Status(StrEnum):
    ALLOWED = "allowed"  #: the policy lets it run alone
    DENIED = "denied"  #: the policy forbids it
    PENDING = "pending"  #: somebody is asked
    DECIDED = "decided"  #: approved, edited, rejected, answered or taken over
    EXPIRED = "expired"  #: nobody decided in time
    CANCELLED = "cancelled"  #: the agent, requester or an admin took it back


class Step(StrEnum):
    VOTE = "vote"
    REMIND = "remind"
    ESCALATE = "escalate"
    REVISE = "revise"
    DECIDE = "decide"
    EXPIRE = "expire"
    CANCEL = "cancel"
    CONSUME = "consume"
    REPORT = "report"


TRANSITIONS: Mapping[tuple[Status, Step], Status] = {
    (Status.PENDING, Step.VOTE): Status.PENDING,
    (Status.PENDING, Step.REMIND): Status.PENDING,
    (Status.PENDING, Step.ESCALATE): Status.PENDING,
    (Status.PENDING, Step.REVISE): Status.PENDING,
    (Status.PENDING, Step.DECIDE): Status.DECIDED,
    (Status.PENDING, Step.EXPIRE): Status.EXPIRED,
    (Status.PENDING, Step.CANCEL): Status.CANCELLED,
    (Status.ALLOWED, Step.CONSUME): Status.ALLOWED,
    (Status.DECIDED, Step.CONSUME): Status.DECIDED,
    (Status.ALLOWED, Step.REPORT): Status.ALLOWED,
    (Status.DECIDED, Step.REPORT): Status.DECIDED,
}


def after(status: Status, step: Step, *, review_id: str) -> Status:
    """The status that `step` leads to. Raises: IllegalTransition."""
    try:
        return TRANSITIONS[status, step]
    except KeyError:
        raise IllegalTransition(review_id, status, step) from None


# --- what a paused run submits ----------------------------------------------------------------------


class Kind(StrEnum):
    TOOL_CALL = "tool_call"
    APPROVAL = "approval"
    STATE_EDIT = "state_edit"
    QUESTION = "question"


@dataclass(frozen=True, slots=True, kw_only=True)
class Requester:
    """For whom the agent acts; a Slack user id is sure, an e-mail must resolve to exactly one, a name is only shown."""

    slack_user: str | None = None
    email: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    name: str
    version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Answered with free text, one of `options`, or a value that `answer_schema` accepts."""

    prompt: str
    options: tuple[str, ...] = ()
    answer_schema: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateValue:
    """The agent's intermediate state, to be corrected."""

    value: Json
    schema: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextItem:
    """One thing a reviewer should know: a labelled fact, a message somebody wrote, or a link."""

    label: str
    text: str
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupt:
    """What a paused run asks; `action` is there for tool_call and approval, `question` and `state` for theirs."""

    kind: Kind
    agent: Agent
    action: Action | None = None
    question: Question | None = None
    state: StateValue | None = None
    reason: str | None = None
    context: tuple[ContextItem, ...] = ()
    requester: Requester | None = None
    session: str | None = None
    environment: str | None = None
    risk: float | None = None  #: 0..1
    confidence: float | None = None  #: 0..1
    call_id: str | None = None
    allowed_decisions: tuple[str, ...] = ()  #: empty: all that the kind has
    deadline: datetime | None = None  #: aware, UTC
    callback_url: str | None = None


# --- what becomes of it -------------------------------------------------------------------------------


class Delivery(StrEnum):
    QUEUED = "queued"  #: no card yet
    POSTED = "posted"  #: a live card is in Slack, or was until it was decided
    UNDELIVERED = "undelivered"  #: Slack refused; retried, and visible


class OutcomeStatus(StrEnum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNCERTAIN = "uncertain"  #: started and never ended: a person is asked what happened


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How the gated call ended."""

    status: OutcomeStatus
    at: datetime
    result: Json = None
    error: str | None = None


class PauseState(StrEnum):
    WAITING = "waiting"  #: a review of it is pending
    READY = "ready"  #: all its reviews are settled; a worker may claim it
    LEASED = "leased"  #: a worker resumes it
    FINISHED = "finished"  #: see its outcome


class PauseOutcome(StrEnum):
    FINISHED = "finished"
    PAUSED_AGAIN = "paused_again"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The durable thing between an interrupt and its outcome, as one read saw it."""

    id: str
    status: Status
    revision: int
    interrupt: Interrupt  #: with the action of this revision
    verdict: Verdict  #: its route is the one in force
    digest: str  #: of the action, or of the question or state shown
    created_at: datetime
    deadline: datetime
    deadline_default: str  #: reject, expire or allow: what happens at the deadline
    rung: int  #: rungs of the ladder already done
    delivery: Delivery
    agent_token: str  #: id of the token that submitted it
    pause_id: str | None = None
    run_id: str | None = None
    effect_id: str | None = None  #: for a question about an uncertain effect: which one
    undecidable: str | None = None  #: why nobody can approve it, as a sentence
    votes: tuple[Vote, ...] = ()
    decision: Decision | None = None
    decided_at: datetime | None = None
    outcome: Outcome | None = None
    consumed: bool = False
    editor: str | None = None  #: who wrote the arguments of this revision, if a person did
    requester_user: str | None = None  #: the Slack user id that the requester resolved to

    @property
    def action(self) -> Action | None:
        """What is shown: the action, or the state as the action `edit_state`."""
        if self.interrupt.action is not None:
            return self.interrupt.action
        if self.interrupt.state is not None:
            state = self.interrupt.state
            return Action(tool="edit_state", arguments={"state": state.value}, schema=state.schema)
        return None


Settled: TypeAlias = tuple[Review, ...]
"""The reviews of a pause, none pending, in the order of submission."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """One stop of a run, with 1 to 50 reviews."""

    id: str
    run_id: str
    agent: Agent
    framework: str
    framework_version: str
    state: PauseState
    created_at: datetime
    reviews: tuple[Review, ...]
    run_state: bytes | None = None
    fence: int = 0
    attempts: int = 0
    outcome: PauseOutcome | None = None
    final_output: Json = None
    error: str | None = None
    next_pause_id: str | None = None
