"""How much a judgement over 100 rules costs, against one bare evaluation of a compiled condition.

Run: python benchmarks/judge.py
"""

import timeit
from collections.abc import Callable

import cel

from seconder.action import Action
from seconder.policies import Case, Policy, parse
from seconder.review import Agent, Interrupt, Kind

HEAD = """\
version: 1
roles: {leads: {user_groups: [S0LEADS]}}
fallback: {channel: "#agents", roles: [leads]}
rules:
"""
CONDITION = 'args.amount < 50 && environment == "prod"'
ARGUMENTS = {"amount": 240, "order": "O-991", "reason": "Arrived broken", "lines": [{"sku": "A", "n": 2}]}


def policy(tool: str) -> Policy:
    """100 rules with a condition each; `{n}` in `tool` makes them differ."""
    rules = [f"  - {{name: r{n}, tool: {tool.format(n=n)}, when: '{CONDITION}', verdict: allow}}\n" for n in range(100)]
    return parse(HEAD + "".join(rules), name="benchmark.yml")


def microseconds(work: Callable[[], object], times: int = 2000) -> float:
    return min(timeit.repeat(work, number=times, repeat=5)) / times * 1e6


def main() -> None:
    action = Action(tool="t0", arguments=ARGUMENTS)
    case = Case(Interrupt(kind=Kind.TOOL_CALL, agent=Agent(name="support"), action=action, environment="prod"))
    program, names = cel.compile(CONDITION), case.names
    bare = microseconds(lambda: program.execute(names))
    print(f"bare evaluation with its names   {bare:8.1f} us")
    for title, tool in (("100 rules, one of them for the tool", "t{n}"), ("100 rules, all for the tool", '"*"')):
        judge = policy(tool)
        took = microseconds(lambda judge=judge: judge.judge(case, {}), 500)  # type: ignore[misc]
        print(f"{title:<36} {took:8.1f} us  {took / bare:6.1f} times")


if __name__ == "__main__":
    main()
