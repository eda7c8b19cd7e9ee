"""What a policy file says, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum

from seconder.decision import Default, DefaultKind, Edits, FieldRule, Route, Rung, VerdictKind
from seconder.policies.conditions import Expression
from seconder.policies.patterns import Tools
from seconder.review import Kind

FALLBACK = "fallback"  # as the name of a rule it is taken


class Measure(StrEnum):
    SUM = "sum"  #: of an expression over the calls that ran alone
    COUNT = "count"  #: of the calls that ran alone


class Per(StrEnum):
    SESSION = "session"
    AGENT = "agent"
    REQUESTER = "requester"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """How much an `allow` rule lets run alone within a window that ends now; `limit` itself is still within."""

    measure: Measure
    amount: Expression | None  #: of one call; None counts calls
    per: Per
    window: timedelta
    limit: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Autonomy:
    """Read and checked, not applied: everything asks."""

    after: int
    max: Mapping[str, Decimal] = field(default_factory=dict)
    sample: Decimal = Decimal(0)  #: 0..1


@dataclass(frozen=True, slots=True)
class Fallback:
    """Where whatever no rule decides is asked."""

    route: Route
    source: str  #: `file:line`
    name: str = FALLBACK


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    name: str
    source: str  #: `file:line`
    path: str  #: `rules[2]`, counted in its file
    tools: Tools
    kinds: frozenset[Kind]
    when: Expression | None  #: None: always
    verdict: VerdictKind
    because: str
    cap: Cap | None = None
    route: Route | None = None  #: None: the policy's fallback
    ladder: tuple[Rung, ...] = ()
    fields: Mapping[str, FieldRule] = field(default_factory=dict)
    edits: Edits = Edits.OWN
    must_open: bool = False
    requester_none_ok: bool = False
    reject_reasons: tuple[str, ...] = ()
    autonomy: Autonomy | None = None
    without_effect: tuple[str, ...] = ()  #: keys that mean nothing with this verdict

    @property
    def allows_in_the_end(self) -> bool:
        """True if the clock approves what nobody decided."""
        return any(isinstance(rung.step, Default) and rung.step.kind is DefaultKind.ALLOW for rung in self.ladder)
