"""Agents of the OpenAI Agents SDK with its scripted model, and tools that write what they did into a file."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents import Agent, RunContextWrapper, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call

import seconder
from seconder.frameworks import Factory, Resumed
from seconder.frameworks.lease import resume
from tests.support.memory_desk import MemoryDesk

LEDGER = "TEST_LEDGER"  # names the file that the tools write to, one JSON line a call
CANARY = "sk-canary-3f9a"


def ledger() -> list[dict[str, Any]]:
    path = Path(os.environ[LEDGER])
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def write(tool: str, **arguments: Any) -> None:
    with Path(os.environ[LEDGER]).open("a") as file:
        file.write(json.dumps({"tool": tool, "key": seconder.effect_key(), **arguments}) + "\n")


@dataclass
class Deps:
    """A user's own context object, with a secret in it."""

    api_key: str = CANARY


@function_tool(needs_approval=True)
def refund(order: str, amount: float) -> str:
    """Pay money back."""
    write("refund", order=order, amount=amount)
    return f"refunded {amount:g} for {order}"


@function_tool(needs_approval=True)
def explode(order: str) -> str:
    """Fail after it has begun."""
    write("explode", order=order)
    message = f"the bank refused {order}"
    raise ValueError(message)


@function_tool
def lookup(order: str) -> str:
    """Look an order up."""
    write("lookup", order=order)
    return f"{order} cost 240"


async def _large(_: RunContextWrapper[Any], arguments: dict[str, Any], __: str) -> bool:
    return bool(arguments["amount"] >= 50)


@function_tool(needs_approval=_large)
def pay(amount: float) -> str:
    """Pay; small amounts run alone."""
    write("pay", amount=amount)
    return f"paid {amount:g}"


@function_tool(needs_approval=True)
def whoami(context: RunContextWrapper[Deps]) -> str:
    """Say whose key is in the context."""
    write("whoami", api_key=context.context.api_key)
    return "it is me"


def call(tool: str, call_id: str, **arguments: Any) -> Any:
    return function_call(tool, arguments, call_id=call_id)


def agent(*steps: Any, tools: list[Any] | None = None, name: str = "desk", **more: Any) -> Agent[Any]:
    """An agent whose model says these steps, one a turn; a step is a list of calls, or text."""
    script = [[assistant_message(step)] if isinstance(step, str) else step for step in steps]
    return Agent(
        name=name,
        instructions="Help.",
        model=ScriptedModel(script),
        tools=[refund, explode, lookup, pay, whoami] if tools is None else tools,
        **more,
    )


def resumed_with(*steps: Any, **more: Any) -> tuple[Agent[Any], Callable[[], Agent[Any]]]:
    """The agent as another process would make it, and its factory."""
    made = agent(*steps, **more)
    return made, lambda: made


def heard(made: Agent[Any]) -> list[str]:
    """The outputs of tools that the model got at its last call."""
    model = made.model
    assert isinstance(model, ScriptedModel)
    assert model.last_call is not None
    items: Any = model.last_call.input
    return [str(item["output"]) for item in items if item.get("type") == "function_call_output"]


async def paused(desk: MemoryDesk, *calls: Any, context: Any = None, **more: Any) -> str:
    """A run that stopped at these calls; its pause."""
    stopped = await seconder.run(agent(list(calls), **more), "please", client=desk, context=context, wait=False)
    assert isinstance(stopped, seconder.Paused)
    return stopped.id


async def resumed(desk: MemoryDesk, factory: Factory) -> Resumed:
    """How the run went on that was ready."""
    claim = await desk.claim(agents=["desk"], worker="w")
    assert claim is not None
    return (await resume(desk, claim, factory)).resumed


def first() -> Agent[Any]:
    """What a process that begins a run makes: one refund, then it waits."""
    return agent([call("refund", "c1", order="O-991", amount=240)])


def second() -> Agent[Any]:
    """What a process that resumes the run makes."""
    return agent("done")


AGENTS = {"desk": second}
