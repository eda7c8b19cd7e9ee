from pathlib import Path
from typing import Any

import pytest

from seconder.policies import load
from seconder.policies.explain import explain
from tests.support.policies import case, policy

EXAMPLE = Path(__file__).parents[3] / "policies" / "examples" / "support-refunds.yml"

TRACED = policy("""
- {name: never, tool: refund, when: args.amount > 1000, verdict: deny}
- {name: plans, tool: refund, kind: approval, verdict: ask}
- name: small
  tool: refund
  when: args.amount < 50
  verdict: allow
  cap: {sum: args.amount, per: session, window: 1h, limit: 40}
- {name: refunds, tool: refund, verdict: ask}
- {name: late, tool: refund, verdict: allow}
- {name: mail, tool: send_mail, verdict: ask}
""")


def whys(args: dict[str, Any]) -> dict[str, str]:
    return {entry["rule"]: entry["why"] for entry in explain(TRACED, case("refund", args))["trace"]}


@pytest.mark.parametrize(
    ("args", "environment", "verdict", "rule"),
    [
        ({"amount": 20}, "prod", "allow", "small refunds"),
        ({"amount": 20}, None, "ask", "refunds"),
        ({"amount": 240}, "prod", "ask", "refunds"),
        ({"amount": "20"}, "prod", "ask", "small refunds"),
    ],
)
def test_the_example_is_explained_without_a_session(
    args: dict[str, Any], environment: str | None, verdict: str, rule: str
) -> None:
    found = explain(load(EXAMPLE), case("issue_refund", args, environment=environment))

    assert (found["verdict"], found["rule"]) == (verdict, rule)


def test_an_ask_shows_its_route_and_an_allow_has_none() -> None:
    asked = explain(load(EXAMPLE), case("issue_refund", {"amount": 240}))
    allowed = explain(load(EXAMPLE), case("issue_refund", {"amount": 20}, environment="prod"))

    assert asked["route"] == {"channel": "#refunds", "roles": ["finance"], "approvals": 1}
    assert asked["because"] == "Refunds of 50 or more need a person."
    assert allowed["route"] is None


def test_the_trace_says_of_every_rule_why() -> None:
    assert whys({"amount": 60}) == {
        "never": "its condition 'args.amount > 1000' is false",
        "plans": "it is not about the kind tool_call",
        "small": "its condition 'args.amount < 50' is false",
        "refunds": "it has no condition",
        "late": "it matches, but 'refunds' decides",
        "mail": "it is not about the tool 'refund'",
    }


def test_the_trace_tells_a_cap_from_a_deny() -> None:
    assert whys({"amount": 45})["small"] == "it matches, but this call is over its cap"
    assert whys({"amount": 2000})["refunds"] == "it matches, but 'never' decides"
    assert "has no sure answer: there is no 'amount'" in whys({})["never"]


def test_exactly_the_rule_of_the_verdict_decided() -> None:
    found = explain(TRACED, case("refund", {"amount": 10}))

    assert [entry["rule"] for entry in found["trace"] if entry["decided"]] == [found["rule"]] == ["small"]
