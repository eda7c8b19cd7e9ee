"""`seconder policy`: needs nothing but the policy itself."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seconder.action import Action, canonical, parse_json
from seconder.cli import opening
from seconder.cli.show import AsJson, console, emit, facts, say, table
from seconder.errors import ConfigurationError, Fault, InvalidInput, PolicyInvalid
from seconder.review import Agent, Interrupt, Kind
from seconder.settings import with_policy

if TYPE_CHECKING:
    from seconder.policies import Policy
    from seconder.settings import Settings

program = typer.Typer(help="The policy: check it, ask it.", no_args_is_help=True)

PathArgument = Annotated[Path | None, typer.Argument(help="A file or folder; else SECONDER_POLICY.", metavar="[PATH]")]


@program.command()
def check(path: PathArgument = None, as_json: AsJson = False) -> None:
    """Read the policy and report every fault with file and line; exit code 1 where there is one.

    A rule that can never decide is a fault too.
    """
    from seconder.policies.check import notes, shadowed

    found = _settings(path)
    try:
        policy = _load(found)
    except PolicyInvalid as error:
        if not as_json:
            raise
        emit({"ok": False, "faults": _faults(error.faults), "shadowed": [], "notes": []})
        raise typer.Exit(1) from None
    never, noted = shadowed(policy), notes(policy)
    if as_json:
        emit({"ok": not never, "faults": [], "shadowed": _faults(never), "notes": _faults(noted)})
    else:
        for fault in (*never, *noted):
            print(f"{fault.path}: {fault.message}")
        count = f"{len(policy.rules)} rules, {len(policy.roles)} roles"
        if not never:
            console().print(f"{found.policy}: {count}, fine", markup=False)
    if never:
        if not as_json:
            say(f"{len(never)} of {len(policy.rules)} rules can never decide: move or remove them")
        raise typer.Exit(1)


@program.command()
def explain(
    tool: Annotated[str, typer.Option("--tool", help="The tool's name.")],
    args: Annotated[str, typer.Option("--args", help="Its arguments, a JSON object.", metavar="JSON")] = "{}",
    environment: Annotated[str | None, typer.Option("--environment", help="As the agent would send it.")] = None,
    agent: Annotated[str, typer.Option("--agent", help="The agent's name.")] = "agent",
    as_json: AsJson = False,
) -> None:
    """Say what the policy says of one call, and why."""
    from seconder.policies.case import Case
    from seconder.policies.explain import explain as judged

    arguments = parse_json(args, path="--args")
    if not isinstance(arguments, dict):
        raise InvalidInput([Fault("--args", "give a JSON object, like '{\"amount\": 240}'")])
    canonical(arguments, path="--args")
    interrupt = Interrupt(
        kind=Kind.TOOL_CALL,
        agent=Agent(name=agent),
        action=Action(tool=tool, arguments=arguments),
        environment=environment,
    )
    said = judged(_load(_settings(None)), Case(interrupt))
    if as_json:
        emit({name: said[name] for name in ("verdict", "rule", "because", "route")})
        return
    facts([*((name, said[name]) for name in ("verdict", "rule", "because")), ("asks", _asked(said["route"]))])
    rows = [(entry["rule"], entry["verdict"], entry["source"], entry["why"]) for entry in said["trace"]]
    print()
    table(("rule", "verdict", "where", "why it did or did not decide"), rows, empty="The policy has no rules.")


def _asked(route: dict[str, Any] | None) -> str:
    if route is None:
        return ""
    people = "person" if route["approvals"] == 1 else "people"
    return f"{route['approvals']} {people} of {', '.join(route['roles'])} in {route['channel']}"


def _settings(path: Path | None) -> "Settings":
    named = path is not None or os.environ.get("SECONDER_POLICY", "").strip()
    return with_policy(opening.settings(beside=not named), path)


def _load(found: "Settings") -> "Policy":
    from seconder.policies import load

    if found.policy is None:
        raise ConfigurationError("SECONDER_POLICY is not set: name a policy file or folder")
    return load(found.policy)


def _faults(faults: "list[Fault] | tuple[Fault, ...]") -> list[dict[str, str]]:
    return [{"path": fault.path, "message": fault.message} for fault in faults]
