"""What the store costs over the database itself: one decision, in the same run, as a ratio.

    python -m benchmarks.store [URL]

The floor writes the same rows as bytes with the driver alone, in transactions of the same kind, on
the same disk, in turn with the store, so that a slow disk slows both. Absolute numbers say more
about the disk than about the store.
"""

import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import make_url

from seconder.action import Action
from seconder.decision import Approved, Route, Source, Verdict, VerdictKind
from seconder.keyring import Keyring
from seconder.review import Agent, Delivery, Interrupt, Kind, Review, Status
from seconder.store import schema
from seconder.store.database import Store
from seconder.store.reviews import Submitted
from seconder.store.tx import Tx

ROUNDS = 5
OPERATIONS = 60  # in a round, of each
LEASE = timedelta(seconds=10)
BLOB = os.urandom(1024)

ASK = Verdict(
    kind=VerdictKind.ASK, rule="r", because="b", source="p:1", route=Route(channel="#refunds", roles=("finance",))
)


def submit(ident: str, tx: Tx) -> None:
    """What `desk.submit` writes: review, trail entry, queue item."""
    action = Action(tool="issue_refund", arguments={"order_id": ident, "amount": 240})
    now = tx.now()
    review = Review(
        id=ident, status=Status.PENDING, revision=1, digest=action.digest, verdict=ASK, created_at=now, rung=0,
        interrupt=Interrupt(kind=Kind.TOOL_CALL, agent=Agent(name="support"), action=action, reason="x" * 500),
        deadline=now + LEASE, deadline_default="expire", delivery=Delivery.QUEUED, agent_token="tk1",  # noqa: S106
    )  # fmt: skip
    tx.reviews.add(review, Submitted(), due_at=now + LEASE)
    tx.trail.append(f"review:{ident}", "submitted", {"digest": action.digest}, at=now)
    tx.queue.put("card", ident, now=now)


def decide(ident: str, tx: Tx) -> None:
    """What `desk.decide` writes: decision, trail entry, queue item."""
    review = tx.reviews.get(ident, lock=True)
    now = tx.now()
    tx.reviews.decide(review, Approved(by=("U1",), source=Source.PERSON, at=now), at=now)
    tx.trail.append(f"review:{ident}", "decided", {"digest": review.digest, "by": ["U1"]}, at=now)
    tx.queue.put("card", ident, now=now)


def work(_ident: str, tx: Tx) -> None:
    """One claim of the queue."""
    [item] = tx.queue.claim(["card"], worker="w", now=tx.now(), lease=LEASE)
    tx.queue.done(item)


class Floor:
    """The same three transactions on plain tables: what any product must pay."""

    def __init__(self, url: str) -> None:
        parsed = make_url(url)
        self.mark, self.begin, self.db = "?", "BEGIN IMMEDIATE", None
        kind = "BLOB"
        connection: Any
        if parsed.get_backend_name() == "sqlite":
            connection = sqlite3.connect(f"{parsed.database}.floor", isolation_level=None)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
        else:
            dsn = parsed.set(drivername="postgresql").render_as_string(hide_password=False)
            connection = psycopg.connect(dsn, autocommit=True)
            self.mark, self.begin, kind = "%s", "BEGIN", "BYTEA"
        self.db = connection
        for name in ("floor_reviews", "floor_trail", "floor_queue", "floor_decisions"):
            connection.execute(f"DROP TABLE IF EXISTS {name}")
            connection.execute(f"CREATE TABLE {name} (id TEXT PRIMARY KEY, status TEXT, body {kind})")

    def transaction(self, *statements: tuple[str, tuple[Any, ...]]) -> None:
        assert self.db is not None
        self.db.execute(self.begin)
        for statement, values in statements:
            self.db.execute(statement.replace("?", self.mark), values)
        self.db.execute("COMMIT")

    def submit(self, ident: str) -> None:
        self.transaction(
            ("INSERT INTO floor_reviews VALUES (?, 'pending', ?)", (ident, BLOB)),
            ("INSERT INTO floor_trail VALUES (?, 'submitted', ?)", (f"{ident}:1", BLOB[:200])),
            ("INSERT INTO floor_queue VALUES (?, 'queued', NULL)", (ident,)),
        )

    def decide(self, ident: str) -> None:
        self.transaction(
            ("SELECT * FROM floor_reviews WHERE id = ?", (ident,)),
            ("UPDATE floor_reviews SET status = 'decided' WHERE id = ? AND status = 'pending'", (ident,)),
            ("INSERT INTO floor_decisions VALUES (?, 'approved', ?)", (ident, BLOB[:200])),
            ("INSERT INTO floor_trail VALUES (?, 'decided', ?)", (f"{ident}:2", BLOB[:200])),
            ("INSERT INTO floor_queue VALUES (?, 'queued', NULL) ON CONFLICT (id) DO NOTHING", (ident,)),
        )

    def work(self, ident: str) -> None:
        self.transaction(
            ("SELECT * FROM floor_queue WHERE status = 'queued' ORDER BY id LIMIT 1", ()),
            ("UPDATE floor_queue SET status = 'leased' WHERE id = ?", (ident,)),
            ("DELETE FROM floor_queue WHERE id = ?", (ident,)),
        )


def milliseconds(run: Callable[[str], object], idents: list[str]) -> float:
    """The median of one operation."""
    times = []
    for ident in idents:
        start = time.perf_counter()
        run(ident)
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def main(url: str) -> None:
    schema.upgrade(url)
    store = Store(url, Keyring((os.urandom(32),), random=os.urandom), random=os.urandom)
    floor = Floor(url)
    steps: dict[str, tuple[Callable[[str, Tx], None], Callable[[str], None]]] = {
        "submit": (submit, floor.submit),
        "decide": (decide, floor.decide),
        "work": (work, floor.work),
    }
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in steps}
    for turn in range(ROUNDS):
        idents = [f"rv{os.getpid()}-{turn}-{number}" for number in range(OPERATIONS)]
        for name, (ours, theirs) in steps.items():
            ms = milliseconds(lambda ident, ours=ours: store.write(partial(ours, ident)), idents)  # type: ignore[misc]
            measured[name].append((ms, milliseconds(theirs, idents)))
    store.close()
    print(f"{make_url(url).get_backend_name()}: milliseconds, medians of {ROUNDS} rounds of {OPERATIONS}")
    for name, pairs in measured.items():
        ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
        print(f"  {name:8} store {ours:6.2f}   floor {theirs:6.2f}   ratio {ours / theirs:5.2f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(sys.argv[1] if len(sys.argv) > 1 else f"sqlite:///{Path(folder) / 'bench.db'}")
