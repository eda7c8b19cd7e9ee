"""What workers, and agents that wait for themselves, send while they run what was decided."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from seconder.desk.claim import Finish
from seconder.desk.fields import Fence, Flag, Name, Said, Told, Word
from seconder.desk.wire import Body, PauseIn
from seconder.review import OutcomeStatus, PauseOutcome


class ClaimIn(Body):
    agents: Annotated[list[Name], Field(min_length=1, max_length=100)]
    worker: Name
    pause_id: Word | None = None
    wait: Annotated[float, Field(ge=0, le=60, strict=True)] = 0


class HeartbeatIn(Body):
    fence: Fence


class FinishIn(Body):
    fence: Fence
    outcome: Literal["finished", "paused_again", "failed"]
    final_output: Told = None
    error: Said | None = None
    retry: Flag = False
    next_pause: PauseIn | None = None

    @model_validator(mode="after")
    def _next_goes_with_paused_again(self) -> "FinishIn":
        if (self.next_pause is not None) != (self.outcome == "paused_again"):
            message = "`next_pause` goes with the outcome paused_again, and only with it"
            raise ValueError(message)
        return self

    def value(self) -> Finish:
        """Raises: TooLarge, NotCanonical."""
        return Finish(
            outcome=PauseOutcome(self.outcome),
            final_output=self.final_output,
            error=self.error,
            retry=self.retry,
            next_pause=None if self.next_pause is None else self.next_pause.value(),
        )


class EffectStartIn(Body):
    pause_id: Word
    fence: Fence
    review_id: Word
    digest: Word


class EffectEndIn(Body):
    effect_id: Word
    pause_id: Word
    fence: Fence
    status: Literal["succeeded", "failed"]
    result: Told = None
    error: Said | None = None


class OutcomeIn(Body):
    status: Literal["succeeded", "failed"]
    result: Told = None
    error: Said | None = None

    def values(self) -> dict[str, Any]:
        """As `effects.report` takes them."""
        return {"status": OutcomeStatus(self.status), "result": self.result, "error": self.error}
