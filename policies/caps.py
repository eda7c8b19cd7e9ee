"""Caps: how much of what a rule allows may run alone, and what a call under a cap reserves."""

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from seconder.policies.case import Case
from seconder.policies.conditions import Facts, Unclear
from seconder.policies.rules import Cap, Per, Rule

UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


@dataclass(frozen=True, slots=True)
class HistoryNeed:
    """What a cap wants to know: the sum of what was reserved under `rule` for this `key` since now minus `window`."""

    rule: str
    measure: str  #: sum or count; a counted call reserves 1
    per: str  #: session, agent, requester or tool
    key: str  #: the value of that dimension in this case
    window: timedelta


@dataclass(frozen=True, slots=True)
class Reservation:
    """What an allowed call takes from a cap until it is released."""

    need: HistoryNeed
    amount: Decimal


def need_of(rule: Rule, cap: Cap, case: Case) -> HistoryNeed | None:
    """None where the case does not say which session or requester it belongs to."""
    key = _key(cap.per, case)
    if key is None:
        return None
    return HistoryNeed(rule=rule.name, measure=cap.measure.value, per=cap.per.value, key=key, window=cap.window)


def amount_of(cap: Cap, facts: Facts) -> Decimal | Unclear:
    return Decimal(1) if cap.amount is None else cap.amount.amount(facts)


def sentence_over(rule: Rule, cap: Cap, spent: Decimal, amount: Decimal) -> str:
    """Why the cap keeps the rule from allowing this call."""
    what = f"this call adds {plain(amount)}" if cap.amount else "this is one more call"
    return (
        f"The cap of rule “{rule.name}” is reached: {plain(spent)} of {plain(cap.limit)} per {cap.per} "
        f"within {duration(cap.window)} are used, and {what}."
    )


def sentence_unknown(rule: Rule, cap: Cap, need: HistoryNeed | None) -> str:
    """Why it is not known whether the cap is reached."""
    if need is None:
        return f"Rule “{rule.name}” has a cap per {cap.per}, and no {cap.per} was sent."
    return f"Rule “{rule.name}” has a cap, and how much of it is used is not known."


def plain(number: Decimal) -> str:
    """Without exponent and without trailing zeros after the point."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def duration(length: timedelta) -> str:
    """As it is written in a policy file: `2h30m`."""
    rest, parts = int(length.total_seconds()), []
    for unit, seconds in UNITS:
        count, rest = divmod(rest, seconds)
        parts += [f"{count}{unit}"] if count else []
    return "".join(parts)


def _key(per: Per, case: Case) -> str | None:
    match per:
        case Per.SESSION:
            return case.session or None
        case Per.AGENT:
            return case.agent
        case Per.TOOL:
            return case.tool
        case Per.REQUESTER:
            requester = case.requester
            if requester["slack_user"]:
                return f"slack_user:{requester['slack_user']}"
            return f"email:{requester['email'].casefold()}" if requester["email"] else None
