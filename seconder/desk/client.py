"""The desk as a Client in one process: the same JSON as over HTTP, without a token.

It acts for whichever agent a row or a request names, so it is handed out only by `app`.
"""

import asyncio
import hashlib
from dataclasses import dataclass
from typing import Any, Literal

from seconder.desk import cancel, claim, effects, look, reports, said, submit, wire
from seconder.desk.desk import Desk
from seconder.errors import CannotConsume, IllegalTransition
from seconder.gate import Claim, EffectStart
from seconder.review import Agent, Pause
from seconder.store.row import EPOCH
from seconder.store.tokens import Token

MAX_ID = 64  # characters of a token's id


@dataclass(frozen=True, slots=True)
class LocalClient:
    """A `seconder.gate.Client` on the desk itself."""

    desk: Desk

    async def submit_review(self, interrupt: dict[str, Any], *, idempotency_key: str | None = None) -> dict[str, Any]:
        value = wire.read(wire.InterruptIn, interrupt).value()
        once = wire.once(idempotency_key, interrupt)
        review, _ = await asyncio.to_thread(submit.submit_review, self.desk, local(value.agent), value, once)
        return await self._said(review.id)

    async def review(self, review_id: str, *, wait: float = 0) -> dict[str, Any]:
        found = await look.wait(self.desk, lambda: look.named(self.desk, review_id), look.settled_named, wait)
        return said.review_json(*found)

    async def cancel(self, review_id: str) -> dict[str, Any]:
        agent = await self._agent_of_review(review_id)
        await asyncio.to_thread(cancel.cancel, self.desk, review_id, by=f"agent {agent}", agent=agent)
        return await self._said(review_id)

    async def consume(self, review_id: str) -> dict[str, Any]:
        agent = await self._agent_of_review(review_id)
        return said.consumed_json(await asyncio.to_thread(effects.consume, self.desk, review_id, agent=agent))

    async def report(
        self, review_id: str, *, status: str, result: Any = None, error: str | None = None
    ) -> dict[str, Any]:
        ended = wire.read(reports.OutcomeIn, {"status": status, "result": result, "error": error})
        agent = await self._agent_of_review(review_id)
        try:
            await asyncio.to_thread(effects.report, self.desk, review_id, agent=agent, **ended.values())
        except IllegalTransition as refused:
            raise CannotConsume(str(refused.status), str(refused)) from None
        return await self._said(review_id)

    async def submit_pause(self, pause: dict[str, Any]) -> dict[str, Any]:
        request = wire.read(wire.PauseIn, pause).value()
        ident, _ = await asyncio.to_thread(submit.submit_pause, self.desk, local(request.agent), request)
        return await self.pause(ident)

    async def pause(self, pause_id: str, *, wait: float = 0) -> dict[str, Any]:
        found, run = await look.wait(
            self.desk, lambda: look.pause(self.desk, pause_id), look.claimable_or_finished, wait
        )
        return said.pause_json(found, run)

    async def claim(
        self, *, agents: list[str], worker: str, pause_id: str | None = None, wait: float = 0
    ) -> Claim | None:
        def look_for() -> tuple[Pause, str] | None:
            for agent in agents:
                caller = local(Agent(name=agent))
                found = claim.claim(self.desk, caller, [agent], worker=worker, pause_id=pause_id)
                if found is not None:
                    return found, look.run_name(self.desk, found.run_id) or ""
            return None

        wire.read(reports.ClaimIn, {"agents": agents, "worker": worker, "pause_id": pause_id})
        found = await look.wait(self.desk, look_for, lambda pause: pause is not None, wait)
        if found is None:
            return None
        spoken = said.claim_json(*found, self.desk.lease.total_seconds())
        return Claim(pause=spoken["pause"], reviews=tuple(spoken["reviews"]), fence=spoken["fence"])

    async def heartbeat(self, pause_id: str, *, fence: int) -> None:
        agent = await self._agent_of_pause(pause_id)
        await asyncio.to_thread(claim.heartbeat, self.desk, pause_id, agent=agent.name, fence=fence)

    async def finish(
        self,
        pause_id: str,
        *,
        fence: int,
        outcome: Literal["finished", "paused_again", "failed"],
        final_output: Any = None,
        error: str | None = None,
        retry: bool = False,
        next_pause: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        ended = {"fence": fence, "outcome": outcome, "final_output": final_output, "error": error, "retry": retry}
        body = wire.read(reports.FinishIn, {**ended, "next_pause": next_pause})
        agent = await self._agent_of_pause(pause_id)
        await asyncio.to_thread(claim.finish, self.desk, local(agent), pause_id, fence=body.fence, finish=body.value())
        return await self.pause(pause_id)

    async def start_effect(self, pause_id: str, *, fence: int, review_id: str, digest: str) -> EffectStart:
        asked = {"pause_id": pause_id, "fence": fence, "review_id": review_id, "digest": digest}
        body = wire.read(reports.EffectStartIn, asked)
        agent = await self._agent_of_pause(pause_id)
        started = await asyncio.to_thread(effects.start_effect, self.desk, agent=agent.name, **body.model_dump())
        return EffectStart(**said.effect_json(started))

    async def end_effect(
        self, effect_id: str, *, pause_id: str, fence: int, status: str, result: Any = None, error: str | None = None
    ) -> None:
        ended = {"effect_id": effect_id, "pause_id": pause_id, "fence": fence, "status": status}
        body = wire.read(reports.EffectEndIn, {**ended, "result": result, "error": error})
        agent = await self._agent_of_pause(pause_id)
        await asyncio.to_thread(effects.end_effect, self.desk, agent=agent.name, **body.model_dump())

    async def aclose(self) -> None:
        """The desk belongs to whoever made it."""

    async def _said(self, review_id: str) -> dict[str, Any]:
        return said.review_json(*await asyncio.to_thread(look.named, self.desk, review_id))

    async def _agent_of_review(self, review_id: str) -> str:
        review = await asyncio.to_thread(look.review, self.desk, review_id)
        return review.interrupt.agent.name

    async def _agent_of_pause(self, pause_id: str) -> Agent:
        found = await asyncio.to_thread(look.pause, self.desk, pause_id)
        return found[0].agent


def local(agent: Agent) -> Token:
    """The caller of a client in one process."""
    ident = f"local:{agent.name}"
    if len(ident) > MAX_ID:
        ident = f"local:{hashlib.sha256(agent.name.encode()).hexdigest()[: MAX_ID - 6]}"
    return Token(id=ident, agent=agent.name, created_at=EPOCH, revoked_at=None)
