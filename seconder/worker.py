"""The worker: claims decided pauses of the agents it knows and resumes their runs, some at a time.

It speaks to a `Client` only: away from the server it has a token, and no database and no keys.
Killed at any moment it loses nothing: its leases end and other workers claim again.
"""

import asyncio
import importlib
from collections.abc import Mapping
from typing import Any

from seconder.errors import ConfigurationError, LeaseLost, NotFound, SeconderError
from seconder.faults import crash_point
from seconder.frameworks import Agents, Factory, Finished, PausedAgain
from seconder.frameworks.lease import Ended, resume, trace
from seconder.gate import Claim, Client
from seconder.telemetry import logger

POLL = 20.0  # seconds a claim waits for a decided pause
FIRST_DELAY, LONGEST_DELAY = 0.5, 15.0  # seconds after trouble with the server
GRACE = 8.0  # seconds that runs get to end when the worker is stopped

log = logger("seconder.worker")


def load_agents(place: str) -> dict[str, Factory]:
    """The dict `{agent name: factory}` at `MODULE:ATTR`.

    Raises: ConfigurationError where there is none, saying what is there instead.
    """
    module_name, colon, attribute = place.partition(":")
    if not (module_name and colon and attribute):
        raise ConfigurationError(f"--agents {place!r}: name a dict as MODULE:ATTR, like myapp.agents:AGENTS")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise ConfigurationError(f"--agents {place!r}: {error}; run it where {module_name} can be imported") from error
    except Exception as error:
        message = f"--agents {place!r}: importing {module_name} failed with {type(error).__name__}: {error}"
        raise ConfigurationError(message) from error
    return _checked(place, getattr(module, attribute, None))


def _checked(place: str, agents: object) -> dict[str, Factory]:
    if not isinstance(agents, Mapping) or not agents:
        found = "nothing" if agents is None else f"a {type(agents).__name__}"
        raise ConfigurationError(f"--agents {place!r}: there is {found}; put a dict {{agent name: factory}} there")
    for name, factory in agents.items():
        if not isinstance(name, str) or not name:
            raise ConfigurationError(f"--agents {place!r}: the key {name!r} is not an agent's name")
        if not callable(factory):
            message = f"is a {type(factory).__name__}; give a function without arguments that returns the agent"
            raise ConfigurationError(f"--agents {place!r}: the value of {name!r} {message}")
    return dict(agents)


class Worker:
    """`name` is shown in trails and logs; at most `concurrency` runs are resumed at once."""

    def __init__(
        self,
        client: Client,
        agents: Agents,
        *,
        name: str,
        concurrency: int = 4,
        poll: float = POLL,
        grace: float = GRACE,
    ) -> None:
        self._client, self._agents, self._name = client, agents, name
        self._poll, self._grace = poll, grace
        self._free = asyncio.Semaphore(concurrency)
        self._running: set[asyncio.Task[None]] = set()

    async def run(self, stop: asyncio.Event) -> None:
        """Works until `stop` is set, then lets runs end for `grace` seconds; what is left is claimed elsewhere.

        Raises: ConfigurationError, NotFound where the server does not let this worker have these agents.
        """
        log.info("worker.started", worker=self._name, agents=sorted(self._agents))
        stopping = asyncio.create_task(stop.wait())
        claiming = asyncio.create_task(self._claim_all())
        try:
            await asyncio.wait({stopping, claiming}, return_when=asyncio.FIRST_COMPLETED)
            if claiming.done():
                claiming.result()
        finally:
            await _cancelled(stopping, claiming)
            await self._end_runs()
            log.info("worker.stopped", worker=self._name)

    async def _claim_all(self) -> None:
        delay = FIRST_DELAY
        while True:
            await self._free.acquire()
            claim = None
            try:
                claim = await self._client.claim(agents=list(self._agents), worker=self._name, wait=self._poll)
                delay = FIRST_DELAY
            except (ConfigurationError, NotFound):
                raise
            except Exception as error:  # noqa: BLE001 - a worker outlives any trouble of the server, and says so
                log.warning("worker.cannot_claim", worker=self._name, why=f"{type(error).__name__}: {error}")
                await asyncio.sleep(delay)
                delay = min(2 * delay, LONGEST_DELAY)
            finally:
                if claim is None:
                    self._free.release()
            if claim is not None:
                crash_point("worker.claimed")
                self._start(claim)

    def _start(self, claim: Claim) -> None:
        task = asyncio.create_task(self._work(claim))
        self._running.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._free.release()

    async def _work(self, claim: Claim) -> None:
        known = log.bind(worker=self._name, pause=claim.pause["id"], agent=claim.pause["agent"]["name"])
        known.info("worker.claimed", run=claim.pause["run"], fence=claim.fence, attempt=claim.pause["attempts"])
        try:
            ended = await resume(self._client, claim, self._agents[claim.pause["agent"]["name"]])
        except LeaseLost as error:
            known.warning("worker.lease_lost", why=str(error))
        except SeconderError as error:
            known.warning("worker.not_finished", why=str(error))
        except Exception as error:  # noqa: BLE001 - the lease ends and the pause is claimed again
            known.error("worker.not_finished", why=f"{type(error).__name__}: {error}", traceback=trace(error))
        else:
            known.info("worker.finished", **_said(ended))

    async def _end_runs(self) -> None:
        if self._running:
            log.info("worker.stopping", worker=self._name, runs=len(self._running))
            await asyncio.wait(self._running, timeout=self._grace)
        await _cancelled(*self._running)


def _said(ended: Ended) -> dict[str, Any]:
    match ended.resumed:
        case Finished():
            return {"outcome": "finished"}
        case PausedAgain():
            return {"outcome": "paused_again", "next_pause": (ended.pause["outcome"] or {}).get("next_pause")}
        case failed:
            return {"outcome": "failed", "error": failed.error, "retry": failed.retry}


async def _cancelled(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
