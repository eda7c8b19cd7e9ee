"""A decided pause is claimed with a lease and a fence, and finished once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from seconder.action import Json
from seconder.desk.desk import Desk, subject_of
from seconder.desk.effects import ask_what_happened, mark_uncertain
from seconder.desk.shown import refresh_card
from seconder.desk.submit import PauseRequest, add_pause, add_review, check_pause
from seconder.errors import LeaseLost, NotFound
from seconder.review import Pause, PauseOutcome, PauseState
from seconder.store.pauses import PauseOrigin
from seconder.store.queue import backoff
from seconder.store.reviews import Submitted
from seconder.store.tokens import Token
from seconder.store.tx import Tx

MAX_ATTEMPTS = 6  # claims of one pause that end without a finish, before it is failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """How a resumed run ended; `next_pause` goes with `paused_again`, `retry` with `failed`."""

    outcome: PauseOutcome
    final_output: Json = None
    error: str | None = None
    retry: bool = False
    next_pause: PauseRequest | None = None


def claim(
    desk: Desk, caller: Token, agents: Sequence[str], *, worker: str, pause_id: str | None = None
) -> Pause | None:
    """A pause that is leased to this worker from now on, with its run state; None where none is ready.

    A pause whose earlier lease started an effect and never ended it is not handed out: a person is
    asked what happened. One that was claimed MAX_ATTEMPTS times in vain is failed.
    """
    mine = [name for name in agents if name == caller.agent]
    if not mine:
        raise NotFound("agent", ", ".join(agents))

    def ready(tx: Tx) -> bool:
        return tx.pauses.claimable(mine, tx.now(), pause_id) is not None

    def write(tx: Tx) -> Pause | None:
        while (
            claimed := tx.pauses.claim(mine, worker=worker, now=tx.now(), lease=desk.lease, pause_id=pause_id)
        ) is not None:
            ident, fence = claimed
            pause = tx.pauses.get(ident, tx.reviews.of_pause(ident), with_state=True)
            if _ask_about_unfinished(desk, tx, caller, pause) or _given_up(tx, pause):
                continue
            for review in pause.reviews:
                tx.trail.append(subject_of(review.id), "resuming", {"worker": worker, "fence": fence}, at=tx.now())
            return pause
        return None

    return desk.store.write(write) if desk.store.read(ready) else None


def heartbeat(desk: Desk, pause_id: str, *, agent: str, fence: int) -> None:
    """The lease lasts a whole lease from now. Raises: LeaseLost, NotFound."""

    def write(tx: Tx) -> None:
        _check_agent(tx, pause_id, agent)
        tx.pauses.renew(pause_id, fence=fence, until=tx.now() + desk.lease)

    desk.store.write(write)


def finish(desk: Desk, caller: Token, pause_id: str, *, fence: int, finish: Finish) -> Pause:
    """The pause has this outcome, and its next pause is stored in the same commit; the same again changes nothing.

    Raises: NotFound, LeaseLost, InvalidInput.
    """
    if finish.next_pause is not None:
        check_pause(caller, finish.next_pause)

    def write(tx: Tx) -> Pause:
        _check_agent(tx, pause_id, caller.agent)
        try:
            tx.pauses.check_lease(pause_id, fence)
        except LeaseLost:
            pause = tx.pauses.get(pause_id, tx.reviews.of_pause(pause_id))
            if pause.fence == fence and pause.state is PauseState.FINISHED and pause.outcome is finish.outcome:
                return pause
            raise
        _finish(desk, tx, caller, pause_id, fence, finish)
        return tx.pauses.get(pause_id, tx.reviews.of_pause(pause_id))

    return desk.store.write(write)


def _finish(desk: Desk, tx: Tx, caller: Token, pause_id: str, fence: int, finish: Finish) -> None:
    now = tx.now()
    pause = tx.pauses.get(pause_id, tx.reviews.of_pause(pause_id))
    if finish.outcome is PauseOutcome.FAILED and finish.retry and pause.attempts < MAX_ATTEMPTS:
        tx.pauses.release(pause_id, fence=fence, state=PauseState.READY, due_at=now + backoff(pause.attempts))
        _record(tx, pause, "resume_failed", {"error": finish.error, "attempt": pause.attempts})
        return
    next_id = None
    if finish.next_pause is not None:
        origin = PauseOrigin(token_id=caller.id)
        next_id = add_pause(desk, tx, caller, finish.next_pause, origin)
    result = {"final_output": finish.final_output, "error": finish.error}
    tx.pauses.finish(pause_id, fence=fence, outcome=finish.outcome, result=result, next_pause_id=next_id)
    _record(tx, pause, "resumed", {"outcome": finish.outcome, "error": finish.error, "next_pause": next_id})


def _ask_about_unfinished(desk: Desk, tx: Tx, caller: Token, pause: Pause) -> bool:
    asked = False
    for effect in tx.effects.unfinished(pause.id, before_fence=pause.fence):
        review = tx.reviews.get(effect.review_id)
        if not mark_uncertain(tx, effect):
            continue
        interrupt, verdict = ask_what_happened(effect, review, pause.agent)
        if verdict.route is None:
            verdict = replace(verdict, route=desk.policy().fallback)
        position = len(tx.reviews.of_pause(pause.id))
        submitted = Submitted(position=position)
        add_review(desk, tx, caller, interrupt, submitted, pause=pause, verdict=verdict, effect_id=effect.id)
        asked = True
    if asked:
        tx.pauses.release(pause.id, fence=pause.fence, state=PauseState.WAITING, due_at=tx.now())
    return asked


def _given_up(tx: Tx, pause: Pause) -> bool:
    if pause.attempts <= MAX_ATTEMPTS:
        return False
    error = f"The run was resumed {MAX_ATTEMPTS} times and its worker died or failed each time."
    tx.pauses.finish(pause.id, fence=pause.fence, outcome=PauseOutcome.FAILED, result={"error": error})
    _record(tx, pause, "resumed", {"outcome": PauseOutcome.FAILED, "error": error})
    return True


def _record(tx: Tx, pause: Pause, kind: str, payload: dict[str, Json]) -> None:
    for review in pause.reviews:
        tx.trail.append(subject_of(review.id), kind, payload, at=tx.now())
        refresh_card(tx, review.id)


def _check_agent(tx: Tx, pause_id: str, agent: str) -> None:
    if tx.pauses.agent_of(pause_id) != agent:
        raise NotFound("pause", pause_id)
