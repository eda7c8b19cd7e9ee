"""Waiting for a paused run, from the process that began it: it competes for the lease like any worker."""

import asyncio
import os
import socket
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from seconder.errors import LeaseLost, RunFailed
from seconder.frameworks import Factory, Failed, Finished, PausedAgain
from seconder.frameworks.lease import resume
from seconder.gate import LONGEST_WAIT, Client

BREATH = 0.5  # seconds between looks at a pause that is ready but not claimable yet


@dataclass(frozen=True, slots=True)
class Paused:
    """The run waits for people: the pause's id, and its reviews as in `GET /v1/reviews/{id}`."""

    id: str
    reviews: tuple[dict[str, Any], ...]


def paused(pause: dict[str, Any]) -> Paused:
    return Paused(pause["id"], tuple(pause["reviews"]))


async def follow(
    client: Client,
    pause_id: str,
    *,
    name: str,
    factory: Factory,
    timeout: float | None,  # noqa: ASYNC109 - it bounds the wait for people, never a resume
) -> Any:
    """The final output of the run, however often it pauses again and whoever resumes it.

    It is the agent's own value if the run ended here, else its JSON: a model comes back as an object.

    Raises: RunFailed; TimeoutError after `timeout` seconds, while the run itself goes on waiting.
    """
    end = None if timeout is None else asyncio.get_running_loop().time() + timeout
    return await _Follower(client, name, factory, end).to_the_end(pause_id)


class _Follower:
    def __init__(self, client: Client, name: str, factory: Factory, end: float | None) -> None:
        self._client, self._name, self._factory, self._end = client, name, factory, end
        self._worker = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"

    async def to_the_end(self, pause_id: str) -> Any:
        while True:
            pause = await self._client.pause(pause_id, wait=self._left(pause_id))
            if pause["state"] == "ready":
                ended, pause = await self._compete(pause)
                if ended is not None:
                    return ended.final_output
            if pause["state"] == "finished":
                outcome = pause["outcome"]
                if outcome["kind"] == "finished":
                    return outcome["final_output"]
                if outcome["kind"] == "failed":
                    raise RunFailed(pause_id, outcome["error"])
                pause_id = outcome["next_pause"]

    def _left(self, pause_id: str) -> float:
        """Seconds to wait now. A resume that has begun is never cut short by the caller's timeout."""
        if self._end is None:
            return LONGEST_WAIT
        left = self._end - asyncio.get_running_loop().time()
        if left <= 0:
            raise TimeoutError(f"pause {pause_id} still waits for a decision; a worker will resume the run")
        return min(left, LONGEST_WAIT)

    async def _compete(self, pause: dict[str, Any]) -> tuple[Finished | None, dict[str, Any]]:
        """The end of the run if it came here, and the pause as it is now."""
        claim = await self._client.claim(agents=[self._name], worker=self._worker, pause_id=pause["id"])
        if claim is None:
            await asyncio.sleep(BREATH)
            return None, pause
        try:
            ended = await resume(self._client, claim, self._factory)
        except LeaseLost:
            return None, await self._client.pause(pause["id"])
        match ended.resumed:
            case Finished():
                return ended.resumed, ended.pause
            case PausedAgain() | Failed():
                return None, ended.pause
