"""A gated call of a resumed graph: executed once, as decided, or not at all.

What runs are the arguments that the desk hands out at `start_effect`, never those of the checkpoint.
Where a call must not go on (lease lost, desk unreachable, effect uncertain) the whole run is stopped
before it can write a checkpoint that says otherwise.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from langchain_core.messages import ToolCall, ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command
from pydantic_core import to_jsonable_python

from seconder.action import Action
from seconder.errors import CannotConsume, ResumeRefused, SeconderError
from seconder.faults import crash_point
from seconder.frameworks import words
from seconder.frameworks.effect import running
from seconder.gate import Claim, Client, EffectStart

Execute: TypeAlias = Callable[[ToolCallRequest], Awaitable[Any]]
"""The tool node's own execution of one call, inside of all middleware."""

PAUSES_INSIDE = "it pauses inside itself, so that it cannot run exactly once: ask before it, not in it"


class Gate:
    """What may run in one resumed run; `reviews` are of the calls under review, by call id."""

    def __init__(self, claim: Claim, client: Client, reviews: Mapping[str, dict[str, Any]]) -> None:
        self._claim, self._client, self._reviews = claim, client, reviews
        self._stopped: SeconderError | None = None
        self._stop = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._going: list[asyncio.Task[Any]] = []

    async def run(self, graph: Coroutine[Any, Any, Any]) -> Any:
        """What the graph returned; every effect that it started is recorded.

        Raises: LeaseLost, Unreachable, EffectUncertain, ResumeRefused; whatever the graph raises.
        """
        graph_run, stop = asyncio.create_task(graph), asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait({graph_run, stop}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            _cancel(self._going)  # the lease is another worker's: what still runs is not recorded
            raise
        finally:
            _cancel([graph_run, stop])
            await asyncio.gather(graph_run, stop, *self._going, return_exceptions=True)
        if self._stopped is not None:
            raise self._stopped
        return graph_run.result()

    async def call(self, request: ToolCallRequest, execute: Execute) -> Any:
        """The output of this call, or a message why it was not executed; a call without a review is not gated."""
        review = self._reviews.get(request.tool_call["id"] or "")
        if review is None:
            return await execute(request)
        if review["action"]["tool"] != request.tool_call["name"]:
            return _message(request, words.NOT_DECIDED, status="error")
        told = words.refusal(review)
        if told is not None:
            return _message(request, told, status="success" if _by_hand(review) else "error")
        try:
            return await self._sheltered(review, request, execute)
        except SeconderError as error:
            self.stop(error)
            return await asyncio.Event().wait()  # until the run is cancelled

    def stop(self, error: SeconderError) -> None:
        """The run ends with this error and goes no further; may be called from any thread."""
        self._stopped = self._stopped or error
        self._loop.call_soon_threadsafe(self._stop.set)

    async def _sheltered(self, review: dict[str, Any], request: ToolCallRequest, execute: Execute) -> Any:
        """LangGraph cancels the calls beside one that fails: an effect in progress is not cut off by that."""
        going = asyncio.create_task(self._decided(review, request, execute))
        self._going.append(going)
        return await asyncio.shield(going)

    async def _decided(self, review: dict[str, Any], request: ToolCallRequest, execute: Execute) -> Any:
        if self._stopped is not None:
            raise self._stopped
        try:
            started = await self._client.start_effect(
                self._claim.pause["id"],
                fence=self._claim.fence,
                review_id=review["id"],
                digest=(review["decision"] or review)["digest"],
            )
        except CannotConsume as error:
            return _message(request, f"Not executed: {error}.", status="error")
        if started.verdict == "told":
            return _message(request, words.as_text(started.result))
        if started.verdict == "done" and started.error is not None:
            return _message(request, f"It ran before and failed: {started.error}", status="error")
        notice = _notice(review, started)
        if started.verdict == "done":
            return _with_notice(_message(request, words.as_text(started.result)), notice)
        crash_point("worker.effect_started")
        return _with_notice(await self._run(started, request, execute), notice)

    async def _run(self, started: EffectStart, request: ToolCallRequest, execute: Execute) -> Any:
        call: ToolCall = {**request.tool_call, "args": started.arguments}
        try:
            with running(started.key):
                output = await execute(request.override(tool_call=call))
        except GraphBubbleUp:
            await self._end(started, status="failed", error=PAUSES_INSIDE)
            raise ResumeRefused(f"{call['name']} was started, but {PAUSES_INSIDE}") from None
        except Exception as error:
            await self._end(started, status="failed", error=words.error_text(error))
            raise
        crash_point("worker.effect_ran")
        if isinstance(output, ToolMessage) and output.status == "error":
            await self._end(started, status="failed", error=words.error_text(ToolError(output.text)))
        else:
            await self._end(started, status="succeeded", result=words.recordable(_result(output)))
        return output

    async def _end(self, started: EffectStart, *, status: str, result: Any = None, error: str | None = None) -> None:
        lease = {"pause_id": self._claim.pause["id"], "fence": self._claim.fence}
        await self._client.end_effect(started.effect_id, **lease, status=status, result=result, error=error)


class ToolError(Exception):
    """What the tool node made of a tool's error for the model."""


def json_value(output: Any) -> Any:
    """The JSON value of what a tool or a graph returned; what has none becomes its text."""
    return to_jsonable_python(output, fallback=str, bytes_mode="base64")


def _cancel(tasks: list[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()


def _by_hand(review: dict[str, Any]) -> bool:
    return review["decision"] is not None and review["decision"]["kind"] in {"answered", "taken_over"}


def _message(request: ToolCallRequest, text: str, *, status: str = "success") -> ToolMessage:
    call = request.tool_call
    return ToolMessage(content=text, name=call["name"], tool_call_id=call["id"], status=status)


def _notice(review: dict[str, Any], started: EffectStart) -> str | None:
    """What the model has to know of arguments that are not its own."""
    shown, tool = review["action"]["arguments"], review["action"]["tool"]
    decision = review["decision"]
    if Action(tool=tool, arguments=shown).digest == Action(tool=tool, arguments=started.arguments).digest:
        return None
    return words.edited(shown, started.arguments, decision["by"] if decision else [])


def _with_notice(output: Any, notice: str | None) -> Any:
    if notice is None:
        return output
    if isinstance(output, ToolMessage):
        content: Any = output.content
        told = f"{notice}\n{content}" if isinstance(content, str) else [{"type": "text", "text": notice}, *content]
        return output.model_copy(update={"content": told})
    if isinstance(output, Command) and isinstance(output.update, dict):
        messages = [_with_notice(message, notice) for message in output.update.get("messages", [])]
        return replace(output, update={**output.update, "messages": messages})
    return [_with_notice(one, notice) for one in output] if isinstance(output, list) else output


def _result(output: Any) -> Any:
    """What the ledger keeps: what the model is told, else the whole output."""
    if isinstance(output, ToolMessage):
        return json_value(output.content)
    if isinstance(output, Command) and isinstance(output.update, dict):
        said = [one.content for one in output.update.get("messages", []) if isinstance(one, ToolMessage)]
        return json_value(said[0] if len(said) == 1 else said)
    return json_value(output)
