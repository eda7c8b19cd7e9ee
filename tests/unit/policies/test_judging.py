from typing import Any

import pytest

from seconder.action import MAX_SAFE_INTEGER
from seconder.decision import Default, DefaultKind, Edits, FieldRule, Route, VerdictKind
from seconder.policies import Case
from seconder.review import Kind
from tests.support.policies import case, judged, person, policy, question, said, state

REFUNDS = policy("""
- {name: never gold, tool: refund, when: args.tier == "gold", verdict: deny}
- {name: small, tool: refund, when: args.amount < 50 && environment == "prod", verdict: allow}
- name: refunds
  tool: [refund, "refund_*"]
  verdict: ask
  because: Refunds of 50 or more need a person.
  route: {channel: "#refunds", roles: [finance], approvals: 2}
- {name: outside, tool: send_mail, when: '!args.to.endsWith("@acme.com")', verdict: ask}
- {name: unsure, tool: "*", when: confidence != null && confidence < 0.65, verdict: ask}
- {name: no bulk, tool: "*_bulk", verdict: deny, because: Nothing is done in bulk.}
- {name: manager, tool: ask_human, when: args.prompt.contains("manager"), verdict: ask}
- {name: plans, tool: edit_state, kind: state_edit, when: size(args.state.steps) > 3, verdict: ask}
- {name: drafts, tool: publish, kind: [approval], verdict: ask}
- {name: reads, tool: read, verdict: allow}
""")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (case("refund", {"amount": 49.99, "tier": "std"}, environment="prod"), ("allow", "small")),
        (case("refund", {"amount": 50, "tier": "std"}, environment="prod"), ("ask", "refunds")),
        (case("refund", {"amount": 20, "tier": "std"}, environment="test"), ("ask", "refunds")),
        (case("refund", {"amount": 20, "tier": "std"}), ("ask", "refunds")),
        (case("refund", {"amount": 1, "tier": "gold"}, environment="prod"), ("deny", "never gold")),
        (case("refund_partly", {"amount": 1}, environment="prod"), ("ask", "refunds")),
        (case("refund_", {}), ("ask", "refunds")),
        (case("Refund", {}), ("ask", "fallback")),
        (case("a_refund", {}), ("ask", "fallback")),
        (case("send_mail", {"to": "x@acme.com"}), ("ask", "fallback")),
        (case("send_mail", {"to": "x@acme.com.evil.example"}), ("ask", "outside")),
        (case("anything", {}, confidence=0.6), ("ask", "unsure")),
        (case("delete_bulk", {}, confidence=0.6), ("deny", "no bulk")),
        (case("publish", {}, kind=Kind.APPROVAL), ("ask", "drafts")),
        (case("publish", {}), ("ask", "fallback")),
        (case("read", {"any": 1}), ("allow", "reads")),
        (question("May I speak to a manager?", "yes", "no"), ("ask", "manager")),
        (question("Which size?"), ("ask", "fallback")),
        (state({"steps": [1, 2, 3, 4]}), ("ask", "plans")),
        (state({"steps": []}), ("ask", "fallback")),
    ],
)
def test_the_first_rule_that_matches_decides_and_deny_wins(asked: Case, expected: tuple[str, str]) -> None:
    assert said(REFUNDS, asked) == expected


def test_an_ask_carries_its_rule_its_place_its_sentence_and_its_route() -> None:
    verdict = judged(REFUNDS, case("refund", {"amount": 240, "tier": "std"})).verdict

    assert verdict.because == "Refunds of 50 or more need a person."
    assert verdict.source == "test.yml:9"
    assert verdict.route == Route(channel="#refunds", roles=("finance",), approvals=2)


def test_what_no_rule_names_is_asked_at_the_fallback() -> None:
    verdict = judged(REFUNDS, case("launch")).verdict

    assert (verdict.rule, verdict.source) == ("fallback", "test.yml:5")
    assert verdict.because.startswith("No rule")
    assert verdict.route == Route(channel="#agents", roles=("leads",))


def test_an_ask_without_a_route_goes_to_the_fallback() -> None:
    assert judged(REFUNDS, case("x", confidence=0.1)).verdict.route == REFUNDS.fallback


@pytest.mark.parametrize("verdict", ["allow", "deny"])
def test_only_an_ask_has_a_route_and_a_ladder(verdict: str) -> None:
    judge = policy(f"""
    - name: r
      tool: "*"
      verdict: {verdict}
      route: {{channel: "#x", roles: [leads]}}
      ladder: [{{after: 1h, default: reject}}]
    """)

    found = judged(judge, case()).verdict

    assert (found.kind.value, found.route, found.ladder) == (verdict, None, ())


@pytest.mark.parametrize(
    ("when", "args", "why"),
    [
        ("args.amount < 50", {}, "there is no 'amount'"),
        ("args.amount < 50", {"amount": "49"}, "args.amount is text"),
        ("args.amount < 50", {"amount": None}, "args.amount is null"),
        ("args.amount < 50", {"amount": True}, "args.amount is true or false"),
        ("risk < 0.5", {}, "risk is null"),
        ("args.amount", {"amount": 1}, "it gives a number, not true or false"),
        ("args.text", {"text": "true"}, "it gives text"),
        ("args.n / args.d > 1", {"n": 1, "d": 0}, "divides by zero"),
        ("args.items[3] == 1", {"items": [1]}, "was not sent"),
        ("int(args.text) < 3", {"text": "x"}, "cannot be evaluated"),
        ("args.text.matches('(')", {"text": "x"}, "cannot be evaluated"),
        ("args.n * 9007199254740991 > 1", {"n": MAX_SAFE_INTEGER}, "too large"),
        ("args.amount < 50", {"amount": MAX_SAFE_INTEGER + 1}, "args.amount is too large"),
        ("args.amount > -5", {"amount": -(10**20)}, "args.amount is too large"),
        ("args['amount'] > 5", {"amount": 10**20}, "args.amount is too large"),
        ("args.rows.all(r, r.id > 5)", {"rows": [{"id": 10**20}]}, "args.rows is too large"),
        ("args.rows[0].id > 5", {"rows": [{"id": 10**20}]}, "args.rows.0.id is too large"),
        ("args.exists(k, args[k] > 5)", {"id": 10**20}, "an integer in args is too large"),
        ("args.a == 1", {"a": 1, "b": 10**400}, "cannot be evaluated"),
        ("args.a == '1'", {"a": "\ud800"}, "cannot be evaluated"),
    ],
)
@pytest.mark.parametrize("verdict", ["allow", "ask", "deny"])
def test_a_condition_without_a_sure_answer_asks_at_the_fallback_and_says_why(
    when: str, args: dict[str, Any], why: str, verdict: str
) -> None:
    judge = policy(f"""
    - name: doubtful
      tool: refund
      when: "{when}"
      verdict: {verdict}
      route: {{channel: "#refunds", roles: [finance]}}
      ladder: [{{after: 1h, default: reject}}]
    - {{name: open, tool: refund, verdict: allow}}
    """)

    found = judged(judge, case("refund", args)).verdict

    assert (found.kind, found.rule, found.route, found.ladder) == (VerdictKind.ASK, "doubtful", judge.fallback, ())
    assert why in found.because


def test_an_integer_that_no_condition_reads_may_be_large() -> None:
    judge = policy("- {name: small, tool: refund, when: args.amount < 50, verdict: allow}")

    assert said(judge, case("refund", {"amount": 5, "account": 10**18})) == ("allow", "small")


def test_the_largest_exact_integer_is_compared() -> None:
    judge = policy("- {name: r, tool: refund, when: args.amount == 9007199254740991, verdict: allow}")

    assert said(judge, case("refund", {"amount": MAX_SAFE_INTEGER})) == ("allow", "r")


def test_the_reason_for_doubt_holds_no_argument() -> None:
    judge = policy("- {name: r, tool: pay, when: 'int(args.iban) > 1 || args[args.iban] == 1', verdict: allow}")

    assert "DE00SECRET" not in judged(judge, case("pay", {"iban": "DE00SECRET"})).verdict.because


DOUBTFUL_DENY = '- {name: never, tool: refund, when: args.country == "XX", verdict: deny}'


def test_nothing_is_allowed_while_a_later_deny_is_in_doubt() -> None:
    judge = policy(f"""
    - {{name: open, tool: refund, verdict: allow}}
    {DOUBTFUL_DENY}
    """)

    assert said(judge, case("refund", {"country": "XX"})) == ("deny", "never")
    assert said(judge, case("refund", {"country": "NO"})) == ("allow", "open")
    assert said(judge, case("refund")) == ("ask", "never")


def test_nothing_is_allowed_under_a_cap_while_a_deny_is_in_doubt() -> None:
    judge = policy(f"""
    - {{name: few, tool: refund, verdict: allow, cap: {{count: true, per: agent, window: 1h, limit: 3}}}}
    {DOUBTFUL_DENY}
    """)

    assert said(judge, case("refund")) == ("ask", "never")
    assert judge.needs(case("refund")) == ()


def test_an_earlier_ask_stands_and_tells_of_the_doubt() -> None:
    judge = policy(f"""
    - {{name: refunds, tool: refund, verdict: ask, route: {{channel: "#refunds", roles: [finance]}}}}
    {DOUBTFUL_DENY}
    """)

    found = judged(judge, case("refund")).verdict

    assert (found.rule, found.route and found.route.channel) == ("refunds", "#refunds")
    assert "whether rule “never” forbids this" in found.because


def test_the_clock_allows_nothing_while_a_deny_is_in_doubt() -> None:
    judge = policy(f"""
    - name: lazy
      tool: refund
      verdict: ask
      i_accept_auto_allow: true
      ladder: [{{after: 1h, default: allow}}]
    {DOUBTFUL_DENY}
    """)

    sure, unsure = judged(judge, case("refund", {"country": "NO"})).verdict, judged(judge, case("refund")).verdict

    assert [rung.step for rung in sure.ladder] == [Default(kind=DefaultKind.ALLOW)]
    assert (unsure.rule, unsure.ladder) == ("never", ())


def test_a_field_that_one_rule_calls_secret_is_secret_in_every_verdict_for_the_tool() -> None:
    judge = policy("""
    - {name: small, tool: refund, when: args.amount < 50, verdict: allow, fields: {card: {label: Card}}}
    - {name: refunds, tool: refund, verdict: ask, fields: {card: {secret: true}, why: {label: Reason}}}
    - {name: everywhere, tool: "*", when: "false", verdict: deny, fields: {password: {secret: true, edit: false}}}
    """)

    doubtful = judged(judge, case("refund", {"amount": "x"})).verdict
    nobody = judged(judge, case("other")).verdict

    assert doubtful.fields == {"card": FieldRule(label="Card", secret=True), "password": FieldRule(secret=True)}
    assert (nobody.rule, nobody.fields) == ("fallback", {"password": FieldRule(secret=True)})


def test_a_verdict_carries_what_the_rule_says_of_the_card() -> None:
    judge = policy("""
    - name: r
      tool: refund
      verdict: ask
      edits: second
      must_open: true
      requester: none_ok
      reject_reasons: [Too much, Wrong person]
      fields: {id: {edit: false}}
    """)

    found = judged(judge, case("refund")).verdict

    assert (found.edits, found.must_open, found.requester_none_ok) == (Edits.SECOND, True, True)
    assert found.reject_reasons == ("Too much", "Wrong person")
    assert found.fields == {"id": FieldRule(edit=False)}


def test_conditions_see_who_asks_and_where() -> None:
    judge = policy("""
    - name: r
      tool: x
      when: >
        agent == "support" && tool == "x" && kind == "tool_call" && session == "s1" && environment == null
        && requester.email == "a@b.example" && requester.slack_user == null && risk == 0.5
      verdict: allow
    """)

    assert said(judge, case("x", session="s1", risk=0.5, requester=person(email="a@b.example"))) == ("allow", "r")
    assert said(judge, case("x", session="s1", risk=0.5)) == ("ask", "fallback")


def test_an_interrupt_without_an_action_is_a_callers_bug() -> None:
    broken = case("x")
    object.__setattr__(broken.interrupt, "action", None)

    with pytest.raises(RuntimeError):
        REFUNDS.judge(broken, {})
