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
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

Ident = String(64)
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
    Column("id", Ident, primary_key=True),
    Column("agent", String(200), nullable=False),
    Column("secret_hash", String(64), nullable=False, unique=True),
    Column("webhook_secret", LargeBinary, nullable=False),
    Column("created_at", Millis, nullable=False),
    Column("revoked_at", Millis),
)

runs = Table(
    "runs",
    metadata,
    Column("id", Ident, primary_key=True),
    Column("agent", String(200), nullable=False),
    Column("name", String(255), nullable=False),  # the run's own name, given by the agent
    Column("created_at", Millis, nullable=False),
    UniqueConstraint("agent", "name"),
)

pauses = Table(
    "pauses",
    metadata,
    Column("id", Ident, primary_key=True),
    Column("run_id", Ident, ForeignKey("runs.id"), nullable=False, index=True),
    Column("agent", String(200), nullable=False),
    Column("agent_version", String(200)),
    Column("framework", String(100), nullable=False),
    Column("framework_version", String(100), nullable=False),
    Column("token_id", Ident, nullable=False),
    Column("idempotency_key", String(255)),
    Column("body_digest", String(80)),
    Column("state", String(16), nullable=False),
    Column("run_state", LargeBinary),
    Column("created_at", Millis, nullable=False),
    Column("due_at", Millis, nullable=False),  # a ready pause is claimed from then on
    Column("fence", Integer, nullable=False),
    Column("worker", String(200)),
    Column("lease_until", Millis),
    Column("attempts", Integer, nullable=False),
    Column("outcome", String(16)),
    Column("result", LargeBinary),
    Column("next_pause_id", Ident),
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
    Column("id", Ident, primary_key=True),
    Column("status", String(16), nullable=False),
    Column("revision", Integer, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("agent", String(200), nullable=False),
    Column("tool", String(255), index=True),
    Column("session", String(255), index=True),
    Column("environment", String(100)),
    Column("call_id", String(255)),
    Column("requester_user", String(64), index=True),
    Column("digest", String(80), nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("action", LargeBinary),
    Column("pause_id", Ident, ForeignKey("pauses.id"), index=True),
    Column("position", Integer, nullable=False),
    Column("run_id", Ident),
    Column("effect_id", Ident),
    Column("token_id", Ident, nullable=False),
    Column("idempotency_key", String(255)),
    Column("body_digest", String(80)),
    Column("created_at", Millis, nullable=False),
    Column("deadline", Millis, nullable=False),
    Column("deadline_default", String(16), nullable=False),
    Column("rung", Integer, nullable=False),
    Column("due_at", Millis),  # of the next rung or the deadline, while pending
    Column("delivery", String(16), nullable=False),
    Column("undecidable", Text),
    Column("decided_at", Millis),
    Column("consumed_at", Millis),
    Column("outcome", LargeBinary),
    UniqueConstraint("token_id", "idempotency_key"),
)
Index(
    "ix_reviews_due",
    reviews.c.due_at,
    sqlite_where=text("status = 'pending'"),
    postgresql_where=text("status = 'pending'"),
)
Index("ix_reviews_listed", reviews.c.created_at, reviews.c.id)
Index("ix_reviews_listed_by_status", reviews.c.status, reviews.c.created_at, reviews.c.id)
Index("ix_reviews_listed_by_agent", reviews.c.agent, reviews.c.created_at, reviews.c.id)

votes = Table(
    "votes",
    metadata,
    Column("review_id", Ident, ForeignKey("reviews.id"), primary_key=True),
    Column("person", String(64), primary_key=True),
    Column("digest", String(80), nullable=False),
    Column("at", Millis, nullable=False),
)

opened = Table(
    "opened",
    metadata,
    Column("review_id", Ident, ForeignKey("reviews.id"), primary_key=True),
    Column("person", String(64), primary_key=True),
    Column("digest", String(80), primary_key=True),
    Column("at", Millis, nullable=False),
)

decisions = Table(
    "decisions",
    metadata,
    Column("review_id", Ident, ForeignKey("reviews.id"), primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("source", String(16), nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("at", Millis, nullable=False),
)

effects = Table(
    "effects",
    metadata,
    Column("id", Ident, primary_key=True),
    Column("review_id", Ident, ForeignKey("reviews.id"), nullable=False, unique=True),
    Column("pause_id", Ident, index=True),
    Column("fence", Integer, nullable=False),
    Column("digest", String(80), nullable=False),
    Column("key", String(80), nullable=False),
    Column("state", String(16), nullable=False),  # started, succeeded, failed, uncertain, told
    Column("result", LargeBinary),
    Column("started_at", Millis, nullable=False),
    Column("ended_at", Millis),
)

reservations = Table(
    "reservations",
    metadata,
    Column("id", Serial, primary_key=True),
    Column("review_id", Ident, nullable=False, index=True),
    Column("rule", String(255), nullable=False),
    Column("measure", String(16), nullable=False),
    Column("per", String(32), nullable=False),
    Column("key", String(255), nullable=False),
    Column("amount", String(80), nullable=False),  # a decimal in text: money never through floats
    Column("at", Millis, nullable=False),
)
Index("ix_reservations_window", reservations.c.rule, reservations.c.per, reservations.c.key, reservations.c.at)

queue = Table(
    "queue",
    metadata,
    Column("id", Serial, primary_key=True),
    Column("topic", String(32), nullable=False),
    Column("subject", Ident, nullable=False),
    Column("state", String(16), nullable=False),  # queued, leased, dead
    Column("priority", Integer, nullable=False),
    Column("payload", LargeBinary),
    Column("created_at", Millis, nullable=False),
    Column("due_at", Millis, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("fence", Integer, nullable=False),
    Column("worker", String(200)),
    Column("lease_until", Millis),
    Column("error", Text),
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
    Column("id", Ident, primary_key=True),
    Column("review_id", Ident, ForeignKey("reviews.id"), nullable=False, index=True),
    Column("kind", String(16), nullable=False),  # card, reply
    Column("name", String(64), nullable=False),  # revision of a card; which reply
    Column("revision", Integer, nullable=False),
    Column("digest", String(80), nullable=False),
    Column("token", String(64), unique=True),
    Column("channel", String(255), nullable=False),  # as the route names it
    Column("team_id", String(64)),
    Column("channel_id", String(64)),
    Column("ts", String(64)),
    Column("state", String(16), nullable=False),  # new, posting, live, retired, gone, undelivered
    Column("shown", String(80)),  # hash of what Slack shows
    Column("body", LargeBinary),
    Column("created_at", Millis, nullable=False),
    Column("attempted_at", Millis),
    Column("error", Text),
    UniqueConstraint("review_id", "kind", "name", "channel"),
)
Index("ix_messages_place", messages.c.channel_id, messages.c.ts)

people = Table(
    "people",
    metadata,
    Column("team_id", String(64), primary_key=True),
    Column("user_id", String(64), primary_key=True),
    Column("name", Text, nullable=False),
    Column("email", String(320), index=True),
    Column("deleted", Boolean, nullable=False),
    Column("is_bot", Boolean, nullable=False),
    Column("is_guest", Boolean, nullable=False),
    Column("is_external", Boolean, nullable=False),
    Column("as_of", Millis, nullable=False),
)

groups = Table(
    "groups",
    metadata,
    Column("team_id", String(64), primary_key=True),
    Column("group_id", String(64), primary_key=True),
    Column("members", Text, nullable=False),  # user ids, space-separated
    Column("as_of", Millis, nullable=False),
)

workspaces = Table(
    "workspaces",
    metadata,
    Column("team_id", String(64), primary_key=True),
    Column("enterprise_id", String(64)),
    Column("bot_id", String(64)),
    Column("bot_user_id", String(64), nullable=False),
    Column("name", Text, nullable=False),
    Column("url", Text),
    Column("as_of", Millis, nullable=False),
)

trail = Table(
    "trail",
    metadata,
    Column("subject", String(80), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("at", Millis, nullable=False),
    Column("kind", String(64), nullable=False),
    Column("salt", LargeBinary, nullable=False),
    Column("payload", LargeBinary),  # may be purged; the chain still verifies
    Column("payload_digest", String(80), nullable=False),
    Column("previous", String(80), nullable=False),
    Column("hash", String(80), nullable=False),
)
