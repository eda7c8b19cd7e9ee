"""What holds for every policy: made of random rules over a few tools and conditions."""

from contextlib import suppress
from decimal import Decimal
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from seconder.action import Action
from seconder.decision import VerdictKind
from seconder.errors import PolicyInvalid
from seconder.policies import Case, HistoryNeed, Policy, parse
from seconder.policies.case import NAMES
from seconder.policies.conditions import Expression, Facts, Unclear, compiled
from seconder.policies.patterns import Tools
from seconder.review import Agent, Interrupt, Kind
from tests.support.policies import HEAD, policy

CONDITIONS = [
    "true",
    "false",
    "args.n < 5",
    "args.n > 2",
    "args.s == 'x'",
    "args.n / args.d > 1",
    "args.s",
    "risk > 0.5",
]
CAP = "cap: {sum: args.n, per: session, window: 1h, limit: 4}"

conditions = st.sampled_from(CONDITIONS)
tools = st.sampled_from(["a", "b", "'*'", "'a*'", "[a, b]"])
values = st.one_of(st.integers(-10, 10), st.just(2**60), st.sampled_from(["x", None, True, 1.5, [1], {"n": 1}]))
arguments = st.dictionaries(st.sampled_from(["n", "d", "s"]), values)


@st.composite
def rules(draw: st.DrawFn, least: int = 0) -> list[str]:
    lines = []
    for index in range(draw(st.integers(least, 6))):
        verdict = draw(st.sampled_from(["allow", "ask", "deny"]))
        cap = f", {CAP}" if verdict == "allow" and draw(st.booleans()) else ""
        lines.append(f'- {{name: r{index}, tool: {draw(tools)}, when: "{draw(conditions)}", verdict: {verdict}{cap}}}')
    return lines


@st.composite
def cases(draw: st.DrawFn) -> Case:
    action = Action(tool=draw(st.sampled_from(["a", "b", "ab", "c"])), arguments=draw(arguments))
    session = draw(st.sampled_from([None, "s"]))
    return Case(Interrupt(kind=Kind.TOOL_CALL, agent=Agent(name="x"), action=action, session=session))


def made(lines: list[str]) -> Policy:
    return policy("\n".join(lines)) if lines else parse(HEAD.removesuffix("rules:\n"), name="test.yml")


def history(judge: Policy, asked: Case, used: int) -> dict[HistoryNeed, Decimal]:
    return dict.fromkeys(judge.needs(asked), Decimal(used))


@given(rules(), cases(), st.integers(0, 5))
def test_a_deny_that_matches_always_wins(lines: list[str], asked: Case, used: int) -> None:
    judge = made([*lines, "- {name: never, tool: '*', verdict: deny}"])

    verdict = judge.judge(asked, history(judge, asked, used)).verdict

    assert verdict.kind is VerdictKind.DENY


@given(rules(), cases(), st.integers(0, 5), st.sampled_from(["args.missing == 1", "args.n.x < 3", "1 / 0 > 1"]))
def test_a_deny_in_doubt_never_allows(lines: list[str], asked: Case, used: int, doubt: str) -> None:
    judge = made([*lines, f'- {{name: never, tool: "*", when: "{doubt}", verdict: deny}}'])

    verdict = judge.judge(asked, history(judge, asked, used)).verdict

    assert verdict.kind is not VerdictKind.ALLOW


@given(rules(least=1), cases(), st.integers(0, 5))
def test_only_a_rule_that_is_sure_to_match_allows(lines: list[str], asked: Case, used: int) -> None:
    judge = made(lines)

    verdict = judge.judge(asked, history(judge, asked, used)).verdict

    if verdict.kind is VerdictKind.ALLOW:
        [rule] = [rule for rule in judge.rules if rule.name == verdict.rule]
        assert rule.verdict is VerdictKind.ALLOW
        assert rule.when is not None
        assert rule.when.truth(Facts(asked.names)) is True


@given(rules(), cases(), st.integers(0, 5))
def test_the_same_case_and_history_give_the_same_judgement(lines: list[str], asked: Case, used: int) -> None:
    one, other = made(lines), made(lines)

    assert one.judge(asked, history(one, asked, used)) == other.judge(asked, history(other, asked, used))


@given(rules(least=1), cases(), st.integers(0, 5))
def test_what_stands_after_the_deciding_rule_changes_nothing_unless_it_denies(
    lines: list[str], asked: Case, used: int
) -> None:
    judge = made(lines)
    verdict = judge.judge(asked, history(judge, asked, used)).verdict

    more = made([*lines, "- {name: late, tool: '*', verdict: ask}", "- {name: later, tool: '*', verdict: allow}"])
    again = more.judge(asked, history(more, asked, used)).verdict

    assert again.rule == ("late" if verdict.rule == "fallback" else verdict.rule)


@given(rules(), cases(), st.integers(0, 5))
def test_a_reservation_stays_within_the_cap_and_belongs_to_what_was_asked(
    lines: list[str], asked: Case, used: int
) -> None:
    judge = made(lines)
    known = history(judge, asked, used)

    judgement = judge.judge(asked, known)

    for taken in judgement.reserve:
        assert judgement.verdict.kind is VerdictKind.ALLOW
        assert known[taken.need] + taken.amount <= Decimal(4)
        assert taken.amount >= 0


@given(rules(), cases())
def test_a_route_is_there_exactly_when_somebody_is_asked(lines: list[str], asked: Case) -> None:
    judge = made(lines)

    verdict = judge.judge(asked, history(judge, asked, 0)).verdict

    assert (verdict.route is not None) is (verdict.kind is VerdictKind.ASK)


@given(st.text("ab*", max_size=6), st.text("ab*", max_size=6), st.text("abc", max_size=8))
def test_a_pattern_that_covers_another_matches_all_that_it_matches(wide: str, narrow: str, tool: str) -> None:
    if Tools((wide,)).cover(Tools((narrow,))) and Tools((narrow,)).match(tool):
        assert Tools((wide,)).match(tool)


@given(st.text(max_size=60))
@example("{a: &x [*x]}")
def test_any_text_is_a_policy_or_is_invalid(text: str) -> None:
    with suppress(PolicyInvalid):
        parse(text, name="p.yml")


@given(st.text(st.sampled_from("args.n<>=!&|()[]{}'\"?:+-/*%10 xin"), max_size=40), arguments)
def test_any_expression_is_refused_or_answers_without_raising(text: str, args: dict[str, Any]) -> None:
    found = compiled(text, NAMES)

    if isinstance(found, Expression):
        facts = Facts(dict.fromkeys(NAMES) | {"args": args})
        assert isinstance(found.truth(facts), bool | Unclear)
        assert isinstance(found.amount(facts), Decimal | Unclear)
