"""What a tool may know of the effect that runs it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_key: ContextVar[str | None] = ContextVar("seconder_effect_key", default=None)


def effect_key() -> str | None:
    """The idempotency key of the decided call that runs now, to be handed to the remote side; None in any other call.

    It is the same for the same call of the same run with the same arguments, in every process and at every try.
    """
    return _key.get()


@contextmanager
def running(key: str) -> Iterator[None]:
    """`effect_key` is this key inside the block, and in the threads and tasks that it starts."""
    token = _key.set(key)
    try:
        yield
    finally:
        _key.reset(token)
