"""What a server's refusal is in our own errors."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from seconder.errors import (
    CannotConsume,
    EffectUncertain,
    Fault,
    IdempotencyConflict,
    IllegalTransition,
    InvalidInput,
    LeaseLost,
    NotCanonical,
    NotFound,
    OutcomeConflict,
    SeconderError,
    TooLarge,
)
from seconder.review import MAX_RUN_STATE

TOO_LARGE = re.compile(r"(?P<part>.+) is larger than (?P<limit>[\d,]+) bytes")
NOT_FOUND = re.compile(r"no (?P<what>\S+) (?P<ident>.+)")
ILLEGAL = re.compile(r"review (?P<ident>\S+) is (?P<status>\S+): cannot (?P<step>\S+)")

CONFLICTS: Mapping[str, Callable[[str], SeconderError]] = {
    "lease_lost": LeaseLost,
    "uncertain": EffectUncertain,
    "outcome_conflict": OutcomeConflict,
    "idempotency_conflict": IdempotencyConflict,
}


def refusal(status: int, error: Mapping[str, Any]) -> SeconderError:
    """The error that the desk raised, from `{code, message, fields}`."""
    code, message = str(error.get("code", "")), str(error.get("message", ""))
    match status:
        case 404:
            found = NOT_FOUND.fullmatch(message)
            return NotFound(found["what"], found["ident"]) if found else NotFound("such thing:", message)
        case 409 if code in CONFLICTS:
            return CONFLICTS[code](message)
        case 409 if code == "already_decided":
            return _decided(message)
        case 409:
            return CannotConsume(code, message)
        case 413:
            found = TOO_LARGE.fullmatch(message)
            limit = int(found["limit"].replace(",", "")) if found else MAX_RUN_STATE
            return TooLarge(found["part"] if found else "the body", limit)
        case _:
            kind = NotCanonical if code == NotCanonical.code else InvalidInput
            return kind(_faults(error) or [Fault("body", message or f"refused with status {status}")])


def _decided(message: str) -> IllegalTransition:
    found = ILLEGAL.fullmatch(message)
    if found:
        return IllegalTransition(found["ident"], found["status"], found["step"])
    return IllegalTransition("", "decided", "cancel")


def _faults(error: Mapping[str, Any]) -> list[Fault]:
    fields = error.get("fields")
    if not isinstance(fields, list):
        return []
    return [Fault(str(one.get("path", "")), str(one.get("message", ""))) for one in fields if isinstance(one, dict)]
