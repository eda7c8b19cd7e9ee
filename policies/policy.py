"""A policy: who must be asked. Pure: the same case and the same history give the same judgement."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from seconder.decision import Role, Route
from seconder.policies import judging
from seconder.policies.caps import HistoryNeed
from seconder.policies.case import Case
from seconder.policies.judging import Judgement, Reading
from seconder.policies.rules import Fallback, Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    roles: Mapping[str, Role]
    last: Fallback
    rules: tuple[Rule, ...]
    digest: str  #: `sha256:` over the text it was read from
    break_glass: tuple[str, ...] = ()  #: roles that may decide from the command line; empty: nobody

    @property
    def fallback(self) -> Route:
        """Where whatever no rule decides is asked."""
        return self.last.route

    def read(self, case: Case) -> Reading:
        """What each rule for this tool says, before caps."""
        return judging.read(self.rules, self.last, case)

    def needs(self, case: Case) -> tuple[HistoryNeed, ...]:
        """What `judge` wants to know of the past; empty for nearly every case."""
        return judging.needs(self.read(case))

    def judge(self, case: Case, history: Mapping[HistoryNeed, Decimal]) -> Judgement:
        """The verdict, and what to reserve if it allows; a need missing in `history` keeps its rule from allowing."""
        return judging.judge(self.read(case), lambda _, need: None if need is None else history.get(need))
