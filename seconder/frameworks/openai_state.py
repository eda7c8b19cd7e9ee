"""A stopped run of the OpenAI Agents SDK as a pause, and back as a run state that can go on."""

from importlib.metadata import version
from typing import Any, TypeAlias

from agents import Agent, FunctionTool, RunContextWrapper, RunResult, RunState
from agents.items import ToolApprovalItem
from agents.run_state import CURRENT_SCHEMA_VERSION, SUPPORTED_SCHEMA_VERSIONS

from seconder.action import Action, canonical
from seconder.errors import Fault, InvalidInput, NotCanonical, ResumeRefused, TooLarge
from seconder.frameworks import words
from seconder.frameworks.openai_gate import Gate, read_arguments
from seconder.frameworks.openai_graph import GatedInvoker, reachable

FRAMEWORK = "openai-agents"
SCHEMA = "$schemaVersion"
FORMAT = 1  # of what is stored beside the SDK's own state

State: TypeAlias = RunState[Any, Agent[Any]]


async def pause_of(
    result: RunResult,
    *,
    run: str,
    agent_name: str,
    agent_version: str | None = None,
    requester: dict[str, Any] | None = None,
    session: str | None = None,
    environment: str | None = None,
    reason: str | None = None,
    context: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """The pause to submit: one interrupt for each call that waits, and the run state without the user's context.

    Raises: InvalidInput where a call cannot be reviewed.
    """
    about: dict[str, Any] = {"requester": requester, "session": session, "environment": environment}
    about |= {"reason": reason, "context": context or []}
    said = {name: value for name, value in about.items() if value is not None}
    calls = [await _call(item, result.context_wrapper) for item in result.interruptions]
    _refuse_twins([call["call_id"] for call in calls])
    return {
        "run": run,
        "framework": FRAMEWORK,
        "framework_version": version(FRAMEWORK),
        "agent": {"name": agent_name, "version": agent_version},
        "state": {"format": FORMAT, "schema": CURRENT_SCHEMA_VERSION, "about": about, "run_state": _stripped(result)},
        "interrupts": [{**said, **call} for call in calls],
    }


def unreadable(item: ToolApprovalItem) -> str | None:
    """What to tell the model of a call that nobody can review, because its arguments are no JSON object."""
    try:
        canonical(read_arguments(item.arguments), path="arguments")
    except (NotCanonical, TooLarge) as error:
        return f"Not executed: {error}. Send the arguments as one JSON object."
    return None


def twins(agent: Agent[Any]) -> list[str]:
    """Names that two agents of the run share: the SDK then applies approvals to the wrong one, or to none."""
    names = [one.name for one in reachable(agent)]
    return sorted({name for name in names if names.count(name) > 1})


def about(run_state: Any) -> dict[str, Any]:
    """What the first pause said of requester, session, environment, reason and context.

    Raises: ResumeRefused where the stored state is not ours.
    """
    return dict(_stored(run_state)["about"])


async def restored(root: Agent[Any], run_state: Any, context: Any) -> State:
    """The stored run on these agents and this context. Raises: ResumeRefused."""
    stored = _stored(run_state)
    schema = stored["run_state"].get(SCHEMA)
    if schema not in SUPPORTED_SCHEMA_VERSIONS:
        raise ResumeRefused(
            f"the run was stored with state schema {schema}; {FRAMEWORK} {version(FRAMEWORK)} installed here reads up "
            f"to {CURRENT_SCHEMA_VERSION}: install a newer one where this agent is resumed"
        )
    shared = twins(root)
    if shared:
        raise ResumeRefused(f"two agents of this run have the same name ({', '.join(shared)}): give each its own")
    try:
        return await RunState.from_json(root, stored["run_state"], context_override=RunContextWrapper(context))
    except Exception as error:
        raise ResumeRefused(f"the stored run does not fit the agent as it is now: {error}") from error


async def decide(state: State, gate: Gate, context: Any) -> None:
    """Every call that waits is approved or rejected as its review says, once, and for this call alone.

    Raises: ResumeRefused where calls and reviews do not match exactly; then nothing was changed or executed.
    """
    items = {item.call_id: item for item in state.get_interruptions()}
    if items.keys() != gate.reviews.keys() or len(items) != len(state.get_interruptions()):
        raise ResumeRefused(
            f"the calls that wait in the stored run ({_ids(items)}) are not those that were reviewed "
            f"({_ids(gate.reviews)})"
        )
    for call_id, item in items.items():
        await _check(item, gate.reviews[call_id], context)
    for call_id, item in items.items():
        refused = words.refusal(gate.reviews[call_id])
        if refused is None:
            state.approve(item)
        else:
            state.reject(item, rejection_message=refused)


async def _check(item: ToolApprovalItem, review: dict[str, Any], context: Any) -> None:
    name, shown = item.qualified_name, review["action"]["tool"]
    if name != shown:
        raise ResumeRefused(f"call {item.call_id} is of {name}, but {shown} was reviewed")
    first = review["revision"] == 1 and (review["decision"] is None or review["decision"]["kind"] != "edited")
    if first and Action(tool=shown, arguments=read_arguments(item.arguments)).digest != review["digest"]:
        raise ResumeRefused(f"the arguments of call {item.call_id} are not those that were shown")
    tool = await _tool(item, RunContextWrapper(context))
    if tool is None:
        raise ResumeRefused(f"the agent {item.agent.name} has no tool {name} any more; it was not executed")
    if not isinstance(tool.on_invoke_tool, GatedInvoker):
        raise ResumeRefused(f"the tool {name} does not need approval any more; the call under review was not executed")


async def _call(item: ToolApprovalItem, context: RunContextWrapper[Any]) -> dict[str, Any]:
    tool = await _tool(item, context)
    if tool is None or item.call_id is None or item.qualified_name is None:
        message = (
            f"{item.qualified_name or 'a hosted tool'} of the agent {item.agent.name} is not a function tool that runs "
            "here: such a call cannot be reviewed; take its approval away or make it a function tool"
        )
        raise InvalidInput([Fault("interrupts", message)])
    action = {
        "tool": item.qualified_name,
        "arguments": read_arguments(item.arguments),
        "arguments_schema": tool.params_json_schema,
        "summary": tool.description or None,
    }
    return {"kind": "tool_call", "action": action, "call_id": item.call_id}


async def _tool(item: ToolApprovalItem, context: RunContextWrapper[Any]) -> FunctionTool | None:
    for tool in await item.agent.get_all_tools(context):
        if isinstance(tool, FunctionTool) and tool.qualified_name == item.qualified_name:
            return tool
    return None


def _refuse_twins(call_ids: list[str]) -> None:
    twice = sorted({call_id for call_id in call_ids if call_ids.count(call_id) > 1})
    if twice:
        message = f"the call ids {', '.join(twice)} stand twice in one pause: the model must give each call its own"
        raise InvalidInput([Fault("interrupts", message)])


def _stripped(result: RunResult) -> dict[str, Any]:
    """The run state without the user's context: it may hold secrets, and the factory makes it anew."""
    state = result.to_state().to_json(context_serializer=lambda _: {})
    _forget_contexts(state)
    return state


def _forget_contexts(value: Any) -> None:
    """Runs inside a run (agents as tools) carry a context of their own."""
    if isinstance(value, dict):
        if SCHEMA in value and isinstance(value.get("context"), dict):
            value["context"]["context"] = {}
            value["context"].pop("context_meta", None)
        for item in value.values():
            _forget_contexts(item)
    elif isinstance(value, list):
        for item in value:
            _forget_contexts(item)


def _stored(run_state: Any) -> dict[str, Any]:
    if not isinstance(run_state, dict) or run_state.get("format") != FORMAT:
        found = run_state.get("format") if isinstance(run_state, dict) else None
        raise ResumeRefused(f"the stored run has format {found!r}; this version of Seconder reads {FORMAT}")
    return run_state


def _ids(calls: dict[Any, Any]) -> str:
    return ", ".join(sorted(map(str, calls))) or "none"
