"""What the answers look like, for OpenAPI; nothing is validated with these on the way out."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

Status = Literal["allowed", "denied", "pending", "decided", "expired", "cancelled"]


class FaultOut(BaseModel):
    path: str = Field(examples=["interrupts[0].action.arguments"])
    message: str


class ErrorBody(BaseModel):
    code: str = Field(examples=["invalid"])
    message: str
    fields: list[FaultOut]
    request_id: str


class ErrorOut(BaseModel):
    error: ErrorBody


class AgentOut(BaseModel):
    name: str
    version: str | None


class ActionOut(BaseModel):
    tool: str
    arguments: dict[str, Any]
    arguments_schema: dict[str, Any] | None
    summary: str | None


class QuestionOut(BaseModel):
    prompt: str
    options: list[str]
    answer_schema: dict[str, Any] | None


class StateOut(BaseModel):
    value: Any
    state_schema: dict[str, Any] | None = Field(alias="schema")


class RequesterOut(BaseModel):
    slack_user: str | None
    email: str | None
    name: str | None


class VerdictOut(BaseModel):
    verdict: Literal["allow", "ask", "deny"]
    rule: str
    because: str
    policy: str = Field(description="File and line of the rule.")


class VoteOut(BaseModel):
    person: str
    at: datetime


class DecisionOut(BaseModel):
    """Fields that the kind does not have are null."""

    kind: Literal["approved", "edited", "rejected", "answered", "taken_over"]
    arguments: Any
    digest: str | None
    reason: str | None
    answer: Any
    result: str | None
    by: list[str]
    source: Literal["person", "policy", "clock"]
    at: datetime


class OutcomeOut(BaseModel):
    status: Literal["succeeded", "failed", "uncertain"]
    result: Any
    error: str | None
    at: datetime


class ReviewOut(BaseModel):
    id: str
    status: Status
    delivery: Literal["queued", "posted", "undelivered"]
    revision: int
    kind: Literal["tool_call", "approval", "state_edit", "question"]
    agent: AgentOut
    action: ActionOut | None
    question: QuestionOut | None
    state: StateOut | None
    digest: str = Field(examples=["sha256:" + "0" * 64])
    call_id: str | None
    session: str | None
    environment: str | None
    reason: str | None
    requester: RequesterOut | None
    verdict: VerdictOut
    created_at: datetime
    deadline: datetime
    votes: list[VoteOut]
    decision: DecisionOut | None
    outcome: OutcomeOut | None
    consumed: bool
    undecidable: str | None = Field(description="Why nobody can approve it, as a sentence.")
    pause_id: str | None
    run: str | None


class PageOut(BaseModel):
    reviews: list[ReviewOut]
    cursor: str | None = Field(description="Of the next page; null at the end.")


class PauseOutcomeOut(BaseModel):
    kind: Literal["finished", "paused_again", "failed"]
    final_output: Any
    error: str | None
    next_pause: str | None


class _PauseOut(BaseModel):
    id: str
    run: str
    agent: AgentOut
    framework: str
    framework_version: str
    state: Literal["waiting", "ready", "leased", "finished"]
    created_at: datetime
    attempts: int
    outcome: PauseOutcomeOut | None


class PauseOut(_PauseOut):
    reviews: list[ReviewOut]


class ClaimedPause(_PauseOut):
    run_state: Any = Field(description="The submitted `state`, exactly.")


class Claimed(BaseModel):
    pause: ClaimedPause
    reviews: list[ReviewOut]
    fence: int
    lease_seconds: float


class ClaimOut(BaseModel):
    claim: Claimed | None


class LeaseOut(BaseModel):
    lease_seconds: float


class ConsumedOut(BaseModel):
    arguments: dict[str, Any]
    digest: str
    idempotency_key: str


class EffectOut(BaseModel):
    """`run`: run it now; `done`: it ran before; `told`: a person said what happened, `result` is what to say."""

    verdict: Literal["run", "done", "told"]
    effect_id: str
    key: str
    arguments: dict[str, Any]
    result: Any
    error: str | None


class NothingOut(BaseModel):
    pass


class HealthOut(BaseModel):
    status: Literal["ok"]


class ReadyOut(BaseModel):
    status: Literal["ready", "unready"]
    parts: list[str]
    reasons: dict[str, str]
