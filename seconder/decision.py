"""What the policy says of an action (a verdict) and what people, policy or clock said (a decision)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias

from seconder.action import Action, Json

# --- verdict --------------------------------------------------------------------------------------


class VerdictKind(StrEnum):
    ALLOW = "allow"  #: runs alone
    ASK = "ask"  #: a person is asked, by a route
    DENY = "deny"  #: never happens


class Edits(StrEnum):
    """Who may decide on edited arguments."""

    OWN = "own"  #: submitting the form is the decision
    SECOND = "second"  #: an edit makes a new revision that somebody else decides
    FORBIDDEN = "forbidden"  #: there is no Edit button


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where and whom to ask: `channel` is `#name`, a channel id, or `@USERID` for a direct message.

    `roles` is a union; who is in a role is looked up at the click. No roles: nobody may decide.
    """

    channel: str
    roles: tuple[str, ...]
    approvals: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Remind:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalate:
    route: Route


class DefaultKind(StrEnum):
    REJECT = "reject"
    EXPIRE = "expire"
    ALLOW = "allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Default:
    kind: DefaultKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One step of the ladder; `after` counts from the creation of the review."""

    after: timedelta
    step: Remind | Escalate | Default


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRule:
    """How one argument is shown and edited; without a label the argument's own name is used."""

    label: str | None = None
    secret: bool = False
    edit: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the policy says, with the rule, its place (`file:line`) and a sentence why.

    A route is there exactly when the kind is `ask`.
    """

    kind: VerdictKind
    rule: str
    because: str
    source: str
    route: Route | None = None
    ladder: tuple[Rung, ...] = ()
    fields: Mapping[str, FieldRule] = field(default_factory=dict)
    edits: Edits = Edits.OWN
    must_open: bool = False
    requester_none_ok: bool = False
    reject_reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """Who is in a role: Slack user ids and Slack user group ids."""

    users: frozenset[str] = frozenset()
    user_groups: frozenset[str] = frozenset()


# --- decision -------------------------------------------------------------------------------------


class Source(StrEnum):
    PERSON = "person"
    POLICY = "policy"
    CLOCK = "clock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Approved:
    by: tuple[str, ...]
    source: Source
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """Approved with other arguments: `action` is what runs; the original stays in the trail."""

    by: tuple[str, ...]
    source: Source
    at: datetime
    action: Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    by: tuple[str, ...]
    source: Source
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    by: tuple[str, ...]
    source: Source
    at: datetime
    answer: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenOver:
    """A person did it by hand; `result` is what the agent receives as the tool's result."""

    by: tuple[str, ...]
    source: Source
    at: datetime
    result: str


Decision: TypeAlias = Approved | Edited | Rejected | Answered | TakenOver


def kind_of(decision: Decision) -> str:
    """The word of the HTTP contract: approved, edited, rejected, answered or taken_over."""
    match decision:
        case Approved():
            return "approved"
        case Edited():
            return "edited"
        case Rejected():
            return "rejected"
        case Answered():
            return "answered"
        case TakenOver():
            return "taken_over"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """One person's approval of one exact action, where more than one is needed."""

    person: str
    digest: str
    at: datetime
