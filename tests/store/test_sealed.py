"""What people and agents said is unreadable in the database, and opens only where it was put."""

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import LargeBinary, Table, inspect, select, update

from seconder.action import Action
from seconder.decision import Edited, Source
from seconder.errors import KeyMissing
from seconder.keyring import Keyring
from seconder.review import ContextItem, Outcome, OutcomeStatus, PauseOutcome, Requester, Review
from seconder.store.database import Store
from seconder.store.effects import Effect, EffectState
from seconder.store.engine import file_of
from seconder.store.messages import Message
from seconder.store.tables import SEALED, metadata
from seconder.store.tokens import Token
from seconder.store.tx import Tx
from tests.support.store import KEYS, LEASE, NOON, add, add_pause, pause, review

CANARY = "canary-7f3a"


@pytest.fixture(autouse=True)
def _everything(store: Store) -> None:
    """Two rows in every table that has sealed columns, each with the canary wherever somebody may have said it."""
    for n in (1, 2):
        add_pause(store, pause(f"ps{n}", run_state=CANARY.encode()), ready=True)
        action = Action(tool="t", arguments={"card": CANARY, CANARY: 1}, summary=CANARY, schema={"title": CANARY})
        interrupt = replace(
            review().interrupt, action=action, reason=CANARY, context=(ContextItem(label=CANARY, text=CANARY),),
            requester=Requester(name=CANARY, email=f"{CANARY}@example.com"), callback_url=f"https://x/{CANARY}",
        )  # fmt: skip
        pending = add(store, review(f"rv{n}", interrupt=interrupt))
        store.write(partial(fill, n, pending))


def fill(n: int, pending: Review, tx: Tx) -> None:
    assert pending.action is not None
    edited = Edited(by=("U1",), source=Source.PERSON, at=NOON, action=pending.action)
    tx.reviews.decide(pending, edited, at=NOON)
    tx.reviews.set_outcome(pending.id, Outcome(status=OutcomeStatus.FAILED, at=NOON, result=CANARY, error=CANARY))
    effect = Effect(
        id=f"ef{n}", review_id=pending.id, pause_id=None, fence=1, digest="d", key="k", state=EffectState.STARTED,
        started_at=NOON,
    )  # fmt: skip
    tx.effects.add(effect)
    tx.effects.end(effect, EffectState.SUCCEEDED, of=EffectState.STARTED, at=NOON, result=CANARY)
    tx.queue.put("webhook", pending.id, now=NOON, payload={"body": CANARY})
    tx.messages.add(
        Message(
            id=f"ms{n}", review_id=pending.id, kind="reply", name="n", revision=1, digest="d", channel="c",
            state="new", created_at=NOON, body={"text": CANARY},
        )
    )  # fmt: skip
    token = Token(id=f"tk{n}", agent="a", created_at=NOON, revoked_at=None)
    tx.tokens.add(token, secret=f"{CANARY}{n}", webhook_secret=f"whsec_{CANARY}")
    tx.trail.append(f"review:{pending.id}", "submitted", {"arguments": CANARY}, at=NOON)
    claimed = tx.pauses.claim(["support"], worker="w", now=NOON + timedelta(hours=1), lease=LEASE)
    assert claimed is not None
    done = {"final_output": CANARY, "error": CANARY}
    tx.pauses.finish(claimed[0], fence=claimed[1], outcome=PauseOutcome.FAILED, result=done)


def places() -> Iterator[tuple[Table, str]]:
    for name, columns in SEALED.items():
        for column in columns:
            yield metadata.tables[name], column


def test_nothing_that_was_said_is_readable_in_the_database(store: Store, tmp_path: Path) -> None:
    file = file_of(store.url)
    if file is not None:
        raw = b"".join(path.read_bytes() for path in sorted(tmp_path.glob(f"{file.name}*")))
        assert b"refunds" not in raw
        assert b"submitted" in raw
        assert CANARY.encode() not in raw
    with store.engine.connect() as connection:
        for table in inspect(store.engine).get_table_names():
            rows = repr(connection.exec_driver_sql(f'SELECT * FROM "{table}"').all())  # noqa: S608
            assert CANARY not in rows, table


def test_every_column_of_bytes_is_sealed_or_a_salt() -> None:
    columns = {(t.name, c.name) for t in metadata.tables.values() for c in t.c if isinstance(c.type, LargeBinary)}

    assert columns == {(table.name, column) for table, column in places()} | {("trail", "salt")}


@pytest.mark.parametrize(("table", "column"), list(places()), ids=lambda x: getattr(x, "name", x))
def test_a_value_moved_to_another_row_does_not_open(store: Store, table: Table, column: str) -> None:
    def swap(tx: Tx) -> None:
        keys = list(table.primary_key.columns)
        rows = tx.connection.execute(select(*keys, table.c[column])).all()
        assert len(rows) == 2
        assert all(row[-1] is not None for row in rows)
        for row, other in (rows, rows[::-1]):
            mine = [key == value for key, value in zip(keys, row, strict=False)]
            tx.connection.execute(update(table).where(*mine).values({column: other[-1]}))

    store.write(swap)
    with pytest.raises(KeyMissing, match=f"{table.name}.{column}"):
        store.read(read_everything)


def read_everything(tx: Tx) -> None:
    for n in (1, 2):
        tx.reviews.get(f"rv{n}")
        tx.pauses.get(f"ps{n}", (), with_state=True)
        tx.effects.get(f"ef{n}")
        tx.messages.of_review(f"rv{n}")
        tx.tokens.webhook_secret(f"tk{n}")
        tx.trail.entries(f"review:rv{n}")
    tx.queue.listed()


def test_with_a_new_key_in_front_what_was_sealed_before_still_opens(store: Store) -> None:
    ring = Keyring((b"n" * 32, *KEYS), random=os.urandom)
    newer = Store(store.url, ring, random=os.urandom)
    newer.read(read_everything)
    newer.close()


def test_without_the_key_nothing_opens_and_the_error_names_the_place(store: Store) -> None:
    other = Store(store.url, Keyring((b"o" * 32,), random=os.urandom), random=os.urandom)
    with pytest.raises(KeyMissing, match=r"reviews\.body of rv1"):
        other.read(read_everything)
    other.close()
