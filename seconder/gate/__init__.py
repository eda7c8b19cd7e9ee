"""What agent code and workers call: a Client of the desk, over HTTP or handed over in one process.

Both clients speak the JSON of the HTTP contract as plain values (integers exact). Importing this
module imports neither pydantic, nor settings, nor an HTTP library.

The worker's side of a pause:

    claim ──> fence, lease of LEASE seconds, renewed by heartbeat every HEARTBEAT seconds
      for each gated call to run: start_effect ──> run it ──> end_effect
    finish (finished | paused_again with the next pause | failed), only with the fence of the claim
"""

import os
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from seconder.errors import ConfigurationError

LEASE = 10.0  # seconds
HEARTBEAT = 3.0  # seconds
LONGEST_WAIT = 60.0  # seconds a long poll may last


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One decided pause, leased to this worker until LEASE seconds after the last heartbeat.

    `pause` is {id, run, agent {name, version}, framework, framework_version, state, attempts};
    `reviews` are reviews as in `GET /v1/reviews/{id}`, in the order of submission, none pending.
    """

    pause: dict[str, Any]
    reviews: tuple[dict[str, Any], ...]
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectStart:
    """`run`: run it now, with `arguments` and the idempotency `key`; `done`: it ran before, with `result` or `error`.

    `told`: it is not to be run, a person said what happened; `result` is what to tell the model.
    """

    verdict: Literal["run", "done", "told"]
    effect_id: str
    key: str
    arguments: dict[str, Any]
    result: Any = None
    error: str | None = None


class Client(Protocol):
    """The desk, as agents and workers see it. Every call may raise the errors of `seconder.errors`."""

    async def submit_review(self, interrupt: dict[str, Any], *, idempotency_key: str | None = None) -> dict[str, Any]:
        """The review, whatever the verdict."""
        ...

    async def review(self, review_id: str, *, wait: float = 0) -> dict[str, Any]:
        """The review; with `wait`, as soon as it is settled or after so many seconds."""
        ...

    async def cancel(self, review_id: str) -> dict[str, Any]: ...

    async def consume(self, review_id: str) -> dict[str, Any]:
        """`{arguments, digest, idempotency_key}`, once. Raises: CannotConsume."""
        ...

    async def report(
        self, review_id: str, *, status: str, result: Any = None, error: str | None = None
    ) -> dict[str, Any]:
        """The review with the outcome of a consumed call."""
        ...

    async def submit_pause(self, pause: dict[str, Any]) -> dict[str, Any]:
        """`{run, framework, framework_version, agent, state, interrupts}`, stored in one commit with its reviews."""
        ...

    async def pause(self, pause_id: str, *, wait: float = 0) -> dict[str, Any]:
        """The pause; with `wait`, as soon as it is ready or finished or after so many seconds."""
        ...

    async def claim(
        self, *, agents: list[str], worker: str, pause_id: str | None = None, wait: float = 0
    ) -> Claim | None:
        """The oldest ready pause of these agents, or this very one; None when there is none after `wait` seconds."""
        ...

    async def heartbeat(self, pause_id: str, *, fence: int) -> None:
        """The lease lasts LEASE seconds from now. Raises: LeaseLost."""
        ...

    async def finish(
        self,
        pause_id: str,
        *,
        fence: int,
        outcome: Literal["finished", "paused_again", "failed"],
        final_output: Any = None,
        error: str | None = None,
        retry: bool = False,
        next_pause: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The pause has this outcome; `next_pause` (paused_again) is submitted in the same commit.

        failed with `retry`: it becomes ready again after a backoff, a few times. Raises: LeaseLost.
        """
        ...

    async def start_effect(self, pause_id: str, *, fence: int, review_id: str, digest: str) -> EffectStart:
        """The gated call of this review is recorded `started` before it runs.

        Raises: LeaseLost; CannotConsume where no decision lets it run; EffectUncertain.
        """
        ...

    async def end_effect(
        self, effect_id: str, *, pause_id: str, fence: int, status: str, result: Any = None, error: str | None = None
    ) -> None:
        """The call is recorded `succeeded` or `failed`. Raises: LeaseLost."""
        ...

    async def aclose(self) -> None: ...


def connect(url: str | None = None, token: str | None = None) -> Client:
    """A client over HTTP; the address and token default to SECONDER_BASE_URL and SECONDER_TOKEN.

    Raises: ConfigurationError where there is no token.
    """
    from seconder.gate.http import HttpClient  # the HTTP library is loaded at first use

    address = url or os.environ.get("SECONDER_BASE_URL") or "http://127.0.0.1:8710"
    secret = token or os.environ.get("SECONDER_TOKEN")
    if not secret:
        message = "no token: set SECONDER_TOKEN to what `seconder tokens create --agent NAME` printed"
        raise ConfigurationError(message)
    return HttpClient(address, secret)
