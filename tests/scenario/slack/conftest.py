"""Bots for these tests: on each kind of database, and one on SQLite where the database does not matter."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.bot import Bot, a_bot


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'seconder.db'}"


@pytest.fixture
def bot(database_url: str, tmp_path: Path) -> Iterator[Bot]:
    """A bot on Socket Mode; a test that asks for it runs once on each kind of database."""
    with a_bot(database_url, tmp_path) as made:
        yield made


@pytest.fixture
def one_bot(sqlite_url: str, tmp_path: Path) -> Iterator[Bot]:
    """A bot on SQLite and Socket Mode."""
    with a_bot(sqlite_url, tmp_path) as made:
        yield made


@pytest.fixture
def http_bot(sqlite_url: str, tmp_path: Path) -> Iterator[Bot]:
    """A bot on SQLite that Slack calls over signed HTTP."""
    with a_bot(sqlite_url, tmp_path, over="http") as made:
        yield made
