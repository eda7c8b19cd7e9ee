"""How rules become one verdict.

* A `deny` that matches wins, wherever it stands.
* Otherwise the first rule in file order that matches wins; `allow` over its cap does not match, reading goes
  on, and the cap's sentence is put before the next reason.
* A condition without a sure answer turns its rule into `ask` by the fallback route, under the rule's name.
* While it is not sure whether a `deny` matches, nothing is allowed: not by an earlier `allow`, nor in the end by
  the clock; an earlier `ask` stands and says so.
* A field that any rule for this tool calls secret is secret in every verdict for this tool.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeAlias

from seconder.decision import FieldRule, Verdict, VerdictKind
from seconder.policies.caps import HistoryNeed, Reservation, amount_of, need_of, sentence_over, sentence_unknown
from seconder.policies.case import Case
from seconder.policies.conditions import Facts, Unclear
from seconder.policies.rules import Cap, Fallback, Rule

Spent: TypeAlias = Callable[[Rule, HistoryNeed | None], Decimal | None]
"""How much of a rule's cap is used; None: not known."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, and what it reserves under a cap where it allows."""

    verdict: Verdict
    reserve: tuple[Reservation, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule for this tool says of the case."""

    rule: Rule
    answer: bool | Unclear

    @property
    def denies(self) -> bool:
        return self.rule.verdict is VerdictKind.DENY


@dataclass(frozen=True, slots=True)
class Reading:
    """One case against all rules for its tool, before caps."""

    case: Case
    facts: Facts
    findings: tuple[Finding, ...]
    fallback: Fallback

    @property
    def denied(self) -> Finding | None:
        return next((found for found in self.findings if found.denies and found.answer is True), None)

    @property
    def doubt(self) -> Finding | None:
        """The first `deny` of which it is not sure whether it matches."""
        return next((found for found in self.findings if found.denies and isinstance(found.answer, Unclear)), None)

    def reached(self) -> tuple[list[tuple[Rule, Cap]], Finding | None]:
        """The capped rules that match, in order, and what holds if all of them are over; None is the fallback."""
        capped: list[tuple[Rule, Cap]] = []
        for found in self.findings:
            if found.answer is False:
                continue
            if isinstance(found.answer, Unclear) or found.rule.cap is None:
                return capped, found
            capped.append((found.rule, found.rule.cap))
        return capped, None


def read(rules: Iterable[Rule], fallback: Fallback, case: Case) -> Reading:
    tool, kind, facts = case.tool, case.kind, Facts(case.names)
    named = [rule for rule in rules if kind in rule.kinds and rule.tools.match(tool)]
    return Reading(case, facts, tuple(Finding(rule, _answer(rule, facts)) for rule in named), fallback)


def needs(reading: Reading) -> tuple[HistoryNeed, ...]:
    """What the caps that decide this case want to know, each once, in file order."""
    if reading.denied or reading.doubt:
        return ()
    capped, _ = reading.reached()
    found = (need_of(rule, cap, reading.case) for rule, cap in capped)
    return tuple(dict.fromkeys(need for need in found if need is not None))


def judge(reading: Reading, spent: Spent) -> Judgement:
    judgement = _judge(reading, spent)
    fields = _with_secrets(judgement.verdict.fields, reading.findings)
    return replace(judgement, verdict=replace(judgement.verdict, fields=fields))


def _judge(reading: Reading, spent: Spent) -> Judgement:
    capped, final = reading.reached()
    if reading.denied:
        return Judgement(_verdict(reading.denied.rule, reading))
    if reading.doubt and capped:
        return Judgement(_unsure(reading.doubt, reading))
    over: list[str] = []
    for rule, cap in capped:
        outcome = _under_cap(rule, cap, reading, spent)
        if isinstance(outcome, Judgement):
            return _after(over, outcome)
        over.append(outcome)
    return _after(over, Judgement(_final(final, reading)))


def _under_cap(rule: Rule, cap: Cap, reading: Reading, spent: Spent) -> Judgement | str:
    """The judgement, or the sentence of the cap that keeps the rule from matching."""
    amount = amount_of(cap, reading.facts)
    if isinstance(amount, Unclear):
        return Judgement(_unsure(Finding(rule, amount), reading))
    need = need_of(rule, cap, reading.case)
    used = spent(rule, need)
    if used is None:
        return sentence_unknown(rule, cap, need)
    if used + amount > cap.limit:
        return sentence_over(rule, cap, used, amount)
    return Judgement(_verdict(rule, reading), () if need is None else (Reservation(need, amount),))


def _final(final: Finding | None, reading: Reading) -> Verdict:
    if final is None:
        return _no_rule(reading)
    if isinstance(final.answer, Unclear):
        return _unsure(final, reading)
    verdict, doubt = _verdict(final.rule, reading), reading.doubt
    if doubt is None:
        return verdict
    if final.rule.verdict is VerdictKind.ALLOW or final.rule.allows_in_the_end:
        return _unsure(doubt, reading)
    return replace(verdict, because=f"{verdict.because} {_sentence_unsure(doubt)}")


def _answer(rule: Rule, facts: Facts) -> bool | Unclear:
    return True if rule.when is None else rule.when.truth(facts)


def _verdict(rule: Rule, reading: Reading) -> Verdict:
    asks = rule.verdict is VerdictKind.ASK
    return Verdict(
        kind=rule.verdict,
        rule=rule.name,
        because=rule.because,
        source=rule.source,
        route=(rule.route or reading.fallback.route) if asks else None,
        ladder=rule.ladder if asks else (),
        fields=rule.fields,
        edits=rule.edits,
        must_open=rule.must_open,
        requester_none_ok=rule.requester_none_ok,
        reject_reasons=rule.reject_reasons,
    )


def _unsure(found: Finding, reading: Reading) -> Verdict:
    verdict, because = _verdict(found.rule, reading), _sentence_unsure(found)
    return replace(verdict, kind=VerdictKind.ASK, because=because, route=reading.fallback.route, ladder=())


def _sentence_unsure(found: Finding) -> str:
    why = found.answer.why if isinstance(found.answer, Unclear) else "it matches"
    does = "forbids this" if found.denies else "applies"
    return f"It is not sure whether rule “{found.rule.name}” {does}: {why}."


def _no_rule(reading: Reading) -> Verdict:
    tool, fallback = reading.case.tool, reading.fallback
    because = f"No rule for the tool “{tool}” matches." if reading.findings else f"No rule names the tool “{tool}”."
    return Verdict(
        kind=VerdictKind.ASK, rule=fallback.name, because=because, source=fallback.source, route=fallback.route
    )


def _after(over: Sequence[str], judgement: Judgement) -> Judgement:
    because = " ".join([*over, judgement.verdict.because])
    return replace(judgement, verdict=replace(judgement.verdict, because=because))


def _with_secrets(fields: Mapping[str, FieldRule], findings: Sequence[Finding]) -> Mapping[str, FieldRule]:
    shown = dict(fields)
    for found in findings:
        for name, field in found.rule.fields.items():
            if field.secret:
                shown[name] = replace(shown.get(name, FieldRule()), secret=True)
    return shown
