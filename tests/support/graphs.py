"""LangChain agents and LangGraph graphs with a scripted model, and a tool that writes what it did into a file."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from tests.support.agents import write

CHECKPOINTS = "TEST_CHECKPOINTS"  # names the SQLite file of the checkpointer
NAME = "desk"


class Scripted(GenericFakeChatModel):
    """Says these messages, one a turn; `heard` is what it got at its last call."""

    heard: list[BaseMessage]

    def bind_tools(self, tools: Any, **more: Any) -> Any:
        return self

    def _generate(self, messages: Any, *rest: Any, **more: Any) -> Any:
        self.heard[:] = messages
        return super()._generate(messages, *rest, **more)


@tool
def refund(order: str, amount: float) -> str:
    """Pay money back."""
    write("refund", order=order, amount=amount)
    return f"refunded {amount:g} for {order}"


@tool
def explode(order: str) -> str:
    """Fail after it has begun."""
    write("explode", order=order)
    message = f"the bank refused {order}"
    raise ValueError(message)


@tool
def lookup(order: str) -> str:
    """Look an order up."""
    write("lookup", order=order)
    return f"{order} cost 240"


def call(name: str, ident: str, **arguments: Any) -> Any:
    return {"name": name, "id": ident, "args": arguments}


def model(*steps: Any) -> Scripted:
    """A step is a list of calls, or text."""
    said = [AIMessage(step) if isinstance(step, str) else AIMessage("", tool_calls=step) for step in steps]
    return Scripted(messages=iter(said), heard=[])


def gate(mode: Any, *gated: str, **configs: Any) -> HumanInTheLoopMiddleware:
    on = {**dict.fromkeys(gated or ("refund", "explode"), True), **configs}
    return HumanInTheLoopMiddleware(on, interrupt_mode=mode)


def agent(saver: Any, *steps: Any, mode: str = "per_call", middleware: list[Any] | None = None) -> Any:
    return create_agent(
        steps[0] if len(steps) == 1 and isinstance(steps[0], Scripted) else model(*steps),
        [refund, explode, lookup],
        middleware=[gate(mode)] if middleware is None else middleware,
        checkpointer=saver,
        name=NAME,
    )


def opening(make: Callable[[Any], Any]) -> Callable[[], AbstractAsyncContextManager[Any]]:
    """A factory of what `make` builds on the checkpointer, as a process of its own would open it."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        async with AsyncSqliteSaver.from_conn_string(os.environ[CHECKPOINTS]) as saver:
            yield make(saver)

    return opened


def opening_sync(make: Callable[[Any], Any]) -> Callable[[], AbstractAsyncContextManager[Any]]:
    """The same on the checkpointer that has no async methods."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        with SqliteSaver.from_conn_string(os.environ[CHECKPOINTS]) as saver:
            yield make(saver)

    return opened


def told(scripted: Scripted) -> dict[str, str]:
    """The tool messages that the model got at its last call, by call id."""
    return {one.tool_call_id: one.text for one in scripted.heard if isinstance(one, ToolMessage)}


def _in_mode(saver: Any, *steps: Any) -> Any:
    return agent(saver, *steps, mode=os.environ.get("TEST_MODE", "per_call"))


AGENTS = {NAME: opening(lambda saver: _in_mode(saver, "done"))}
