"""A stopped run of Pydantic AI as a pause, and back as the history and results that it goes on with."""

from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from pydantic import ValidationError
from pydantic_ai import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDefinition, ToolDenied
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, ToolCallPart
from pydantic_ai.run import AgentRunResult

from seconder.action import Action
from seconder.errors import Fault, InvalidInput, ResumeRefused
from seconder.frameworks import words
from seconder.frameworks.pydantic_ai_gate import reviews_of
from seconder.frameworks.pydantic_ai_tools import arguments_of
from seconder.gate import Claim

FRAMEWORK = "pydantic-ai"
PACKAGE = "pydantic-ai-slim"
FORMAT = 1
APPROVAL, QUESTION, EXTERNAL = "approval", "question", "external"
SHOWN = 3000  # characters of a question, or of the call behind it


@dataclass(frozen=True, slots=True)
class Stored:
    """What a pause keeps of a run: nothing of deps. `calls` are `{tool, waits_for, kind}` by call id."""

    about: dict[str, Any]
    history: list[ModelMessage]
    calls: dict[str, dict[str, Any]]

    @property
    def gated(self) -> dict[str, str]:
        """The kinds of the tools whose calls are under review, by call id."""
        return {ident: call["kind"] for ident, call in self.calls.items() if call["waits_for"] == APPROVAL}


def pause_of(
    result: AgentRunResult[Any],
    tools: dict[str, ToolDefinition],
    *,
    run: str,
    agent_name: str,
    agent_version: str | None,
    about: dict[str, Any],
) -> dict[str, Any]:
    """The pause to submit: one interrupt for each call that waits, and the run's history.

    Raises: InvalidInput where a call cannot be reviewed.
    """
    requests: DeferredToolRequests = result.output
    waiting = [*requests.approvals, *requests.calls]
    said = {name: value for name, value in about.items() if value is not None}
    calls: dict[str, dict[str, Any]] = {}
    interrupts: list[dict[str, Any]] = []
    for call in waiting:
        waits_for, tool = requests.kind(call.tool_call_id), tools.get(call.tool_name)
        if tool is None:
            raise InvalidInput([Fault("interrupts", f"the tool {call.tool_name} is not one that this run was given")])
        calls[call.tool_call_id] = {"tool": call.tool_name, "waits_for": waits_for, "kind": tool.kind}
        metadata = requests.metadata.get(call.tool_call_id) or {}
        part = _action(call, tool) if waits_for == APPROVAL else _question(call, waits_for, metadata)
        interrupts.append({**said, **part, "call_id": call.tool_call_id})
    history = ModelMessagesTypeAdapter.dump_python(result.all_messages(), mode="json")
    return {
        "run": run,
        "framework": FRAMEWORK,
        "framework_version": version(PACKAGE),
        "agent": {"name": agent_name, "version": agent_version},
        "state": {"format": FORMAT, "about": about, "history": history, "calls": calls},
        "interrupts": interrupts,
    }


def stored(run_state: Any) -> Stored:
    """Raises: ResumeRefused where the stored state is not ours or cannot be read here."""
    if not isinstance(run_state, dict) or run_state.get("format") != FORMAT:
        found = run_state.get("format") if isinstance(run_state, dict) else None
        raise ResumeRefused(f"the stored run has format {found!r}; this version of Seconder reads {FORMAT}")
    try:
        history = ModelMessagesTypeAdapter.validate_python(run_state["history"])
    except ValidationError as error:
        sentence = f"the stored history does not fit {PACKAGE} {version(PACKAGE)} installed here: {error}"
        raise ResumeRefused(sentence) from error
    return Stored(about=run_state["about"], history=history, calls=run_state["calls"])


def results(state: Stored, claim: Claim) -> DeferredToolResults:
    """A result for every call that waits, as its review says, and for this call alone.

    Raises: ResumeRefused where calls and reviews do not match exactly.
    """
    reviews, asked = reviews_of(claim), _asked(state.history)
    if not state.calls.keys() == reviews.keys() <= asked.keys():
        waiting = ", ".join(sorted(state.calls.keys() & asked.keys())) or "none"
        raise ResumeRefused(
            f"the calls that wait in the stored run ({waiting}) are not those that were reviewed "
            f"({', '.join(sorted(reviews)) or 'none'})"
        )
    told = DeferredToolResults()
    for call_id, review in reviews.items():
        waits_for = state.calls[call_id]["waits_for"]
        if (waits_for == APPROVAL) != (review["kind"] == "tool_call"):
            raise ResumeRefused(f"call {call_id} waits for another thing than its review decides")
        if waits_for == APPROVAL:
            _check(asked[call_id], review)
            _tell_call(told, call_id, review)
        else:
            told.calls[call_id] = _answer(review)
    return told


def _tell_call(told: DeferredToolResults, call_id: str, review: dict[str, Any]) -> None:
    refused, decision = words.refusal(review), review["decision"]
    if refused is None:
        edited = decision is not None and decision["kind"] == "edited"
        told.approvals[call_id] = ToolApproved(override_args=decision["arguments"] if edited else None)
    elif decision is not None and decision["kind"] in {"answered", "taken_over"}:
        told.calls[call_id] = refused
    else:
        told.approvals[call_id] = ToolDenied(refused)


def _answer(review: dict[str, Any]) -> Any:
    decision = review["decision"]
    if review["status"] == "decided" and decision["kind"] == "answered":
        return decision["answer"]
    told = words.refusal(review)
    if told is None:
        raise ResumeRefused(f"the decision on question {review['id']} is no answer")
    return told if decision is not None and decision["kind"] == "taken_over" else ToolFailed(told)


def _check(call: ToolCallPart, review: dict[str, Any]) -> None:
    name, shown = call.tool_name, review["action"]["tool"]
    if name != shown:
        raise ResumeRefused(f"call {call.tool_call_id} is of {name}, but {shown} was reviewed")
    first = review["revision"] == 1 and (review["decision"] is None or review["decision"]["kind"] != "edited")
    if first and Action(tool=shown, arguments=arguments_of(call)).digest != review["digest"]:
        raise ResumeRefused(f"the arguments of call {call.tool_call_id} are not those that were shown")


def _asked(history: list[ModelMessage]) -> dict[str, ToolCallPart]:
    """The calls of the model's last answer."""
    answers = [message for message in history if isinstance(message, ModelResponse)]
    return {call.tool_call_id: call for call in answers[-1].tool_calls} if answers else {}


def _action(call: ToolCallPart, tool: ToolDefinition) -> dict[str, Any]:
    action = {
        "tool": call.tool_name,
        "arguments": arguments_of(call),
        "arguments_schema": tool.parameters_json_schema,
        "summary": tool.description or None,
    }
    return {"kind": "tool_call", "action": action}


def _question(call: ToolCallPart, waits_for: str, metadata: dict[str, Any]) -> dict[str, Any]:
    """`prompt`, `options` and `answer_schema` of the metadata, else of the arguments."""
    asked = {**call.args_as_dict(), **metadata}
    prompt = asked.get("prompt") or asked.get("question")
    if not isinstance(prompt, str):
        done = "needs an answer" if waits_for == QUESTION else "is done outside of the agent; report its result"
        prompt = f"{call.tool_name}({call.args_as_json_str()}) {done}"
    options = asked.get("options")
    listed = isinstance(options, list) and all(isinstance(option, str) for option in options)
    schema = metadata.get("answer_schema")
    question: dict[str, Any] = {
        "prompt": prompt if len(prompt) <= SHOWN else prompt[:SHOWN] + words.CUT,
        "options": options if listed else [],
        "answer_schema": schema if isinstance(schema, dict) else None,
    }
    return {"kind": "question", "question": question}
