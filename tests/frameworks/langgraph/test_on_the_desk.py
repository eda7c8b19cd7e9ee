"""The same runs on the real desk: begun here, resumed by a worker in another process over HTTP."""

import asyncio
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import seconder
from seconder.api.app import build_api
from seconder.desk import decide, look
from seconder.desk.client import LocalClient
from seconder.desk.desk import Desk
from seconder.worker import Worker
from tests.support.agents import ledger
from tests.support.api import ready, secret_of, served
from tests.support.desk import ALICE, RILEY, press_on
from tests.support.graphs import NAME, agent, call, opening

pytestmark = pytest.mark.anyio

C1 = call("refund", "c1", order="O-991", amount=240)
C2 = call("refund", "c2", order="O-2", amount=5)
ROOT = Path(__file__).parents[3]


async def begun(client: LocalClient, *calls: Any, mode: str) -> dict[str, str]:
    """The reviews of a run that stopped at these calls, by call id."""
    first = opening(lambda saver: agent(saver, list(calls), mode=mode))
    stopped = await seconder.run(first, "please", client=client, requester=RILEY, wait=False)
    assert isinstance(stopped, seconder.Paused)
    return {review["call_id"]: review["id"] for review in stopped.reviews}


async def press(desk: Desk, review_id: str, said: Any) -> None:
    await asyncio.to_thread(lambda: decide.decide(desk, press_on(desk, review_id, ALICE), said))


@pytest.fixture
def elsewhere(real: Desk, mode: str) -> Iterator[None]:
    """A worker in a process of its own, with the agents of tests.support.graphs."""
    with served(build_api(real, ready=ready, slack=None)) as address:
        known = {"SECONDER_BASE_URL": address, "SECONDER_TOKEN": secret_of(real, NAME), "TEST_MODE": mode}
        command = [sys.executable, "-m", "seconder.cli", "worker", "--agents", "tests.support.graphs:AGENTS"]
        worker = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **known})
        yield
        worker.terminate()
        worker.wait(20)


async def ended(client: LocalClient, review_id: str) -> dict[str, Any]:
    pause_id = (await client.review(review_id))["pause_id"]
    while True:
        pause = await client.pause(pause_id, wait=20)
        if pause["state"] == "finished":
            return pause
        await asyncio.sleep(0.05)


@pytest.mark.usefixtures("elsewhere")
async def test_approve_edit_and_reject_reach_a_run_that_another_process_resumes(
    real: Desk, client: LocalClient, mode: str
) -> None:
    ids = await begun(client, C1, C2, mode=mode)
    await press(real, ids["c1"], decide.Edit({"order": "O-991", "amount": 120}))
    await press(real, ids["c2"], decide.Reject("not this one"))

    pause = await ended(client, ids["c1"])

    assert pause["outcome"]["kind"] == "finished", pause["outcome"]
    assert [(entry["order"], entry["amount"], entry["key"][:4]) for entry in ledger()] == [("O-991", 120.0, "sdr_")]
    told = {one["tool_call_id"]: one["content"] for one in messages(pause) if one["type"] == "tool"}
    assert "amount 240 -> 120" in told["c1"]
    assert "rejected this call: not this one" in told["c2"]
    [review] = [review for review in pause["reviews"] if review["call_id"] == "c1"]
    assert (review["outcome"]["status"], review["outcome"]["result"]) == ("succeeded", "refunded 120 for O-991")


async def test_the_process_that_began_the_run_gets_its_end(real: Desk, client: LocalClient, mode: str) -> None:
    scripts = itertools.chain([[C1]], itertools.repeat("done"))
    first = opening(lambda saver: agent(saver, next(scripts), mode=mode))
    run = asyncio.create_task(seconder.run(first, "please", client=client, requester=RILEY))
    await press(real, await pending(real), decide.Approve())

    output = await run

    assert len(ledger()) == 1
    assert output["messages"][-1].text == "done"


async def pending(desk: Desk) -> str:
    while True:
        page = await asyncio.to_thread(look.listed, desk, agent=None, status=None, limit=50)
        if page.reviews:
            return page.reviews[0].id
        await asyncio.sleep(0.02)


def messages(pause: dict[str, Any]) -> list[dict[str, Any]]:
    return list(pause["outcome"]["final_output"]["messages"])


async def test_a_factory_that_makes_no_graph_fails_the_run_and_says_so(
    real: Desk, client: LocalClient, mode: str
) -> None:
    ids = await begun(client, C1, mode=mode)
    await press(real, ids["c1"], decide.Approve())
    stop = asyncio.Event()
    worker = asyncio.create_task(Worker(client, {NAME: lambda: "no graph"}, name="w", poll=1).run(stop))

    pause = await ended(client, ids["c1"])

    stop.set()
    await worker
    assert pause["outcome"]["kind"] == "failed"
    assert "not a compiled graph" in pause["outcome"]["error"]
    assert ledger() == []
