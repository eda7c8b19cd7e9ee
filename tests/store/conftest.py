"""A store on each kind of database, and one on SQLite where the database does not matter."""

from collections.abc import Iterator

import pytest

from seconder.store.database import Store
from tests.support.store import opened


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    """An empty store; a test that asks for it runs once on each kind of database."""
    with opened(database_url) as store:
        yield store
