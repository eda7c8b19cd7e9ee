"""The same runs on the real desk: begun here, resumed by a worker in another process over HTTP."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import seconder
from seconder.api.app import build_api
from seconder.desk import decide, effects, look
from seconder.desk.client import LocalClient
from seconder.desk.desk import Desk
from seconder.errors import LeaseLost
from seconder.frameworks.lease import resume
from tests.support.agents import ledger
from tests.support.api import ready, secret_of, served
from tests.support.desk import ALICE, RILEY, a_desk, press_on, push_clock
from tests.support.pydantic_agents import agent, call, heard, resumed_with

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[3]
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
CALLS = [call("refund", f"c{n}", order=f"O-{n}", amount=n * 100) for n in (1, 2, 3)]


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Desk]:
    with a_desk(f"sqlite:///{tmp_path}/seconder.db", POLICY) as made:
        yield made


@pytest.fixture
def client(real: Desk) -> LocalClient:
    return LocalClient(real)


@contextmanager
def worker(real: Desk, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker in a process of its own."""
    with served(build_api(real, ready=ready, slack=None)) as address:
        known = {"SECONDER_BASE_URL": address, "SECONDER_TOKEN": secret_of(real, "desk")}
        command = [sys.executable, "-m", "seconder.cli", "worker", "--agents", "tests.support.pydantic_agents:AGENTS"]
        process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **known, **environment})
        yield process
        process.terminate()
        process.wait(20)


@pytest.fixture
def elsewhere(real: Desk) -> Iterator[None]:
    with worker(real):
        yield


async def begun(client: LocalClient, *calls: Any) -> dict[str, str]:
    """The reviews of a run that stopped at these calls, by call id."""
    stopped = await seconder.run(agent(list(calls)), "please", client=client, requester=RILEY, wait=False)
    assert isinstance(stopped, seconder.Paused)
    return {review["call_id"]: review["id"] for review in stopped.reviews}


async def press(desk: Desk, review_id: str, said: Any) -> None:
    await asyncio.to_thread(lambda: decide.decide(desk, press_on(desk, review_id, ALICE), said))


async def ended(client: LocalClient, review_id: str) -> dict[str, Any]:
    pause_id = (await client.review(review_id))["pause_id"]
    while True:
        pause = await client.pause(pause_id, wait=20)
        if pause["state"] == "finished":
            return pause
        await asyncio.sleep(0.05)


@pytest.mark.usefixtures("elsewhere")
async def test_three_decisions_reach_a_run_that_another_process_resumes_to_its_typed_output(
    real: Desk, client: LocalClient
) -> None:
    ids = await begun(client, *CALLS)
    await press(real, ids["c1"], decide.Approve())
    await press(real, ids["c2"], decide.Edit({"order": "O-2", "amount": 5}))
    await press(real, ids["c3"], decide.Reject("not this one"))

    pause = await ended(client, ids["c1"])

    assert pause["outcome"]["kind"] == "finished", pause["outcome"]
    assert pause["outcome"]["final_output"] == {"order": "O-991", "total": 120.0}
    ran = sorted((entry["order"], entry["amount"], entry["key"][:4]) for entry in ledger())
    assert ran == [("O-1", 100.0, "sdr_"), ("O-2", 5.0, "sdr_")]
    outcomes = {one["call_id"]: one["outcome"] and one["outcome"]["status"] for one in pause["reviews"]}
    assert outcomes == {"c1": "succeeded", "c2": "succeeded", "c3": None}


async def test_the_process_that_began_the_run_gets_its_end(real: Desk, client: LocalClient) -> None:
    made = agent([CALLS[0]], "done")
    run = asyncio.create_task(seconder.run(made, "please", client=client, requester=RILEY))
    await press(real, await pending(real), decide.Approve())

    assert await run == "done"
    assert len(ledger()) == 1


async def pending(desk: Desk) -> str:
    while True:
        page = await asyncio.to_thread(look.listed, desk, agent=None, status=None, limit=50)
        if page.reviews:
            return page.reviews[0].id
        await asyncio.sleep(0.02)


async def test_a_snapshot_that_is_resumed_twice_executes_once(real: Desk, client: LocalClient) -> None:
    ids = await begun(client, CALLS[0])
    await press(real, ids["c1"], decide.Approve())
    claim = await client.claim(agents=["desk"], worker="w")
    assert claim is not None

    await resume(client, claim, resumed_with("done")[1])
    with pytest.raises(LeaseLost):
        await resume(client, claim, resumed_with("done")[1])

    assert len(ledger()) == 1


async def test_a_failing_tool_is_the_failed_outcome_of_its_review(real: Desk, client: LocalClient) -> None:
    ids = await begun(client, call("explode", "c1", order="O-1"))
    await press(real, ids["c1"], decide.Approve())
    claim = await client.claim(agents=["desk"], worker="w")
    assert claim is not None

    await resume(client, claim, resumed_with("x")[1])

    outcome = (await client.review(ids["c1"]))["outcome"]
    assert (outcome["status"], outcome["error"]) == ("failed", "ValueError: the bank refused O-1")


async def dead(real: Desk, client: LocalClient, point: str) -> str:
    """The review of a call whose worker died at this point, some time ago."""
    ids = await begun(client, CALLS[0])
    await press(real, ids["c1"], decide.Approve())
    with worker(real, SECONDER_TESTING="1", SECONDER_CRASH_AT=f"worker.{point}") as dying:
        assert await asyncio.to_thread(dying.wait, 60) == 137
    push_clock(real, timedelta(seconds=20))
    return ids["c1"]


@pytest.mark.parametrize(("point", "ran"), [("effect_started", 0), ("effect_ran", 1)])
async def test_a_worker_that_dies_in_an_effect_leaves_a_question_and_runs_nothing_again(
    real: Desk, client: LocalClient, point: str, ran: int
) -> None:
    ident = await dead(real, client, point)
    assert await client.claim(agents=["desk"], worker="w") is None
    pause = await client.pause((await client.review(ident))["pause_id"])
    [question] = [review["id"] for review in pause["reviews"] if review["kind"] == "question"]
    await press(real, question, decide.Answer(effects.HAPPENED))

    [(call_id, outcome, _)] = await told(client)

    assert (call_id, outcome) == ("c1", "success")
    assert len(ledger()) == ran


async def test_a_worker_that_dies_after_an_effect_leaves_its_result(real: Desk, client: LocalClient) -> None:
    await dead(real, client, "before_finish")

    assert await told(client) == [("c1", "success", "refunded 100 for O-1")]
    assert len(ledger()) == 1


# --- questions and what is done outside ---------------------------------------------------------

ASKED = [call("ask_person", "q1", prompt="Which colour?"), call("ship", "x1", order="O-1")]


async def test_a_question_is_asked_and_its_answer_is_the_result_of_the_call(real: Desk, client: LocalClient) -> None:
    ids = await begun(client, *ASKED)
    question = (await client.review(ids["q1"]))["question"]
    outside = (await client.review(ids["x1"]))["question"]
    await press(real, ids["q1"], decide.Answer("blue"))
    await press(real, ids["x1"], decide.Answer("parcel 7"))

    assert question == {"prompt": "Which colour?", "options": ["red", "blue"], "answer_schema": None}
    assert outside["prompt"] == 'ship({"order":"O-1"}) is done outside of the agent; report its result'
    assert await told(client) == [("q1", "success", "blue"), ("x1", "success", "parcel 7")]


async def test_a_question_that_nobody_answered_is_told_as_that_and_not_as_an_answer(
    real: Desk, client: LocalClient
) -> None:
    ids = await begun(client, *ASKED)
    await press(real, ids["q1"], decide.Reject("none of my business"))
    await client.cancel(ids["x1"])

    [asked, outside] = await told(client)

    assert asked[:2] == ("q1", "failed")
    assert asked[2].endswith("rejected this call: none of my business")
    assert outside == ("x1", "failed", "Not executed: the request was cancelled before anybody decided.")


async def told(client: LocalClient) -> list[tuple[str, str, Any]]:
    claim = await client.claim(agents=["desk"], worker="w")
    assert claim is not None
    made, factory = resumed_with("done")
    await resume(client, claim, factory)
    return heard(made)
