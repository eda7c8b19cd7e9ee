"""The same with the checkpointers of LangGraph on PostgreSQL, with and without async methods."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

import seconder
from seconder.frameworks import Finished
from seconder.frameworks.lease import resume
from tests.support.agents import ledger
from tests.support.graphs import NAME, agent, call, model, told
from tests.support.memory_desk import MemoryDesk
from tests.support.postgres import fresh_database

pytestmark = pytest.mark.anyio


@pytest.fixture
def dsn() -> Iterator[str]:
    with fresh_database() as url:
        yield url.replace("postgresql+psycopg", "postgresql")


@asynccontextmanager
async def synchronous(dsn: str) -> AsyncIterator[Any]:
    with PostgresSaver.from_conn_string(dsn) as saver:
        saver.setup()
        yield saver


@asynccontextmanager
async def asynchronous(dsn: str) -> AsyncIterator[Any]:
    async with AsyncPostgresSaver.from_conn_string(dsn) as saver:
        await saver.setup()
        yield saver


@pytest.mark.parametrize("opens", [synchronous, asynchronous])
async def test_decisions_reach_a_run_whose_state_is_in_postgresql(
    desk: MemoryDesk, mode: str, dsn: str, opens: Any
) -> None:
    def factory(*steps: Any) -> Any:
        @asynccontextmanager
        async def opened() -> AsyncIterator[Any]:
            async with opens(dsn) as saver:
                yield agent(saver, *steps, mode=mode)

        return opened

    calls = [call("refund", "c1", order="O-1", amount=240), call("refund", "c2", order="O-2", amount=5)]
    await seconder.run(factory(calls), "please", client=desk, wait=False)
    await desk.edit("c1", amount=120)
    await desk.reject("c2", "no")
    claim = await desk.claim(agents=[NAME], worker="w")
    assert claim is not None
    says = model("done")

    result = (await resume(desk, claim, factory(says))).resumed

    assert isinstance(result, Finished), result
    assert [(entry["order"], entry["amount"]) for entry in ledger()] == [("O-1", 120.0)]
    assert "rejected this call: no" in told(says)["c2"]
