"""What was posted to Slack, or is to be: cards and thread replies, one row before each post.

    new ─ about to post ─> posting ─ posted, or found by its metadata ─> live ─> retired | gone
                              └─ refused by Slack ─> undelivered ─> new

A card's row holds the token of its buttons. While it has no `ts`, the first press in the right
channel binds it.
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, RowMapping, select, update

from seconder.action import Json
from seconder.store.row import Sealer, from_millis, insert_into, to_millis
from seconder.store.tables import messages, reviews


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """`channel` is what the route names; `channel_id` and `ts` are what Slack answered."""

    id: str
    review_id: str
    kind: str  #: card, reply
    name: str  #: of a card its revision, of a reply what it says
    revision: int
    digest: str
    channel: str
    state: str  #: new, posting, live, retired, gone, undelivered
    created_at: datetime
    token: str | None = None
    team_id: str | None = None
    channel_id: str | None = None
    ts: str | None = None
    shown: str | None = None
    body: Json = None
    attempted_at: datetime | None = None
    error: str | None = None


class Messages:
    """Cards and replies, in one transaction."""

    def __init__(self, connection: Connection, sealer: Sealer) -> None:
        self._db, self._sealer = connection, sealer

    def add(self, message: Message) -> bool:
        """Whether it is new; one message per review, kind, name and channel."""
        new = insert_into(self._db, messages).values(
            id=message.id,
            review_id=message.review_id,
            kind=message.kind,
            name=message.name,
            revision=message.revision,
            digest=message.digest,
            token=message.token,
            channel=message.channel,
            state=message.state,
            body=None if message.body is None else self._seal(message.id, message.body),
            created_at=to_millis(message.created_at),
        )
        same = [messages.c.review_id, messages.c.kind, messages.c.name, messages.c.channel]
        added = new.on_conflict_do_nothing(index_elements=same).returning(messages.c.id)
        return self._db.execute(added).first() is not None

    def of_review(self, review_id: str) -> list[Message]:
        """All messages of the review, oldest first."""
        query = select(messages).where(messages.c.review_id == review_id).order_by(messages.c.created_at, messages.c.id)
        return [self._read(row) for row in self._db.execute(query).mappings()]

    def by_token(self, token: str, *, lock: bool = False) -> Message | None:
        """The card with this token; None where there is none."""
        query = select(messages).where(messages.c.token == token)
        row = self._db.execute(query.with_for_update() if lock else query).mappings().first()
        return None if row is None else self._read(row)

    def at(self, channel_id: str, ts: str) -> Message | None:
        """The message at this place in Slack; None where it is not ours."""
        query = select(messages).where(messages.c.channel_id == channel_id, messages.c.ts == ts)
        row = self._db.execute(query).mappings().first()
        return None if row is None else self._read(row)

    def live(self, *, after: str, limit: int) -> list[tuple[str, str]]:
        """Cards of pending reviews that Slack shows, and their reviews: ids beyond `after`, in their order."""
        query = (
            select(messages.c.id, messages.c.review_id)
            .join(reviews, reviews.c.id == messages.c.review_id)
            .where(reviews.c.status == "pending", messages.c.kind == "card", messages.c.state == "live")
            .where(messages.c.id > after)
            .order_by(messages.c.id)
            .limit(limit)
        )
        return [(row.id, row.review_id) for row in self._db.execute(query)]

    def change(self, message_id: str, **values: object) -> None:
        """Columns by name; datetimes become milliseconds."""
        changed = {name: to_millis(value) if isinstance(value, datetime) else value for name, value in values.items()}
        self._db.execute(update(messages).where(messages.c.id == message_id).values(**changed))

    def announce(self, message_id: str, *, channel_id: str, at: datetime) -> bool:
        """Whether the message waited to be posted; a post of it in this channel is under way from `at` on."""
        waits = (messages.c.id == message_id, messages.c.ts.is_(None), messages.c.state.in_(("new", "undelivered")))
        values = {"state": "posting", "channel_id": channel_id, "attempted_at": to_millis(at)}
        return self._db.execute(update(messages).where(*waits).values(**values)).rowcount == 1

    def place(self, message_id: str, *, team_id: str, channel_id: str, ts: str) -> bool:
        """Whether the message had no place yet; it is live there from now on."""
        query = update(messages).where(messages.c.id == message_id, messages.c.ts.is_(None))
        values = {"team_id": team_id, "channel_id": channel_id, "ts": ts, "state": "live", "error": None}
        return self._db.execute(query.values(**values)).rowcount == 1

    def _seal(self, ident: str, body: Json) -> bytes:
        return self._sealer.seal_json(body, table="messages", column="body", row=ident)

    def _read(self, row: RowMapping) -> Message:
        return Message(
            id=row["id"],
            review_id=row["review_id"],
            kind=row["kind"],
            name=row["name"],
            revision=row["revision"],
            digest=row["digest"],
            channel=row["channel"],
            state=row["state"],
            created_at=from_millis(row["created_at"]),
            token=row["token"],
            team_id=row["team_id"],
            channel_id=row["channel_id"],
            ts=row["ts"],
            shown=row["shown"],
            body=self._sealer.open_json(row["body"], table="messages", column="body", row=row["id"]),
            attempted_at=from_millis(row["attempted_at"]),
            error=row["error"],
        )
