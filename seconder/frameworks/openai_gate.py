"""A gated call of a resumed run: executed once, as decided, or not at all.

What runs are the arguments that the desk hands out at `start_effect`, never those of the run state.
"""

import asyncio
import copy
import inspect
import json
from typing import Any

from agents import FunctionTool, ToolOutputFileContent, ToolOutputImage, ToolOutputText
from agents.agent_tool_state import get_agent_tool_state_scope, peek_agent_tool_run_result
from agents.exceptions import ToolTimeoutError
from agents.tool import (
    default_tool_timeout_error_message,
    invoke_function_tool,
    maybe_invoke_function_tool_failure_error_function,
)
from agents.tool_context import ToolContext
from pydantic_core import to_jsonable_python

from seconder.action import Action, parse_json
from seconder.errors import CannotConsume, Fault, NotCanonical, SeconderError
from seconder.faults import crash_point
from seconder.frameworks import words
from seconder.frameworks.effect import running
from seconder.gate import Claim, Client, EffectStart

STRUCTURED = (ToolOutputText, ToolOutputImage, ToolOutputFileContent)
PAUSED_INSIDE = "It was started, and an action inside it waits for a decision of its own."


class Gate:
    """What may run in one resumed run; `let_through` are calls that the tool's own policy did not gate."""

    def __init__(self, claim: Claim, client: Client) -> None:
        self._claim, self._client = claim, client
        self.reviews = {review["call_id"]: review for review in claim.reviews if asks_for_call(review)}
        self.let_through: set[str] = set()
        self.stopped: SeconderError | None = None  #: why this run must not go on, even if the SDK swallowed it
        self._going: list[asyncio.Task[Any]] = []

    async def invoke(self, tool: FunctionTool, context: ToolContext[Any], arguments: str) -> Any:
        """The tool's output, or a sentence why it was not executed.

        Raises: LeaseLost, Unreachable, EffectUncertain; what the tool raises where it has no failure text.
        """
        if self.stopped is not None:
            raise self.stopped
        if _goes_on_inside(tool, context):
            return await _invoke(tool, context, arguments)
        review = self.reviews.get(context.tool_call_id)
        if review is not None and review["action"]["tool"] == context.qualified_tool_name:
            refused = words.refusal(review)
            return await self._sheltered(review, tool, context, arguments) if refused is None else refused
        if review is None and context.tool_call_id in self.let_through:
            return await _invoke(tool, context, arguments)
        return words.NOT_DECIDED

    async def ended(self) -> None:
        """Every effect that was started is recorded, though the SDK may have stopped waiting for it."""
        await asyncio.gather(*self._going, return_exceptions=True)

    async def cut(self) -> None:
        """Effects that still run are stopped and not recorded: the lease is another worker's."""
        for going in self._going:
            going.cancel()
        await self.ended()

    async def _sheltered(
        self, review: dict[str, Any], tool: FunctionTool, context: ToolContext[Any], arguments: str
    ) -> Any:
        """The SDK cancels the calls beside one that fails: an effect in progress is not cut off by that."""
        going = asyncio.create_task(self._decided(review, tool, context, arguments))
        self._going.append(going)
        return await asyncio.shield(going)

    async def _decided(
        self, review: dict[str, Any], tool: FunctionTool, context: ToolContext[Any], arguments: str
    ) -> Any:
        try:
            started = await self._start(review, (review["decision"] or review)["digest"])
        except CannotConsume as error:
            return f"Not executed: {error}."
        if started.verdict == "told":
            return started.result
        if started.verdict == "run":
            crash_point("worker.effect_started")
            output = await self._run(started, tool, context)
        else:
            output = started.result if started.error is None else f"It ran before and failed: {started.error}"
        return _with_notice(output, _notice(review, started, arguments))

    async def _start(self, review: dict[str, Any], digest: str) -> EffectStart:
        try:
            return await self._client.start_effect(
                self._claim.pause["id"], fence=self._claim.fence, review_id=review["id"], digest=digest
            )
        except CannotConsume:
            raise
        except SeconderError as error:
            self.stopped = error
            raise

    async def _run(self, started: EffectStart, tool: FunctionTool, context: ToolContext[Any]) -> Any:
        """The output, or the tool's own words about its failure; the ledger has either."""
        arguments = json.dumps(started.arguments, ensure_ascii=False)
        context._function_tool_arguments = None  # what the SDK prepared are the model's arguments  # noqa: SLF001
        try:
            with running(started.key):
                output = await _invoke(_bare(tool), context, arguments)
        except Exception as error:
            if self._stopped_inside(tool):
                raise
            await self._end(started, status="failed", error=words.error_text(error))
            told = await _told(tool, context, error)
            if told is None:
                raise
            return told
        if self.stopped is not None and self._stopped_inside(tool):
            raise self.stopped
        crash_point("worker.effect_ran")
        result = PAUSED_INSIDE if _goes_on_inside(tool, context) else words.recordable(json_value(output))
        await self._end(started, status="succeeded", result=result)
        return output

    def _stopped_inside(self, tool: FunctionTool) -> bool:
        """Whether an agent as a tool ended because a gated call inside it could go no further."""
        return self.stopped is not None and tool._is_agent_tool  # noqa: SLF001 - no public way

    async def _end(self, started: EffectStart, *, status: str, result: Any = None, error: str | None = None) -> None:
        lease = {"pause_id": self._claim.pause["id"], "fence": self._claim.fence}
        try:
            await self._client.end_effect(started.effect_id, **lease, status=status, result=result, error=error)
        except SeconderError as trouble:
            self.stopped = trouble
            raise


def asks_for_call(review: dict[str, Any]) -> bool:
    """Whether the review is of a call of the run; a question of the desk about an effect is not."""
    return review["kind"] == "tool_call" and review["call_id"] is not None


def read_arguments(text: str | None) -> dict[str, Any]:
    """The arguments of a call, integers exact. Raises: NotCanonical where they are no JSON object."""
    value = parse_json(text, path="arguments") if text and text.strip() else {}
    if not isinstance(value, dict):
        raise NotCanonical([Fault("arguments", "is not a JSON object")])
    return value


async def _invoke(tool: FunctionTool, context: ToolContext[Any], arguments: str) -> Any:
    return await invoke_function_tool(function_tool=tool, context=context, arguments=arguments)


def _bare(tool: FunctionTool) -> FunctionTool:
    """The tool without the handlers that turn an exception into text, so that a failure is seen as one."""
    bare = copy.copy(tool)
    bare._failure_error_function = None  # noqa: SLF001 - there is no public way; pinned by a test
    bare._use_default_failure_error_function = False  # noqa: SLF001
    bare.timeout_behavior = "raise_exception"
    return bare


async def _told(tool: FunctionTool, context: ToolContext[Any], error: Exception) -> str | None:
    """The tool's own words for the model about its failure; None where the failure is to end the run."""
    if not isinstance(error, ToolTimeoutError) or tool.timeout_seconds is None:
        return await maybe_invoke_function_tool_failure_error_function(function_tool=tool, context=context, error=error)
    if tool.timeout_behavior == "raise_exception":
        return None
    if tool.timeout_error_function is None:
        return default_tool_timeout_error_message(tool_name=tool.name, timeout_seconds=tool.timeout_seconds)
    told = tool.timeout_error_function(context, error)
    return await told if inspect.isawaitable(told) else told


def _goes_on_inside(tool: FunctionTool, context: ToolContext[Any]) -> bool:
    """Whether this call is of an agent as a tool whose own run stopped inside, so that it is no new effect."""
    if not tool._is_agent_tool or context.tool_call is None:  # noqa: SLF001
        return False
    scope = get_agent_tool_state_scope(context)
    inside = peek_agent_tool_run_result(context.tool_call, scope_id=scope)
    return bool(getattr(inside, "interruptions", None))


def _notice(review: dict[str, Any], started: EffectStart, arguments: str) -> str | None:
    """What the model has to know of arguments that are not its own."""
    before, tool = read_arguments(arguments), review["action"]["tool"]
    ran = Action(tool=tool, arguments=started.arguments)
    if Action(tool=tool, arguments=before).digest == ran.digest:
        return None
    return words.edited(before, started.arguments, review["decision"]["by"] if review["decision"] else [])


def _with_notice(output: Any, notice: str | None) -> Any:
    if notice is None:
        return output
    parts = list(output) if isinstance(output, list | tuple) else [output]
    if parts and all(isinstance(part, STRUCTURED) for part in parts):
        return [ToolOutputText(text=notice), *parts]
    return f"{notice}\n{output}"


def json_value(output: Any) -> Any:
    """The JSON value of what a tool or an agent returned; what has none becomes its text."""
    return to_jsonable_python(output, fallback=str, bytes_mode="base64")
