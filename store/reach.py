"""Troubles of the database itself, said as one sentence that names the setting."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import ArgumentError, DatabaseError, DBAPIError, InterfaceError, OperationalError

from seconder.errors import ConfigurationError


@contextmanager
def reachable(place: str) -> Iterator[None]:
    """Whatever the driver says of a missing, refused or foreign database becomes a ConfigurationError.

    `place` is the database's address as it may be shown.
    """
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        raise ConfigurationError(f"the database {place} cannot be used: {_first_line(error)}") from error
    except ArgumentError as error:
        raise ConfigurationError(f"SECONDER_DATABASE_URL cannot be read: {error}") from error
    except DatabaseError as error:
        if "not a database" not in str(error.orig):
            raise
        raise ConfigurationError(f"{place} is not a SQLite database: name another file") from error


def _first_line(error: DBAPIError) -> str:
    lines = [line.strip() for line in str(error.orig).splitlines() if line.strip()]
    return "; ".join(lines[:2]) if lines else type(error).__name__
