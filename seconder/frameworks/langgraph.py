"""LangGraph and LangChain: `run` begins a run and waits for people; `resume` goes on with a decided one.

Gate tools with `HumanInTheLoopMiddleware`, or stop a graph with `ask` or `interrupt`. A factory for
`run` and for workers takes no arguments and gives a compiled graph with a durable checkpointer, or
`(graph, context)` with the runtime context, or a context manager of either that opens and closes them.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any
from uuid import uuid4

import httpx
from langgraph.pregel import Pregel
from langgraph.types import Command, StateSnapshot

from seconder.errors import ConfigurationError
from seconder.frameworks import Factory, Failed, Finished, PausedAgain, Resumed
from seconder.frameworks.follow import follow, paused
from seconder.frameworks.langgraph_ask import ask
from seconder.frameworks.langgraph_gate import Gate, json_value
from seconder.frameworks.langgraph_graph import Graph, gated, made
from seconder.frameworks.langgraph_state import MARK, output_of, pause_of, place, snapshot_of, stored, thread
from seconder.frameworks.running import requester_of
from seconder.gate import Claim, Client, connect

__all__ = ["ask", "may_pass", "resume", "run"]

RATE_LIMITED, SERVER_ERROR = 429, 500
BREAKPOINT = "the graph stopped at a static breakpoint ({}), which asks nobody anything: use `ask` or `interrupt`"


async def run(
    agent: Graph | Factory,
    input: Any,  # noqa: A002 - LangGraph's own name
    *,
    client: Client | None = None,
    name: str | None = None,
    version: str | None = None,
    requester: str | dict[str, Any] | None = None,
    session: str | None = None,
    environment: str | None = None,
    reason: str | None = None,
    context_items: Sequence[dict[str, Any]] = (),
    context: Any = None,
    wait: bool = True,
    timeout: float | None = None,  # noqa: ASYNC109 - it bounds the wait for people, never a resume
    thread_id: str | None = None,
    run_id: str | None = None,
) -> Any:
    """The graph's final state; where it stops, after people decided and it was resumed, here or elsewhere.

    `input` is the graph's, or text: one message of a user. `name` is the agent's name for workers (default: the
    graph's own), `context` the runtime context, `thread_id` a conversation to go on with (default: a new one); the
    other options are those of `seconder.run`. With `wait=False` a stopped run returns `Paused(id, reviews)`.

    Raises: ConfigurationError; RunFailed; TimeoutError after `timeout` seconds of waiting (the pause lives on);
    whatever the graph raises before its first pause.
    """
    factory = _factory(agent, context)
    desk = client or connect()
    try:
        async with made(factory) as (graph, own):
            named = name or graph.name
            where = thread_id or uuid4().hex
            output, snapshot = await _begun(graph, _input(input), where, own)
            if snapshot is None:
                return output
            pause = pause_of(
                graph,
                snapshot,
                run=run_id or uuid4().hex,
                agent_name=named,
                agent_version=version,
                about={
                    "requester": requester_of(requester),
                    "session": session,
                    "environment": environment,
                    "reason": reason,
                    "context": list(context_items),
                },
            )
        submitted = await desk.submit_pause(pause)
        if not wait:
            return paused(submitted)
        return await follow(desk, submitted["id"], name=named, factory=factory, timeout=timeout)
    finally:
        if client is None:
            await desk.aclose()


async def resume(claim: Claim, factory: Factory, client: Client) -> Resumed:
    """How the claimed run went on: every gated call ran as decided, at most once, or was refused to the model.

    Raises: ResumeRefused, LeaseLost, Unreachable, EffectUncertain; whatever the graph raises.
    """
    state = stored(claim.pause["run_state"])
    calls = {review["call_id"]: review for review in claim.reviews if review["kind"] == "tool_call"}
    async with made(factory) as (original, context):
        gate = Gate(claim, client, calls)
        graph = gated(original, gate)
        now = await place(graph, claim)
        snapshot, output = now.snapshot, output_of(original, now.snapshot)
        if now.answers is not None or (snapshot.next and not snapshot.interrupts):
            command: Command[Any] | None = None if now.answers is None else Command(resume=now.answers)
            config = thread(state["thread_id"], **{MARK: claim.pause["id"]})
            result = await gate.run(graph.ainvoke(command, config, context=context, durability="sync", version="v2"))
            snapshot, output = await snapshot_of(graph, state["thread_id"]), result.value
        if snapshot.interrupts:
            agent = claim.pause["agent"]
            return PausedAgain(
                pause_of(
                    original,
                    snapshot,
                    run=claim.pause["run"],
                    agent_name=agent["name"],
                    agent_version=agent["version"],
                    about=state["about"],
                )
            )
        if snapshot.next:
            return Failed(BREAKPOINT.format(", ".join(snapshot.next)), retry=False)
        return Finished(output, json_value(output))


def may_pass(error: Exception) -> bool:
    """Whether it is trouble of a network or of an overloaded model, not of the graph's code."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return status == RATE_LIMITED or status >= SERVER_ERROR
    return isinstance(error, httpx.TransportError | OSError | asyncio.TimeoutError | sqlite3.OperationalError)


async def _begun(graph: Graph, given: Any, thread_id: str, context: Any) -> tuple[Any, StateSnapshot | None]:
    """What the graph returned, and where it stopped. Raises: ConfigurationError."""
    if not graph.checkpointer:
        result = await graph.ainvoke(given, context=context, version="v2")
        if result.interrupts:
            raise ConfigurationError("this graph stopped for a decision and has no checkpointer to go on from: add one")
        return result.value, None
    if (await snapshot_of(graph, thread_id)).interrupts:
        message = f"thread {thread_id} waits for a decision: a new message now would make its question vanish"
        raise ConfigurationError(message)
    result = await graph.ainvoke(given, thread(thread_id), context=context, durability="sync", version="v2")
    snapshot = await snapshot_of(graph, thread_id)
    if not snapshot.next:
        return result.value, None
    if not snapshot.interrupts:
        raise ConfigurationError(BREAKPOINT.format(", ".join(snapshot.next)))
    return result.value, snapshot


def _input(given: Any) -> Any:
    return {"messages": [{"role": "user", "content": given}]} if isinstance(given, str) else given


def _factory(agent: Graph | Factory, context: Any) -> Factory:
    """A factory that opens what the agent is, with the runtime context of this call if there is one."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[tuple[Graph, Any]]:
        async with made((lambda: agent) if isinstance(agent, Pregel) else agent) as (graph, own):
            yield graph, own if context is None else context

    def factory() -> AbstractAsyncContextManager[tuple[Graph, Any]]:
        return opened()

    return factory
