"""The same runs on the real desk: in one process, and over HTTP with a token."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from typing import Any

import pytest

import seconder
from seconder.desk import decide, effects, look
from seconder.desk.client import LocalClient
from seconder.desk.desk import Desk
from seconder.errors import ConfigurationError, NotFound
from seconder.gate import Client
from seconder.gate.http import HttpClient
from seconder.worker import Worker
from tests.support.agents import AGENTS, agent, call, ledger, resumed_with
from tests.support.api import ready, secret_of, served
from tests.support.desk import ALICE, RILEY, a_desk, press_on, push_clock

pytestmark = pytest.mark.anyio

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

REFUND = call("refund", "c1", order="O-991", amount=240)


@pytest.fixture
def desk(database_url: str) -> Iterator[Desk]:
    with a_desk(database_url, POLICY) as made:
        yield made


@contextmanager
def door(desk: Desk, kind: str) -> Iterator[Callable[[], Client]]:
    """How a client of this desk is made."""
    if kind == "local":
        yield lambda: LocalClient(desk)
        return
    from seconder.api.app import build_api  # noqa: PLC0415 - only here

    secret = secret_of(desk, "desk")
    with served(build_api(desk, ready=ready, slack=None)) as address:
        yield lambda: HttpClient(address, secret)


@pytest.fixture(params=["local", "http"])
async def client(request: pytest.FixtureRequest, desk: Desk) -> AsyncIterator[Client]:
    with door(desk, request.param) as made:
        opened = made()
        yield opened
        await opened.aclose()


async def begun(client: Client, *calls: Any) -> str:
    made = agent(list(calls or (REFUND,)))
    stopped = await seconder.run(made, "please", client=client, requester=RILEY, run_id="run-1", wait=False)
    assert isinstance(stopped, seconder.Paused)
    return stopped.id


async def press(desk: Desk, review_id: str, said: Any) -> None:
    await asyncio.to_thread(lambda: decide.decide(desk, press_on(desk, review_id, ALICE), said))


@asynccontextmanager
async def working(client: Client, agents: Any) -> AsyncIterator[None]:
    stop = asyncio.Event()
    task = asyncio.create_task(Worker(client, agents, name="w", poll=5).run(stop))
    try:
        yield
    finally:
        stop.set()
        await task


async def ended(client: Client, pause_id: str) -> dict[str, Any]:
    while True:
        pause = await client.pause(pause_id, wait=10)
        if pause["state"] == "finished":
            return pause
        await asyncio.sleep(0.05)


async def test_an_edit_in_slack_is_what_the_worker_runs_once(desk: Desk, client: Client) -> None:
    ident = await begun(client)
    [review] = (await client.pause(ident))["reviews"]
    async with working(client, AGENTS):
        await press(desk, review["id"], decide.Edit({"order": "O-991", "amount": 120}))
        pause = await ended(client, ident)

    assert pause["outcome"]["kind"] == "finished"
    assert pause["outcome"]["final_output"] == "done"
    assert [(entry["amount"], entry["key"][:4]) for entry in ledger()] == [(120.0, "sdr_")]
    [review] = pause["reviews"]
    assert (review["outcome"]["status"], review["outcome"]["result"]) == ("succeeded", "refunded 120 for O-991")


async def test_the_process_that_began_the_run_gets_its_end(desk: Desk, client: Client) -> None:
    made = agent([REFUND], [call("refund", "c2", order="O-2", amount=5)], "all done")
    run = asyncio.create_task(seconder.run(made, "please", client=client, requester=RILEY))
    for call_id in ("c1", "c2"):
        review_id = await review_of(desk, call_id)
        await press(desk, review_id, decide.Approve())

    assert await run == "all done"
    assert [entry["order"] for entry in ledger()] == ["O-991", "O-2"]


async def review_of(desk: Desk, call_id: str) -> str:
    while True:
        page = await asyncio.to_thread(look.listed, desk, agent=None, status=None, limit=50)
        for review in page.reviews:
            if review.interrupt.call_id == call_id:
                return review.id
        await asyncio.sleep(0.02)


async def question_of(client: Client, pause_id: str) -> str:
    while True:
        for review in (await client.pause(pause_id))["reviews"]:
            if review["kind"] == "question":
                return str(review["id"])
        await asyncio.sleep(0.02)


async def test_a_worker_that_died_in_the_middle_of_an_effect_leaves_a_question_and_runs_nothing_again(
    desk: Desk, client: Client
) -> None:
    ident = await begun(client)
    [review] = (await client.pause(ident))["reviews"]
    await press(desk, review["id"], decide.Approve())
    claim = await client.claim(agents=["desk"], worker="dead")
    assert claim is not None
    await client.start_effect(ident, fence=claim.fence, review_id=review["id"], digest=review["digest"])
    push_clock(desk, timedelta(seconds=20))
    async with working(client, {"desk": resumed_with("told")[1]}):
        await press(desk, await question_of(client, ident), decide.Answer(effects.HAPPENED))
        pause = await ended(client, ident)

    assert pause["outcome"]["final_output"] == "told"
    assert ledger() == []


async def test_a_worker_with_the_token_of_another_agent_ends_with_what_is_wrong(desk: Desk) -> None:
    with door(desk, "http") as made:
        client = made()

        with pytest.raises((NotFound, ConfigurationError)):
            await Worker(client, {"other": resumed_with("x")[1]}, name="w").run(asyncio.Event())

        await client.aclose()


async def test_a_token_that_is_none_ends_the_worker(desk: Desk) -> None:
    from seconder.api.app import build_api  # noqa: PLC0415 - only here

    with served(build_api(desk, ready=ready, slack=None)) as address:
        client = HttpClient(address, "sdr_" + os.urandom(8).hex())

        with pytest.raises(ConfigurationError, match="SECONDER_TOKEN"):
            await Worker(client, AGENTS, name="w").run(asyncio.Event())

        await client.aclose()
