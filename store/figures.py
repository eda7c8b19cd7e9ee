"""Counts for the metrics, read from the rows when somebody asks."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, func, select

from seconder.store.row import from_millis
from seconder.store.tables import decisions, pauses, queue, reviews


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """How things stand; counts that are zero are left out."""

    reviews: dict[str, int]  #: by status
    undelivered: int  #: pending, and Slack refuses the card
    oldest_pending: timedelta  #: zero where nothing is pending
    decisions: dict[tuple[str, str], int]  #: by kind and source
    pauses: dict[str, int]  #: by state
    queue: dict[tuple[str, str], int]  #: by topic and state


def figures(connection: Connection, now: datetime) -> Figures:
    """Counted in this transaction."""
    pending = reviews.c.status == "pending"
    oldest = connection.execute(select(func.min(reviews.c.created_at)).where(pending)).scalar()
    refused = select(func.count()).select_from(reviews).where(pending, reviews.c.delivery == "undelivered")
    by_status = select(reviews.c.status, func.count()).group_by(reviews.c.status)
    by_kind = select(decisions.c.kind, decisions.c.source, func.count()).group_by(decisions.c.kind, decisions.c.source)
    by_state = select(pauses.c.state, func.count()).group_by(pauses.c.state)
    by_topic = select(queue.c.topic, queue.c.state, func.count()).group_by(queue.c.topic, queue.c.state)
    return Figures(
        reviews=dict(connection.execute(by_status).all()),
        undelivered=connection.execute(refused).scalar_one(),
        oldest_pending=timedelta(0) if oldest is None else now - from_millis(oldest),
        decisions={(kind, source): count for kind, source, count in connection.execute(by_kind)},
        pauses=dict(connection.execute(by_state).all()),
        queue={(topic, state): count for topic, state, count in connection.execute(by_topic)},
    )
