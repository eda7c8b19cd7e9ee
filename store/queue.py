"""The internal queue: at least once, leased, fenced, and level-triggered.

    put ─> queued ─ claim ─> leased ─ done ─> (gone)
                     ^   │ └─ fail ─> queued, later
        claim again ─┘   │      └─ after MAX_ATTEMPTS ─> dead ─ retry ─> queued
        (lease over)     └─ lease over MAX_ATTEMPTS times ─┘  └─ drop ──> (gone)

* At most one item of a topic and subject waits, and at most one is leased; the database itself sees to both.
* Putting a subject that waits already makes it at most sooner and more urgent; the first payload stays.
* An item put while another of the same subject is leased waits until that one has ended.
* `done` and `fail` count only with the fence of the claim.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    and_,
    case,
    delete,
    literal_column,
    or_,
    select,
    text,
    update,
)

from seconder.action import Json
from seconder.store.row import Sealer, from_millis, insert_into, to_millis
from seconder.store.tables import queue

MAX_ATTEMPTS = 12
LONGEST_BACKOFF = timedelta(minutes=10)


class Priority(IntEnum):
    DECISION = 0  #: somebody pressed and looks at the card
    POST = 1  #: somebody is to be asked
    NOTE = 2  #: the rest


# Written into the statement, so that the partial indexes on them can be used.
QUEUED: ColumnElement[str] = literal_column("'queued'")
LEASED: ColumnElement[str] = literal_column("'leased'")
DEAD: ColumnElement[str] = literal_column("'dead'")

OTHER = queue.alias("other")
BUSY = (
    select(OTHER.c.id)
    .where(OTHER.c.topic == queue.c.topic, OTHER.c.subject == queue.c.subject, OTHER.c.state == LEASED)
    .exists()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing to do outside; `payload` is None where the subject says it all."""

    id: int
    topic: str
    subject: str
    state: str
    attempts: int
    fence: int
    due_at: datetime
    created_at: datetime
    payload: Json = None
    error: str | None = None


def backoff(attempts: int) -> timedelta:
    """How long to wait after so many failures: 1 s, 2 s, 4 s, ... at most LONGEST_BACKOFF."""
    return min(timedelta(seconds=2 ** max(attempts - 1, 0)), LONGEST_BACKOFF)


class Queue:
    """What is still to be done outside, in one transaction."""

    def __init__(self, connection: Connection, sealer: Sealer) -> None:
        self._db, self._sealer = connection, sealer

    def put(
        self,
        topic: str,
        subject: str,
        *,
        now: datetime,
        priority: Priority = Priority.NOTE,
        due_at: datetime | None = None,
        payload: Json = None,
    ) -> None:
        """The subject will be worked on once more, from `due_at` (default now) on."""
        values = {"created_at": to_millis(now), "due_at": to_millis(due_at or now), "attempts": 0, "fence": 0}
        sealed = None if payload is None else self._seal(payload, topic, subject)
        self._wait(topic=topic, subject=subject, priority=priority, payload=sealed, **values)

    def claimable(self, topics: Sequence[str], now: datetime) -> bool:
        """Whether `claim` would find something."""
        return self._db.execute(self._claimable(topics, now, 1)).first() is not None

    def claim(
        self, topics: Sequence[str], *, worker: str, now: datetime, lease: timedelta, limit: int = 1
    ) -> list[Item]:
        """At most `limit` items that are leased to this worker from now on, most urgent first."""
        query = self._claimable(topics, now, limit).with_for_update(skip_locked=True)
        items = []
        for row in self._db.execute(query).all():
            if row.state == "leased" and row.attempts >= MAX_ATTEMPTS:
                self._give_up(row.id)
            else:
                items.append(self._lease(row.id, worker, to_millis(now + lease)))
        return items

    def next_due(self, topics: Sequence[str]) -> datetime | None:
        """When the next waiting item is due; None when nothing waits."""
        query = (
            select(queue.c.due_at)
            .where(queue.c.topic.in_(topics), queue.c.state == QUEUED)
            .order_by(queue.c.due_at)
            .limit(1)
        )
        return from_millis(self._db.execute(query).scalar())

    def renew(self, item: Item, *, until: datetime) -> bool:
        """Whether the lease is still ours; it lasts until then."""
        return self._db.execute(update(queue).where(*_mine(item)).values(lease_until=to_millis(until))).rowcount == 1

    def done(self, item: Item) -> bool:
        """Whether it was still ours; it is gone."""
        return self._db.execute(delete(queue).where(*_mine(item))).rowcount == 1

    def fail(
        self, item: Item, *, error: str, now: datetime, due_at: datetime | None = None, counts: bool = True
    ) -> str:
        """What became of it: `queued` again after a backoff, `dead` after MAX_ATTEMPTS, `lost` if it was not ours.

        `counts=False` is for waits that are nobody's fault (a rate limit): the attempt is given back.
        """
        if counts and item.attempts >= MAX_ATTEMPTS:
            values: dict[str, object] = {"state": "dead", "error": error, "lease_until": None}
            return "dead" if self._db.execute(update(queue).where(*_mine(item)).values(**values)).rowcount else "lost"
        row = self._take(and_(*_mine(item)))
        if row is None:
            return "lost"
        due = due_at or now + backoff(item.attempts)
        attempts = item.attempts if counts else item.attempts - 1
        self._wait(**{**row, "error": error, "due_at": to_millis(due), "attempts": attempts})
        return "queued"

    def listed(self, *, state: str | None = None, limit: int = 200) -> list[Item]:
        """Items in the order in which they are due."""
        query = select(queue).order_by(queue.c.due_at, queue.c.id).limit(limit)
        if state is not None:
            query = query.where(queue.c.state == state)
        return [self._read(row) for row in self._db.execute(query).mappings()]

    def retry(self, item_id: int, *, now: datetime) -> bool:
        """A dead item is due now, its attempts forgotten; whether it was dead."""
        dead = and_(queue.c.id == item_id, queue.c.state == "dead")
        row = self._take(dead)
        if row is None:
            return False
        self._wait(**{**row, "attempts": 0, "due_at": to_millis(now)})
        return True

    def drop(self, item_id: int) -> bool:
        """A dead item is gone; whether it was dead."""
        return self._db.execute(delete(queue).where(queue.c.id == item_id, queue.c.state == "dead")).rowcount == 1

    def _give_up(self, ident: int) -> None:
        """Whatever takes this item dies of it, or so it seems: it is dead until somebody looks."""
        dead = {"state": "dead", "error": f"{MAX_ATTEMPTS} workers took it and never came back", "lease_until": None}
        self._db.execute(update(queue).where(queue.c.id == ident).values(**dead))

    def _lease(self, ident: int, worker: str, until: int) -> Item:
        leased = {"state": "leased", "worker": worker, "lease_until": until}
        counted = {"fence": queue.c.fence + 1, "attempts": queue.c.attempts + 1}
        query = update(queue).where(queue.c.id == ident).values(**leased, **counted).returning(queue)
        return self._read(self._db.execute(query).mappings().one())

    def _take(self, where: ColumnElement[bool]) -> dict[str, Any] | None:
        """The row, which is gone now."""
        row = self._db.execute(delete(queue).where(where).returning(queue)).mappings().first()
        return None if row is None else {**row, "worker": None, "lease_until": None}

    def _wait(self, **values: Any) -> None:
        """The row waits, or the one that waits already is at least as soon and as urgent."""
        query = insert_into(self._db, queue).on_conflict_do_update(
            index_elements=[queue.c.topic, queue.c.subject],
            index_where=text("state = 'queued'"),
            set_={name: _smaller(name) for name in ("due_at", "priority")},
        )
        self._db.execute(query, {**values, "state": "queued"})

    def _claimable(self, topics: Sequence[str], now: datetime, limit: int) -> Select[Any]:
        at = to_millis(now)
        # one expression rather than an OR: the index is read in its order, and reading ends at `limit`
        free_at = case((queue.c.state == LEASED, queue.c.lease_until), else_=queue.c.due_at)
        free = and_(free_at <= at, or_(queue.c.state == LEASED, ~BUSY))
        query = select(queue.c.id, queue.c.state, queue.c.attempts)
        query = query.where(queue.c.topic.in_(topics), queue.c.state != DEAD, free)
        return query.order_by(queue.c.priority, queue.c.due_at, queue.c.id).limit(limit)

    def _seal(self, payload: Json, topic: str, subject: str) -> bytes:
        return self._sealer.seal_json(payload, table="queue", column="payload", row=f"{topic}:{subject}")

    def _read(self, row: RowMapping) -> Item:
        place = {"table": "queue", "column": "payload", "row": f"{row['topic']}:{row['subject']}"}
        return Item(
            id=row["id"],
            topic=row["topic"],
            subject=row["subject"],
            state=row["state"],
            attempts=row["attempts"],
            fence=row["fence"],
            due_at=from_millis(row["due_at"]),
            created_at=from_millis(row["created_at"]),
            payload=self._sealer.open_json(row["payload"], **place),
            error=row["error"],
        )


def _smaller(name: str) -> ColumnElement[int]:
    """Of the row that waits and the one that was to be put, the smaller value."""
    new: ColumnElement[int] = literal_column(f"excluded.{name}")
    return case((new < queue.c[name], new), else_=queue.c[name])


def _mine(item: Item) -> tuple[ColumnElement[bool], ...]:
    return queue.c.id == item.id, queue.c.fence == item.fence, queue.c.state == "leased"
