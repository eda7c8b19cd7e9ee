"""The trail: every change of an entry is found; payloads can go and the chain still verifies."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import delete, update

from seconder.store.database import Store
from seconder.store.tables import trail
from seconder.store.trail import Break, Entry
from seconder.store.tx import Tx
from tests.support.store import NOON, SECOND

SUBJECTS = ("admin", "review:rv1", "review:rv2")


@pytest.fixture(autouse=True)
def _entries(store: Store) -> None:
    for subject in SUBJECTS:
        for seq in range(1, 5):
            append(store, subject, f"step {seq}", {"n": seq, "big": 10**30, "text": "é \x00 \ud800"})


def append(store: Store, subject: str, kind: str, payload: Any) -> None:
    store.write(lambda tx: tx.trail.append(subject, kind, payload, at=NOON + SECOND))


def changed(tx: Tx, seq: int, /, **values: Any) -> None:
    mine = (trail.c.subject == "review:rv1", trail.c.seq == seq)
    assert tx.connection.execute(update(trail).where(*mine).values(**values)).rowcount == 1


def found(store: Store, tamper: Callable[[Tx], object]) -> list[Break]:
    """What `breaks` says after this was done to the table; nothing of it stays."""

    def look(tx: Tx) -> list[Break]:
        tamper(tx)
        return [found for subject in tx.trail.subjects() for found in tx.trail.breaks(subject)]

    return store.read(look)


def untouched(_: Tx) -> None:
    return


def column(store: Store, seq: int, name: str, subject: str = "review:rv1") -> Any:
    def look(tx: Tx) -> Any:
        query = trail.select().where(trail.c.subject == subject, trail.c.seq == seq)
        return tx.connection.execute(query).mappings().one()[name]

    return store.read(look)


def test_entries_come_back_in_order(store: Store) -> None:
    entries = store.read(lambda tx: tx.trail.entries("review:rv1"))

    assert entries == [
        Entry(
            subject="review:rv1", seq=seq, at=NOON + SECOND, kind=f"step {seq}",
            payload={"n": seq, "big": 10**30, "text": "é \x00 \ud800"}, hash=column(store, seq, "hash"),
        )
        for seq in range(1, 5)
    ]  # fmt: skip
    assert store.read(lambda tx: tx.trail.subjects()) == list(SUBJECTS)


def test_an_untouched_trail_verifies(store: Store) -> None:
    assert found(store, untouched) == []


OTHERS = {
    "subject": "review:rv9",
    "seq": 9,
    "at": 0,
    "kind": "approved",
    "salt": b"another salt!!!!",
    "payload": b"1" + b"\x00" * 60,
    "payload_digest": "sha256:" + "0" * 64,
    "previous": "sha256:" + "0" * 64,
    "hash": "sha256:" + "0" * 64,
}


def test_a_changed_column_is_found(store: Store) -> None:
    assert OTHERS.keys() == {column.name for column in trail.c}
    for name, value in OTHERS.items():
        for seq in (1, 2, 4):
            assert found(store, lambda tx, n=name, v=value, s=seq: changed(tx, s, **{n: v})), (name, seq)  # type: ignore[misc]
    assert found(store, lambda tx: changed(tx, 2, payload=b""))


def test_a_column_swapped_between_entries_is_found(store: Store) -> None:
    for name in set(OTHERS) - {"subject", "seq", "at"}:
        first, second = column(store, 2, name), column(store, 3, name)

        def swap(tx: Tx, name: str = name, first: Any = first, second: Any = second) -> None:
            changed(tx, 2, **{name: second})
            changed(tx, 3, **{name: first})

        assert found(store, swap), name


def test_two_entries_that_changed_places_are_found(store: Store) -> None:
    def swap(tx: Tx) -> None:
        for seq, new in ((2, 99), (3, 2), (99, 3)):
            changed(tx, seq, seq=new)

    assert found(store, swap)


@pytest.mark.parametrize("seq", [1, 2, 3])
def test_a_deleted_entry_is_found(store: Store, seq: int) -> None:
    mine = (trail.c.subject == "review:rv1", trail.c.seq == seq)
    says = found(store, lambda tx: tx.connection.execute(delete(trail).where(*mine)))

    assert Break(subject="review:rv1", seq=seq + 1, why=f"entry {seq} is missing") in says


def test_an_entry_copied_from_another_chain_is_found(store: Store) -> None:
    names = ("salt", "payload", "payload_digest", "previous", "hash", "kind")
    copied = {name: column(store, 2, name, "review:rv2") for name in names}

    assert found(store, lambda tx: changed(tx, 2, **copied))


def test_a_purged_payload_is_gone_and_the_chain_verifies(store: Store) -> None:
    store.write(lambda tx: changed(tx, 2, payload=None))

    assert found(store, untouched) == []
    entries = store.read(lambda tx: tx.trail.entries("review:rv1"))
    assert [entry.payload is None for entry in entries] == [False, True, False, False]
    append(store, "review:rv1", "after", None)
    assert found(store, untouched) == []


def test_appending_at_once_never_forks_a_chain(store: Store) -> None:
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda n: append(store, SUBJECTS[n % 2], "press", n), range(40)))

    assert found(store, untouched) == []
    assert [entry.seq for entry in store.read(lambda tx: tx.trail.entries("admin"))] == list(range(1, 25))


def test_an_entry_is_not_there_when_its_transaction_failed(store: Store) -> None:
    def write(tx: Tx) -> None:
        tx.trail.append("admin", "lost", {}, at=NOON)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.write(write)
    assert len(store.read(lambda tx: tx.trail.entries("admin"))) == 4
