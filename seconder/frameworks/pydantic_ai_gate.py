"""A gated call of a resumed run: executed once, as decided, or not at all.

What runs are the arguments that the desk hands out at `start_effect`, never those of the stored history.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic_ai import ToolReturn
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ToolFailed
from pydantic_core import to_jsonable_python

from seconder.action import Action
from seconder.errors import CannotConsume, ResumeRefused, SeconderError
from seconder.faults import crash_point
from seconder.frameworks import words
from seconder.frameworks.effect import running
from seconder.frameworks.pydantic_ai_tools import GATED, Call, Tools, Watch
from seconder.gate import Claim, Client, EffectStart

DEFERS_INSIDE = "it asks for a decision of its own after it began, so that it cannot run exactly once"


class Gate(Watch):
    """The keeper of a resumed run; `kinds` are those that the tools under review had, by call id."""

    def __init__(self, claim: Claim, client: Client, kinds: Mapping[str, str]) -> None:
        super().__init__()
        self._claim, self._client, self._kinds = claim, client, kinds
        self._reviews = reviews_of(claim)
        self._checked = False
        self._going: list[asyncio.Task[Any]] = []

    def see(self, tools: Tools) -> None:
        """Raises: ResumeRefused at the first step, before anything ran, where a tool under review is not as it was."""
        super().see(tools)
        if self._checked:
            return
        for call_id, kind in self._kinds.items():
            name = self._reviews[call_id]["action"]["tool"]
            if name not in tools:
                raise self._refused(f"the agent has no tool {name} any more; it was not executed")
            if kind == GATED and tools[name].tool_def.kind != GATED:
                raise self._refused(
                    f"the tool {name} does not need approval any more; the call under review was not executed"
                )
        self._checked = True

    async def call(self, name: str, call: Call) -> Any:
        """The tool's output, or a sentence why it was not executed.

        Raises: LeaseLost, Unreachable, EffectUncertain; what the tool raises.
        """
        if self.stopped is not None:
            raise self.stopped
        if not call.context.tool_call_approved and call.tool.tool_def.kind != GATED:
            return await call.make(name)
        review = self._reviews.get(call.context.tool_call_id or "")
        if review is None or review["kind"] != "tool_call" or review["action"]["tool"] != name:
            return words.NOT_DECIDED
        refused = words.refusal(review)
        return await self._sheltered(review, name, call) if refused is None else refused

    async def ended(self) -> None:
        """Every effect that was started is recorded, though the SDK may have stopped waiting for it."""
        await asyncio.gather(*self._going, return_exceptions=True)

    async def cut(self) -> None:
        """Effects that still run are stopped and not recorded: the lease is another worker's."""
        for going in self._going:
            going.cancel()
        await self.ended()

    def _refused(self, why: str) -> ResumeRefused:
        self.stopped = ResumeRefused(why)
        return self.stopped

    async def _sheltered(self, review: dict[str, Any], name: str, call: Call) -> Any:
        """The SDK cancels the calls beside one that fails: an effect in progress is not cut off by that."""
        going = asyncio.create_task(self._decided(review, name, call))
        self._going.append(going)
        return await asyncio.shield(going)

    async def _decided(self, review: dict[str, Any], name: str, call: Call) -> Any:
        try:
            started = await self._start(review)
        except CannotConsume as error:
            return f"Not executed: {error}."
        if started.verdict == "told":
            return started.result
        if started.verdict == "done" and started.error is not None:
            raise ToolFailed(f"It ran before and failed: {started.error}")
        if started.verdict == "done":
            return _with_notice(started.result, _notice(review, started))
        crash_point("worker.effect_started")
        return _with_notice(await self._run(started, name, call), _notice(review, started))

    async def _start(self, review: dict[str, Any]) -> EffectStart:
        digest = (review["decision"] or review)["digest"]
        lease = {"fence": self._claim.fence, "review_id": review["id"]}
        try:
            return await self._client.start_effect(self._claim.pause["id"], **lease, digest=digest)
        except CannotConsume:
            raise
        except SeconderError as error:
            self.stopped = error
            raise

    async def _run(self, started: EffectStart, name: str, call: Call) -> Any:
        try:
            with running(started.key):
                output = await call.having(started.arguments).make(name)
        except (ApprovalRequired, CallDeferred):
            await self._end(started, status="failed", error=DEFERS_INSIDE)
            raise self._refused(f"{name} was started, but {DEFERS_INSIDE}") from None
        except Exception as error:
            await self._end(started, status="failed", error=words.error_text(error))
            raise
        crash_point("worker.effect_ran")
        said = output.return_value if isinstance(output, ToolReturn) else output
        await self._end(started, status="succeeded", result=words.recordable(json_value(said)))
        return output

    async def _end(self, started: EffectStart, *, status: str, result: Any = None, error: str | None = None) -> None:
        lease = {"pause_id": self._claim.pause["id"], "fence": self._claim.fence}
        try:
            await self._client.end_effect(started.effect_id, **lease, status=status, result=result, error=error)
        except SeconderError as trouble:
            self.stopped = trouble
            raise


def reviews_of(claim: Claim) -> dict[str, dict[str, Any]]:
    """The reviews of calls of the run, by call id; a question of the desk about an effect has none."""
    return {review["call_id"]: review for review in claim.reviews if review["call_id"] is not None}


def json_value(output: Any) -> Any:
    """The JSON value of what a tool or an agent returned; what has none becomes its text."""
    return to_jsonable_python(output, fallback=str, bytes_mode="base64")


def _notice(review: dict[str, Any], started: EffectStart) -> str | None:
    """What the model has to know of arguments that are not its own."""
    shown, tool = review["action"]["arguments"], review["action"]["tool"]
    if Action(tool=tool, arguments=shown).digest == Action(tool=tool, arguments=started.arguments).digest:
        return None
    return words.edited(shown, started.arguments, review["decision"]["by"] if review["decision"] else [])


def _with_notice(output: Any, notice: str | None) -> Any:
    """Before the text of the result; beside a result that is none, which stays as it is."""
    if notice is None:
        return output
    if isinstance(output, str):
        return f"{notice}\n{output}"
    if not isinstance(output, ToolReturn):
        return ToolReturn(output, content=notice)
    more = output.content or []
    return replace(output, content=[notice, *([more] if isinstance(more, str) else more)])
