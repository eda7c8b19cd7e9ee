"""What a caller is told to try again later."""

from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout


def is_unreached(error: BaseException) -> bool:
    """Whether this error says that the database could not be reached, or had no time."""
    return isinstance(error, OperationalError | InterfaceError | PoolTimeout)
