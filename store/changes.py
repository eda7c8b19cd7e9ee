"""Waking whoever waits: in one process by event, across processes by NOTIFY or by the file's version.

A wake-up says only that something was committed; the waiter looks at its own row. Wake-ups may be
lost, so every waiter also looks once in POLL seconds.
"""

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Callable
from typing import Any

import psycopg
import structlog
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

POLL = 1.0  # seconds; must be enough alone
SQLITE_POLL = 0.025  # seconds between looks at PRAGMA data_version
STOP_POLL = 0.2  # seconds until a listener notices that it is to stop
CHANNEL = "seconder_changes"

log = structlog.get_logger()


class Changes:
    """A counter of commits that threads and coroutines can wait on."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._count = 0
        self._waiters: set[Callable[[], None]] = set()

    @property
    def count(self) -> int:
        """How many commits were seen so far."""
        return self._count

    def bump(self) -> None:
        """Everybody waiting wakes."""
        with self._condition:
            self._count += 1
            waiters, self._waiters = self._waiters, set()
            self._condition.notify_all()
        for wake in waiters:
            wake()

    def wait(self, seen: int, timeout: float) -> int:
        """The count, as soon as it is beyond `seen`, or after `timeout` seconds."""
        with self._condition:
            self._condition.wait_for(lambda: self._count > seen, timeout)
            return self._count

    async def wait_async(self, seen: int, timeout: float) -> int:  # noqa: ASYNC109 - a poll that ends by itself
        """As `wait`, holding no thread."""
        loop = asyncio.get_running_loop()
        woken = asyncio.Event()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits there any more
                loop.call_soon_threadsafe(woken.set)

        with self._condition:
            if self._count > seen:
                return self._count
            self._waiters.add(wake)
        try:
            await asyncio.wait_for(woken.wait(), timeout)
        except TimeoutError:
            pass
        finally:
            with self._condition:
                self._waiters.discard(wake)
        return self._count


def notify(connection: Connection) -> None:
    """When this transaction commits, other processes on PostgreSQL learn of it; SQLite tells them by itself."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"NOTIFY {CHANNEL}")


def watch_sqlite(engine: Engine, changes: Changes, stop: threading.Event) -> None:
    """Until `stop`: bumps when another connection committed to the file."""
    _again_and_again(_look, engine, changes, stop)


def watch_postgresql(engine: Engine, changes: Changes, stop: threading.Event) -> None:
    """Until `stop`: bumps on NOTIFY."""
    _again_and_again(_listen, engine, changes, stop)


def _again_and_again(
    watch: Callable[[Engine, Changes, threading.Event], None],
    engine: Engine,
    changes: Changes,
    stop: threading.Event,
) -> None:
    """A lost connection is opened again, and whatever happened meanwhile counts as a change."""
    while not stop.is_set():
        try:
            watch(engine, changes, stop)
        except (DBAPIError, psycopg.Error, sqlite3.Error) as error:
            log.warning("store.watch_lost", error=str(error))
            stop.wait(POLL)


def _look(engine: Engine, changes: Changes, stop: threading.Event) -> None:
    connection: Any = engine.raw_connection()
    try:
        cursor = connection.cursor()
        seen = None
        while not stop.is_set():
            version = cursor.execute("PRAGMA data_version").fetchone()
            if version != seen:
                seen = version
                changes.bump()
            stop.wait(SQLITE_POLL)
    finally:
        connection.invalidate()


def _listen(engine: Engine, changes: Changes, stop: threading.Event) -> None:
    connection = engine.raw_connection()
    try:
        driver: Any = connection.driver_connection
        driver.autocommit = True
        driver.execute(f"LISTEN {CHANNEL}")
        changes.bump()
        while not stop.is_set():
            for _notice in driver.notifies(timeout=STOP_POLL, stop_after=1):
                changes.bump()
    finally:
        connection.invalidate()  # it listens for good: never given back to the pool
