"""Sealing again with the newest key, a few rows at a time, while everything else goes on.

Which rows are stale is seen from the first bytes of their values (format version and key id), so
that no value is read before it is its turn. A row changed or gone meanwhile is left alone.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

from sqlalchemy import LargeBinary, RowMapping, Table, and_, func, or_, select, tuple_, update

from seconder.keyring import ID_BYTES, VERSION
from seconder.store.tables import SEALED, metadata
from seconder.store.tx import Tx

Key: TypeAlias = tuple[Any, ...]  # the values of a row's primary key

TABLES = tuple(SEALED)
PAGE = 1000  # keys looked at in one read
BATCH = 50  # rows sealed again in one transaction

#: The columns that name a row where it is sealed; elsewhere it is `id`.
NAMED_BY = {"decisions": ("review_id",), "queue": ("topic", "subject"), "trail": ("subject", "seq")}


def stale(tx: Tx, name: str) -> list[Key]:
    """The rows of this table that hold a value sealed with another than the newest key."""
    found: list[Key] = []
    last: Key | None = None
    while True:
        keys = _page(tx, name, last)
        found += [key for key, old in keys if old]
        if len(keys) < PAGE:
            return found
        last = keys[-1][0]


def reseal(tx: Tx, name: str, keys: Sequence[Key]) -> int:
    """How many of these rows are sealed with the newest key now and were not before. Raises: KeyMissing."""
    table, columns = metadata.tables[name], SEALED[name]
    changed = 0
    for key in keys:
        row = tx.connection.execute(select(table).where(_is(table, key)).with_for_update()).mappings().first()
        if row is None:
            continue
        place = _place(name, row)
        values = {}
        for column in columns:
            if row[column] is not None and not tx.sealer.is_newest(row[column]):
                plain = tx.sealer.open(row[column], table=name, column=column, row=place)
                values[column] = tx.sealer.seal(plain, table=name, column=column, row=place)
        if values:
            changed += tx.connection.execute(update(table).where(_is(table, key)).values(**values)).rowcount
    return changed


def sample(tx: Tx) -> int:
    """In how many tables a sealed value was opened, one in each that has any. Raises: KeyMissing."""
    opened = 0
    for name, columns in SEALED.items():
        table = metadata.tables[name]
        query = select(table).where(table.c[columns[0]].is_not(None)).limit(1)
        row = tx.connection.execute(query).mappings().first()
        if row is not None:
            place = _place(name, row)
            tx.sealer.open(row[columns[0]], table=name, column=columns[0], row=place)
            opened += 1
    return opened


def _page(tx: Tx, name: str, after: Key | None) -> list[tuple[Key, bool]]:
    table = metadata.tables[name]
    primary = tuple(table.primary_key.columns)
    heads = [
        func.substr(table.c[column], 1, len(VERSION) + ID_BYTES, type_=LargeBinary).label(f"head_{column}")
        for column in SEALED[name]
    ]
    filled = or_(*(table.c[column].is_not(None) for column in SEALED[name]))
    query = select(*primary, *heads).where(filled).order_by(*primary).limit(PAGE)
    if after is not None:
        query = query.where(tuple_(*primary) > tuple_(*after))
    rows = [tuple(row) for row in tx.connection.execute(query)]
    width = len(primary)
    return [
        (row[:width], any(head is not None and not tx.sealer.is_newest(head) for head in row[width:])) for row in rows
    ]


def _place(name: str, row: RowMapping) -> str:
    return ":".join(str(row[part]) for part in NAMED_BY.get(name, ("id",)))


def _is(table: Table, key: Key) -> Any:
    return and_(*(column == value for column, value in zip(table.primary_key.columns, key, strict=True)))
