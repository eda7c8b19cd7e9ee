"""Sealing again: every sealed column of every table, on both databases."""

import os
from functools import partial

import pytest

from seconder.errors import KeyMissing
from seconder.keyring import Keyring
from seconder.review import Outcome, OutcomeStatus, PauseOutcome, Status
from seconder.store import rotate
from seconder.store.database import Store
from seconder.store.effects import Effect, EffectState
from seconder.store.messages import Message
from seconder.store.tables import SEALED, metadata
from seconder.store.tokens import Token
from seconder.store.tx import Tx
from tests.support.store import KEYS, LEASE, NOON, add, add_pause, edited, opened, pause, review

NEW = b"n" * 32


def store_on(url: str, *keys: bytes) -> Store:
    return Store(url, Keyring(keys, random=os.urandom), random=os.urandom)


@pytest.fixture
def url(database_url: str) -> str:
    """A database in which every sealed column is filled, under the old key."""
    with opened(database_url) as store:
        fill(store)
    return database_url


def fill(store: Store) -> None:
    add_pause(store, pause(), ready=True)
    add(store, review(status=Status.DECIDED, decision=edited(amount=120), decided_at=NOON, pause_id="ps1"))

    def rest(tx: Tx) -> None:
        tx.reviews.set_outcome("rv1", Outcome(status=OutcomeStatus.SUCCEEDED, at=NOON, result={"refund": "R-1"}))
        claimed = tx.pauses.claim(["support"], worker="w", now=NOON, lease=LEASE)
        assert claimed is not None
        tx.pauses.finish("ps1", fence=claimed[1], outcome=PauseOutcome.FAILED, result={"error": "it broke"})
        effect = Effect(
            id="ef1", review_id="rv1", pause_id="ps1", fence=1, digest="d", key="k", state=EffectState.STARTED,
            started_at=NOON,
        )  # fmt: skip
        tx.effects.add(effect)
        tx.effects.end(effect, EffectState.SUCCEEDED, of=EffectState.STARTED, at=NOON, result={"id": 7})
        tx.queue.put("notify", "rv1", now=NOON, payload={"to": "somebody"})
        tx.messages.add(
            Message(
                id="ms1",
                review_id="rv1",
                kind="reply",
                name="note",
                revision=1,
                digest="d",
                channel="#c",
                state="new",
                created_at=NOON,
                body={"text": "hello"},
            )
        )
        token = Token(id="at1", agent="support", created_at=NOON, revoked_at=None)
        tx.tokens.add(token, secret="sdr_x", webhook_secret="whsec_x")
        tx.trail.append("review:rv1", "decided", {"by": "U1"}, at=NOON)

    store.write(rest)


def everything(tx: Tx) -> list[object]:
    """All that is sealed, opened."""
    return [
        tx.reviews.get("rv1"),
        tx.pauses.get("ps1", (), with_state=True),
        tx.effects.get("ef1"),
        tx.queue.listed(),
        tx.messages.of_review("rv1"),
        tx.tokens.webhook_secret("at1"),
        tx.trail.entries("review:rv1"),
    ]


def turn(store: Store) -> int:
    changed = 0
    for name in rotate.TABLES:
        keys = store.read(partial(rotate.stale, name=name))
        changed += store.write(partial(rotate.reseal, name=name, keys=keys))
    return changed


def note(tx: Tx, subject: str) -> None:
    tx.trail.append(subject, "note", {}, at=NOON)


def test_the_example_fills_every_sealed_column(url: str) -> None:
    store = store_on(url, *KEYS)
    with store.engine.connect() as connection:
        for name, columns in SEALED.items():
            table = metadata.tables[name]
            rows = connection.execute(table.select()).mappings().all()
            assert [c for c in columns if not any(row[c] is not None for row in rows)] == [], name
    store.close()


def test_after_a_rotation_everything_opens_with_the_new_key_alone(url: str) -> None:
    both = store_on(url, NEW, *KEYS)
    before = both.read(everything)
    assert turn(both) == len(SEALED)
    assert turn(both) == 0
    both.close()

    new = store_on(url, NEW)
    assert new.read(everything) == before
    assert new.read(lambda tx: [*tx.trail.breaks("review:rv1")]) == []
    assert new.read(rotate.sample) == len(SEALED)
    new.close()


def test_without_the_old_key_nothing_is_changed(url: str) -> None:
    new, old = store_on(url, NEW), store_on(url, *KEYS)
    before = old.read(everything)

    with pytest.raises(KeyMissing):
        turn(new)

    assert old.read(everything) == before
    new.close()
    old.close()


def test_more_rows_than_one_page_are_all_found(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotate, "PAGE", 2)
    store = store_on(url, NEW, *KEYS)
    old = store_on(url, *KEYS)
    for _ in range(5):
        store.write(partial(note, subject="admin"))
        old.write(partial(note, subject="review:rv1"))

    keys = store.read(lambda tx: rotate.stale(tx, "trail"))

    assert keys == [("review:rv1", seq) for seq in range(1, 7)]
    store.close()
    old.close()


def test_a_row_that_is_gone_meanwhile_is_left_alone(url: str) -> None:
    store = store_on(url, NEW, *KEYS)

    assert store.write(lambda tx: rotate.reseal(tx, "queue", [(999,)])) == 0
    store.close()
