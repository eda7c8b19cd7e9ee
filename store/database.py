"""Engines and the one way to change anything: `Store.write(fn)`.

    write(fn) ── PostgreSQL: the caller's thread, its own READ COMMITTED transaction
              └─ SQLite:     the one writer thread, BEGIN IMMEDIATE, one `fn` after the other

* `fn(tx)` runs alone with its rows, and commits wholly or not at all.
* A write inside a write is a bug and raises RuntimeError.
* After a commit that changed something, whoever waits on `changes` wakes, in every process.
"""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import ContextVar
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from seconder.keyring import Keyring
from seconder.store.changes import Changes, watch_postgresql, watch_sqlite
from seconder.store.tx import Tx

T = TypeVar("T")

BUSY_MS = 10_000  # how long SQLite waits for another process's lock
DEADLOCK_TRIES = 3
RETRIED_STATES = {"40P01", "40001"}  # PostgreSQL: deadlock, serialization failure

_writing: ContextVar[bool] = ContextVar("writing", default=False)


class Store:
    """What is remembered, on SQLite or PostgreSQL."""

    def __init__(self, url: str, keyring: Keyring, *, random: Callable[[int], bytes]) -> None:
        self.url = url
        self.changes = Changes()
        self._keyring, self._random = keyring, random
        self._sqlite = make_url(url).get_backend_name() == "sqlite"
        self.engine = make_engine(url, begin="BEGIN IMMEDIATE")
        self._readers = make_engine(url, begin="BEGIN") if self._sqlite else self.engine
        self._stop = threading.Event()
        self._watcher: threading.Thread | None = None
        self._writer = _Writer(self._run_write) if self._sqlite else None

    def write(self, fn: Callable[[Tx], T]) -> T:
        """What `fn` returned, after its changes are committed; if it raised, nothing changed."""
        if _writing.get():
            message = "a write inside a write: the use case must make one store.write"
            raise RuntimeError(message)
        if self._writer is not None:
            return self._writer.submit(fn).result()
        return self._write_here(fn)

    def read(self, fn: Callable[[Tx], T]) -> T:
        """What `fn` returned, of one snapshot; changes it makes are rolled back."""
        with self._readers.connect() as connection:
            try:
                return fn(self._tx(connection))
            finally:
                connection.rollback()

    def watch(self) -> None:
        """From now on commits of other processes wake `changes` too."""
        if self._watcher is None:
            watch = watch_sqlite if self._sqlite else watch_postgresql
            self._watcher = threading.Thread(
                target=watch, args=(self._readers, self.changes, self._stop), name="store-watcher", daemon=True
            )
            self._watcher.start()

    def close(self) -> None:
        """Writes under way are finished, then threads and connections end."""
        self._stop.set()
        if self._writer is not None:
            self._writer.close()
        if self._watcher is not None:
            self._watcher.join(timeout=5)
        self.engine.dispose()
        self._readers.dispose()

    def _tx(self, connection: Connection) -> Tx:
        return Tx(connection, self._keyring, self._random)

    def _write_here(self, fn: Callable[[Tx], T]) -> T:
        for attempt in range(1, DEADLOCK_TRIES + 1):
            try:
                return self._run_write(fn)
            except OperationalError as error:
                if attempt == DEADLOCK_TRIES or getattr(error.orig, "sqlstate", None) not in RETRIED_STATES:
                    raise
        message = "unreachable"
        raise RuntimeError(message)

    def _run_write(self, fn: Callable[[Tx], T]) -> T:
        token = _writing.set(True)
        try:
            with self.engine.begin() as connection:
                tx = self._tx(connection)
                value = fn(tx)
                tx.notify()
            self.changes.bump()
            return value
        finally:
            _writing.reset(token)


class _Writer:
    """One thread that runs writes in the order in which they came."""

    def __init__(self, run: Callable[[Callable[[Tx], Any]], Any]) -> None:
        self._run = run
        self._jobs: queue.SimpleQueue[tuple[Callable[[Tx], Any], Future[Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="store-writer", daemon=True)
        self._thread.start()

    def submit(self, fn: Callable[[Tx], T]) -> "Future[T]":
        future: Future[T] = Future()
        self._jobs.put((fn, future))
        return future

    def close(self) -> None:
        self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            fn, future = job
            if not future.set_running_or_notify_cancel():
                continue  # a cancelled waiter must not end the writer
            try:
                future.set_result(self._run(fn))
            except BaseException as error:  # noqa: BLE001 - handed to whoever waits for this write
                future.set_exception(error)


def make_engine(url: str, *, begin: str = "BEGIN IMMEDIATE") -> Engine:
    """An engine whose transactions are ours: on SQLite each begins with `begin`, in WAL with synchronous=FULL."""
    if make_url(url).get_backend_name() != "sqlite":
        return create_engine(url, pool_pre_ping=True, pool_size=10, max_overflow=20, isolation_level="READ COMMITTED")
    engine = create_engine(
        url, poolclass=NullPool if ":memory:" in url else None, connect_args={"timeout": BUSY_MS / 1000}
    )

    @event.listens_for(engine, "connect")
    def connected(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # the driver begins nothing by itself
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", f"busy_timeout={BUSY_MS}"):
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def began(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine
