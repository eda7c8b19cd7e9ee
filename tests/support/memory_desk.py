"""A desk in memory that keeps the rules of the contract: leases with fences, effects once, decisions by the test.

Everything goes through JSON in both directions, as it would over HTTP. A policy is a function from the
action to `allow`, `ask` or `deny`. Time is the test's own: `advance` lets leases end.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

from seconder.action import Action
from seconder.errors import CannotConsume, EffectUncertain, LeaseLost, NotFound, OutcomeConflict
from seconder.gate import LEASE, Claim, EffectStart

AT = "2027-01-01T10:00:00.000Z"
Policy = Callable[[dict[str, Any]], str]


def ask(_: dict[str, Any]) -> str:
    return "ask"


@dataclass
class Effect:
    id: str
    pause_id: str
    fence: int
    status: str = "started"
    result: Any = None
    error: str | None = None


@dataclass
class Lease:
    fence: int = 0
    until: float = 0
    worker: str | None = None


@dataclass
class MemoryDesk:
    """A `seconder.gate.Client`; `effects` are by review id, `heartbeats` counts them."""

    policy: Policy = ask
    now: float = 0
    pauses: dict[str, dict[str, Any]] = field(default_factory=dict)
    states: dict[str, Any] = field(default_factory=dict)
    effects: dict[str, Effect] = field(default_factory=dict)
    leases: dict[str, Lease] = field(default_factory=dict)
    heartbeats: int = 0
    finishes: list[dict[str, Any]] = field(default_factory=list)
    _ids: Any = field(default_factory=lambda: count(1))
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    # --- what a test does -----------------------------------------------------------------------

    @property
    def reviews(self) -> list[dict[str, Any]]:
        return [review for pause in self.pauses.values() for review in pause["reviews"]]

    def review_of(self, call_id: str) -> dict[str, Any]:
        [review] = [review for review in self.reviews if review["call_id"] == call_id]
        return review

    async def approve(self, call_id: str, *by: str) -> None:
        await self._decide(call_id, "approved", by or ("U01ALICE",))

    async def edit(self, call_id: str, *by: str, **arguments: Any) -> None:
        shown = self.review_of(call_id)["action"]
        changed = {**shown["arguments"], **arguments}
        digest = Action(tool=shown["tool"], arguments=changed).digest
        await self._decide(call_id, "edited", by or ("U01ALICE",), arguments=changed, digest=digest)

    async def reject(self, call_id: str, reason: str, *, source: str = "person") -> None:
        await self._decide(call_id, "rejected", ("U01ALICE",), reason=reason, source=source)

    async def answer(self, call_id: str, answer: Any) -> None:
        await self._decide(call_id, "answered", ("U01ALICE",), answer=answer)

    async def take_over(self, call_id: str, result: str) -> None:
        await self._decide(call_id, "taken_over", ("U01ALICE",), result=result)

    async def settle(self, call_id: str, status: Literal["expired", "cancelled"]) -> None:
        self.review_of(call_id)["status"] = status
        await self._wake()

    async def advance(self, seconds: float) -> None:
        self.now += seconds
        await self._wake()

    async def until(self, enough: Callable[[], bool]) -> None:
        """Returns once this is so."""
        async with self._changed:
            await self._changed.wait_for(enough)

    async def asked(self, call_id: str) -> None:
        """Returns once there is a review of this call."""
        await self.until(lambda: any(review["call_id"] == call_id for review in self.reviews))

    async def steal(self, pause_id: str) -> None:
        """Another worker has the lease from now on."""
        lease = self.leases[pause_id]
        lease.fence, lease.until = lease.fence + 1, self.now + LEASE
        await self._wake()

    # --- the client -----------------------------------------------------------------------------

    async def submit_review(self, interrupt: dict[str, Any], *, idempotency_key: str | None = None) -> dict[str, Any]:
        raise NotImplementedError

    async def review(self, review_id: str, *, wait: float = 0) -> dict[str, Any]:
        found: dict[str, Any] = _copy(self._find(review_id))
        return found

    async def cancel(self, review_id: str) -> dict[str, Any]:
        raise NotImplementedError

    async def consume(self, review_id: str) -> dict[str, Any]:
        raise NotImplementedError

    async def report(
        self, review_id: str, *, status: str, result: Any = None, error: str | None = None
    ) -> dict[str, Any]:
        raise NotImplementedError

    async def submit_pause(self, pause: dict[str, Any]) -> dict[str, Any]:
        return await self._add(_copy(pause))

    async def pause(self, pause_id: str, *, wait: float = 0) -> dict[str, Any]:
        await self._wait(lambda: self._state(pause_id) in {"ready", "finished"}, wait)
        return self._said(pause_id)

    async def claim(
        self, *, agents: list[str], worker: str, pause_id: str | None = None, wait: float = 0
    ) -> Claim | None:
        def claimable() -> list[str]:
            return [
                ident
                for ident, pause in self.pauses.items()
                if pause["agent"]["name"] in agents and pause_id in {None, ident} and self._state(ident) == "ready"
            ]

        await self._wait(lambda: bool(claimable()), wait)
        ready = claimable()
        if not ready:
            return None
        lease, pause = self.leases[ready[0]], self.pauses[ready[0]]
        lease.fence, lease.until, lease.worker = lease.fence + 1, self.now + LEASE, worker
        pause["attempts"] += 1
        said = self._said(ready[0])
        reviews = said.pop("reviews")
        said["run_state"] = _copy(self.states[ready[0]])
        return Claim(pause=said, reviews=tuple(reviews), fence=lease.fence)

    async def heartbeat(self, pause_id: str, *, fence: int) -> None:
        self._check(pause_id, fence).until = self.now + LEASE
        self.heartbeats += 1
        await self._wake()

    async def finish(self, pause_id: str, *, fence: int, outcome: str, **said: Any) -> dict[str, Any]:
        lease = self._check(pause_id, fence)
        said = _copy(said)
        self.finishes.append({"pause_id": pause_id, "outcome": outcome, **said})
        lease.until = 0
        if outcome == "failed" and said.get("retry"):
            await self._wake()
            return self._said(pause_id)
        following = await self._add(said["next_pause"]) if said.get("next_pause") else None
        self.pauses[pause_id]["outcome"] = {
            "kind": outcome,
            "final_output": said.get("final_output"),
            "error": said.get("error"),
            "next_pause": following and following["id"],
        }
        await self._wake()
        return self._said(pause_id)

    async def start_effect(self, pause_id: str, *, fence: int, review_id: str, digest: str) -> EffectStart:
        self._check(pause_id, fence)
        review = self._find(review_id)
        action = self._runnable(review)
        if action.digest != digest:
            raise CannotConsume("digest_mismatch", "the arguments to run are not those that were decided")
        known = self.effects.get(review_id)
        if known is None:
            known = self.effects[review_id] = Effect(f"ef_{next(self._ids)}", pause_id, fence)
            verdict: Any = "run"
        elif known.status == "started":
            raise EffectUncertain(f"effect {known.id} was started before and never ended")
        else:
            verdict = "told" if known.status == "told" else "done"
        return EffectStart(
            verdict=verdict,
            effect_id=known.id,
            key=f"sdr_{review['run']}_{review['call_id']}",
            arguments=_copy(action.arguments),
            result=known.result,
            error=known.error,
        )

    async def end_effect(
        self, effect_id: str, *, pause_id: str, fence: int, status: str, result: Any = None, error: str | None = None
    ) -> None:
        self._check(pause_id, fence)
        [effect] = [effect for effect in self.effects.values() if effect.id == effect_id]
        if effect.status not in {"started", status}:
            raise OutcomeConflict("it has another end")
        effect.status, effect.result, effect.error = status, _copy(result), error

    async def aclose(self) -> None:
        pass

    # --- inside ---------------------------------------------------------------------------------

    async def _add(self, pause: dict[str, Any]) -> dict[str, Any]:
        ident = f"ps_{next(self._ids)}"
        self.states[ident] = pause.pop("state")
        self.leases[ident] = Lease()
        interrupts = pause.pop("interrupts")
        self.pauses[ident] = {
            **pause,
            "id": ident,
            "created_at": AT,
            "attempts": 0,
            "outcome": None,
            "reviews": [self._judged(one, ident, pause) for one in interrupts],
        }
        await self._wake()
        return self._said(ident)

    def _judged(self, interrupt: dict[str, Any], pause_id: str, pause: dict[str, Any]) -> dict[str, Any]:
        verdict = self.policy(interrupt["action"])
        action = Action(tool=interrupt["action"]["tool"], arguments=interrupt["action"]["arguments"])
        return {
            "id": f"rv_{next(self._ids)}",
            "status": {"allow": "allowed", "ask": "pending", "deny": "denied"}[verdict],
            "revision": 1,
            "kind": interrupt["kind"],
            "agent": pause["agent"],
            "action": interrupt["action"],
            "digest": action.digest,
            "call_id": interrupt["call_id"],
            **{name: interrupt.get(name) for name in ("session", "environment", "reason", "requester", "context")},
            "verdict": {"verdict": verdict, "rule": "a rule", "because": f"The rule says {verdict}.", "policy": "test"},
            "votes": [],
            "decision": None,
            "pause_id": pause_id,
            "run": pause["run"],
        }

    async def _decide(self, call_id: str, kind: str, by: tuple[str, ...], **said: Any) -> None:
        review = self.review_of(call_id)
        assert review["status"] == "pending", review["status"]
        decision = dict.fromkeys(("arguments", "digest", "reason", "answer", "result"))
        if kind == "approved":
            decision |= {"arguments": review["action"]["arguments"], "digest": review["digest"]}
        review["decision"] = {**decision, "kind": kind, "by": list(by), "source": "person", "at": AT, **said}
        review["status"] = "decided"
        await self._wake()

    def _runnable(self, review: dict[str, Any]) -> Action:
        tool, decision = review["action"]["tool"], review["decision"]
        if review["status"] == "allowed":
            return Action(tool=tool, arguments=review["action"]["arguments"])
        if review["status"] != "decided":
            raise CannotConsume(review["status"], "nothing lets it run")
        if decision["kind"] not in {"approved", "edited"}:
            raise CannotConsume("rejected", decision["reason"] or decision["kind"])
        return Action(tool=tool, arguments=decision["arguments"])

    def _state(self, pause_id: str) -> str:
        pause = self.pauses[pause_id]
        if pause["outcome"] is not None:
            return "finished"
        if any(review["status"] == "pending" for review in pause["reviews"]):
            return "waiting"
        return "leased" if self.leases[pause_id].until > self.now else "ready"

    def _said(self, pause_id: str) -> dict[str, Any]:
        if pause_id not in self.pauses:
            raise NotFound("pause", pause_id)
        return {**_copy(self.pauses[pause_id]), "state": self._state(pause_id)}

    def _find(self, review_id: str) -> dict[str, Any]:
        for review in self.reviews:
            if review["id"] == review_id:
                return review
        raise NotFound("review", review_id)

    def _check(self, pause_id: str, fence: int) -> Lease:
        lease = self.leases[pause_id]
        if lease.fence != fence or lease.until <= self.now or self.pauses[pause_id]["outcome"] is not None:
            raise LeaseLost(f"pause {pause_id} is not leased under fence {fence}")
        return lease

    async def _wait(self, enough: Callable[[], bool], seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds), self._changed:
                await self._changed.wait_for(enough)
        except TimeoutError:
            return

    async def _wake(self) -> None:
        async with self._changed:
            self._changed.notify_all()


def _copy(value: Any) -> Any:
    return json.loads(json.dumps(value))
