"""How the app is told what happened: a seam with two implementations, Socket Mode and signed HTTP."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from seconder.sandbox.storage import Doc

Kind = Literal["interactive", "events_api", "slash_commands"]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back within three seconds; `error` says in one word why nothing did."""

    acked: bool
    body: Any = None
    status: int = 0
    error: str | None = None
    no_retry: bool = False


class Delivery(Protocol):
    """Sends one payload and waits for the acknowledgement."""

    async def send(self, kind: Kind, payload: Doc, *, retry: tuple[int, str] | None = None) -> Answer:
        """The app's answer; `retry` is (number, reason) for an event that was not acknowledged before."""
        ...

    async def connected(self) -> bool:
        """Whether somebody is there to be told."""
        ...
