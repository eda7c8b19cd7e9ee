"""`seconder.run` from the first word to the final output, in one process and in two."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from agents import Agent
from agents.testing import ScriptedModel
from pydantic import BaseModel

import seconder
from seconder.errors import ConfigurationError, RunFailed
from seconder.frameworks.lease import resume
from seconder.worker import Worker
from tests.support.agents import agent, call, ledger, resumed_with
from tests.support.memory_desk import MemoryDesk

pytestmark = pytest.mark.anyio

REFUND = call("refund", "c1", order="O-991", amount=240)
ROOT = Path(__file__).parents[3]


async def test_a_run_without_gated_calls_returns_its_final_output(desk: MemoryDesk) -> None:
    assert await seconder.run(agent("hello"), "hi", client=desk) == "hello"
    assert desk.pauses == {}


async def test_a_run_waits_for_the_decision_and_goes_on_here(desk: MemoryDesk) -> None:
    run = asyncio.create_task(seconder.run(agent([REFUND], "done"), "please", client=desk))
    await desk.asked("c1")
    await desk.approve("c1")

    assert await run == "done"
    assert len(ledger()) == 1


async def test_a_run_that_pauses_twice_is_followed_to_its_end(desk: MemoryDesk) -> None:
    made = agent([REFUND], [call("refund", "c2", order="O-2", amount=5)], "done")
    run = asyncio.create_task(seconder.run(lambda: made, "please", client=desk))
    for call_id in ("c1", "c2"):
        await desk.asked(call_id)
        await desk.approve(call_id)

    assert await run == "done"
    assert len(ledger()) == 2


async def test_where_another_worker_wins_its_final_output_is_returned(desk: MemoryDesk) -> None:
    run = asyncio.create_task(seconder.run(agent([REFUND]), "please", client=desk))
    await desk.asked("c1")
    review = desk.review_of("c1")
    review.update(status="decided", decision={"kind": "rejected", "reason": "no", "source": "person", "by": ["U1"]})
    claim = await desk.claim(agents=["desk"], worker="other")
    assert claim is not None
    await resume(desk, claim, resumed_with("done elsewhere")[1])

    assert await run == "done elsewhere"


async def test_many_that_compete_resume_the_run_once(desk: MemoryDesk) -> None:
    made = agent([REFUND], "done")
    stop = asyncio.Event()
    names = [f"w{n}" for n in range(5)]
    workers = [Worker(desk, {"desk": resumed_with("done")[1]}, name=name, poll=1) for name in names]
    tasks = [asyncio.create_task(worker.run(stop)) for worker in workers]
    run = asyncio.create_task(seconder.run(made, "please", client=desk))
    await desk.asked("c1")
    await desk.approve("c1")

    assert await run == "done"
    stop.set()
    await asyncio.gather(*tasks)
    assert len(ledger()) == 1
    assert len(desk.finishes) == 1


async def test_a_run_that_fails_after_its_pause_says_how(desk: MemoryDesk) -> None:
    run = asyncio.create_task(seconder.run(agent([REFUND]), "please", client=desk))
    await desk.asked("c1")
    await desk.approve("c1")

    with pytest.raises(RunFailed, match="UnexpectedModelCall"):
        await run


async def test_waiting_ends_after_the_timeout_and_the_pause_lives_on(desk: MemoryDesk) -> None:
    with pytest.raises(TimeoutError, match="still waits for a decision"):
        await seconder.run(agent([REFUND]), "please", client=desk, timeout=0.05)

    assert [review["status"] for review in desk.reviews] == ["pending"]


async def test_without_waiting_the_pause_and_its_reviews_are_returned(desk: MemoryDesk) -> None:
    stopped = await seconder.run(agent([REFUND]), "please", client=desk, wait=False, requester="U01RILEY", name="other")

    assert isinstance(stopped, seconder.Paused)
    [review] = stopped.reviews
    assert review["action"]["tool"] == "refund"
    assert review["action"]["arguments"] == {"order": "O-991", "amount": 240}
    assert review["action"]["arguments_schema"]["required"] == ["order", "amount"]
    assert review["action"]["summary"] == "Pay money back."
    assert review["requester"] == {"slack_user": "U01RILEY"}
    assert review["agent"] == {"name": "other", "version": None}


async def test_a_session_of_the_sdk_is_refused_with_what_to_do(desk: MemoryDesk) -> None:
    anything: Any = object()

    with pytest.raises(ConfigurationError, match="session names the case"):
        await seconder.run(agent("x"), "hi", client=desk, session=anything)


async def test_without_a_token_the_agent_is_not_even_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SECONDER_TOKEN", raising=False)
    made = agent("hello")

    with pytest.raises(ConfigurationError, match="SECONDER_TOKEN"):
        await seconder.run(made, "hi")

    assert isinstance(made.model, ScriptedModel)
    assert made.model.calls == ()


class Answer(BaseModel):
    order: str
    paid: int


async def test_a_typed_final_output_is_kept_as_json(desk: MemoryDesk) -> None:
    def typed(*steps: Any) -> Agent[Any]:
        return agent(*steps, output_type=Answer)

    run = asyncio.create_task(seconder.run(typed([REFUND], '{"order": "O-991", "paid": 240}'), "go", client=desk))
    await desk.asked("c1")
    await desk.approve("c1")

    assert await run == Answer(order="O-991", paid=240)
    assert desk.finishes[0]["final_output"] == {"order": "O-991", "paid": 240}


BEGIN = """
import asyncio, json, sys
import seconder
from tests.support.agents import first
from tests.support.memory_desk import MemoryDesk

async def main():
    desk = MemoryDesk()
    await seconder.run(first, "please", client=desk, wait=False, run_id="run-1")
    print(json.dumps({"pauses": desk.pauses, "states": desk.states}))

asyncio.run(main())
"""

GO_ON = """
import asyncio, json, sys
import seconder
from seconder.worker import Worker, load_agents
from tests.support.memory_desk import Lease, MemoryDesk

async def main():
    kept = json.load(sys.stdin)
    desk = MemoryDesk(pauses=kept["pauses"], states=kept["states"])
    desk.leases = {ident: Lease() for ident in desk.pauses}
    await desk.edit("c1", amount=120)
    stop = asyncio.Event()
    working = asyncio.create_task(Worker(desk, load_agents("tests.support.agents:AGENTS"), name="w", poll=1).run(stop))
    await desk.until(lambda: bool(desk.finishes))
    stop.set()
    await working
    print(json.dumps(desk.finishes))

asyncio.run(main())
"""


def in_another_process(code: str, given: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        input=given,
        env={**os.environ, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_run_that_paused_in_one_process_goes_on_in_another() -> None:
    begun = in_another_process(BEGIN)
    assert begun.returncode == 0, begun.stderr
    went_on = in_another_process(GO_ON, begun.stdout)

    assert went_on.returncode == 0, went_on.stderr
    [finish] = json.loads(went_on.stdout.splitlines()[-1])
    assert (finish["outcome"], finish["final_output"]) == ("finished", "done")
    assert ledger() == [{"tool": "refund", "key": "sdr_run-1_c1", "order": "O-991", "amount": 120.0}]


@pytest.mark.parametrize(
    ("point", "executed"),
    [("worker.claimed", 0), ("worker.effect_started", 0), ("worker.effect_ran", 1), ("worker.before_finish", 1)],
)
def test_a_worker_dies_at_a_crash_point(point: str, executed: int) -> None:
    begun = in_another_process(BEGIN)
    died = in_another_process(GO_ON, begun.stdout, SECONDER_TESTING="1", SECONDER_CRASH_AT=point)

    assert died.returncode == 137, died.stderr
    assert len(ledger()) == executed
