"""What every table file needs: sealed values and times as milliseconds."""

import json
from datetime import UTC, datetime, timedelta
from typing import overload

from sqlalchemy import Connection, Table, func, select
from sqlalchemy.dialects import postgresql, sqlite

from seconder.action import Json
from seconder.keyring import Keyring

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


class Sealer:
    """Seals JSON and bytes at their place in a table."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring

    def seal(self, value: bytes, *, table: str, column: str, row: str) -> bytes:
        return self._keyring.seal(value, table=table, column=column, row=row)

    def open(self, value: bytes, *, table: str, column: str, row: str) -> bytes:
        return self._keyring.open(value, table=table, column=column, row=row)

    def is_newest(self, value: bytes) -> bool:
        """Whether the value, or its first bytes, was sealed with the newest key."""
        return self._keyring.is_newest(value)

    def seal_json(self, value: Json, *, table: str, column: str, row: str) -> bytes:
        data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
        return self._keyring.seal(data, table=table, column=column, row=row)

    def open_json(self, value: bytes | None, *, table: str, column: str, row: str) -> Json:
        """The value; None where the column is empty."""
        if value is None:
            return None
        return json.loads(
            self._keyring.open(value, table=table, column=column, row=row).decode("utf-8", "surrogatepass")
        )


def insert_into(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """An INSERT that knows ON CONFLICT, which both databases write alike."""
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)


def lock_name(connection: Connection, name: str, kind: int) -> None:
    """Nobody else holds this name of this kind before the transaction ends; SQLite's writers are alone anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(name, kind))))


@overload
def to_millis(at: datetime) -> int: ...
@overload
def to_millis(at: None) -> None: ...
def to_millis(at: datetime | None) -> int | None:
    """Milliseconds since 1970; a naive datetime is a bug and raises TypeError."""
    return None if at is None else (at - EPOCH) // MILLISECOND


@overload
def from_millis(millis: int) -> datetime: ...
@overload
def from_millis(millis: None) -> None: ...
def from_millis(millis: int | None) -> datetime | None:
    """Aware UTC."""
    return None if millis is None else EPOCH + timedelta(milliseconds=millis)
