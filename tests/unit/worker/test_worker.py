"""What a worker does with claims, with trouble, and when it is stopped."""

import asyncio
from typing import Any

import pytest

from seconder import worker as worker_module
from seconder.errors import ConfigurationError, Unreachable
from seconder.frameworks import Agents, Finished, Resumed
from seconder.gate import Claim
from seconder.worker import Worker, load_agents
from tests.support.memory_desk import MemoryDesk

pytestmark = pytest.mark.anyio

GOOD = {"desk": lambda: "an agent"}
EMPTY: dict[str, Any] = {}
WRONG_KEY = {1: print}
WRONG_VALUE = {"desk": "not a factory"}
TEXT = "desk"
HERE = __name__


class Framework:
    """Resumes by calling the factory; what it does is the test's."""

    async def resume(self, claim: Claim, factory: Any, client: Any) -> Resumed:
        made = factory()
        return Finished(await made, None) if asyncio.iscoroutine(made) else Finished(made, made)

    def may_pass(self, error: Exception) -> bool:
        return isinstance(error, OSError)


@pytest.fixture(autouse=True)
def _framework(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(name: str) -> Framework:
        if name == "absent":
            message = "absent is not installed here"
            raise ConfigurationError(message)
        return Framework()

    monkeypatch.setattr("seconder.frameworks.lease.adapter", found)
    monkeypatch.setattr(worker_module, "FIRST_DELAY", 0.001)


async def ready(desk: MemoryDesk, *call_ids: str, framework: str = "test") -> None:
    for call_id in call_ids:
        await desk.submit_pause(
            {
                "run": f"run-{call_id}",
                "framework": framework,
                "framework_version": "1",
                "agent": {"name": "desk", "version": None},
                "state": {},
                "interrupts": [
                    {"kind": "tool_call", "call_id": call_id, "action": {"tool": "t", "arguments": {}}},
                ],
            }
        )
        await desk.approve(call_id)


async def works(desk: MemoryDesk, agents: Agents, finishes: int, **more: Any) -> None:
    """A worker runs until so many outcomes were recorded."""
    stop = asyncio.Event()
    working = asyncio.create_task(Worker(desk, agents, name="w", poll=0.5, **more).run(stop))
    enough = asyncio.create_task(desk.until(lambda: len(desk.finishes) >= finishes))
    await asyncio.wait({working, enough}, return_when=asyncio.FIRST_COMPLETED)
    enough.cancel()
    stop.set()
    await working


async def test_every_ready_pause_is_resumed_and_finished() -> None:
    desk = MemoryDesk()
    await ready(desk, "c1", "c2", "c3")

    await works(desk, {"desk": lambda: "done"}, 3)

    assert [(finish["outcome"], finish["final_output"]) for finish in desk.finishes] == [("finished", "done")] * 3


async def test_at_most_so_many_runs_are_resumed_at_once() -> None:
    desk = MemoryDesk()
    await ready(desk, *(f"c{n}" for n in range(6)))
    running = most = 0

    async def slow() -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return "x"

    await works(desk, {"desk": slow}, 6, concurrency=2)

    assert most == 2


async def test_pauses_of_agents_that_it_does_not_know_are_left_alone() -> None:
    desk = MemoryDesk()
    await ready(desk, "c1")
    stop = asyncio.Event()
    working = asyncio.create_task(Worker(desk, {"other": lambda: "x"}, name="w", poll=0.01).run(stop))
    await asyncio.sleep(0.05)
    stop.set()
    await working

    assert desk.finishes == []
    assert next(iter(desk.pauses.values()))["attempts"] == 0


@pytest.mark.parametrize(
    ("error", "retry"),
    [(ValueError("a bug"), False), (ConnectionError("down"), True), (Unreachable("the desk is away"), True)],
)
async def test_what_an_agent_raises_is_the_outcome_of_its_run(error: Exception, retry: bool) -> None:
    desk = MemoryDesk()
    await ready(desk, "c1")

    def broken() -> str:
        raise error

    await works(desk, {"desk": broken}, 1)

    assert desk.finishes[0]["retry"] is retry
    assert str(error) in desk.finishes[0]["error"]


async def test_a_run_that_may_pass_is_tried_again() -> None:
    desk = MemoryDesk()
    await ready(desk, "c1")
    tries = 0

    def flaky() -> str:
        nonlocal tries
        tries += 1
        if tries == 1:
            message = "down"
            raise ConnectionError(message)
        return "done"

    await works(desk, {"desk": flaky}, 2)

    assert [finish["outcome"] for finish in desk.finishes] == ["failed", "finished"]


async def test_a_framework_that_is_not_installed_here_may_be_installed_elsewhere() -> None:
    desk = MemoryDesk()
    await ready(desk, "c1", framework="absent")

    await works(desk, {"desk": lambda: "x"}, 1)

    assert desk.finishes[0]["retry"] is True


class Troubled(MemoryDesk):
    """A desk whose first claims fail."""

    troubles: list[Exception]

    async def claim(self, **asked: Any) -> Claim | None:
        if self.troubles:
            raise self.troubles.pop(0)
        return await super().claim(**asked)


async def test_a_worker_outlives_trouble_of_the_server() -> None:
    desk = Troubled()
    desk.troubles = [Unreachable("away"), RuntimeError("a bug of the server")]
    await ready(desk, "c1")

    await works(desk, {"desk": lambda: "done"}, 1)

    assert len(desk.finishes) == 1


async def test_a_wrong_token_ends_the_worker_with_what_to_do() -> None:
    desk = Troubled()
    desk.troubles = [ConfigurationError("check SECONDER_TOKEN")]

    with pytest.raises(ConfigurationError, match="SECONDER_TOKEN"):
        await works(desk, {"desk": lambda: "x"}, 1)


async def test_a_stopped_worker_lets_its_runs_end() -> None:
    desk = MemoryDesk()
    await ready(desk, "c1")
    begun, stop = asyncio.Event(), asyncio.Event()

    async def slow() -> str:
        begun.set()
        await asyncio.sleep(0.05)
        return "done"

    working = asyncio.create_task(Worker(desk, {"desk": slow}, name="w").run(stop))
    await begun.wait()
    stop.set()
    await working

    assert [finish["outcome"] for finish in desk.finishes] == ["finished"]


async def test_a_run_that_does_not_end_in_time_is_left_to_another_worker() -> None:
    desk = MemoryDesk()
    await ready(desk, "c1")
    begun, stop = asyncio.Event(), asyncio.Event()

    async def endless() -> str:
        begun.set()
        await asyncio.sleep(60)
        return "never"

    working = asyncio.create_task(Worker(desk, {"desk": endless}, name="w", grace=0.01).run(stop))
    await begun.wait()
    stop.set()
    await working
    await desk.advance(11)

    assert desk.finishes == []
    assert await desk.claim(agents=["desk"], worker="other") is not None


def test_agents_are_loaded_by_name() -> None:
    assert load_agents(f"{HERE}:GOOD") == GOOD


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("nothing", "name a dict as MODULE:ATTR"),
        (":AGENTS", "name a dict as MODULE:ATTR"),
        ("no.such.module:AGENTS", "No module named 'no'"),
        (f"{HERE}:MISSING", "there is nothing"),
        (f"{HERE}:EMPTY", "there is a dict"),
        (f"{HERE}:TEXT", "there is a str"),
        (f"{HERE}:WRONG_KEY", "the key 1 is not an agent's name"),
        (f"{HERE}:WRONG_VALUE", "the value of 'desk' is a str"),
    ],
)
def test_agents_that_cannot_be_loaded_are_named(place: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        load_agents(place)


def test_a_module_that_fails_at_import_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "broken_agents.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ConfigurationError, match="importing broken_agents failed with ZeroDivisionError"):
        load_agents("broken_agents:AGENTS")
