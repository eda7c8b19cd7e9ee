"""An empty folder to run commands in, and one with a database, a key and a policy."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from tests.support.cli import KEY, POLICY, Shell


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Shell]:
    """A shell in an empty folder; what commands change of logging is put back."""
    root = logging.getLogger()
    handlers, level = [*root.handlers], root.level
    monkeypatch.chdir(tmp_path)
    yield Shell(tmp_path, monkeypatch, capsys)
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.getLogger("seconder").setLevel(logging.NOTSET)


@pytest.fixture
def shell(bare: Shell) -> Shell:
    """A shell on a migrated SQLite database."""
    bare.environ = {
        "SECONDER_DATABASE_URL": f"sqlite:///{bare.folder / 'seconder.db'}",
        "SECONDER_KEYS": KEY,
        "SECONDER_POLICY": str(bare.write("policy.yaml", POLICY)),
    }
    bare.fine("db", "upgrade")
    return bare
