"""Every test here has a checkpointer's file, a file that the tools write to, desks, and a loop."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from seconder.desk.client import LocalClient
from seconder.desk.desk import Desk
from tests.support.agents import LEDGER
from tests.support.desk import a_desk
from tests.support.graphs import CHECKPOINTS
from tests.support.memory_desk import MemoryDesk

POLICY = """
version: 1
roles:
  finance: {user_groups: [S0FINANCE]}
fallback: {channel: "#agents", roles: [finance]}
rules:
  - name: refunds
    tool: refund
    verdict: ask
    route: {channel: "#refunds", roles: [finance]}
"""


@pytest.fixture(autouse=True)
def _files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(LEDGER, str(tmp_path / "ledger.jsonl"))
    monkeypatch.setenv(CHECKPOINTS, str(tmp_path / "checkpoints.db"))
    monkeypatch.setenv("LANGGRAPH_STRICT_MSGPACK", "true")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def desk() -> MemoryDesk:
    return MemoryDesk()


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Desk]:
    """A real desk on SQLite."""
    with a_desk(f"sqlite:///{tmp_path}/seconder.db", POLICY) as made:
        yield made


@pytest.fixture
def client(real: Desk) -> LocalClient:
    return LocalClient(real)


@pytest.fixture(params=["batched", "per_call"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)
