import pytest

from seconder.policies.check import notes, shadowed
from tests.support.policies import policy


def shadows(first: str, second: str) -> list[str]:
    judge = policy(f"""
    - {{name: first, {first}}}
    - {{name: second, {second}}}
    """)
    return [fault.path for fault in shadowed(judge)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("tool: a, verdict: ask", "tool: a, verdict: allow"),
        ("tool: '*', verdict: ask", "tool: 'a*', verdict: allow"),
        ("tool: 'a*', verdict: ask", "tool: [ab, 'ac*'], verdict: ask"),
        ("tool: a, when: true, verdict: ask", "tool: a, when: args.n < 3, verdict: allow"),
        ("tool: a, when: args.n < 3, verdict: ask", "tool: a, when: args.n < 3, verdict: allow"),
        ("tool: a, verdict: deny", "tool: a, verdict: deny"),
        ("tool: a, verdict: ask", "tool: a, kind: approval, verdict: ask"),
    ],
)
def test_a_rule_behind_one_that_always_decides_is_reported(first: str, second: str) -> None:
    assert shadows(first, second) == ["test.yml:8: rules[1]"]


def test_a_rule_before_a_deny_that_covers_it_is_reported() -> None:
    assert shadows("tool: ab, verdict: allow", "tool: 'a*', verdict: deny") == ["test.yml:7: rules[0]"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("tool: a, verdict: ask", "tool: b, verdict: ask"),
        ("tool: 'a*', verdict: ask", "tool: '*', verdict: ask"),
        ("tool: 'a*b', verdict: ask", "tool: 'a*', verdict: ask"),
        ("tool: a, when: args.n < 3, verdict: ask", "tool: a, verdict: ask"),
        ("tool: a, verdict: ask", "tool: a, verdict: deny, when: args.n < 3"),
        ("tool: a, kind: approval, verdict: ask", "tool: a, verdict: ask"),
        ("tool: a, verdict: allow, cap: {count: true, per: tool, window: 1h, limit: 1}", "tool: a, verdict: ask"),
    ],
)
def test_a_rule_that_can_decide_is_not_reported(first: str, second: str) -> None:
    assert shadows(first, second) == []


@pytest.mark.parametrize(
    ("rule", "note"),
    [
        ("verdict: ask, autonomy: {after: 20}", "is not applied"),
        ("verdict: deny, edits: own", "'edits' has no effect"),
        ('verdict: allow, when: environment != "prod"', "also allows where no environment was sent"),
        ("verdict: ask, ladder: [{after: 2d, remind: true}]", "never reached"),
    ],
)
def test_what_is_valid_but_probably_not_meant_is_noted(rule: str, note: str) -> None:
    [found] = notes(policy(f"- {{name: r, tool: t, {rule}}}"))

    assert note in found.message
    assert found.path == "test.yml:7: rules[0]"


def test_a_plain_policy_has_no_notes() -> None:
    judge = policy("- {name: r, tool: t, verdict: ask, ladder: [{after: 2d, default: reject}]}")

    assert (notes(judge), shadowed(judge)) == ([], [])
