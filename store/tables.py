"""Every table: times are milliseconds since 1970 UTC, sealed columns are named in SEALED.

A pause holds reviews; a review has votes, at most one decision, at most one effect, and messages
(cards and thread replies) in Slack. The queue holds what is still to be done outside.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from seconder.store.words import Sentence, word

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

IDENT = 64  # characters
Millis = BigInteger
Serial = BigInteger().with_variant(Integer, "sqlite")  # only INTEGER PRIMARY KEY counts by itself in SQLite

SEALED = {
    "pauses": ("run_state", "result"),
    "reviews": ("body", "action", "outcome"),
    "decisions": ("body",),
    "effects": ("result",),
    "queue": ("payload",),
    "messages": ("body",),
    "tokens": ("webhook_secret",),
    "trail": ("payload",),
}

clock = Table(
    "clock",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("offset_ms", Millis, nullable=False),  # only sandbox and tests write one
)

tokens = Table(
    "tokens",
    metadata,
    word("id", IDENT, primary_key=True),
    word("agent", 200, nullable=False),
    word("secret_hash", 64, nullable=False, unique=True),
    Column("webhook_secret", LargeBinary, nullable=False),
    Column("created_at", Millis, nullable=False),
    Column("revoked_at", Millis),
)

runs = Table(
    "runs",
    metadata,
    word("id", IDENT, primary_key=True),
    word("agent", 200, nullable=False),
    word("name", 255, nullable=False),  # the run's own name, given by the agent
    Column("created_at", Millis, nullable=False),
    UniqueConstraint("agent", "name"),
)

pauses = Table(
    "pauses",
    metadata,
    word("id", IDENT, primary_key=True),
    word("run_id", IDENT, ForeignKey("runs.id"), nullable=False, index=True),
    word("agent", 200, nullable=False),
    word("agent_version", 200),
    word("framework", 100, nullable=False),
    word("framework_version", 100, nullable=False),
    word("token_id", IDENT, nullable=False),
    word("idempotency_key", 255),
    word("body_digest", 80),
    word("state", 16, nullable=False),
    Column("run_state", LargeBinary),
    Column("created_at", Millis, nullable=False),
    Column("due_at", Millis, nullable=False),  # a ready pause is claimed from then on
    Column("fence", Integer, nullable=False),
    word("worker", 200),
    Column("lease_until", Millis),
    Column("attempts", Integer, nullable=False),
    word("outcome", 16),
    Column("result", LargeBinary),
    word("next_pause_id", IDENT),
    UniqueConstraint("token_id", "idempotency_key"),
)
Index(
    "ix_pauses_claim",
    pauses.c.state,
    pauses.c.due_at,
    sqlite_where=text("state <> 'finished'"),
    postgresql_where=text("state <> 'finished'"),
)

reviews = Table(
    "reviews",
    metadata,
    word("id", IDENT, primary_key=True),
    word("status", 16, nullable=False),
    Column("revision", Integer, nullable=False),
    word("kind", 16, nullable=False),
    word("agent", 200, nullable=False),
    word("tool", 255, index=True),
    word("session", 255, index=True),
    word("environment", 100),
    word("call_id", 255),
    word("requester_user", 64, index=True),
    word("digest", 80, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("action", LargeBinary),
    word("pause_id", IDENT, ForeignKey("pauses.id"), index=True),
    Column("position", Integer, nullable=False),
    word("run_id", IDENT),
    word("effect_id", IDENT),
    word("token_id", IDENT, nullable=False),
    word("idempotency_key", 255),
    word("body_digest", 80),
    Column("created_at", Millis, nullable=False),
    Column("deadline", Millis, nullable=False),
    word("deadline_default", 16, nullable=False),
    Column("rung", Integer, nullable=False),
    Column("due_at", Millis),  # of the next rung or the deadline, while pending
    word("delivery", 16, nullable=False),
    Column("undecidable", Sentence),
    Column("decided_at", Millis),
    Column("consumed_at", Millis),
    Column("outcome", LargeBinary),
    UniqueConstraint("token_id", "idempotency_key"),
)
Index(
    "ix_reviews_due",
    reviews.c.status,
    reviews.c.due_at,
    reviews.c.id,
    sqlite_where=text("due_at IS NOT NULL"),
    postgresql_where=text("due_at IS NOT NULL"),
)
Index("ix_reviews_listed", reviews.c.created_at, reviews.c.id)
Index("ix_reviews_listed_by_status", reviews.c.status, reviews.c.created_at, reviews.c.id)
Index("ix_reviews_listed_by_agent", reviews.c.agent, reviews.c.created_at, reviews.c.id)

votes = Table(
    "votes",
    metadata,
    word("review_id", IDENT, ForeignKey("reviews.id"), primary_key=True),
    word("person", 64, primary_key=True),
    word("digest", 80, nullable=False),
    Column("at", Millis, nullable=False),
)

opened = Table(
    "opened",
    metadata,
    word("review_id", IDENT, ForeignKey("reviews.id"), primary_key=True),
    word("person", 64, primary_key=True),
    word("digest", 80, primary_key=True),
    Column("at", Millis, nullable=False),
)

decisions = Table(
    "decisions",
    metadata,
    word("review_id", IDENT, ForeignKey("reviews.id"), primary_key=True),
    word("kind", 16, nullable=False),
    word("source", 16, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("at", Millis, nullable=False),
)

effects = Table(
    "effects",
    metadata,
    word("id", IDENT, primary_key=True),
    word("review_id", IDENT, ForeignKey("reviews.id"), nullable=False, unique=True),
    word("pause_id", IDENT, index=True),
    Column("fence", Integer, nullable=False),
    word("digest", 80, nullable=False),
    word("key", 80, nullable=False),
    word("state", 16, nullable=False),  # started, succeeded, failed, uncertain, told
    Column("result", LargeBinary),
    Column("started_at", Millis, nullable=False),
    Column("ended_at", Millis),
)

reservations = Table(
    "reservations",
    metadata,
    Column("id", Serial, primary_key=True),
    word("review_id", IDENT, nullable=False, index=True),
    word("rule", 255, nullable=False),
    word("measure", 16, nullable=False),
    word("per", 32, nullable=False),
    word("key", 255, nullable=False),
    word("amount", 80, nullable=False),  # a decimal in text: money never through floats
    Column("at", Millis, nullable=False),
)
Index("ix_reservations_window", reservations.c.rule, reservations.c.per, reservations.c.key, reservations.c.at)

queue = Table(
    "queue",
    metadata,
    Column("id", Serial, primary_key=True),
    word("topic", 32, nullable=False),
    word("subject", IDENT, nullable=False),
    word("state", 16, nullable=False),  # queued, leased, dead
    Column("priority", Integer, nullable=False),
    Column("payload", LargeBinary),
    Column("created_at", Millis, nullable=False),
    Column("due_at", Millis, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("fence", Integer, nullable=False),
    word("worker", 200),
    Column("lease_until", Millis),
    Column("error", Sentence),
    sqlite_autoincrement=True,  # an id is never used again: a stale fence must not fit another item
)
Index(
    "uq_queue_waiting",
    queue.c.topic,
    queue.c.subject,
    unique=True,
    sqlite_where=text("state = 'queued'"),
    postgresql_where=text("state = 'queued'"),
)
Index(
    "uq_queue_leased",
    queue.c.topic,
    queue.c.subject,
    unique=True,
    sqlite_where=text("state = 'leased'"),
    postgresql_where=text("state = 'leased'"),
)
Index(
    "ix_queue_claim",
    queue.c.priority,
    queue.c.due_at,
    queue.c.id,
    sqlite_where=text("state <> 'dead'"),
    postgresql_where=text("state <> 'dead'"),
)

messages = Table(
    "messages",
    metadata,
    word("id", IDENT, primary_key=True),
    word("review_id", IDENT, ForeignKey("reviews.id"), nullable=False, index=True),
    word("kind", 16, nullable=False),  # card, reply
    word("name", 64, nullable=False),  # revision of a card; which reply
    Column("revision", Integer, nullable=False),
    word("digest", 80, nullable=False),
    word("token", 64, unique=True),
    word("channel", 255, nullable=False),  # as the route names it
    word("team_id", 64),
    word("channel_id", 64),
    word("ts", 64),
    word("state", 16, nullable=False),  # new, posting, live, retired, gone, undelivered
    word("shown", 80),  # hash of what Slack shows
    Column("body", LargeBinary),
    Column("created_at", Millis, nullable=False),
    Column("attempted_at", Millis),
    Column("error", Sentence),
    UniqueConstraint("review_id", "kind", "name", "channel"),
)
Index("ix_messages_place", messages.c.channel_id, messages.c.ts)

people = Table(
    "people",
    metadata,
    word("team_id", 64, primary_key=True),
    word("user_id", 64, primary_key=True),
    Column("name", Sentence, nullable=False),
    word("email", 320, index=True),
    Column("deleted", Boolean, nullable=False),
    Column("is_bot", Boolean, nullable=False),
    Column("is_guest", Boolean, nullable=False),
    Column("is_external", Boolean, nullable=False),
    Column("as_of", Millis, nullable=False),
)

groups = Table(
    "groups",
    metadata,
    word("team_id", 64, primary_key=True),
    word("group_id", 64, primary_key=True),
    Column("members", Text, nullable=False),  # user ids, space-separated
    Column("as_of", Millis, nullable=False),
)

workspaces = Table(
    "workspaces",
    metadata,
    word("team_id", 64, primary_key=True),
    word("enterprise_id", 64),
    word("bot_id", 64),
    word("bot_user_id", 64, nullable=False),
    Column("name", Sentence, nullable=False),
    Column("url", Sentence),
    Column("as_of", Millis, nullable=False),
)

trail = Table(
    "trail",
    metadata,
    word("subject", 80, primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("at", Millis, nullable=False),
    word("kind", 64, nullable=False),
    Column("salt", LargeBinary, nullable=False),
    Column("payload", LargeBinary),  # may be purged; the chain still verifies
    word("payload_digest", 80, nullable=False),
    word("previous", 80, nullable=False),
    word("hash", 80, nullable=False),
)
