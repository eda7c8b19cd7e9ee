"""Agents of Pydantic AI with a scripted model, and tools that write what they did into a file."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic_ai import Agent, ApprovalRequired, CallDeferred, RunContext, Tool
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import seconder
from seconder.frameworks import Factory, Resumed
from seconder.frameworks.lease import resume
from tests.support.agents import CANARY, write
from tests.support.memory_desk import MemoryDesk


@dataclass
class Deps:
    """A user's own dependencies, with a secret in them."""

    api_key: str = CANARY


class Receipt(BaseModel):
    """A typed final output."""

    order: str
    total: float


def refund(order: str, amount: float) -> str:
    """Pay money back."""
    write("refund", order=order, amount=amount)
    return f"refunded {amount:g} for {order}"


def receipt(order: str, amount: float) -> Receipt:
    """Pay money back, with a receipt."""
    write("receipt", order=order, amount=amount)
    return Receipt(order=order, total=amount)


def explode(order: str) -> str:
    """Fail after it has begun."""
    write("explode", order=order)
    message = f"the bank refused {order}"
    raise ValueError(message)


def lookup(order: str) -> str:
    """Look an order up."""
    write("lookup", order=order)
    return f"{order} cost 240"


def pay(context: RunContext[Any], amount: int) -> str:
    """Pay; small amounts run alone."""
    if amount >= 50 and not context.tool_call_approved:
        raise ApprovalRequired
    write("pay", amount=amount)
    return f"paid {amount}"


def whoami(context: RunContext[Deps]) -> str:
    """Say whose key is in the deps."""
    write("whoami", api_key=context.deps.api_key)
    return "it is me"


def ask_person(prompt: str) -> str:
    """Ask a person."""
    raise CallDeferred({"options": ["red", "blue"]}, kind="question")


def ship(order: str) -> str:
    """Shipped by somebody else's system."""
    raise CallDeferred


TOOLS: list[Any] = [
    Tool(refund, requires_approval=True),
    Tool(receipt, requires_approval=True),
    Tool(explode, requires_approval=True),
    Tool(whoami, requires_approval=True),
    lookup,
    pay,
    ask_person,
    ship,
]


class Script:
    """Says its steps, one a turn; `seen` is what the model got at its last turn."""

    def __init__(self, steps: tuple[Any, ...]) -> None:
        self._steps = list(steps)
        self.seen: list[ModelMessage] | None = None

    def __call__(self, messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        self.seen = messages
        if not self._steps:
            message = "the script has no more steps"
            raise RuntimeError(message)
        step = self._steps.pop(0)
        return ModelResponse(parts=[TextPart(step)] if isinstance(step, str) else list(step))


def call(tool: str, call_id: str, **arguments: Any) -> ToolCallPart:
    return ToolCallPart(tool, arguments, tool_call_id=call_id)


def agent(*steps: Any, tools: list[Any] | None = None, **more: Any) -> Agent[Any, Any]:
    """An agent whose model says these steps; a step is a list of calls, or text."""
    model = FunctionModel(Script(steps))
    return Agent(model, **{"name": "desk", "tools": TOOLS if tools is None else tools, **more})


def resumed_with(*steps: Any, **more: Any) -> tuple[Agent[Any, Any], Callable[[], Agent[Any, Any]]]:
    """The agent as another process would make it, and its factory."""
    made = agent(*steps, **more)
    return made, lambda: made


def seen(made: Agent[Any, Any]) -> list[ModelMessage] | None:
    model = made.model
    assert isinstance(model, FunctionModel)
    assert isinstance(model.function, Script)
    return model.function.seen


def heard(made: Agent[Any, Any]) -> list[tuple[str, str, Any]]:
    """Call id, outcome and content of every tool result that the model had got at its last turn."""
    returns = [
        part
        for message in seen(made) or []
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    return sorted((part.tool_call_id, part.outcome, part.content) for part in returns)


async def paused(desk: MemoryDesk, *calls: ToolCallPart, context: Any = None, **more: Any) -> str:
    """A run that stopped at these calls; its pause."""
    stopped = await seconder.run(agent(list(calls), **more), "please", client=desk, context=context, wait=False)
    assert isinstance(stopped, seconder.Paused)
    return stopped.id


async def resumed(desk: MemoryDesk, factory: Factory) -> Resumed:
    """How the run went on that was ready."""
    claim = await desk.claim(agents=["desk"], worker="w")
    assert claim is not None
    return (await resume(desk, claim, factory)).resumed


def second() -> Agent[Any, Any]:
    """What a process that resumes the run makes: it ends with a receipt for what the tool said."""
    return agent([call("final_result", "end", order="O-991", total=120)], output_type=Receipt)


AGENTS = {"desk": second}
