"""Engines whose transactions are ours, set so that a stuck process cannot hold the others for long."""

from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.engine.default import DefaultExecutionContext
from sqlalchemy.engine.interfaces import DBAPIConnection

from seconder.errors import ConfigurationError

BUSY_MS = 10_000  # how long a write waits for another's lock
IDLE_MS = 15_000  # how long PostgreSQL keeps a transaction whose process fell silent
CHANGED = "changed"  # in a connection's info: whether its transaction changed a row

PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", f"busy_timeout={BUSY_MS}")
SETTINGS = f"SET lock_timeout = {BUSY_MS}; SET idle_in_transaction_session_timeout = {IDLE_MS}"


def make_engine(url: str, *, begin: str = "BEGIN IMMEDIATE") -> Engine:
    """An engine for either database: on SQLite each transaction starts with `begin`, on PostgreSQL READ COMMITTED.

    Raises: ConfigurationError for another kind of database, or one in memory.
    """
    parsed = make_url(url)
    match parsed.get_backend_name():
        case "sqlite":
            if parsed.database in {None, "", ":memory:"}:
                raise ConfigurationError("SECONDER_DATABASE_URL: SQLite needs a file, as in sqlite:///seconder.db")
            engine = _sqlite(url, begin)
        case "postgresql":
            engine = _postgresql(url)
        case other:
            raise ConfigurationError(f"SECONDER_DATABASE_URL: use sqlite or postgresql, not {other}")
    event.listen(engine, "after_cursor_execute", _note_change)
    return engine


def file_of(url: str) -> Path | None:
    """The file of an SQLite database; None for PostgreSQL."""
    parsed = make_url(url)
    return Path(parsed.database or "") if parsed.get_backend_name() == "sqlite" else None


def _sqlite(url: str, begin: str) -> Engine:
    engine = create_engine(url, connect_args={"timeout": BUSY_MS / 1000})

    @event.listens_for(engine, "connect")
    def connected(connection: DBAPIConnection, _record: Any) -> None:
        connection.isolation_level = None  # the driver begins nothing by itself
        cursor = connection.cursor()
        for pragma in PRAGMAS:
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def began(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def _postgresql(url: str) -> Engine:
    engine = create_engine(url, pool_pre_ping=True, pool_size=10, max_overflow=20, isolation_level="READ COMMITTED")

    @event.listens_for(engine, "connect")
    def connected(connection: DBAPIConnection, _record: Any) -> None:
        cursor = connection.cursor()
        cursor.execute(SETTINGS)
        cursor.close()
        connection.commit()

    return engine


def _note_change(
    connection: Connection,
    cursor: Any,
    _statement: str,
    _parameters: Any,
    context: DefaultExecutionContext | None,
    _many: bool,
) -> None:
    """A row was changed, as far as the driver says; RETURNING counts as a change."""
    changes = context is not None and (context.isinsert or context.isupdate or context.isdelete)
    if changes and (cursor.rowcount != 0 or cursor.description is not None):
        connection.info[CHANGED] = True
