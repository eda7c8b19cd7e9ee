"""Reads: reviews and pauses as they are now, and waits that hold no thread."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from seconder.desk.desk import Desk, subject_of
from seconder.desk.effects import owned
from seconder.errors import NotFound
from seconder.review import Pause, PauseState, Review, Status
from seconder.store.changes import POLL
from seconder.store.figures import Figures, figures
from seconder.store.queue import Item
from seconder.store.row import to_millis
from seconder.store.trail import Break, Entry
from seconder.store.tx import Tx
from seconder.store.unreached import is_unreached

T = TypeVar("T")

CURSOR = re.compile(r"([0-9]{1,15})-([A-Za-z0-9_]{1,64})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Reviews newest first, and the cursor of the next page; None at the end."""

    reviews: tuple[Review, ...]
    runs: tuple[str | None, ...]  #: the names of their runs
    cursor: str | None


def review(desk: Desk, review_id: str, *, agent: str | None = None) -> Review:
    """The review, if it is this agent's (None: anybody's). Raises: NotFound."""
    return desk.store.read(lambda tx: tx.reviews.get(review_id) if agent is None else owned(tx, review_id, agent))


def pause(desk: Desk, pause_id: str, *, agent: str | None = None) -> tuple[Pause, str]:
    """The pause without its run state, and the name of its run. Raises: NotFound."""

    def read(tx: Tx) -> tuple[Pause, str]:
        found = tx.pauses.get(pause_id, tx.reviews.of_pause(pause_id))
        if agent is not None and found.agent.name != agent:
            raise NotFound("pause", pause_id)
        return found, tx.pauses.run_name(found.run_id)

    return desk.store.read(read)


def named(desk: Desk, review_id: str, *, agent: str | None = None) -> tuple[Review, str | None]:
    """The review as in `review`, and the name of its run. Raises: NotFound."""

    def read(tx: Tx) -> tuple[Review, str | None]:
        found = tx.reviews.get(review_id) if agent is None else owned(tx, review_id, agent)
        return found, None if found.run_id is None else tx.pauses.run_name(found.run_id)

    return desk.store.read(read)


def run_name(desk: Desk, run_id: str | None) -> str | None:
    """The agent's own name of the run."""
    return None if run_id is None else desk.store.read(lambda tx: tx.pauses.run_name(run_id))


def listed(desk: Desk, *, agent: str | None, status: Status | None, limit: int, cursor: str | None = None) -> Page:
    """One page of reviews. Raises: ValueError for a cursor that is not ours."""
    behind = None
    if cursor is not None:
        place = CURSOR.fullmatch(cursor)
        if place is None:
            message = f"{cursor[:80]!r} is not a cursor"
            raise ValueError(message)
        behind = (int(place[1]), place[2])

    def read(tx: Tx) -> Page:
        found = tx.reviews.listed(agent=agent, status=status, limit=limit + 1, after_cursor=behind)
        last = found[limit - 1] if len(found) > limit else None
        names = {run: tx.pauses.run_name(run) for run in {one.run_id for one in found[:limit]} if run is not None}
        return Page(
            reviews=tuple(found[:limit]),
            runs=tuple(names.get(one.run_id or "") for one in found[:limit]),
            cursor=None if last is None else f"{to_millis(last.created_at)}-{last.id}",
        )

    return desk.store.read(read)


def settled(found: Review) -> bool:
    """Whether nobody is asked any more."""
    return found.status is not Status.PENDING


def settled_named(found: tuple[Review, str | None]) -> bool:
    """As `settled`, of what `named` found."""
    return settled(found[0])


def claimable_or_finished(found: tuple[Pause, str]) -> bool:
    return found[0].state in {PauseState.READY, PauseState.FINISHED}


async def wait(desk: Desk, look: Callable[[], T], enough: Callable[[T], bool], seconds: float) -> T:
    """What `look` finds as soon as it is `enough`, or after so many seconds; wakes within milliseconds."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while True:
        seen = desk.store.changes.count
        found = await asyncio.to_thread(look)
        left = end - loop.time()
        if enough(found) or left <= 0:
            return found
        await desk.store.changes.wait_async(seen, min(left, POLL))


def history(desk: Desk, review_id: str) -> list[Entry]:
    """The review's trail, in order."""
    return desk.store.read(lambda tx: tx.trail.entries(subject_of(review_id)))


def verify(desk: Desk) -> tuple[int, list[Break]]:
    """How many chains there are, and every place where one does not verify."""
    subjects = desk.store.read(lambda tx: tx.trail.subjects())
    breaks: list[Break] = []
    for subject in subjects:
        breaks += desk.store.read(lambda tx, subject=subject: list(tx.trail.breaks(subject)))  # type: ignore[misc]
    return len(subjects), breaks


def queued(desk: Desk, *, state: str | None = None) -> list[Item]:
    """What waits in the internal queue."""
    return desk.store.read(lambda tx: tx.queue.listed(state=state))


def figures_now(desk: Desk) -> Figures:
    """What the metrics show, of one snapshot."""
    return desk.store.read(lambda tx: figures(tx.connection, tx.now()))


def unreached(error: BaseException) -> bool:
    """Whether this error says that the database could not be reached, or had no time: try again."""
    return is_unreached(error)
