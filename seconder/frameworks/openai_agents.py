"""The OpenAI Agents SDK: `run` begins a run and waits for people; `resume` goes on with a decided one.

Gate a tool with the SDK's own `needs_approval`. A factory for `run` and for workers takes no
arguments and returns an `Agent`, or `(Agent, context)` where tools need a context object: the
context is made anew for every resume and never stored.
"""

import asyncio
import inspect
import re
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import openai
from agents import Agent, Runner, RunResult
from agents.run import DEFAULT_MAX_TURNS

from seconder.errors import ConfigurationError, ResumeRefused
from seconder.frameworks import Factory, Finished, PausedAgain, Resumed
from seconder.frameworks.follow import follow, paused
from seconder.frameworks.openai_gate import Gate, json_value
from seconder.frameworks.openai_graph import Graph
from seconder.frameworks.openai_state import about, decide, pause_of, restored, twins, unreadable
from seconder.gate import Claim, Client, connect

__all__ = ["may_pass", "pause_of", "resume", "run"]

SLACK_USER = re.compile(r"[UW][A-Z0-9]{2,63}")
RATE_LIMITED, SERVER_ERROR = 429, 500


async def run(
    agent: Agent[Any] | Factory,
    input: str | list[Any],  # noqa: A002 - the SDK's own name
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
    max_turns: int | None = DEFAULT_MAX_TURNS,
    run_id: str | None = None,
) -> Any:
    """The run's final output; where gated calls stop it, after people decided and it was resumed, here or elsewhere.

    `name` is the agent's name for workers (default: its own), `requester` a Slack user id, an e-mail or
    `{slack_user|email|name}`, `session` names the case (caps count per session), `context_items` are facts for the
    card, `context` is the SDK's context object. With `wait=False` a stopped run returns `Paused(id, reviews)`.

    Raises: ConfigurationError; RunFailed; TimeoutError after `timeout` seconds of waiting (the pause lives on);
    whatever the agent raises before its first pause.
    """
    _check_session(session)
    factory = _factory(agent, context)
    made, own = await _made(factory)
    shared = twins(made)
    if shared:
        raise ConfigurationError(f"two agents of this run have the same name ({', '.join(shared)}): give each its own")
    desk = client or connect()
    try:
        result = await Runner.run(made, input, context=own, max_turns=max_turns)
        result = await _without_unreadable(made, result)
        if not result.interruptions:
            return result.final_output
        pause = await pause_of(
            result,
            run=run_id or uuid4().hex,
            agent_name=name or made.name,
            agent_version=version,
            requester=_requester(requester),
            session=session,
            environment=environment,
            reason=reason,
            context=list(context_items),
        )
        submitted = await desk.submit_pause(pause)
        if not wait:
            return paused(submitted)
        return await follow(desk, submitted["id"], name=name or made.name, factory=factory, timeout=timeout)
    finally:
        if client is None:
            await desk.aclose()


async def resume(claim: Claim, factory: Factory, client: Client) -> Resumed:
    """How the claimed run went on: every gated call ran as decided, at most once, or was refused to the model.

    Raises: ResumeRefused, LeaseLost, Unreachable, EffectUncertain; whatever the agent raises.
    """
    said = about(claim.pause["run_state"])
    agent, context = await _made(factory)
    gate = Gate(claim, client)
    graph = Graph(gate)
    root = graph.copied(agent)
    state = await restored(root, claim.pause["run_state"], context)
    await decide(state, gate, context)
    try:
        result = await Runner.run(root, state)
        result = await _without_unreadable(root, result)
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
    if not result.interruptions:
        return Finished(result.final_output, json_value(result.final_output))
    name, version = claim.pause["agent"]["name"], claim.pause["agent"]["version"]
    return PausedAgain(await pause_of(result, run=claim.pause["run"], agent_name=name, agent_version=version, **said))


def may_pass(error: Exception) -> bool:
    """Whether it is trouble of a network or of an overloaded model, not of the agent's code."""
    if isinstance(error, openai.APIStatusError):
        return error.status_code == RATE_LIMITED or error.status_code >= SERVER_ERROR
    return isinstance(error, openai.APIConnectionError | OSError)


async def _without_unreadable(agent: Agent[Any], result: RunResult) -> RunResult:
    """The result after calls that nobody can review were refused to the model; bounded by the run's max_turns."""
    while True:
        refused = [(item, why) for item in result.interruptions if (why := unreadable(item)) is not None]
        if not refused:
            return result
        state = result.to_state()
        for item, why in refused:
            state.reject(item, rejection_message=why)
        result = await Runner.run(agent, state)


async def _made(factory: Factory) -> tuple[Agent[Any], Any]:
    """The agent and its context. Raises: ResumeRefused where the factory makes something else."""
    made = factory()
    if inspect.isawaitable(made):
        made = await made
    agent, context = made if isinstance(made, tuple) and len(made) == 2 else (made, None)  # noqa: PLR2004 - a pair
    if not isinstance(agent, Agent):
        raise ResumeRefused(f"the agent's factory returned a {type(agent).__name__}, not an Agent or (Agent, context)")
    return agent, context


def _factory(agent: Agent[Any] | Factory, context: Any) -> Factory:
    async def made() -> tuple[Agent[Any], Any]:
        if isinstance(agent, Agent):
            return agent, context
        fresh, own = await _made(agent)
        return fresh, own if context is None else context

    return made


def _requester(requester: str | dict[str, Any] | None) -> dict[str, Any] | None:
    if not isinstance(requester, str):
        return requester
    if "@" in requester:
        return {"email": requester}
    return {"slack_user": requester} if SLACK_USER.fullmatch(requester) else {"name": requester}


def _check_session(session: object) -> None:
    if session is not None and not isinstance(session, str):
        message = (
            "session names the case and is text; a Session of the SDK cannot follow a run into another process: "
            "give its items as `input` instead"
        )
        raise ConfigurationError(message)
