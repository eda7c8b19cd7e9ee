"""Pydantic AI: `run` begins a run and waits for people; `resume` goes on with a decided one.

Gate a tool with the SDK's own `requires_approval`, `ApprovalRequired` or `approval_required()`; ask people
with `CallDeferred(kind="question")`. A factory for `run` and for workers takes no arguments and returns an
`Agent`, or `(Agent, deps)`: deps are made anew for every resume and never stored.
"""

import asyncio
import inspect
from collections.abc import Sequence
from types import UnionType
from typing import Any, Union, get_args, get_origin
from uuid import uuid4

from pydantic_ai import DeferredToolRequests
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.exceptions import (
    ModelConnectionError,
    ModelHTTPError,
    ModelRateLimitError,
    ModelServerError,
    ModelUnavailableError,
)
from pydantic_ai.messages import ModelMessage
from pydantic_ai.run import AgentRunResult

from seconder.errors import ConfigurationError, ResumeRefused
from seconder.frameworks import Factory, Finished, PausedAgain, Resumed
from seconder.frameworks.follow import follow, paused
from seconder.frameworks.pydantic_ai_gate import Gate, json_value
from seconder.frameworks.pydantic_ai_state import FRAMEWORK, pause_of, results, stored
from seconder.frameworks.pydantic_ai_tools import Gated, Watch
from seconder.frameworks.running import requester_of
from seconder.gate import Claim, Client, connect

__all__ = ["may_pass", "resume", "run"]

RATE_LIMITED, SERVER_ERROR = 429, 500


async def run(
    agent: AbstractAgent[Any, Any] | Factory,
    input: str | Sequence[Any] | None,  # noqa: A002 - the name that all frameworks have here
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
    message_history: Sequence[ModelMessage] | None = None,
    run_id: str | None = None,
) -> Any:
    """The run's output; where deferred calls stop it, after people decided and it was resumed, here or elsewhere.

    `input` is the user's prompt. `name` is the agent's name for workers (default: its own), `context` are the SDK's
    deps, `message_history` is what was said before; the other options are those of `seconder.run`. With
    `wait=False` a stopped run returns `Paused(id, reviews)`.

    Raises: ConfigurationError; RunFailed; TimeoutError after `timeout` seconds of waiting (the pause lives on);
    whatever the agent raises before its first pause.
    """
    factory = _factory(agent, context)
    made, deps = await _made(factory)
    named = _checked(made, name)
    desk = client or connect()
    try:
        watch = Watch()
        result = await _run(made, watch, input, message_history=message_history, deps=deps)
        if not isinstance(result.output, DeferredToolRequests):
            return result.output
        pause = pause_of(
            result,
            watch.tools,
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

    Raises: ResumeRefused, LeaseLost, Unreachable, EffectUncertain; whatever the agent raises.
    """
    state = stored(claim.pause["run_state"])
    told = results(state, claim)
    agent, deps = await _made(factory)
    gate = Gate(claim, client, state.gated)
    try:
        result = await _run(agent, gate, None, message_history=state.history, deferred_tool_results=told, deps=deps)
    except asyncio.CancelledError:
        await gate.cut()
        raise
    except Exception:
        await gate.ended()
        if gate.stopped is not None:
            raise gate.stopped from None
        raise
    if gate.stopped is not None:
        raise gate.stopped
    if not isinstance(result.output, DeferredToolRequests):
        return Finished(result.output, json_value(result.output))
    run, its = claim.pause["run"], claim.pause["agent"]
    again = pause_of(
        result, gate.tools, run=run, agent_name=its["name"], agent_version=its["version"], about=state.about
    )
    return PausedAgain(again)


def may_pass(error: Exception) -> bool:
    """Whether it is trouble of a network or of an overloaded model, not of the agent's code."""
    if isinstance(error, ModelHTTPError):
        return error.status_code == RATE_LIMITED or error.status_code >= SERVER_ERROR
    passing = ModelRateLimitError | ModelUnavailableError | ModelServerError | ModelConnectionError | OSError
    return isinstance(error, passing)


async def _run(agent: AbstractAgent[Any, Any], keeper: Watch, prompt: Any, **options: Any) -> AgentRunResult[Any]:
    if not _defers(agent.output_type):
        options["output_type"] = [agent.output_type, DeferredToolRequests]
    return await agent.run(prompt, infer_name=False, capabilities=[Gated(keeper)], **options)


def _defers(output_type: Any) -> bool:
    """Whether a run with this output type may end with deferred calls."""
    if isinstance(output_type, list | tuple):
        return any(_defers(one) for one in output_type)
    if get_origin(output_type) in {Union, UnionType}:
        return any(_defers(one) for one in get_args(output_type))
    return output_type is DeferredToolRequests


def _checked(agent: AbstractAgent[Any, Any], name: str | None) -> str:
    """The agent's name. Raises: ConfigurationError where a run could not pause."""
    named = name or agent.name
    if named is None:
        raise ConfigurationError("the agent has no name for workers to know it by: Agent(name=...) or run(name=...)")
    if getattr(agent, "_output_validators", None) and not _defers(agent.output_type):
        raise ConfigurationError(
            "the agent has output validators, so that its output type cannot be widened for one run: "
            "add DeferredToolRequests to the output_type of the Agent"
        )
    return named


async def _made(factory: Factory) -> tuple[AbstractAgent[Any, Any], Any]:
    """The agent and its deps. Raises: ResumeRefused where the factory makes something else."""
    made = factory()
    if inspect.isawaitable(made):
        made = await made
    agent, deps = made if isinstance(made, tuple) and len(made) == 2 else (made, None)  # noqa: PLR2004 - a pair
    if not isinstance(agent, AbstractAgent):
        raise ResumeRefused(f"the factory of a {FRAMEWORK} agent returned a {type(agent).__name__}")
    return agent, deps


def _factory(agent: AbstractAgent[Any, Any] | Factory, context: Any) -> Factory:
    async def made() -> tuple[AbstractAgent[Any, Any], Any]:
        if isinstance(agent, AbstractAgent):
            return agent, context
        fresh, own = await _made(agent)
        return fresh, own if context is None else context

    return made
