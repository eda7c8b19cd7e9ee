"""Whoever waits wakes after a commit that changed something, in every process, and only then."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from seconder.store.changes import Changes
from seconder.store.database import Store
from seconder.store.tx import Tx
from tests.support.postgres import fresh_database
from tests.support.store import LEASE, NOON, opened

ROOT = Path(__file__).parents[2]
LONG = 30.0  # seconds; nobody may wait so long


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def put(tx: Tx) -> None:
    tx.queue.put("card", "rv1", now=NOON)


def waiting(pool: ThreadPoolExecutor, changes: Changes) -> "Future[float]":
    """When a waiter woke; it is waiting already."""
    seen = changes.count

    def wait() -> float:
        assert changes.wait(seen, LONG) > seen
        return time.monotonic()

    return pool.submit(wait)


def quiet(store: Store) -> int:
    """The count, when no wake-up is on its way any more."""
    while (count := store.changes.count) != store.changes.wait(count, 0.3):
        pass
    return count


def commit_elsewhere(url: str) -> float:
    """Another process commits once; the time at which it said so."""
    done = [sys.executable, "-m", "tests.support.writing", "once", url]
    with subprocess.Popen(done, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "one-0\n"
        return time.monotonic()


def test_a_commit_wakes_threads_of_this_process(store: Store, pool: ThreadPoolExecutor) -> None:
    waits = [waiting(pool, store.changes) for _ in range(3)]
    store.write(put)
    committed = time.monotonic()

    assert max(wait.result() for wait in waits) - committed < 1


def test_a_commit_wakes_coroutines_of_this_process(store: Store) -> None:
    async def main() -> list[int]:
        seen = store.changes.count
        waits = [asyncio.create_task(store.changes.wait_async(seen, LONG)) for _ in range(100)]
        await asyncio.sleep(0)
        await asyncio.to_thread(store.write, put)
        return await asyncio.wait_for(asyncio.gather(*waits), 1)

    assert len(set(asyncio.run(main()))) == 1
    assert store.changes._waiters == set()


def test_a_waiter_whose_loop_is_gone_does_not_fail_the_commit(store: Store) -> None:
    loop = asyncio.new_event_loop()
    wait = loop.create_task(store.changes.wait_async(store.changes.count, LONG))
    loop.run_until_complete(asyncio.sleep(0.01))
    woken = set(store.changes._waiters)
    assert len(woken) == 1
    wait.cancel()
    loop.run_until_complete(asyncio.gather(wait, return_exceptions=True))
    store.changes._waiters |= woken  # as if it had died without tidying up
    loop.close()

    store.write(put)
    assert store.changes.count > 0


def test_a_wait_ends_by_itself(store: Store) -> None:
    seen = store.changes.count

    assert store.changes.wait(seen, 0.01) == seen
    assert asyncio.run(store.changes.wait_async(seen, 0.01)) == seen


def test_one_who_missed_the_commit_does_not_wait(store: Store) -> None:
    seen = store.changes.count
    store.write(put)

    assert store.changes.wait(seen, LONG) > seen
    assert asyncio.run(store.changes.wait_async(seen, LONG)) > seen


def test_a_write_that_changed_nothing_wakes_nobody(store: Store) -> None:
    """A worker that looks for work in vain must not wake the others, who would look in vain and wake it again."""
    store.watch()
    before = quiet(store)
    for _ in range(3):
        assert store.write(lambda tx: tx.queue.claim(["card"], worker="w", now=NOON, lease=LEASE)) == []
        assert store.write(lambda tx: tx.pauses.claim(["support"], worker="w", now=NOON, lease=LEASE)) is None

    assert quiet(store) == before


def test_a_write_that_failed_wakes_nobody(store: Store) -> None:
    store.watch()
    before = quiet(store)

    def fail(tx: Tx) -> None:
        put(tx)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.write(fail)
    assert quiet(store) == before


def test_a_commit_of_another_process_wakes_within_a_second(store: Store, pool: ThreadPoolExecutor) -> None:
    store.watch()
    quiet(store)
    wait = waiting(pool, store.changes)
    committed = commit_elsewhere(store.url)

    assert wait.result() - committed < 1


def test_the_end_wakes_whoever_waits(store: Store, pool: ThreadPoolExecutor) -> None:
    wait = waiting(pool, store.changes)
    store.close()
    closed = time.monotonic()

    assert wait.result() - closed < 1


def test_waking_works_again_after_the_listening_connection_was_cut(pool: ThreadPoolExecutor) -> None:
    with fresh_database() as url, opened(url) as store:
        store.watch()
        quiet(store)
        server = store.engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
        cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
        with psycopg.connect(server, autocommit=True) as connection:
            assert len(connection.execute(cut).fetchall()) == 1
        seen = store.changes.count

        assert store.changes.wait(seen, LONG) > seen  # whatever was missed meanwhile
        quiet(store)
        wait = waiting(pool, store.changes)
        committed = commit_elsewhere(url)
        assert wait.result() - committed < 1
