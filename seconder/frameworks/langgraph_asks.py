"""An interrupt of a graph as reviews, and their decisions as the value that answers the interrupt.

a call of HumanInTheLoopMiddleware (`per_call`), a turn of calls (`batched`)  ─> tool_call
a HumanInterrupt of agent-inbox, or a list of them                            ─> approval
`ask`, or any other value                                                     ─> question
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool
from langgraph.types import Interrupt
from pydantic import BaseModel, TypeAdapter, ValidationError

from seconder.action import Action, canonical
from seconder.errors import Fault, InvalidInput, ResumeRefused
from seconder.frameworks import words
from seconder.frameworks.langgraph_ask import QUESTION
from seconder.frameworks.langgraph_gate import json_value

Review = Mapping[str, Any]

KINDS = {"approve": "approved", "edit": "edited", "respond": "taken_over"}


class Ask(Protocol):
    """One interrupt; `interrupts` are the bodies of its reviews, each with a `call_id` of its own."""

    interrupts: list[dict[str, Any]]
    gated: bool  #: whether the reviews are of calls of a tool node, which the gate runs

    def answer(self, reviews: Sequence[Review]) -> Any:
        """What `interrupt` returns in the graph; the reviews are in the order of `interrupts`.

        Raises: ResumeRefused where the graph could not tell it from a person's answer.
        """
        ...


def read(interrupt: Interrupt, values: Any, tools: Mapping[str, BaseTool]) -> Ask:
    """What this interrupt asks; `values` and `tools` are those of the graph that it stopped in.

    Raises: InvalidInput where it asks for a call that cannot be reviewed.
    """
    value = interrupt.value
    if isinstance(value, Mapping) and value.get("type") == "tool_approval" and "tool_call_id" in value:
        return _PerCall(value, interrupt.response_schema, _calls(values), tools)
    if isinstance(value, Mapping) and "action_requests" in value and "review_configs" in value:
        return _Batched(value, _calls(values), tools)
    requests = value if isinstance(value, list) else [value]
    if requests and all(isinstance(one, Mapping) and {"action_request", "config"} <= one.keys() for one in requests):
        return _Inbox(interrupt.id, requests)
    return _Question(interrupt)


class _PerCall:
    gated = True

    def __init__(self, value: Any, schema: Any, calls: list[Any], tools: Mapping[str, BaseTool]) -> None:
        self._tools = tools
        if not any(call["id"] == value["tool_call_id"] for call in calls):
            raise _hidden(value["name"])
        self._allowed = _allowed_by(schema)
        self.interrupts = [_call(value["tool_call_id"], value["name"], value["args"], self._allowed, tools)]

    def answer(self, reviews: Sequence[Review]) -> Any:
        return _decision(reviews[0], self._allowed, self._tools)


class _Batched:
    gated = True

    def __init__(self, value: Any, calls: list[Any], tools: Mapping[str, BaseTool]) -> None:
        self._tools = tools
        requests = value["action_requests"]
        ids = _ids(requests, calls)
        self._allowed = [list(config["allowed_decisions"]) for config in value["review_configs"]]
        self.interrupts = [
            _call(ident, one["name"], one["args"], allowed, tools)
            for ident, one, allowed in zip(ids, requests, self._allowed, strict=True)
        ]

    def answer(self, reviews: Sequence[Review]) -> Any:
        pairs = zip(reviews, self._allowed, strict=True)
        return {"decisions": [_decision(review, allowed, self._tools) for review, allowed in pairs]}


class _Inbox:
    gated = False

    def __init__(self, ident: str, requests: list[Any]) -> None:
        self._configs = [one["config"] for one in requests]
        self.interrupts = [self._approval(f"{ident}:{at}", one) for at, one in enumerate(requests)]

    @staticmethod
    def _approval(call_id: str, request: Any) -> dict[str, Any]:
        asked, config = request["action_request"], request["config"]
        kinds = {"approved": config.get("allow_accept"), "edited": config.get("allow_edit"), "rejected": True}
        return {
            "kind": "approval",
            "action": {
                "tool": asked["action"],
                "arguments": json_value(asked["args"]),
                "summary": request.get("description"),
            },
            "call_id": call_id,
            "allowed_decisions": [kind for kind, allowed in kinds.items() if allowed],
        }

    def answer(self, reviews: Sequence[Review]) -> Any:
        return [self._response(review, config) for review, config in zip(reviews, self._configs, strict=True)]

    @staticmethod
    def _response(review: Review, config: Any) -> Any:
        refused = words.refusal(review)
        if refused is None and _edited(review):
            action = {"action": review["action"]["tool"], "args": review["decision"]["arguments"]}
            return {"type": "edit", "args": action}
        if refused is None and config.get("allow_accept"):
            return {"type": "accept", "args": None}
        if refused is not None and config.get("allow_respond"):
            return {"type": "response", "args": refused}
        if refused is not None and config.get("allow_ignore"):
            return {"type": "ignore", "args": None}
        raise ResumeRefused(f"the graph takes no such answer to {review['action']['tool']}: {refused or 'accept'}")


class _Question:
    gated = False

    def __init__(self, interrupt: Interrupt) -> None:
        value, schema = interrupt.value, interrupt.response_schema
        self._ours = isinstance(value, Mapping) and value.get("type") == QUESTION
        if self._ours:
            question = {name: value[name] for name in ("prompt", "options", "answer_schema")}
        else:
            question = {"prompt": words.as_text(json_value(value)) or "?", "answer_schema": schema}
        self.interrupts = [{"kind": "question", "question": question, "call_id": interrupt.id}]

    def answer(self, reviews: Sequence[Review]) -> Any:
        [review] = reviews
        decision = review["decision"]
        if review["status"] == "decided" and decision["kind"] == "answered":
            return {"kind": "answered", "answer": decision["answer"]} if self._ours else decision["answer"]
        why = words.refusal(review) or "Nobody answered."
        if self._ours:
            return {"kind": decision["kind"] if decision else review["status"], "why": why}
        raise ResumeRefused(
            f"the graph could not tell it from an answer: {why} Ask with seconder.frameworks.langgraph.ask instead"
        )


def _call(
    call_id: str, name: str, arguments: dict[str, Any], allowed: list[str], tools: Mapping[str, BaseTool]
) -> dict[str, Any]:
    if name not in tools:
        raise _hidden(name)
    action = {
        "tool": name,
        "arguments": arguments,
        "arguments_schema": _schema(tools[name]),
        "summary": tools[name].description or None,
    }
    kinds = ["rejected", *(KINDS[word] for word in allowed if word in KINDS)]
    return {"kind": "tool_call", "action": action, "call_id": call_id, "allowed_decisions": kinds}


def _decision(review: Review, allowed: Sequence[str], tools: Mapping[str, BaseTool]) -> dict[str, Any]:
    """The middleware's decision; the gate inside holds to the review whatever this says."""
    name, refused = review["action"]["tool"], words.refusal(review)
    arguments = review["decision"]["arguments"] if _edited(review) else review["action"]["arguments"]
    values: dict[str, dict[str, Any]] = {
        "approve": {"type": "approve"},
        "edit": {"type": "edit", "edited_action": {"name": name, "args": arguments}},
        "reject": {"type": "reject", "message": refused},
        "respond": {"type": "respond", "message": refused},
    }
    for word in _preferred(review, refused, fits=name in tools and _fits(tools[name], arguments)):
        if word in allowed:
            return values[word]
    raise ResumeRefused(f"the graph takes no such decision on {name}: {refused or 'approve'}")


def _preferred(review: Review, refused: str | None, *, fits: bool) -> tuple[str, ...]:
    """What to say to the middleware, best first. It calls every `reject` a rejection by the user."""
    if refused is None:
        return ("edit", "approve") if _edited(review) and fits else ("approve", "edit")
    decision = review["decision"]
    by_person = decision is not None and decision["kind"] == "rejected" and decision["source"] == "person"
    return ("reject", "respond", "approve", "edit") if by_person else ("respond", "approve", "edit", "reject")


def _edited(review: Review) -> bool:
    return review["decision"] is not None and review["decision"]["kind"] == "edited"


def _ids(requests: list[Any], calls: list[Any]) -> list[str]:
    """The call ids of the requests, which stand in the order of the calls and have none of their own."""
    wanted = Counter(_form(one["name"], one["args"]) for one in requests)
    there = [call for call in calls if _form(call["name"], call["args"]) in wanted]
    if not there:
        raise _hidden(", ".join(sorted({one["name"] for one in requests})))
    if Counter(_form(call["name"], call["args"]) for call in there) != wanted:
        raise InvalidInput([Fault("interrupts", "of equal calls of one turn some are under review and some are not")])
    return [str(call["id"]) for call in there]


def _form(name: str, arguments: dict[str, Any]) -> tuple[str, bytes]:
    return name, canonical(arguments, path="arguments")


def _calls(values: Any) -> list[Any]:
    """The calls of the model's last turn."""
    messages = values.get("messages", []) if isinstance(values, Mapping) else getattr(values, "messages", [])
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return list(message.tool_calls)
    return []


def _allowed_by(schema: Any) -> list[str]:
    """The decisions that a response schema takes: the constants of every `type` in it."""
    variants = [schema, *schema.get("oneOf", []), *schema.get("anyOf", [])]
    found = [_resolved(one, schema).get("properties", {}).get("type", {}).get("const") for one in variants]
    return [word for word in found if word is not None]


def _resolved(part: Any, schema: Any) -> Any:
    return schema["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part


def _schema(tool: BaseTool) -> Any:
    schema: Any = tool.tool_call_schema
    return schema if isinstance(schema, dict) else TypeAdapter(schema).json_schema()


def _fits(tool: BaseTool, arguments: Any) -> bool:
    schema = tool.tool_call_schema
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        try:
            schema.model_validate(arguments)
        except ValidationError:
            return False
    return True


def _hidden(name: str) -> InvalidInput:
    message = (
        f"the call of {name} is not in a tool node of this graph, or of a graph that is a node of it: Seconder could "
        "not hold it back, so that it cannot be reviewed; add the agent as a node instead of invoking it in one"
    )
    return InvalidInput([Fault("interrupts", message)])


def same_action(ask: dict[str, Any], review: Review) -> bool:
    """Whether the review, unless people changed it, is of what the graph asks now."""
    if ask["kind"] != review["kind"]:
        return False
    if "action" not in ask:
        return bool(ask["question"]["prompt"] == review["question"]["prompt"])
    asked = Action(tool=ask["action"]["tool"], arguments=ask["action"]["arguments"])
    if asked.tool != review["action"]["tool"]:
        return False
    return review["revision"] > 1 or _edited(review) or asked.digest == review["digest"]
