"""The graph that is resumed: a copy whose tool nodes ask the gate, on a checkpointer that async code can use.

A factory may hand out a graph that lives as long as its module: it is never changed. Tool nodes are
found where they are nodes of the graph, or of a graph that is a node of it; a graph that a node's own
code invokes is not seen.
"""

import asyncio
import copy
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from inspect import isawaitable
from typing import Any, TypeAlias

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.pregel import Pregel
from langgraph.pregel._read import PregelNode

from seconder.errors import ConfigurationError, ResumeRefused
from seconder.frameworks import Factory
from seconder.frameworks.langgraph_gate import Gate
from seconder.frameworks.words import NOT_DECIDED

Graph: TypeAlias = Pregel[Any, Any, Any, Any]
SYNC = "a tool node inside a synchronous call cannot ask whether a call was decided: use async nodes and middleware"


@asynccontextmanager
async def made(factory: Factory) -> AsyncIterator[tuple[Graph, Any]]:
    """The graph and its runtime context, while what the factory opened is open.

    Raises: ResumeRefused where the factory makes something else; ConfigurationError.
    """
    async with AsyncExitStack() as stack:
        product = factory()
        product = await product if isawaitable(product) else product
        if hasattr(product, "__aenter__"):
            product = await stack.enter_async_context(product)
        elif hasattr(product, "__enter__"):
            product = stack.enter_context(product)
        graph, context = product if isinstance(product, tuple) and len(product) == 2 else (product, None)  # noqa: PLR2004 - a pair
        if not isinstance(graph, Pregel):
            raise ResumeRefused(f"the agent's factory returned a {type(graph).__name__}, not a compiled graph")
        usable = await _usable(graph)
        try:
            yield usable, context
        finally:
            await _settled(usable.checkpointer)


def gated(graph: Graph, gate: Gate) -> Graph:
    """A copy of the graph in which every call of a tool asks the gate first."""
    return graph.copy({"nodes": {name: _gated_node(node, gate) for name, node in graph.nodes.items()}})


def tools(graph: Graph) -> Iterator[BaseTool]:
    """The tools of the graph's own tool nodes."""
    for node in graph.nodes.values():
        if isinstance(node.bound, ToolNode):
            yield from node.bound.tools_by_name.values()


def check_durable(graph: Graph) -> None:
    """Raises: ConfigurationError where another process could not find the run."""
    saver = graph.checkpointer
    if isinstance(saver, BaseCheckpointSaver) and not isinstance(saver, InMemorySaver):
        return
    kept = "in the memory of this process" if isinstance(saver, InMemorySaver) else "nowhere"
    raise ConfigurationError(
        f"this graph is paused, but its state is kept {kept}, so that no other process could go on with it: "
        "compile it with a durable checkpointer, like AsyncSqliteSaver or AsyncPostgresSaver"
    )


def _gated_node(node: PregelNode, gate: Gate) -> PregelNode:
    if isinstance(node.bound, ToolNode):
        return node.copy({"bound": _gated_tools(node.bound, gate)})
    if isinstance(node.bound, Pregel):
        inner = gated(node.bound, gate)
        return node.copy({"bound": inner, "subgraphs": [inner]})
    return node


def _gated_tools(node: ToolNode, gate: Gate) -> ToolNode:
    """The tool node, with the gate inside of all middleware; there is no public place: pinned by tests."""
    inner = node._execute_tool_async  # noqa: SLF001

    async def execute(request: ToolCallRequest, input_type: Any, config: Any) -> Any:
        return await gate.call(request, lambda decided: inner(decided, input_type, config))

    def refuse(request: ToolCallRequest, *_: Any) -> ToolMessage:
        gate.stop(ResumeRefused(SYNC))
        call = request.tool_call
        return ToolMessage(content=NOT_DECIDED, name=call["name"], tool_call_id=call["id"], status="error")

    made = copy.copy(node)
    made.func, made.afunc = made._func, made._afunc  # noqa: SLF001
    made._execute_tool_async = execute  # type: ignore[method-assign]  # noqa: SLF001
    made._execute_tool_sync = refuse  # type: ignore[assignment,method-assign]  # noqa: SLF001
    return made


async def _usable(graph: Graph) -> Graph:
    """The graph, with a checkpointer that finishes what it writes, from threads where it has no async methods."""
    saver = graph.checkpointer
    if not isinstance(saver, BaseCheckpointSaver) or isinstance(saver, _Whole):
        return graph
    try:
        await saver.aget_tuple({"configurable": {"thread_id": "", "checkpoint_ns": ""}})
    except NotImplementedError:
        return graph.copy({"checkpointer": _with(_Whole, _with(_Threaded, saver))})
    return graph.copy({"checkpointer": _with(_Whole, saver)})


def _with(methods: type[BaseCheckpointSaver[Any]], saver: BaseCheckpointSaver[Any]) -> BaseCheckpointSaver[Any]:
    changed = copy.copy(saver)
    changed.__class__ = type(type(saver).__name__, (methods, type(saver)), {})
    if isinstance(changed, _Whole):
        changed.begun = set()
    return changed


class _Whole(BaseCheckpointSaver[Any]):
    """What was begun ends before a cancellation goes on: half a write keeps its locks, and a thread its connection."""

    begun: set[asyncio.Future[Any]]

    async def aget_tuple(self, *args: Any, **more: Any) -> Any:
        return await _to_the_end(self, super().aget_tuple(*args, **more))

    async def aput(self, *args: Any, **more: Any) -> Any:
        return await _to_the_end(self, super().aput(*args, **more))

    async def aput_writes(self, *args: Any, **more: Any) -> None:
        await _to_the_end(self, super().aput_writes(*args, **more))


async def _settled(saver: object) -> None:
    """Nothing that the saver began is under way any more: it may be closed."""
    while isinstance(saver, _Whole) and saver.begun:
        await asyncio.wait(set(saver.begun))


async def _to_the_end(saver: _Whole, work: Coroutine[Any, Any, Any]) -> Any:
    task = asyncio.ensure_future(work)
    saver.begun.add(task)
    task.add_done_callback(saver.begun.discard)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        task.exception()  # nobody waits for it any more
        raise cancelled
    return task.result()


class _Threaded(BaseCheckpointSaver[Any]):
    async def aget_tuple(self, *args: Any, **more: Any) -> Any:
        return await asyncio.to_thread(self.get_tuple, *args, **more)

    async def aput(self, *args: Any, **more: Any) -> Any:
        return await asyncio.to_thread(self.put, *args, **more)

    async def aput_writes(self, *args: Any, **more: Any) -> None:
        await asyncio.to_thread(self.put_writes, *args, **more)

    async def alist(self, *args: Any, **more: Any) -> AsyncIterator[Any]:
        for one in await asyncio.to_thread(lambda: list(self.list(*args, **more))):
            yield one
