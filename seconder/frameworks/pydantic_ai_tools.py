"""Between a run and its tools: a capability of one run, so that the user's agent stays as it is."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from pydantic_ai import RunContext, ToolDefinition
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.exceptions import ApprovalRequired, ModelRetry
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset

from seconder.action import canonical, parse_json
from seconder.errors import Fault, NotCanonical, SeconderError, TooLarge

Tools: TypeAlias = Mapping[str, ToolsetTool[Any]]

GATED = "unapproved"  # the SDK's kind of a tool with `requires_approval`


class Keeper(Protocol):
    """What a run's capability does with its tools."""

    stopped: SeconderError | None  #: why the run must not go on, even if somebody swallowed it

    def see(self, tools: Tools) -> None:
        """The tools of the next step are these."""
        ...

    async def call(self, name: str, call: "Call") -> Any:
        """The output of this call."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """One call that the run wants to make; `arguments` are validated already."""

    toolset: AbstractToolset[Any]
    tool: ToolsetTool[Any]
    context: RunContext[Any]
    arguments: dict[str, Any]

    async def make(self, name: str) -> Any:
        return await self.toolset.call_tool(name, self.arguments, self.context, self.tool)

    def having(self, arguments: dict[str, Any]) -> "Call":
        """The call with these arguments. Raises: ValidationError."""
        text, context = json.dumps(arguments, ensure_ascii=False), self.context.validation_context
        return replace(self, arguments=self.tool.args_validator.validate_json(text, context=context))


@dataclass(init=False)
class Gated(AbstractCapability[Any]):
    """Puts a keeper between the run and its tools, outside of all that the agent itself puts there."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def get_ordering(self) -> CapabilityOrdering:
        return CapabilityOrdering(position="outermost")

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        return _Toolset(toolset, self._keeper)

    async def before_model_request(self, ctx: RunContext[Any], request_context: Any) -> Any:  # noqa: ARG002 - the SDK's
        if self._keeper.stopped is not None:
            raise self._keeper.stopped
        return request_context

    async def before_tool_validate(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,  # noqa: ARG002
        tool_def: ToolDefinition,  # noqa: ARG002
        args: str | dict[str, Any],
    ) -> str | dict[str, Any]:
        """Decided arguments are JSON: as Python values, a strict model would refuse its own dates and tuples."""
        as_json = ctx.tool_call_approved and isinstance(args, dict)
        return json.dumps(args, ensure_ascii=False) if as_json else args

    async def after_tool_validate(
        self,
        ctx: RunContext[Any],  # noqa: ARG002
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
    ) -> dict[str, Any]:
        if tool_def.kind == GATED:
            _refuse_unreadable(call)
        return args

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],  # noqa: ARG002
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,  # noqa: ARG002
        args: dict[str, Any],
        handler: Any,
    ) -> Any:
        try:
            return await handler(args)
        except ApprovalRequired:
            _refuse_unreadable(call)
            raise


@dataclass
class _Toolset(WrapperToolset[Any]):
    keeper: Keeper

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        tools = await super().get_tools(ctx)
        self.keeper.see(tools)
        return tools

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        return await self.keeper.call(name, Call(self.wrapped, tool, ctx, tool_args))


class Watch:
    """The keeper of a run that begins: it remembers what the tools are, and lets them be called."""

    stopped: SeconderError | None = None

    def __init__(self) -> None:
        self.tools: dict[str, ToolDefinition] = {}

    def see(self, tools: Tools) -> None:
        self.tools |= {name: tool.tool_def for name, tool in tools.items()}

    async def call(self, name: str, call: Call) -> Any:
        return await call.make(name)


def arguments_of(call: ToolCallPart) -> dict[str, Any]:
    """The model's own arguments, integers exact. Raises: NotCanonical where they are no JSON object."""
    value = call.args if isinstance(call.args, dict) else parse_json(call.args or "{}", path="arguments")
    if not isinstance(value, dict):
        raise NotCanonical([Fault("arguments", "is not a JSON object")])
    return value


def _refuse_unreadable(call: ToolCallPart) -> None:
    """Raises: ModelRetry, to tell the model of a call that nobody can review."""
    try:
        canonical(arguments_of(call), path="arguments")
    except (NotCanonical, TooLarge) as error:
        raise ModelRetry(f"Not executed: {error}. Send the arguments as one JSON object.") from error
