"""What every test stands on: a clean environment, a Hypothesis profile, an empty database."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.postgres import fresh_database

OURS = ("SECONDER_", "SLACK_")
IN_MEMORY = Path("/dev/shm")  # noqa: S108 - where there is one, a commit does not wait for a disk

if os.access(IN_MEMORY, os.W_OK):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))

for name in [name for name in os.environ if name.startswith(OURS)]:
    del os.environ[name]

settings.register_profile("seconder", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("seconder")


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a fresh, empty database; a test that asks for it runs once on each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'seconder.db'}"
        return
    with fresh_database() as url:
        yield url
