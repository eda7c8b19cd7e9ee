"""`Store.write`: wholly or not at all, one inside another never, and the database's own clock."""

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Engine, text

from seconder.errors import ConfigurationError, InvalidInput
from seconder.store.database import Store
from seconder.store.engine import make_engine
from seconder.store.tx import Tx
from tests.support.postgres import fresh_database
from tests.support.store import NOON, add, approved, opened, review


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 's.db'}"


def put(tx: Tx, subject: str = "s1") -> None:
    tx.queue.put("card", subject, now=NOON)


def subjects(store: Store) -> list[str]:
    return [item.subject for item in store.read(lambda tx: tx.queue.listed())]


def test_rolls_back_by_default(store: Store) -> None:
    pending = add(store, review())

    def write(tx: Tx) -> None:
        tx.reviews.decide(pending, approved(), at=NOON)
        tx.trail.append("review:rv1", "decided", {}, at=NOON)
        put(tx)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.write(write)
    assert store.read(lambda tx: tx.reviews.get("rv1")) == pending
    assert store.read(lambda tx: tx.trail.entries("review:rv1")) == []
    assert subjects(store) == []


def test_a_write_returns_after_its_commit(store: Store) -> None:
    def write(tx: Tx) -> str:
        put(tx)
        return "value"

    assert store.write(write) == "value"
    assert subjects(store) == ["s1"]


def test_a_write_inside_a_write_is_a_bug(store: Store) -> None:
    def write(tx: Tx) -> None:
        put(tx)
        store.write(put)

    with pytest.raises(RuntimeError, match="inside a write"):
        store.write(write)
    assert subjects(store) == []
    store.write(put)
    assert subjects(store) == ["s1"]


def test_what_a_read_changes_is_rolled_back(store: Store) -> None:
    store.read(put)

    assert subjects(store) == []


def test_a_read_sees_one_moment(store: Store) -> None:
    pending = add(store, review())

    def read(tx: Tx) -> None:
        assert tx.queue.listed() == []
        with ThreadPoolExecutor(1) as pool:
            pool.submit(store.write, lambda tx: tx.reviews.decide(pending, approved(), at=NOON)).result()
        assert tx.reviews.get("rv1") == pending

    store.read(read)
    assert store.read(lambda tx: tx.reviews.get("rv1")).decision == approved()


def test_what_a_column_refuses_is_an_error_of_our_tree(store: Store) -> None:
    with pytest.raises(InvalidInput, match="subject: longer than 64 characters"):
        store.write(lambda tx: put(tx, "s" * 65))
    with pytest.raises(InvalidInput):
        store.read(lambda tx: tx.reviews.get("\x00"))


def test_writes_at_once_lose_nothing(store: Store) -> None:
    def count(tx: Tx) -> None:
        tx.connection.execute(text("SELECT count(*) FROM clock")).scalar()
        tx.queue.put("card", f"s{len(tx.queue.listed(limit=1000))}-{threading.get_ident()}", now=NOON)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: store.write(count), range(64)))
    if store.engine.dialect.name == "sqlite":
        assert sorted(int(subject[1:].split("-")[0]) for subject in subjects(store)) == list(range(64))


# --- the clock ------------------------------------------------------------------------------------


def test_now_is_the_databases_time_in_aware_utc_and_one_in_a_transaction(store: Store) -> None:
    first, second = store.read(lambda tx: (tx.now(), tx.now()))

    assert first.tzinfo is UTC
    assert abs(first - datetime.now(UTC)) < timedelta(seconds=5)
    assert first == second


def test_now_is_read_at_the_first_call_so_after_the_lock(store: Store) -> None:
    def write(tx: Tx) -> timedelta:
        tx.connection.execute(text("SELECT 1"))
        before = datetime.now(UTC)
        threading.Event().wait(0.05)
        return tx.now() - before

    assert store.write(write) >= timedelta(milliseconds=40)


def test_a_pushed_clock_is_later_from_the_next_transaction_on(store: Store) -> None:
    before = store.read(lambda tx: tx.now())
    store.write(lambda tx: tx.push_clock(timedelta(hours=3)))
    store.write(lambda tx: tx.push_clock(timedelta(hours=-1)))

    assert store.read(lambda tx: tx.offset()) == timedelta(hours=2)
    assert timedelta(hours=2) <= store.read(lambda tx: tx.now()) - before < timedelta(hours=2, seconds=10)


# --- the writer's thread and the engines ------------------------------------------------------------


def test_a_cancelled_waiter_does_not_end_the_writer(sqlite: str) -> None:
    with opened(sqlite) as store:
        assert store._writer is not None
        blocked = threading.Event()
        first = store._writer.submit(lambda _: blocked.wait(5))
        waiting = store._writer.submit(put)
        assert waiting.cancel()
        blocked.set()

        assert first.result()
        assert subjects(store) == []
        store.write(put)
        assert subjects(store) == ["s1"]


def test_an_exit_inside_a_write_does_not_end_the_writer(store: Store) -> None:
    def leave(_: Tx) -> None:
        raise SystemExit

    with pytest.raises(SystemExit):
        store.write(leave)
    store.write(put)
    assert subjects(store) == ["s1"]


def test_a_write_after_the_end_is_a_bug_and_does_not_hang(sqlite: str) -> None:
    with opened(sqlite) as store:
        store.close()
        with pytest.raises(RuntimeError, match="closed"):
            store.write(put)


def test_sqlite_is_in_wal_with_full_synchronisation(sqlite: str) -> None:
    engine = make_engine(sqlite)
    with engine.connect() as connection:
        pragmas = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")]
    engine.dispose()

    assert pragmas == ["wal", 2]


def test_a_write_waits_while_another_process_holds_the_file(sqlite: str, tmp_path: Path) -> None:
    with opened(sqlite) as store, ThreadPoolExecutor(1) as pool:
        other = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        waiting = pool.submit(store.write, put)
        with pytest.raises(TimeoutError):
            waiting.result(0.3)
        other.execute("COMMIT")
        other.close()
        waiting.result(5)
        assert subjects(store) == ["s1"]


def test_a_full_disk_fails_the_write_and_the_next_works(sqlite: str) -> None:
    with opened(sqlite) as store:
        store.write(put)

        def fill(tx: Tx) -> None:
            pages = tx.connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            tx.connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 2}")
            tx.queue.put("card", "large", now=NOON, payload="x" * 1_000_000)

        with pytest.raises(Exception, match="full"):
            store.write(fill)
        store.write(lambda tx: tx.connection.exec_driver_sql("PRAGMA max_page_count = 1000000").close())
        store.write(lambda tx: put(tx, "s2"))
        assert subjects(store) == ["s1", "s2"]


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql://localhost/x"])
def test_a_database_that_cannot_keep_anything_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="SECONDER_DATABASE_URL"):
        make_engine(url)


@pytest.fixture
def postgres() -> Iterator[str]:
    with fresh_database() as url:
        yield url


def kill_others(engine: Engine) -> None:
    url = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_a_write_after_the_connections_were_cut_works(postgres: str) -> None:
    with opened(postgres) as store:
        store.write(put)
        kill_others(store.engine)
        store.write(lambda tx: put(tx, "s2"))
        assert subjects(store) == ["s1", "s2"]


def test_a_deadlock_is_tried_again(postgres: str) -> None:
    with opened(postgres) as store:
        for ident in ("rv1", "rv2"):
            add(store, review(ident))
        barrier = threading.Barrier(2, timeout=20)
        met: set[tuple[str, str]] = set()

        def lock(first: str, second: str) -> str:
            def write(tx: Tx) -> str:
                tx.reviews.get(first, lock=True)
                if (first, second) not in met:
                    met.add((first, second))
                    barrier.wait()
                tx.reviews.get(second, lock=True)
                tx.queue.put("card", first, now=NOON)
                return first

            return store.write(write)

        with ThreadPoolExecutor(2) as pool:
            jobs = [pool.submit(lock, "rv1", "rv2"), pool.submit(lock, "rv2", "rv1")]
            assert [job.result() for job in jobs] == ["rv1", "rv2"]
        assert sorted(subjects(store)) == ["rv1", "rv2"]


def test_a_process_that_fell_silent_in_a_transaction_does_not_hold_the_others_for_long(postgres: str) -> None:
    with opened(postgres) as store, store.engine.connect() as connection:
        settings = [
            connection.exec_driver_sql(f"SHOW {name}").scalar()
            for name in ("lock_timeout", "idle_in_transaction_session_timeout")
        ]

    assert settings == ["10s", "15s"]
