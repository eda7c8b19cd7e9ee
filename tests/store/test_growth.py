"""What runs all the time does not read what is finished: each hot query goes through its index."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from seconder.review import Status
from seconder.store.database import Store
from seconder.store.tx import Tx
from tests.support.store import NOON, add, opened, review

HOT: dict[str, tuple[Callable[[Tx], Any], str]] = {
    "due reviews": (lambda tx: tx.reviews.due(NOON, 100), "ix_reviews_due"),
    "a pause to claim": (lambda tx: tx.pauses.claimable(["support"], NOON), "ix_pauses_claim"),
    "an item to claim": (lambda tx: tx.queue.claimable(["card"], NOON), "ix_queue_claim"),
    "the agent's reviews": (
        lambda tx: tx.reviews.listed(agent="support", status=None, limit=50),
        "ix_reviews_listed_by_agent",
    ),
    "all reviews": (lambda tx: tx.reviews.listed(agent=None, status=None, limit=50), "ix_reviews_listed"),
    "open reviews": (
        lambda tx: tx.reviews.listed(agent=None, status=Status.PENDING, limit=50),
        "ix_reviews_listed_by_status",
    ),
    "a review": (lambda tx: tx.reviews.get("rv1"), "sqlite_autoindex_reviews_1"),
    "a pause's reviews": (lambda tx: tx.reviews.of_pause("ps1"), "ix_reviews_pause_id"),
    "a button's card": (lambda tx: tx.messages.by_token("t"), "sqlite_autoindex_messages"),
    "a chain's end": (lambda tx: tx.trail.append("admin", "k", None, at=NOON), "sqlite_autoindex_trail_1"),
    "a token": (lambda tx: tx.tokens.by_secret("s"), "sqlite_autoindex_tokens"),
    "an effect": (lambda tx: tx.effects.of_review("rv1"), "sqlite_autoindex_effects"),
}

SORTED = {"a pause to claim", "a pause's reviews"}  # few rows, sorted by hand


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with opened(f"sqlite:///{tmp_path / 's.db'}") as store:
        add(store, review("rv1"))
        yield store


@contextmanager
def selects(store: Store) -> Iterator[list[tuple[str, Any]]]:
    """The SELECT statements that run meanwhile, with their parameters."""
    seen: list[tuple[str, Any]] = []

    def note(_c: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        if statement.startswith("SELECT"):
            seen.append((statement, parameters))

    event.listen(store._readers, "before_cursor_execute", note)
    yield seen
    event.remove(store._readers, "before_cursor_execute", note)


@pytest.mark.parametrize("name", HOT)
def test_a_hot_query_goes_through_its_index(store: Store, name: str) -> None:
    run, index = HOT[name]
    with selects(store) as seen:
        store.read(run)
    statement, parameters = seen[0]
    with store.engine.connect() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
    steps = [row.detail for row in plan]

    assert index in steps[0], steps
    assert not any("SCAN" in step and "INDEX" not in step for step in steps), steps
    assert not any("TEMP B-TREE FOR ORDER BY" in step for step in steps) or name in SORTED, steps
