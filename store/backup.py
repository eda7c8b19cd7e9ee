"""A copy of a SQLite database while it is in use: SQLite's own online backup, whole or not at all."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import make_url

from seconder.errors import ConfigurationError

PAGES = 2000  # copied between two looks at the lock, about 8 MB


def backup(url: str, target: Path) -> int:
    """The size in bytes of the copy at `target`, which can be opened as it is; only its owner can read it.

    Raises: ConfigurationError for PostgreSQL, for a database that is not there, for a target that is.
    """
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        raise ConfigurationError("`db backup` copies SQLite files only: for PostgreSQL use pg_dump")
    source = Path(parsed.database or "")
    if not source.is_file():
        raise ConfigurationError(f"there is no database at {source}: set SECONDER_DATABASE_URL, or run `db upgrade`")
    if target.exists():
        raise ConfigurationError(f"{target} is there already: name a file that is not, a backup replaces nothing")
    if not target.absolute().parent.is_dir():
        raise ConfigurationError(f"there is no folder {target.absolute().parent}: make it first")
    half = target.with_name(f"{target.name}.part")
    try:
        half.unlink(missing_ok=True)
        half.touch(mode=0o600)
        _copy(source, half)
        half.replace(target)
    finally:
        half.unlink(missing_ok=True)
    return target.stat().st_size


def faults(url: str) -> list[str]:
    """What SQLite itself finds broken in the file; nothing for PostgreSQL, which checks its own pages."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        return []
    with closing(sqlite3.connect(f"{Path(parsed.database or '').absolute().as_uri()}?mode=ro", uri=True)) as connection:
        return _integrity(connection)


def _copy(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as from_there, closing(sqlite3.connect(target)) as to_here:
        from_there.backup(to_here, pages=PAGES)
        to_here.execute("PRAGMA journal_mode=DELETE").close()  # one file, without a log beside it
        broken = _integrity(to_here)
    if broken:
        raise ConfigurationError(f"the database is damaged, no backup was made: {broken[0]}")
    with target.open("rb") as file:
        os.fsync(file.fileno())


def _integrity(connection: sqlite3.Connection) -> list[str]:
    said = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(10)")]
    return [] if said == ["ok"] else said
