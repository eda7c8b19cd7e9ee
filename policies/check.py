"""What is valid but probably not meant: rules that can never decide, and keys without effect."""

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta

from seconder.decision import Default, VerdictKind
from seconder.errors import Fault
from seconder.policies.policy import Policy
from seconder.policies.rules import Rule
from seconder.review import DEFAULT_DEADLINE

UNKNOWN_ENVIRONMENT = re.compile(r"\benvironment\s*!=")


def shadowed(policy: Policy) -> list[Fault]:
    """One entry for each rule that another rule always decides before, in file order.

    Sure cases only: the other rule has no condition (or the same) and is about all tools and kinds of this one.
    """
    found = []
    for index, rule in enumerate(policy.rules):
        before = next(_before(rule, policy.rules[:index], policy.rules), None)
        if before is not None:
            found.append(_fault(rule, f"rule {rule.name!r} can never decide: {before}"))
    return found


def notes(policy: Policy) -> list[Fault]:
    """What the policy says and Seconder does not do, or does differently than one would think, in file order."""
    return [_fault(rule, note) for rule in policy.rules for note in _notes(rule)]


def _before(rule: Rule, earlier: Sequence[Rule], rules: Sequence[Rule]) -> Iterator[str]:
    for other in earlier:
        if other.cap is None and _covers(other, rule):
            yield f"rule {other.name!r} at {other.source} comes first; move this one up or narrow that one"
    if rule.verdict is not VerdictKind.DENY:
        for other in rules:
            if other.verdict is VerdictKind.DENY and _covers(other, rule):
                yield f"rule {other.name!r} at {other.source} denies all of it; remove one of them"


def _covers(other: Rule, rule: Rule) -> bool:
    if rule.verdict is VerdictKind.DENY and other.verdict is not VerdictKind.DENY:
        return False
    always = other.when is None or other.when.text == "true"
    same = other.when is not None and rule.when is not None and other.when.text == rule.when.text
    return (always or same) and rule.kinds <= other.kinds and other.tools.cover(rule.tools)


def _notes(rule: Rule) -> Iterator[str]:
    if rule.autonomy is not None:
        yield f"'autonomy' of rule {rule.name!r} is not applied: everything that matches is asked"
    for key in rule.without_effect:
        yield f"{key!r} has no effect in rule {rule.name!r}, which says {rule.verdict}"
    if rule.verdict is VerdictKind.ALLOW and rule.when and UNKNOWN_ENVIRONMENT.search(rule.when.text):
        yield (
            f"rule {rule.name!r} also allows where no environment was sent, since null differs from every name; "
            "write environment in [...] instead"
        )
    if rule.ladder and not isinstance(rule.ladder[-1].step, Default) and rule.ladder[-1].after >= DEFAULT_DEADLINE:
        hours = DEFAULT_DEADLINE // timedelta(hours=1)
        yield f"the last rung of rule {rule.name!r} is never reached: without a default a review expires after {hours}h"


def _fault(rule: Rule, message: str) -> Fault:
    return Fault(f"{rule.source}: {rule.path}", message)
