"""First tables."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

MILLIS = sa.BigInteger()
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    create_settings()
    create_runs()
    create_reviews()
    create_deciding()
    create_effects()
    create_outbox()
    create_people()
    create_trail()


def where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


def create_settings() -> None:
    op.create_table(
        "clock",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("offset_ms", MILLIS, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_clock"),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("agent", sa.String(200), nullable=False),
        sa.Column("secret_hash", sa.String(64), nullable=False),
        sa.Column("webhook_secret", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", MILLIS, nullable=False),
        sa.Column("revoked_at", MILLIS),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.UniqueConstraint("secret_hash", name="uq_tokens_secret_hash"),
    )


def create_runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("agent", sa.String(200), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("created_at", MILLIS, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.UniqueConstraint("agent", "name", name="uq_runs_agent_name"),
    )
    op.create_table(
        "pauses",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("run_id", sa.String(64), nullable=False),
        sa.Column("agent", sa.String(200), nullable=False),
        sa.Column("agent_version", sa.String(200)),
        sa.Column("framework", sa.String(100), nullable=False),
        sa.Column("framework_version", sa.String(100), nullable=False),
        sa.Column("token_id", sa.String(64), nullable=False),
        sa.Column("idempotency_key", sa.String(255)),
        sa.Column("body_digest", sa.String(80)),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("run_state", sa.LargeBinary()),
        sa.Column("created_at", MILLIS, nullable=False),
        sa.Column("due_at", MILLIS, nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(200)),
        sa.Column("lease_until", MILLIS),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(16)),
        sa.Column("result", sa.LargeBinary()),
        sa.Column("next_pause_id", sa.String(64)),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_pauses_run_id_runs"),
        sa.PrimaryKeyConstraint("id", name="pk_pauses"),
        sa.UniqueConstraint("token_id", "idempotency_key", name="uq_pauses_token_id_idempotency_key"),
    )
    op.create_index("ix_pauses_claim", "pauses", ["state", "due_at"], **where("state <> 'finished'"))
    op.create_index("ix_pauses_run_id", "pauses", ["run_id"])


def create_reviews() -> None:
    op.create_table(
        "reviews",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("agent", sa.String(200), nullable=False),
        sa.Column("tool", sa.String(255)),
        sa.Column("session", sa.String(255)),
        sa.Column("environment", sa.String(100)),
        sa.Column("call_id", sa.String(255)),
        sa.Column("requester_user", sa.String(64)),
        sa.Column("digest", sa.String(80), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("action", sa.LargeBinary()),
        sa.Column("pause_id", sa.String(64)),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(64)),
        sa.Column("effect_id", sa.String(64)),
        sa.Column("token_id", sa.String(64), nullable=False),
        sa.Column("idempotency_key", sa.String(255)),
        sa.Column("body_digest", sa.String(80)),
        sa.Column("created_at", MILLIS, nullable=False),
        sa.Column("deadline", MILLIS, nullable=False),
        sa.Column("deadline_default", sa.String(16), nullable=False),
        sa.Column("rung", sa.Integer(), nullable=False),
        sa.Column("due_at", MILLIS),
        sa.Column("delivery", sa.String(16), nullable=False),
        sa.Column("undecidable", sa.Text()),
        sa.Column("decided_at", MILLIS),
        sa.Column("consumed_at", MILLIS),
        sa.Column("outcome", sa.LargeBinary()),
        sa.ForeignKeyConstraint(["pause_id"], ["pauses.id"], name="fk_reviews_pause_id_pauses"),
        sa.PrimaryKeyConstraint("id", name="pk_reviews"),
        sa.UniqueConstraint("token_id", "idempotency_key", name="uq_reviews_token_id_idempotency_key"),
    )
    op.create_index("ix_reviews_due", "reviews", ["status", "due_at", "id"], **where("due_at IS NOT NULL"))
    op.create_index("ix_reviews_listed", "reviews", ["created_at", "id"])
    op.create_index("ix_reviews_listed_by_agent", "reviews", ["agent", "created_at", "id"])
    op.create_index("ix_reviews_listed_by_status", "reviews", ["status", "created_at", "id"])
    op.create_index("ix_reviews_pause_id", "reviews", ["pause_id"])
    op.create_index("ix_reviews_requester_user", "reviews", ["requester_user"])
    op.create_index("ix_reviews_session", "reviews", ["session"])
    op.create_index("ix_reviews_tool", "reviews", ["tool"])


def create_deciding() -> None:
    op.create_table(
        "votes",
        sa.Column("review_id", sa.String(64), nullable=False),
        sa.Column("person", sa.String(64), nullable=False),
        sa.Column("digest", sa.String(80), nullable=False),
        sa.Column("at", MILLIS, nullable=False),
        sa.ForeignKeyConstraint(["review_id"], ["reviews.id"], name="fk_votes_review_id_reviews"),
        sa.PrimaryKeyConstraint("review_id", "person", name="pk_votes"),
    )
    op.create_table(
        "opened",
        sa.Column("review_id", sa.String(64), nullable=False),
        sa.Column("person", sa.String(64), nullable=False),
        sa.Column("digest", sa.String(80), nullable=False),
        sa.Column("at", MILLIS, nullable=False),
        sa.ForeignKeyConstraint(["review_id"], ["reviews.id"], name="fk_opened_review_id_reviews"),
        sa.PrimaryKeyConstraint("review_id", "person", "digest", name="pk_opened"),
    )
    op.create_table(
        "decisions",
        sa.Column("review_id", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("source", sa.String(16), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("at", MILLIS, nullable=False),
        sa.ForeignKeyConstraint(["review_id"], ["reviews.id"], name="fk_decisions_review_id_reviews"),
        sa.PrimaryKeyConstraint("review_id", name="pk_decisions"),
    )


def create_effects() -> None:
    op.create_table(
        "effects",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("review_id", sa.String(64), nullable=False),
        sa.Column("pause_id", sa.String(64)),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(80), nullable=False),
        sa.Column("key", sa.String(80), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("result", sa.LargeBinary()),
        sa.Column("started_at", MILLIS, nullable=False),
        sa.Column("ended_at", MILLIS),
        sa.ForeignKeyConstraint(["review_id"], ["reviews.id"], name="fk_effects_review_id_reviews"),
        sa.PrimaryKeyConstraint("id", name="pk_effects"),
        sa.UniqueConstraint("review_id", name="uq_effects_review_id"),
    )
    op.create_index("ix_effects_pause_id", "effects", ["pause_id"])
    op.create_table(
        "reservations",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("review_id", sa.String(64), nullable=False),
        sa.Column("rule", sa.String(255), nullable=False),
        sa.Column("measure", sa.String(16), nullable=False),
        sa.Column("per", sa.String(32), nullable=False),
        sa.Column("key", sa.String(255), nullable=False),
        sa.Column("amount", sa.String(80), nullable=False),
        sa.Column("at", MILLIS, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_reservations"),
    )
    op.create_index("ix_reservations_review_id", "reservations", ["review_id"])
    op.create_index("ix_reservations_window", "reservations", ["rule", "per", "key", "at"])


def create_outbox() -> None:
    op.create_table(
        "queue",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("topic", sa.String(32), nullable=False),
        sa.Column("subject", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("payload", sa.LargeBinary()),
        sa.Column("created_at", MILLIS, nullable=False),
        sa.Column("due_at", MILLIS, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(200)),
        sa.Column("lease_until", MILLIS),
        sa.Column("error", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="pk_queue"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_queue_claim", "queue", ["priority", "due_at", "id"], **where("state <> 'dead'"))
    op.create_index("uq_queue_leased", "queue", ["topic", "subject"], unique=True, **where("state = 'leased'"))
    op.create_index("uq_queue_waiting", "queue", ["topic", "subject"], unique=True, **where("state = 'queued'"))
    op.create_table(
        "messages",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("review_id", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(80), nullable=False),
        sa.Column("token", sa.String(64)),
        sa.Column("channel", sa.String(255), nullable=False),
        sa.Column("team_id", sa.String(64)),
        sa.Column("channel_id", sa.String(64)),
        sa.Column("ts", sa.String(64)),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("shown", sa.String(80)),
        sa.Column("body", sa.LargeBinary()),
        sa.Column("created_at", MILLIS, nullable=False),
        sa.Column("attempted_at", MILLIS),
        sa.Column("error", sa.Text()),
        sa.ForeignKeyConstraint(["review_id"], ["reviews.id"], name="fk_messages_review_id_reviews"),
        sa.PrimaryKeyConstraint("id", name="pk_messages"),
        sa.UniqueConstraint("review_id", "kind", "name", "channel", name="uq_messages_review_id_kind_name_channel"),
        sa.UniqueConstraint("token", name="uq_messages_token"),
    )
    op.create_index("ix_messages_place", "messages", ["channel_id", "ts"])
    op.create_index("ix_messages_review_id", "messages", ["review_id"])


def create_people() -> None:
    op.create_table(
        "people",
        sa.Column("team_id", sa.String(64), nullable=False),
        sa.Column("user_id", sa.String(64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("email", sa.String(320)),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("is_bot", sa.Boolean(), nullable=False),
        sa.Column("is_guest", sa.Boolean(), nullable=False),
        sa.Column("is_external", sa.Boolean(), nullable=False),
        sa.Column("as_of", MILLIS, nullable=False),
        sa.PrimaryKeyConstraint("team_id", "user_id", name="pk_people"),
    )
    op.create_index("ix_people_email", "people", ["email"])
    op.create_table(
        "groups",
        sa.Column("team_id", sa.String(64), nullable=False),
        sa.Column("group_id", sa.String(64), nullable=False),
        sa.Column("members", sa.Text(), nullable=False),
        sa.Column("as_of", MILLIS, nullable=False),
        sa.PrimaryKeyConstraint("team_id", "group_id", name="pk_groups"),
    )
    op.create_table(
        "workspaces",
        sa.Column("team_id", sa.String(64), nullable=False),
        sa.Column("enterprise_id", sa.String(64)),
        sa.Column("bot_id", sa.String(64)),
        sa.Column("bot_user_id", sa.String(64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("url", sa.Text()),
        sa.Column("as_of", MILLIS, nullable=False),
        sa.PrimaryKeyConstraint("team_id", name="pk_workspaces"),
    )


def create_trail() -> None:
    op.create_table(
        "trail",
        sa.Column("subject", sa.String(80), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("at", MILLIS, nullable=False),
        sa.Column("kind", sa.String(64), nullable=False),
        sa.Column("salt", sa.LargeBinary(), nullable=False),
        sa.Column("payload", sa.LargeBinary()),
        sa.Column("payload_digest", sa.String(80), nullable=False),
        sa.Column("previous", sa.String(80), nullable=False),
        sa.Column("hash", sa.String(80), nullable=False),
        sa.PrimaryKeyConstraint("subject", "seq", name="pk_trail"),
    )
