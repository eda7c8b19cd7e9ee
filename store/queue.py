"""The internal queue: at least once, leased, fenced, and level-triggered.

    put ─> queued ─ claim ─> leased ─ done ─> (gone)
             ^                 │ └─ fail ─> queued, later
             └── lease over ───┘      └─ after MAX_ATTEMPTS ─> dead ─ retry ─> queued
                                                                 └─ drop ──> (gone)

* One waiting item per topic and subject: putting it again while it waits changes nothing but time.
* An item put while another of the same subject is leased waits until that one has ended.
* `done` and `fail` count only with the fence of the claim.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum

from sqlalchemy import Connection, RowMapping, Select, Update, and_, delete, insert, or_, select, update

from seconder.action import Json
from seconder.store.row import Sealer, from_millis, to_millis
from seconder.store.tables import queue

MAX_ATTEMPTS = 12
LONGEST_BACKOFF = timedelta(minutes=10)


class Priority(IntEnum):
    DECISION = 0  #: somebody pressed and looks at the card
    POST = 1  #: somebody is to be asked
    NOTE = 2  #: the rest


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
        due = to_millis(due_at or now)
        waiting = and_(queue.c.topic == topic, queue.c.subject == subject, queue.c.state == "queued")
        row = self._db.execute(select(queue.c.id, queue.c.due_at, queue.c.priority).where(waiting)).first()
        if row is not None:
            values = {"due_at": min(row.due_at, due), "priority": min(row.priority, priority)}
            self._db.execute(update(queue).where(queue.c.id == row.id).values(**values))
            return
        sealed = None if payload is None else self._seal(payload, topic, subject)
        self._db.execute(
            insert(queue).values(
                topic=topic,
                subject=subject,
                state="queued",
                priority=priority,
                payload=sealed,
                created_at=to_millis(now),
                due_at=due,
                attempts=0,
                fence=0,
            )
        )

    def claimable(self, topics: Sequence[str], now: datetime) -> bool:
        """Whether `claim` would find something."""
        return self._db.execute(self._claimable(topics, now, 1)).first() is not None

    def claim(
        self, topics: Sequence[str], *, worker: str, now: datetime, lease: timedelta, limit: int = 1
    ) -> list[Item]:
        """At most `limit` items that are leased to this worker from now on, most urgent first."""
        query = self._claimable(topics, now, limit).with_for_update(skip_locked=True)
        items = []
        for ident in list(self._db.execute(query).scalars()):
            self._db.execute(
                update(queue)
                .where(queue.c.id == ident)
                .values(
                    state="leased",
                    fence=queue.c.fence + 1,
                    attempts=queue.c.attempts + 1,
                    worker=worker,
                    lease_until=to_millis(now + lease),
                )
            )
            items.append(self._read(self._db.execute(select(queue).where(queue.c.id == ident)).mappings().one()))
        return items

    def next_due(self, topics: Sequence[str]) -> datetime | None:
        """When the next waiting item is due; None when nothing waits."""
        query = (
            select(queue.c.due_at)
            .where(queue.c.topic.in_(topics), queue.c.state == "queued")
            .order_by(queue.c.due_at)
            .limit(1)
        )
        return from_millis(self._db.execute(query).scalar())

    def renew(self, item: Item, *, until: datetime) -> bool:
        """Whether the lease is still ours; it lasts until then."""
        return self._db.execute(self._mine(item).values(lease_until=to_millis(until))).rowcount == 1

    def done(self, item: Item) -> bool:
        """Whether it was still ours; it is gone."""
        mine = and_(queue.c.id == item.id, queue.c.fence == item.fence, queue.c.state == "leased")
        return self._db.execute(delete(queue).where(mine)).rowcount == 1

    def fail(
        self, item: Item, *, error: str, now: datetime, due_at: datetime | None = None, counts: bool = True
    ) -> str:
        """What became of it: `queued` again after a backoff, `dead` after MAX_ATTEMPTS, `lost` if it was not ours.

        `counts=False` is for waits that are nobody's fault (a rate limit): the attempt is given back.
        """
        if counts and item.attempts >= MAX_ATTEMPTS:
            values: dict[str, object] = {"state": "dead", "error": error, "lease_until": None}
            return "dead" if self._db.execute(self._mine(item).values(**values)).rowcount else "lost"
        if self._another_waits(item):
            return "queued" if self.done(item) else "lost"
        due = due_at or now + backoff(item.attempts)
        values = {
            "state": "queued",
            "error": error,
            "due_at": to_millis(due),
            "lease_until": None,
            "attempts": item.attempts if counts else item.attempts - 1,
        }
        return "queued" if self._db.execute(self._mine(item).values(**values)).rowcount else "lost"

    def listed(self, *, state: str | None = None, limit: int = 200) -> list[Item]:
        """Items in the order in which they are due."""
        query = select(queue).order_by(queue.c.due_at, queue.c.id).limit(limit)
        if state is not None:
            query = query.where(queue.c.state == state)
        return [self._read(row) for row in self._db.execute(query).mappings()]

    def retry(self, item_id: int, *, now: datetime) -> bool:
        """A dead item is due now, its attempts forgotten; whether it was dead."""
        dead = and_(queue.c.id == item_id, queue.c.state == "dead")
        row = self._db.execute(select(queue).where(dead)).mappings().first()
        if row is None:
            return False
        if self._another_waits(self._read(row)):
            return self.drop(item_id)
        values = {"state": "queued", "attempts": 0, "due_at": to_millis(now)}
        return self._db.execute(update(queue).where(dead).values(**values)).rowcount == 1

    def drop(self, item_id: int) -> bool:
        """A dead item is gone; whether it was dead."""
        return self._db.execute(delete(queue).where(queue.c.id == item_id, queue.c.state == "dead")).rowcount == 1

    def _another_waits(self, item: Item) -> bool:
        query = select(queue.c.id).where(
            queue.c.topic == item.topic, queue.c.subject == item.subject, queue.c.state == "queued"
        )
        return self._db.execute(query).first() is not None

    def _mine(self, item: Item) -> Update:
        mine = and_(queue.c.id == item.id, queue.c.fence == item.fence, queue.c.state == "leased")
        return update(queue).where(mine)

    def _claimable(self, topics: Sequence[str], now: datetime, limit: int) -> Select[tuple[int]]:
        at = to_millis(now)
        other = queue.alias("other")
        busy = (
            select(other.c.id)
            .where(
                other.c.topic == queue.c.topic,
                other.c.subject == queue.c.subject,
                other.c.state == "leased",
                other.c.lease_until > at,
            )
            .exists()
        )
        free = or_(
            and_(queue.c.state == "queued", queue.c.due_at <= at),
            and_(queue.c.state == "leased", queue.c.lease_until <= at),
        )
        query = select(queue.c.id).where(queue.c.topic.in_(topics), queue.c.state != "dead", free, ~busy)
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
