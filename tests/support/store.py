"""A store on a migrated database, and values to put into it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from seconder.keyring import Keyring
from seconder.store import schema
from seconder.store.database import Store

KEYS = (b"k" * 32,)


def open_store(url: str) -> Store:
    """A store on a database that is migrated already."""
    return Store(url, Keyring(KEYS, random=os.urandom), random=os.urandom)


@contextmanager
def opened(url: str) -> Iterator[Store]:
    """A store on a database that is migrated first."""
    schema.upgrade(url)
    store = open_store(url)
    try:
        yield store
    finally:
        store.close()
