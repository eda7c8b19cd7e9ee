"""What the model is told of a decision: plain sentences, one for each cause, so that it can plan anew."""

import json
from collections.abc import Mapping
from typing import Any

from seconder.action import canonical
from seconder.errors import ResumeRefused

SHOWN = 200  # characters of one argument in the notice of an edit
RESULT_BYTES = 8 * 1024  # of a tool's result in the ledger
ERROR_CHARACTERS = 2000  # of an error in the ledger
CUT = " … [cut]"

NOT_DECIDED = (
    "Not executed: nobody has decided on exactly this call. Do not repeat it; tell the user that it was not done."
)


def refusal(review: Mapping[str, Any]) -> str | None:
    """What the model gets instead of the tool's result; None where the call is to be run.

    Raises: ResumeRefused where the review is not settled.
    """
    match review["status"]:
        case "allowed":
            return None
        case "denied":
            return f"Not executed: the policy forbids this call. {review['verdict']['because']}"
        case "expired":
            return (
                "Not executed: nobody decided before the deadline. It was not rejected either; "
                "tell the user that it is still open and was not done."
            )
        case "cancelled":
            return "Not executed: the request was cancelled before anybody decided."
        case "decided":
            return _decided(review["decision"])
        case status:
            raise ResumeRefused(f"review {review['id']} is {status}, not settled")


def _decided(decision: Mapping[str, Any]) -> str | None:
    match decision["kind"]:
        case "approved" | "edited":
            return None
        case "rejected":
            return _rejected(decision)
        case "answered":
            return as_text(decision["answer"])
        case "taken_over":
            return as_text(decision["result"])
        case kind:
            raise ResumeRefused(f"this version of Seconder does not know the decision {kind!r}")


def _rejected(decision: Mapping[str, Any]) -> str:
    reason = decision["reason"] or "no reason was given"
    match decision["source"]:
        case "clock":
            return f"Not executed: nobody decided in time, and then the rule rejects: {reason}"
        case "policy":
            return f"Not executed: the policy rejected this call: {reason}"
        case _:
            return f"Not executed: {_people(decision['by']) or 'a reviewer'} rejected this call: {reason}"


def edited(before: Mapping[str, Any], after: Mapping[str, Any], by: list[str]) -> str:
    """The notice that stands before the result of a call that ran with other arguments than the model's."""
    changes = [_change(name, before, after) for name in (*before, *(name for name in after if name not in before))]
    told = "; ".join(change for change in changes if change)
    people = _people(by)
    return f"[A reviewer changed the arguments before approving: {told}{f' (by {people})' if people else ''}]"


def _change(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    if name not in after:
        return f"{name} {_short(before[name])} -> removed"
    if name not in before:
        return f"{name} added: {_short(after[name])}"
    same = canonical(before[name], path=name) == canonical(after[name], path=name)
    return None if same else f"{name} {_short(before[name])} -> {_short(after[name])}"


def _short(value: Any) -> str:
    text = as_text(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + CUT


def _people(by: list[str]) -> str:
    return ", ".join(by)


def as_text(value: Any) -> str:
    """Text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def recordable(result: Any) -> Any:
    """What the ledger keeps of a result: its JSON value, or text; what is long is cut and says so."""
    try:
        text = json.dumps(result, ensure_ascii=False, allow_nan=False)
        value = result
    except (TypeError, ValueError, RecursionError):
        text = value = str(result)
    if len(text.encode("utf-8", "replace")) <= RESULT_BYTES:
        return _valid(value) if isinstance(value, str) else value
    kept = (value if isinstance(value, str) else text).encode("utf-8", "replace")[: RESULT_BYTES - len(CUT.encode())]
    return kept.decode("utf-8", "ignore") + CUT


def error_text(error: BaseException) -> str:
    """The error as the desk keeps it: its type and sentence, one character for each that cannot be stored."""
    text = _valid(f"{type(error).__name__}: {error}".replace("\x00", "\N{REPLACEMENT CHARACTER}"))
    return text if len(text) <= ERROR_CHARACTERS else text[:ERROR_CHARACTERS] + CUT


def _valid(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
