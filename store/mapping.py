"""Values of the core as JSON and back; the one place that knows their stored shape."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from seconder.action import Action, Json, action_from_canonical
from seconder.decision import (
    Answered,
    Approved,
    Decision,
    Default,
    Edited,
    Escalate,
    Rejected,
    Remind,
    Rung,
    TakenOver,
    Verdict,
    kind_of,
)
from seconder.review import Interrupt, Outcome

KINDS: dict[str, type[Any]] = {
    "approved": Approved,
    "edited": Edited,
    "rejected": Rejected,
    "answered": Answered,
    "taken_over": TakenOver,
}


_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


def dump(value: Any) -> Json:
    """A frozen value as JSON."""
    return _adapter(type(value)).dump_python(value, mode="json")


def load(kind: Any, value: Json) -> Any:
    """The frozen value of this kind."""
    return _adapter(kind).validate_python(value)


def dump_verdict(verdict: Verdict) -> Json:
    """A verdict as JSON, each rung named by its step."""
    value = dump(verdict)
    value["ladder"] = [
        {"after": rung.after.total_seconds(), "step": type(rung.step).__name__, "of": dump(rung.step)}
        for rung in verdict.ladder
    ]
    return value


def load_verdict(value: Json) -> Verdict:
    steps = {kind.__name__: kind for kind in (Remind, Escalate, Default)}
    rungs = [
        load(Rung, {"after": rung["after"], "step": load(steps[rung["step"]], rung["of"])}) for rung in value["ladder"]
    ]
    verdict: Verdict = load(Verdict, {**value, "ladder": rungs})
    return verdict


def dump_interrupt(interrupt: Interrupt) -> Json:
    """An interrupt as JSON without the action's arguments, which are stored as canonical bytes."""
    value = dump(replace(interrupt, action=None))
    if interrupt.action is not None:
        value["action"] = {"schema": interrupt.action.schema, "summary": interrupt.action.summary}
    return value


def load_interrupt(value: Json, action: bytes | None) -> Interrupt:
    shown = dict(value)
    about = shown.pop("action")
    read = None if action is None else action_from_canonical(action, schema=about["schema"], summary=about["summary"])
    interrupt: Interrupt = load(Interrupt, {**shown, "action": read})
    return interrupt


def dump_decision(decision: Decision) -> Json:
    value = dump(decision)
    if isinstance(decision, Edited):
        value["action"] = decision.action.canonical.decode()
    return {"kind": kind_of(decision), "of": value}


def load_decision(value: Json, shown: Action | None) -> Decision:
    of = dict(value["of"])
    if value["kind"] == "edited":
        schema, summary = (shown.schema, shown.summary) if shown else (None, None)
        of["action"] = action_from_canonical(of["action"].encode(), schema=schema, summary=summary)
    decision: Decision = load(KINDS[value["kind"]], of)
    return decision


def dump_outcome(outcome: Outcome) -> Json:
    return dump(outcome)


def load_outcome(value: Json) -> Outcome:
    outcome: Outcome = load(Outcome, value)
    return outcome
