"""The one error tree: an error class exists only where somebody catches it, and carries data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


class SeconderError(Exception):
    """Something went wrong that a caller can answer; a bug of ours is a RuntimeError instead."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One wrong field: `path` as in `interrupts[0].action.arguments`, and what to do about it."""

    path: str
    message: str


# --- what a caller sent -------------------------------------------------------------------------


class InvalidInput(SeconderError):
    """Fields are wrong; all of them are listed, nothing was stored."""

    code = "invalid"

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(f"{f.path}: {f.message}" for f in self.faults))


class NotCanonical(InvalidInput):
    """A value has no canonical JSON form (NaN, lone surrogate, duplicate key, reserved key)."""

    code = "not_canonical"


class TooLarge(SeconderError):
    """A part is over its limit in bytes."""

    def __init__(self, part: str, limit: int) -> None:
        self.part, self.limit = part, limit
        super().__init__(f"{part} is larger than {limit:,} bytes")


class IdempotencyConflict(SeconderError):
    """The same idempotency key came again with another body."""


# --- what there is ------------------------------------------------------------------------------


class NotFound(SeconderError):
    """There is no such thing, or it belongs to another agent."""

    def __init__(self, what: str, ident: str) -> None:
        self.what, self.ident = what, ident
        super().__init__(f"no {what} {ident}")


class IllegalTransition(SeconderError):
    """The step is not allowed from the status the row has now; nothing changed."""

    def __init__(self, review_id: str, status: str, step: str) -> None:
        self.review_id, self.status, self.step = review_id, status, step
        super().__init__(f"review {review_id} is {status}: cannot {step}")


class Superseded(SeconderError):
    """The card shows an older revision than the review has now."""

    def __init__(self, review_id: str, revision: int) -> None:
        self.review_id, self.revision = review_id, revision
        super().__init__(f"review {review_id} is at revision {revision} now")


class CannotConsume(SeconderError):
    """The review gives nothing to run; `code` is one of the words of the HTTP contract."""

    def __init__(self, code: str, sentence: str) -> None:
        self.code = code
        super().__init__(sentence)


class OutcomeConflict(SeconderError):
    """Another outcome was already recorded."""


# --- who pressed --------------------------------------------------------------------------------


class NotEligible(SeconderError):
    """This person may not do this; `reason` is a sentence for that person."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class UnboundCard(SeconderError):
    """The press does not belong to a card of ours: token, team, channel or message differ."""


class StaleFacts(SeconderError):
    """What is known of these people or groups is too old to decide by; refresh and try again."""

    def __init__(self, people: Sequence[str], groups: Sequence[str]) -> None:
        self.people, self.groups = tuple(people), tuple(groups)
        super().__init__(f"stale facts: people {self.people}, groups {self.groups}")


class AlreadyVoted(SeconderError):
    """This person's vote is already counted."""


class MustOpen(SeconderError):
    """The rule wants the full view opened by this person before Approve works."""


class DeadlinePassed(SeconderError):
    """The decision came after the deadline."""

    def __init__(self, review_id: str, deadline: datetime) -> None:
        self.review_id, self.deadline = review_id, deadline
        super().__init__(f"the deadline of review {review_id} passed at {deadline:%Y-%m-%d %H:%M} UTC")


# --- leases, effects ----------------------------------------------------------------------------


class LeaseLost(SeconderError):
    """The lease ended or the fence moved on: whatever is reported now does not count."""


class EffectUncertain(SeconderError):
    """An earlier run started this effect and never said how it ended; a person is asked."""


class ResumeRefused(SeconderError):
    """The stored run cannot be resumed as it is (schema, version, missing agent); `reason` says why."""


class RunFailed(SeconderError):
    """The paused run was resumed and failed; `error` says how."""

    def __init__(self, pause_id: str, error: str) -> None:
        self.pause_id, self.error = pause_id, error
        super().__init__(f"the run failed after pause {pause_id}: {error}")


class Unanswered(SeconderError):
    """A question of a run got no answer: `status` is `rejected`, `expired`, `cancelled` or `denied`."""

    def __init__(self, status: str, why: str) -> None:
        self.status = status
        super().__init__(why)


# --- set-up -------------------------------------------------------------------------------------


class PolicyInvalid(SeconderError):
    """The policy cannot be used; every fault's path is `file:line: field`."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(f"{f.path}: {f.message}" for f in self.faults))


class ConfigurationError(SeconderError):
    """A setting is missing or wrong; the sentence says what to do."""


class KeyMissing(SeconderError):
    """A stored value was sealed with a key that the ring does not have, or was moved or changed."""


class Unreachable(SeconderError):
    """The server did not answer; nothing is known of what it did."""
