"""`seconder policy` needs nothing but the policy."""

import json

import pytest

from tests.support.cli import POLICY, Shell

SHADOWED = POLICY + "  - {name: too late, tool: issue_refund, verdict: ask}\n"


def policy_only(bare: Shell, text: str = POLICY) -> Shell:
    bare.environ = {"SECONDER_POLICY": str(bare.write("policy.yaml", text))}
    return bare


def explained(shell: Shell, *words: str) -> dict[str, object]:
    said: dict[str, object] = shell.fine("policy", "explain", "--json", "--tool", *words).json
    return said


def test_a_good_policy_is_fine(bare: Shell) -> None:
    said = policy_only(bare).fine("policy", "check")

    assert said.out.endswith("policy.yaml: 2 rules, 1 roles, fine\n")
    assert bare.fine("policy", "check", "--json").json == {"ok": True, "faults": [], "shadowed": [], "notes": []}


def test_a_named_policy_is_checked_instead(bare: Shell) -> None:
    policy_only(bare, "nonsense: true")

    bare.fine("policy", "check", str(bare.write("other.yaml", POLICY)))


def test_every_fault_is_said_with_file_and_line(bare: Shell) -> None:
    policy_only(bare, POLICY.replace("verdict: allow", "verdict: maybe").replace("when:", "wenn:"))

    said = bare.run("policy", "check")
    as_json = bare.run("policy", "check", "--json")

    assert (said.code, said.out, as_json.code) == (1, "", 1)
    places = [line.split("policy.yaml:")[1].split(":")[0] for line in said.err.splitlines()]
    assert places == ["9", "14"]
    assert [fault["path"].split(":")[1] for fault in as_json.json["faults"]] == places


def test_a_rule_that_can_never_decide_is_reported(bare: Shell) -> None:
    said = policy_only(bare, SHADOWED).run("policy", "check")

    assert said.code == 1
    assert "'too late' can never decide" in said.out
    [fault] = bare.run("policy", "check", "--json").json["shadowed"]
    assert ":15:" in fault["path"]


@pytest.mark.parametrize("words", [["policy", "check"], ["policy", "explain", "--tool", "t"]])
def test_no_policy_says_which_variable_to_set(bare: Shell, words: list[str]) -> None:
    said = bare.run(*words)

    assert (said.code, said.out) == (2, "")
    assert "SECONDER_POLICY" in said.err


def test_explain_says_verdict_rule_reason_and_route(bare: Shell) -> None:
    policy_only(bare)

    assert explained(bare, "issue_refund", "--args", '{"amount": 240}') == {
        "verdict": "ask",
        "rule": "refunds",
        "because": "Refunds of 50 or more need a person.",
        "route": {"channel": "#refunds", "roles": ["finance"], "approvals": 1},
    }
    allowed = explained(bare, "issue_refund", "--args", '{"amount": 40}', "--environment", "prod", "--agent", "shop")
    assert (allowed["verdict"], allowed["rule"], allowed["route"]) == ("allow", "small refunds", None)
    assert explained(bare, "unknown")["rule"] == "fallback"


def test_explain_says_what_became_of_every_rule(bare: Shell) -> None:
    said = policy_only(bare).fine("policy", "explain", "--tool", "issue_refund", "--args", json.dumps({"amount": 40}))

    assert "args.amount >= 50' is false" in said.out
    assert "small refunds" in said.out


@pytest.mark.parametrize("args", ["{bad", "[1]", '{"a": 1, "a": 2}', '{"a": NaN}', '{"$int": "1"}'])
def test_arguments_that_an_agent_could_not_send_are_refused(bare: Shell, args: str) -> None:
    said = policy_only(bare).run("policy", "explain", "--tool", "t", "--args", args)

    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("seconder: --args")


def test_the_policy_of_a_demo_beside_is_used_only_where_none_is_named(bare: Shell) -> None:
    (bare.folder / "seconder-demo").mkdir()
    bare.write("demo-policy.yaml", POLICY)
    bare.write("seconder-demo/demo.env", f"SECONDER_POLICY={bare.folder / 'demo-policy.yaml'}\n")

    beside = bare.fine("policy", "check")
    named = bare.fine("policy", "check", str(bare.write("mine.yaml", POLICY)))

    assert "using the demo in ./seconder-demo" in beside.err
    assert named.err == ""
