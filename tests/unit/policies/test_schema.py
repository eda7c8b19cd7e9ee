"""Every line of a broken policy is named in one go."""

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from textwrap import dedent

import pytest

from seconder.decision import Default, DefaultKind, Edits, Escalate, FieldRule, Remind, Role, Route, Rung
from seconder.errors import PolicyInvalid
from seconder.policies import load, parse
from seconder.policies.rules import Autonomy
from tests.support.policies import HEAD, policy

EXAMPLES = Path(__file__).parents[3] / "policies" / "examples"


def faults(text: str) -> list[str]:
    with pytest.raises(PolicyInvalid) as caught:
        parse(text, name="p.yml")
    return [f"{fault.path}: {fault.message}" for fault in caught.value.faults]


def fault_of_rule(rule: str) -> str:
    [fault] = faults(f"{HEAD}  - {{name: r, tool: t, verdict: ask, {rule}}}\n")
    return fault


def test_the_example_is_read_as_it_is_written() -> None:
    [small, refunds] = (found := load(EXAMPLES / "support-refunds.yml")).rules

    assert found.roles == {
        "finance": Role(user_groups=frozenset({"S0FIN"}), users=frozenset({"U01ALICE"})),
        "finance_leads": Role(user_groups=frozenset({"S0FINLEAD"})),
    }
    assert found.fallback == Route(channel="#agents", roles=("finance_leads",))
    assert small.cap is not None
    assert (small.cap.limit, small.cap.window) == (Decimal(100), timedelta(hours=24))
    assert refunds.ladder == (
        Rung(after=timedelta(minutes=15), step=Remind()),
        Rung(
            after=timedelta(minutes=30),
            step=Escalate(route=Route(channel="#finance-leads", roles=("finance_leads",))),
        ),
        Rung(after=timedelta(hours=4), step=Default(kind=DefaultKind.REJECT)),
    )
    assert refunds.fields == {
        "reason": FieldRule(label="Reason"),
        "card_number": FieldRule(secret=True),
        "order_id": FieldRule(edit=False),
    }
    assert refunds.edits is Edits.OWN
    assert refunds.autonomy == Autonomy(after=20, max={"args.amount": Decimal(120)}, sample=Decimal("0.1"))


def test_every_example_is_valid() -> None:
    assert [load(path).digest[:7] for path in sorted(EXAMPLES.glob("*.yml"))] != []


BROKEN = """\
version: 2
roles:
  finance: {users: [alice], groups: [S0FIN]}
  nobody: {}
fallback: {channel: Refunds, roles: [finanse]}
rulez: []
rules:
  - name: small
    tool: refund
    when: args.amount <
    verdict: alow
    cap: {sum: amount, per: sesion, window: 24, limit: -1}
  - name: small
    tool: []
    tol: x
    verdict: ask
    verdict: deny
    route: {channel: "#x", roles: [], approvals: 21}
    ladder:
      - {after: 30m, remind: true}
      - {after: 15m, default: allow}
      - {after: 0s, remind: true, default: reject}
  - tool: 12
    verdict: ask
    fields: {a: {secrit: true, edit: maybe}}
    edits: mine
    requester: anyone
    autonomy: {max: {args.amount: many}, sample: "10"}
break_glass: [admins]
"""


def test_every_fault_is_reported_at_once_with_line_and_place() -> None:
    found = faults(BROKEN)

    assert [fault.partition(" ")[0] + fault.partition(" ")[2].partition(": ")[0] for fault in found] == [
        "p.yml:1:version",
        "p.yml:3:roles.finance.users[0]",
        "p.yml:3:roles.finance.groups",
        "p.yml:4:roles.nobody",
        "p.yml:5:fallback.channel",
        "p.yml:5:fallback.roles[0]",
        "p.yml:6:rulez",
        "p.yml:10:rules[0].when",
        "p.yml:11:rules[0].verdict",
        "p.yml:12:rules[0].cap.sum",
        "p.yml:12:rules[0].cap.per",
        "p.yml:12:rules[0].cap.window",
        "p.yml:12:rules[0].cap.limit",
        "p.yml:13:rules[1]",
        "p.yml:14:rules[1].tool",
        "p.yml:15:rules[1].tol",
        "p.yml:17:rules[1].verdict",
        "p.yml:18:rules[1].route.roles",
        "p.yml:18:rules[1].route.approvals",
        "p.yml:20:rules[1].ladder",
        "p.yml:21:rules[1].ladder[1]",
        "p.yml:21:rules[1].ladder[1]",
        "p.yml:22:rules[1].ladder[2]",
        "p.yml:22:rules[1].ladder[2]",
        "p.yml:22:rules[1].ladder[2].after",
        "p.yml:23:rules[2]",
        "p.yml:23:rules[2].tool",
        "p.yml:25:rules[2].fields.a.secrit",
        "p.yml:25:rules[2].fields.a.edit",
        "p.yml:26:rules[2].edits",
        "p.yml:27:rules[2].requester",
        "p.yml:28:rules[2].autonomy",
        "p.yml:28:rules[2].autonomy.max.args.amount",
        "p.yml:28:rules[2].autonomy.sample",
        "p.yml:29:break_glass[0]",
    ]


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("wen: a", "there is no key 'wen' here; did you mean 'when'?"),
        ("when: args.a <", "is not a CEL expression"),
        ("when: arg.a < 1", "there is no 'arg'; did you mean 'args'?"),
        ("when: enviroment == 'x'", "did you mean 'environment'?"),
        ("when: 'args.a.endWith(args.b)'", "there is no function 'endWith'; did you mean 'endsWith'?"),
        ("when: 'now() > 1'", "there is no function 'now'"),
        (f"when: '{'1+' * 1000}1 == 2'", "is 2,006 characters long"),
        ("because: ''", "must not be empty"),
        (f"because: {'x' * 501}", "is 501 characters long; at most 500"),
        ("because: 5", "put it in quotes"),
        ("because: [a]", "must be text, not a list"),
        ("kind: tool", "did you mean 'tool_call'?"),
        ("cap: {count: true, per: agent, window: 1h, limit: 1}", "only an allow rule has a cap"),
        ("route: {channel: '#x'}", "'roles' is missing"),
        ("route: {channel: x, roles: [leads]}", "'x' is no channel"),
        ("route: {channel: '#Two Words', roles: [leads]}", "is no channel"),
        ("route: {channel: '@alice', roles: [leads]}", "is no channel"),
        ("route: {channel: '#x', roles: [leads, leads]}", "stands here twice"),
        ("route: {channel: '#x', roles: leads}", "must be a list, not 'leads'"),
        ("route: {channel: '#x', roles: [lead]}", "there is no role 'lead'; did you mean 'leads'?"),
        ("route: {channel: '#x', roles: [finance], approvals: 3}", "only 2 can be in these roles"),
        ("route: {channel: '#x', roles: [leads], approvals: 0}", "a whole number from 1 to 20"),
        ("route: {channel: '#x', roles: [leads], approvals: 1.5}", "a whole number from 1 to 20"),
        ("ladder: []", "must have 1 to 20 entries"),
        ("ladder: [{after: 15, remind: true}]", "must be a duration such as"),
        ("ladder: [{after: 15 m, remind: true}]", "must be a duration such as"),
        ("ladder: [{after: 366d, remind: true}]", "at most 365 days"),
        ("ladder: [{after: 0m, remind: true}]", "more than nothing"),
        ("ladder: [{after: -5m, remind: true}]", "must be a duration such as"),
        ("ladder: [{after: 5m, remind: false}]", "must be true"),
        ("ladder: [{after: 5m}]", "exactly one of"),
        ("ladder: [{after: 5m, remind: true}, {after: 5m, default: reject}]", "later than the one before"),
        ("ladder: [{after: 5m, default: allow}]", "i_accept_auto_allow"),
        ("ladder: [{after: 5m, default: never}]", "not one of reject, expire, allow"),
        ("ladder: [{after: 5m, escalate: {channel: '#x', roles: [nobody]}}]", "there is no role 'nobody'"),
        ("i_accept_auto_allow: true", "nothing in this rule allows by itself"),
        ("must_open: 1", "must be true or false, not '1'"),
        ("reject_reasons: [a, a]", "stands here twice"),
        (f"reject_reasons: [{'x' * 76}]", "at most 75"),
        ("autonomy: {after: 0}", "a whole number from 1"),
        ("autonomy: {after: 5, sample: 101%}", "a percentage from 0% to 100%"),
        ("autonomy: {after: 5, max: {'args.': 4}}", "is not a CEL expression"),
    ],
)
def test_a_fault_says_what_to_do(rule: str, sentence: str) -> None:
    assert sentence in fault_of_rule(rule)


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("{name: fallback, tool: t, verdict: ask}", "choose another name"),
        ('{name: "a\\nb", tool: t, verdict: ask}', "one line"),
        ("{tool: t, verdict: ask}", "'name' is missing"),
        ("{name: r, verdict: ask}", "'tool' is missing"),
        ("{name: r, tool: t}", "'verdict' is missing"),
        ("{name: r, tool: t, verdict: allow, cap: {per: agent, window: 1h, limit: 1}}", "keep exactly one"),
        ("{name: r, tool: t, verdict: allow, cap: {sum: args.a, per: agent, limit: 1}}", "'window' is missing"),
        ("{name: r, tool: t, verdict: allow, cap: {count: false, per: tool, window: 1h, limit: 1}}", "must be true"),
        ("just text", "must be a mapping"),
    ],
)
def test_a_rule_has_what_a_rule_needs(rule: str, sentence: str) -> None:
    [fault] = faults(f"{HEAD}  - {rule}\n")

    assert sentence in fault
    assert fault.startswith("p.yml:7: rules[0]")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "p.yml:1: is empty"),
        ("# nothing\n", "p.yml:1: is empty"),
        ("version: 1\n\troles: {}\n", "p.yml:2: a tab cannot indent YAML; use spaces"),
        ("version: 1\nroles: {a: [\n", "p.yml:3: the YAML cannot be read"),
        ("version: 1\n---\nversion: 1\n", "p.yml:2: the YAML cannot be read"),
        ("version: 1\nroles: *who\n", "p.yml:2: the YAML cannot be read"),
        ("version: 1\nroles: \x00\n", "p.yml:2: a character that YAML does not allow"),
        ("[" * 2000, "p.yml:1: is nested too deeply"),
    ],
)
def test_a_file_that_is_no_yaml_has_one_fault_with_its_line(text: str, fault: str) -> None:
    [found] = faults(text)

    assert found.startswith(fault)


def test_a_list_is_no_policy() -> None:
    assert faults("[]") == [
        "p.yml:1: must be a mapping with version, roles, fallback, rules, break_glass, not a list",
        "p.yml:1: fallback: is missing; say where to ask about what no rule names",
    ]


def test_doubled_keys_are_refused_where_they_stand() -> None:
    doubled = "version: 1\nroles:\n  a: {users: [U01]}\n  a: {users: [U02]}\nfallback: {channel: C0X, roles: [a]}\n"

    assert faults(doubled) == ["p.yml:4: roles.a: the key 'a' stands here twice, first at line 3; keep one"]


def test_anchors_and_merges_are_followed_and_own_keys_win() -> None:
    found = policy("""
    - {name: a, tool: a, verdict: ask, route: &finance {channel: "#refunds", roles: [finance]}}
    - {name: b, tool: b, verdict: ask, route: *finance}
    - {name: c, tool: c, verdict: ask, route: {<<: *finance, channel: "#other"}}
    """)

    assert [rule.route and rule.route.channel for rule in found.rules] == ["#refunds", "#refunds", "#other"]


def test_a_mapping_merged_into_itself_is_a_fault() -> None:
    [_, fault] = faults("&top\nversion: 1\n<<: *top\n")

    assert fault == "p.yml:3: <<: merge a mapping that does not contain this one"


def test_many_aliases_do_not_grow() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]

    assert len(faults("\n".join(lines))) == len(lines) + 2


def test_one_approval_may_be_asked_of_a_role_of_one() -> None:
    found = parse(
        dedent("""
        version: 1
        roles: {boss: {users: [U0BOSS]}}
        fallback: {channel: "@U0BOSS", roles: [boss], approvals: 1}
        break_glass: [boss]
        """),
        name="p.yml",
    )

    assert (found.fallback.approvals, found.break_glass, found.rules) == (1, ("boss",), ())


@pytest.mark.parametrize("word", ["true", '"true"'])
def test_a_condition_may_be_just_true(word: str) -> None:
    [rule] = policy(f"- {{name: r, tool: t, when: {word}, verdict: ask}}").rules

    assert rule.when is not None
    assert rule.when.text == "true"


@pytest.mark.parametrize("text", ["90s", "15m", "2h30m", "1d", "1d2h3m4s"])
def test_durations_are_written_with_units(text: str) -> None:
    [rule] = policy(f"- {{name: r, tool: t, verdict: ask, ladder: [{{after: {text}, remind: true}}]}}").rules

    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    parts = text.replace("s", "s ").replace("m", "m ").replace("h", "h ").replace("d", "d ").split()
    assert rule.ladder[0].after == timedelta(seconds=sum(int(part[:-1]) * units[part[-1]] for part in parts))
