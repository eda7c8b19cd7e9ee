from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from seconder.policies import Case, HistoryNeed, Policy, Reservation
from tests.support.policies import Ledger, case, judged, person, policy, said

CAPPED = policy("""
- name: small
  tool: refund
  when: args.amount < 50
  verdict: allow
  cap: {sum: args.amount, per: session, window: 24h, limit: 100}
- {name: refunds, tool: refund, verdict: ask, because: A person decides.}
""")

NEED = HistoryNeed(rule="small", measure="sum", per="session", key="s1", window=timedelta(hours=24))


def counted(per: str) -> Policy:
    return policy(f"""
    - name: few
      tool: "*"
      verdict: allow
      cap: {{count: true, per: {per}, window: 1h30m, limit: 2}}
    """)


def test_a_refund_split_into_ten_is_allowed_up_to_the_cap() -> None:
    ledger = Ledger()

    verdicts = [ledger.submit(CAPPED, case("refund", {"amount": 49}, session="s1")) for _ in range(10)]

    assert verdicts == ["allow"] * 2 + ["ask"] * 8


def test_each_session_has_its_own_cap() -> None:
    ledger = Ledger()

    verdicts = [ledger.submit(CAPPED, case("refund", {"amount": 49}, session=f"s{n % 2}")) for n in range(6)]

    assert verdicts == ["allow"] * 4 + ["ask"] * 2


def test_money_is_added_up_exactly() -> None:
    ledger = Ledger()

    verdicts = [ledger.submit(CAPPED, case("refund", {"amount": 0.1}, session="s1")) for _ in range(1001)]

    assert verdicts == ["allow"] * 1000 + ["ask"]


def test_a_case_says_what_its_cap_wants_to_know_and_what_it_takes() -> None:
    asked = case("refund", {"amount": 12.5}, session="s1")

    assert CAPPED.needs(asked) == (NEED,)
    assert judged(CAPPED, asked).reserve == (Reservation(NEED, Decimal("12.5")),)


@pytest.mark.parametrize("asked", [case("refund", {"amount": 50}, session="s1"), case("other", {}, session="s1")])
def test_a_case_that_no_cap_concerns_needs_nothing(asked: Case) -> None:
    assert CAPPED.needs(asked) == ()


def test_the_limit_itself_is_within_the_cap() -> None:
    asked = case("refund", {"amount": 40}, session="s1")

    assert said(CAPPED, asked, 60) == ("allow", "small")
    assert said(CAPPED, asked, "60.01") == ("ask", "refunds")


def test_over_the_cap_its_sentence_is_put_before_the_next_reason() -> None:
    judgement = judged(CAPPED, case("refund", {"amount": 20}, session="s1"), 98)

    assert judgement.verdict.because == (
        "The cap of rule “small” is reached: 98 of 100 per session within 1d are used, and this call adds 20. "
        "A person decides."
    )
    assert judgement.reserve == ()


def test_over_the_cap_with_no_rule_after_it_the_fallback_asks() -> None:
    judge = counted("agent")

    judgement = judged(judge, case(), 2)

    assert judgement.verdict.rule == "fallback"
    assert judgement.verdict.because.startswith("The cap of rule “few” is reached: 2 of 2 per agent within 1h30m")
    assert said(judge, case(), 1) == ("allow", "few")


def test_without_a_session_a_cap_per_session_does_not_allow() -> None:
    judgement = judged(CAPPED, case("refund", {"amount": 20}))

    assert judgement.verdict.rule == "refunds"
    assert "no session was sent" in judgement.verdict.because


def test_what_is_not_known_of_the_past_does_not_allow() -> None:
    verdict = CAPPED.judge(case("refund", {"amount": 20}, session="s1"), {}).verdict

    assert (verdict.kind.value, verdict.rule) == ("ask", "refunds")


@pytest.mark.parametrize("amount", [-1, -0.01, -(10**6)])
def test_a_negative_amount_does_not_make_room_under_a_cap(amount: Any) -> None:
    verdict = judged(CAPPED, case("refund", {"amount": amount}, session="s1")).verdict

    assert (verdict.kind.value, verdict.rule) == ("ask", "small")
    assert "below zero" in verdict.because


@pytest.mark.parametrize("amount", ["3", None, True, [3], 10**20, float("inf")])
def test_an_amount_that_is_no_number_asks(amount: Any) -> None:
    judge = policy("""
    - {name: any, tool: x, verdict: allow, cap: {sum: args.n, per: tool, window: 1d, limit: 9999999999999999}}
    """)

    assert said(judge, case("x", {"n": amount})) == ("ask", "any")


@pytest.mark.parametrize(
    ("per", "asked", "key"),
    [
        ("session", case(session="s9"), "s9"),
        ("agent", case(agent="buyer"), "buyer"),
        ("tool", case("transfer"), "transfer"),
        ("requester", case(requester=person(slack_user="U1", email="a@x.example")), "slack_user:U1"),
        ("requester", case(requester=person(email="A@X.example")), "email:a@x.example"),
    ],
)
def test_a_cap_counts_per_dimension(per: str, asked: Case, key: str) -> None:
    [need] = counted(per).needs(asked)

    assert (need.measure, need.per, need.key) == ("count", per, key)
    assert judged(counted(per), asked).reserve == (Reservation(need, Decimal(1)),)


@pytest.mark.parametrize("asked", [case(), case(requester=person(name="Ann"))])
def test_without_a_sure_requester_a_cap_per_requester_does_not_allow(asked: Case) -> None:
    assert said(counted("requester"), asked) == ("ask", "fallback")


def test_a_second_cap_is_tried_when_the_first_is_reached() -> None:
    judge = policy("""
    - {name: first, tool: x, verdict: allow, cap: {count: true, per: agent, window: 1h, limit: 1}}
    - {name: second, tool: x, verdict: allow, cap: {count: true, per: agent, window: 1d, limit: 3}}
    """)
    ledger = Ledger()

    assert [ledger.submit(judge, case("x")) for _ in range(5)] == ["allow"] * 4 + ["ask"]
