"""Every test here has a desk in memory, a file that the tools write to, and a loop."""

from pathlib import Path

import pytest

from tests.support.agents import LEDGER
from tests.support.memory_desk import MemoryDesk


@pytest.fixture(autouse=True)
def _ledger(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(LEDGER, str(tmp_path / "ledger.jsonl"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def desk() -> MemoryDesk:
    return MemoryDesk()
