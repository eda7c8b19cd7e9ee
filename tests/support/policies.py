"""Policies and cases for tests: a head that every policy has, rules as text, interrupts from keywords."""

from collections.abc import Mapping
from decimal import Decimal
from textwrap import dedent, indent
from typing import Any

from seconder.action import Action
from seconder.policies import Case, HistoryNeed, Judgement, Policy, parse
from seconder.review import Agent, Interrupt, Kind, Question, Requester, StateValue

HEAD = """\
version: 1
roles:
  finance: {users: [U01ALICE, U02BORIS]}
  leads: {user_groups: [S0LEADS]}
fallback: {channel: "#agents", roles: [leads]}
rules:
"""


def policy(rules: str) -> Policy:
    """A policy of these rules, with the roles finance and leads; the first rule stands in line 7 of test.yml."""
    return parse(HEAD + indent(dedent(rules).strip("\n"), "  ") + "\n", name="test.yml")


def case(tool: str = "refund", args: Mapping[str, Any] | None = None, **more: Any) -> Case:
    kind = more.pop("kind", Kind.TOOL_CALL)
    action = Action(tool=tool, arguments=args or {})
    return Case(Interrupt(kind=kind, agent=Agent(name=more.pop("agent", "support")), action=action, **more))


def question(prompt: str, *options: str) -> Case:
    asked = Question(prompt=prompt, options=options)
    return Case(Interrupt(kind=Kind.QUESTION, agent=Agent(name="support"), question=asked))


def state(value: Any) -> Case:
    return Case(Interrupt(kind=Kind.STATE_EDIT, agent=Agent(name="support"), state=StateValue(value=value)))


def person(slack_user: str | None = None, email: str | None = None, name: str | None = None) -> Requester:
    return Requester(slack_user=slack_user, email=email, name=name)


def judged(judge: Policy, asked: Case, used: int | str = 0) -> Judgement:
    """The judgement when that much of every cap that is asked for is used."""
    return judge.judge(asked, dict.fromkeys(judge.needs(asked), Decimal(used)))


def said(judge: Policy, asked: Case, used: int | str = 0) -> tuple[str, str]:
    """The verdict and its rule."""
    verdict = judged(judge, asked, used).verdict
    return verdict.kind.value, verdict.rule


class Ledger:
    """Remembers what judgements reserved, and answers what is used by now."""

    def __init__(self) -> None:
        self.used: dict[tuple[str, str], Decimal] = {}

    def submit(self, judge: Policy, asked: Case) -> str:
        history: dict[HistoryNeed, Decimal] = {
            need: self.used.get((need.rule, need.key), Decimal(0)) for need in judge.needs(asked)
        }
        judgement = judge.judge(asked, history)
        for taken in judgement.reserve:
            place = (taken.need.rule, taken.need.key)
            self.used[place] = self.used.get(place, Decimal(0)) + taken.amount
        return judgement.verdict.kind.value
