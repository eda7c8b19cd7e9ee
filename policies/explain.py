"""Why a case is judged as it is: the verdict, and what became of every rule on the way."""

from decimal import Decimal
from itertools import takewhile
from typing import Any

from seconder.decision import Route
from seconder.policies import judging
from seconder.policies.case import Case
from seconder.policies.conditions import Unclear
from seconder.policies.policy import Policy
from seconder.policies.rules import Rule


def explain(policy: Policy, case: Case) -> dict[str, Any]:
    """`verdict`, `rule`, `because`, `route` (null unless asked), and `trace`, one entry for each rule in file order.

    Nothing counts as used under a cap, and a session or requester that a cap needs counts as sent.
    """
    reading = policy.read(case)
    verdict = judging.judge(reading, lambda _rule, _need: Decimal(0)).verdict
    answers = {found.rule.name: found.answer for found in reading.findings}
    capped = () if reading.denied or reading.doubt else reading.reached()[0]
    over = {rule.name for rule, _ in takewhile(lambda entry: entry[0].name != verdict.rule, capped)}
    return {
        "verdict": verdict.kind.value,
        "rule": verdict.rule,
        "because": verdict.because,
        "route": _route(verdict.route),
        "trace": [
            _entry(rule, _why(rule, answers.get(rule.name), case, verdict.rule, over=rule.name in over))
            | {"matched": answers.get(rule.name) is True, "decided": rule.name == verdict.rule}
            for rule in policy.rules
        ],
    }


def _entry(rule: Rule, why: str) -> dict[str, Any]:
    return {"rule": rule.name, "source": rule.source, "verdict": rule.verdict.value, "why": why}


def _why(rule: Rule, answer: bool | Unclear | None, case: Case, winner: str, *, over: bool) -> str:
    when = f"its condition {rule.when.text!r}" if rule.when else "it has no condition"
    match answer:
        case None if rule.tools.match(case.tool):
            return f"it is not about the kind {case.kind.value}"
        case None:
            return f"it is not about the tool {case.tool!r}"
        case Unclear(why):
            return f"{when} has no sure answer: {why}"
        case False:
            return f"{when} is false"
        case True if rule.name == winner:
            return f"{when} is true" if rule.when else when
        case True:
            return "it matches, but this call is over its cap" if over else f"it matches, but {winner!r} decides"


def _route(route: Route | None) -> dict[str, Any] | None:
    return None if route is None else {"channel": route.channel, "roles": [*route.roles], "approvals": route.approvals}
