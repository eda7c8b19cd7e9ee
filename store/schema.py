"""Bringing a database to the newest schema: all missing revisions in one transaction, or none.

There is no way down: a backup is the way back. Two starts at once do not race: PostgreSQL holds an
advisory lock, SQLite its write lock, and whoever comes second finds nothing left to do.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.script.revision import RevisionError
from sqlalchemy import Connection

from seconder.errors import ConfigurationError
from seconder.store.engine import file_of, make_engine

MIGRATIONS = Path(__file__).parent / "migrations"
LOCK = 7_326_836_637  # any number; the same in every version


def upgrade(url: str) -> list[str]:
    """The revisions that were applied, oldest first; none where the database was up to date.

    Raises: ConfigurationError where the database is newer than this program.
    """
    with _connected(url) as connection:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("SET LOCAL lock_timeout = 0")
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")
        missing = _missing(connection)
        if missing:
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
        return missing


def pending(url: str) -> list[str]:
    """The revisions that `upgrade` would apply, oldest first; nothing is changed, no file is made.

    Raises: ConfigurationError where the database is newer than this program.
    """
    file = file_of(url)
    if file is not None and not file.exists():
        return _missing(None)
    with _connected(url) as connection:
        return _missing(connection)


def head() -> str:
    """The newest revision that this program knows."""
    revision = ScriptDirectory.from_config(_config()).get_current_head()
    if revision is None:
        raise RuntimeError("no migration is installed")
    return revision


@contextmanager
def _connected(url: str) -> Iterator[Connection]:
    engine = make_engine(url)
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def _missing(connection: Connection | None) -> list[str]:
    script = ScriptDirectory.from_config(_config())
    current = None if connection is None else MigrationContext.configure(connection).get_current_revision()
    try:
        steps = script.iterate_revisions("head", current or "base")
        return [step.revision for step in reversed(list(steps))]
    except RevisionError as error:
        raise ConfigurationError(
            f"the database is at revision {current}, which this version of Seconder does not know: "
            "start the version that made it, or a newer one"
        ) from error


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
