"""The agents of a run with every gated tool behind the gate: copies, the user's own are left as they are."""

import copy
import inspect
import types
import weakref
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from agents import Agent, FunctionTool, Handoff, RunContextWrapper
from agents.tool import Tool, _FailureHandlingFunctionToolInvoker
from agents.tool_context import ToolContext

from seconder.errors import ResumeRefused
from seconder.frameworks.openai_gate import Gate


class Graph:
    """Copies of an agent and of all that it can hand over to or call; each agent is copied once."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._copies: dict[int, tuple[Agent[Any], Agent[Any]]] = {}

    def copied(self, agent: Agent[Any]) -> Agent[Any]:
        """Raises: ResumeRefused where an agent inside a tool cannot be reached to be gated."""
        if id(agent) in self._copies:
            return self._copies[id(agent)][1]
        made = copy.copy(agent)
        self._copies[id(agent)] = (agent, made)
        self._copies[id(made)] = (made, made)
        made.tools = [self._tool(tool) for tool in agent.tools]
        made.handoffs = [self._handoff(one) for one in agent.handoffs]
        if agent.mcp_servers:
            discover = made.get_mcp_tools

            async def gated(context: RunContextWrapper[Any]) -> list[Tool]:
                return [self._tool(tool) for tool in await discover(context)]

            vars(made)["get_mcp_tools"] = gated
        return made

    def _tool(self, tool: Tool) -> Tool:
        if not isinstance(tool, FunctionTool):
            return tool
        nested = self._nested(tool)
        return nested if nested.needs_approval is False else self._gated(nested)

    def _gated(self, tool: FunctionTool) -> FunctionTool:
        gated = copy.copy(tool)
        gated.timeout_seconds = None  # it is the tool's time, not the ledger's: the gate keeps it
        gated.on_invoke_tool = GatedInvoker(tool, self._gate)
        if callable(tool.needs_approval):
            gated.needs_approval = self._noting(tool.needs_approval)
        return gated

    def _noting(self, policy: Callable[..., Any]) -> Callable[..., Awaitable[bool]]:
        """The tool's own policy; calls that it does not gate are noted, so that the gate lets them through."""

        async def judged(context: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str) -> bool:
            answer = policy(context, arguments, call_id)
            asks = bool(await answer if inspect.isawaitable(answer) else answer)
            if asks:
                self._gate.let_through.discard(call_id)
            else:
                self._gate.let_through.add(call_id)
            return asks

        return judged

    def _handoff(self, handoff: Agent[Any] | Handoff[Any, Any]) -> Agent[Any] | Handoff[Any, Any]:
        if isinstance(handoff, Agent):
            return self.copied(handoff)
        made = copy.copy(handoff)
        target = handoff._agent_ref() if handoff._agent_ref is not None else None  # noqa: SLF001 - no public way
        if isinstance(target, Agent):
            made._agent_ref = weakref.ref(self.copied(target))  # noqa: SLF001
        hand_over = handoff.on_invoke_handoff

        async def gated(context: RunContextWrapper[Any], arguments: str) -> Agent[Any]:
            return self.copied(await hand_over(context, arguments))

        made.on_invoke_handoff = gated
        return made

    def _nested(self, tool: FunctionTool) -> FunctionTool:
        """An agent as a tool, with the gated copy of its agent inside."""
        inner = tool._agent_instance if tool._is_agent_tool else None  # noqa: SLF001 - no public way
        if not isinstance(inner, Agent):
            return tool
        made, gated = copy.copy(tool), self.copied(inner)
        invoker = _with_agent(tool.on_invoke_tool, inner, gated)
        if invoker is None:
            if any(_has_gate(agent) for agent in reachable(inner)):
                raise ResumeRefused(
                    f"the tool {tool.name} runs the agent {inner.name} in a way that cannot be gated: "
                    "make it with Agent.as_tool of the installed SDK"
                )
            return tool
        made.on_invoke_tool = invoker.__agents_bind_function_tool__(made)
        made._agent_instance = gated  # noqa: SLF001
        return made


class GatedInvoker(_FailureHandlingFunctionToolInvoker):
    """Puts the gate where the SDK invokes the tool; what the SDK inspects for approval is the tool's own."""

    def __init__(self, tool: FunctionTool, gate: Gate) -> None:
        self._tool, self._gate = tool, gate

    def __agents_bind_function_tool__(self, _: FunctionTool) -> "GatedInvoker":
        return self

    def _get_wrapped_callable(self) -> object:
        return self._tool.__wrapped__

    def prepare_arguments(self, arguments: str, tool_name: str) -> Any:
        own = self._tool.on_invoke_tool
        if isinstance(own, _FailureHandlingFunctionToolInvoker):
            return own.prepare_arguments(arguments, tool_name)
        return None

    async def __call__(self, context: ToolContext[Any], arguments: str) -> Any:
        return await self._gate.invoke(self._tool, context, arguments)


def reachable(agent: Agent[Any]) -> Iterator[Agent[Any]]:
    """This agent and all that it can hand over to or call as a tool, each once."""
    seen: dict[int, Agent[Any]] = {}
    waiting = [agent]
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen[id(current)] = current
        yield current
        for handoff in current.handoffs:
            target = handoff._agent_ref() if isinstance(handoff, Handoff) and handoff._agent_ref else handoff  # noqa: SLF001
            waiting += [target] if isinstance(target, Agent) else []
        for tool in current.tools:
            inner = tool._agent_instance if isinstance(tool, FunctionTool) else None  # noqa: SLF001
            waiting += [inner] if isinstance(inner, Agent) else []


def _has_gate(agent: Agent[Any]) -> bool:
    gated = any(isinstance(tool, FunctionTool) and tool.needs_approval is not False for tool in agent.tools)
    return gated or bool(agent.mcp_servers)


def _with_agent(invoker: object, inner: Agent[Any], gated: Agent[Any]) -> _FailureHandlingFunctionToolInvoker | None:
    """The invoker of `Agent.as_tool` with another agent in its closure; None where it is not built that way."""
    if not isinstance(invoker, _FailureHandlingFunctionToolInvoker):
        return None
    run = invoker._invoke_tool_impl  # noqa: SLF001 - as_tool keeps its agent nowhere else; pinned by a test
    if not isinstance(run, types.FunctionType) or not any(_holds(cell, inner) for cell in run.__closure__ or ()):
        return None
    cells = tuple(types.CellType(gated) if _holds(cell, inner) else cell for cell in run.__closure__ or ())
    made = types.FunctionType(run.__code__, run.__globals__, run.__name__, run.__defaults__, cells)
    made.__kwdefaults__, made.__annotations__ = run.__kwdefaults__, run.__annotations__
    return _FailureHandlingFunctionToolInvoker(made, invoker._on_handled_error)  # noqa: SLF001


def _holds(cell: types.CellType, agent: Agent[Any]) -> bool:
    try:
        return cell.cell_contents is agent
    except ValueError:  # an empty cell
        return False
