"""The one way to change anything: `Store.write(fn)`.

    write(fn) ── PostgreSQL: the caller's thread, its own READ COMMITTED transaction
              └─ SQLite:     the one writer thread, BEGIN IMMEDIATE, one `fn` after the other

* `fn(tx)` runs alone with its rows, and commits wholly or not at all. It may run again after a
  deadlock, so it changes nothing but rows.
* A write inside a write is a bug and raises RuntimeError, and so does a write after `close`.
* After a commit that changed something, whoever waits on `changes` wakes, in every process.
"""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import ContextVar
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError, StatementError

from seconder.errors import SeconderError
from seconder.keyring import Keyring
from seconder.store.changes import Changes, notify, watch_postgresql, watch_sqlite
from seconder.store.engine import CHANGED, file_of, make_engine
from seconder.store.tx import Tx

T = TypeVar("T")

DEADLOCK_TRIES = 3
RETRIED_STATES = {"40P01", "40001"}  # PostgreSQL: deadlock, serialization failure

_writing: ContextVar[bool] = ContextVar("writing", default=False)


class Store:
    """What is remembered, on SQLite or PostgreSQL."""

    def __init__(self, url: str, keyring: Keyring, *, random: Callable[[int], bytes]) -> None:
        self.url = url
        self.changes = Changes()
        self._keyring, self._random = keyring, random
        self._sqlite = file_of(url) is not None
        self.engine = make_engine(url)
        self._readers = (
            make_engine(url, begin="BEGIN")
            if self._sqlite
            else self.engine.execution_options(isolation_level="REPEATABLE READ")
        )
        self._stop = threading.Event()
        self._watcher: threading.Thread | None = None
        self._writer = _Writer(self._run_write) if self._sqlite else None

    def write(self, fn: Callable[[Tx], T]) -> T:
        """What `fn` returned, after its changes are committed; if it raised, nothing changed."""
        if _writing.get():
            raise RuntimeError("a write inside a write: the use case must make one store.write")
        if self._writer is not None:
            return self._writer.submit(fn).result()
        return self._write_here(fn)

    def read(self, fn: Callable[[Tx], T]) -> T:
        """What `fn` returned, of one snapshot; changes it makes are rolled back."""
        with self._readers.connect() as connection:
            try:
                return self._call(fn, connection)
            finally:
                connection.rollback()

    def watch(self) -> None:
        """From now on commits of other processes wake `changes` too."""
        if self._watcher is None:
            watch = watch_sqlite if self._sqlite else watch_postgresql
            self._watcher = threading.Thread(
                target=watch, args=(self.engine, self.changes, self._stop), name="store-watcher", daemon=True
            )
            self._watcher.start()

    def close(self) -> None:
        """Writes under way are finished, then threads and connections end; whoever waits on `changes` wakes."""
        self._stop.set()
        if self._writer is not None:
            self._writer.close()
        if self._watcher is not None:
            self._watcher.join(timeout=5)
        self.engine.dispose()
        self._readers.dispose()
        self.changes.bump()

    def _call(self, fn: Callable[[Tx], T], connection: Connection) -> T:
        try:
            return fn(Tx(connection, self._keyring, self._random))
        except StatementError as error:
            if isinstance(error.orig, SeconderError):
                raise error.orig from None  # SQLAlchemy wraps what a column's type refuses
            raise

    def _write_here(self, fn: Callable[[Tx], T]) -> T:
        tries = DEADLOCK_TRIES
        while True:
            tries -= 1
            try:
                return self._run_write(fn)
            except OperationalError as error:
                if not tries or getattr(error.orig, "sqlstate", None) not in RETRIED_STATES:
                    raise

    def _run_write(self, fn: Callable[[Tx], T]) -> T:
        token = _writing.set(True)
        try:
            with self.engine.begin() as connection:
                connection.info[CHANGED] = False
                value = self._call(fn, connection)
                changed = connection.info[CHANGED]
                if changed:
                    notify(connection)
        finally:
            _writing.reset(token)
        if changed:
            self.changes.bump()
        return value


class _Writer:
    """One thread that runs writes in the order in which they came."""

    def __init__(self, run: Callable[[Callable[[Tx], Any]], Any]) -> None:
        self._run = run
        self._jobs: queue.SimpleQueue[tuple[Callable[[Tx], Any], Future[Any]] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="store-writer", daemon=True)
        self._thread.start()

    def submit(self, fn: Callable[[Tx], T]) -> "Future[T]":
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("the store is closed")
            self._jobs.put((fn, future))
        return future

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._do(*job)
            del job  # a run state may be large: it is not kept until the next write

    def _do(self, fn: Callable[[Tx], Any], future: "Future[Any]") -> None:
        if not future.set_running_or_notify_cancel():
            return  # a cancelled waiter must not end the writer
        try:
            future.set_result(self._run(fn))
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits for this write
            future.set_exception(error)
