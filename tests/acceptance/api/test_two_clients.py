"""Over HTTP and in one process, the same calls give the same answers and the same errors."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from seconder.desk import decide
from seconder.desk.client import LocalClient
from seconder.desk.decide import Approve, Edit, Reject
from seconder.desk.desk import Desk
from seconder.errors import SeconderError
from seconder.gate import Client
from seconder.gate.http import HttpClient
from tests.support.api import a_door, action_of, call_of, pause_of, secret_of
from tests.support.desk import ALICE, a_desk, press_on, push_clock

Heard = list[Any]
TIMES = {"created_at", "deadline", "at"}


def timeless(value: Any) -> Any:
    """The value without the times in it."""
    if isinstance(value, dict):
        return {name: "a time" if name in TIMES and item else timeless(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [timeless(item) for item in value]
    return value


async def hear(heard: Heard, asked: Awaitable[Any]) -> Any:
    """What the call gave or raised; kept for comparing."""
    try:
        answer = await asked
    except SeconderError as error:
        faults = [(fault.path, fault.message) for fault in getattr(error, "faults", ())]
        heard.append((type(error).__name__, str(error), getattr(error, "code", None), faults))
        return None
    heard.append(timeless(asdict(answer) if hasattr(answer, "__dataclass_fields__") else answer))
    return answer


async def reviews(client: Client, desk: Desk, heard: Heard) -> None:
    big = {"id": 2**70, "text": "grüezi"}
    for tool in ("look_up", "issue_refund", "delete_account"):
        await hear(heard, client.submit_review(action_of(tool, big), idempotency_key=tool))
        await hear(heard, client.submit_review(action_of(tool, big), idempotency_key=tool))
        await hear(heard, client.submit_review(action_of(tool, {}), idempotency_key=tool))
    allowed = (await client.submit_review(action_of("look_up", big)))["id"]
    edited, rejected, left = [(await client.submit_review(call_of(n)))["id"] for n in (1, 2, 3)]
    await asyncio.to_thread(decide.decide, desk, press_on(desk, edited, ALICE), Edit({"amount": 120, "order": "O-991"}))
    await asyncio.to_thread(decide.decide, desk, press_on(desk, rejected, ALICE), Reject("no"))
    for ident in (allowed, edited, rejected, left, "rv_none"):
        await hear(heard, client.review(ident, wait=0.1))
        await hear(heard, client.consume(ident))
        await hear(heard, client.consume(ident))
        await hear(heard, client.report(ident, status="succeeded", result={"n": 2**70}))
        await hear(heard, client.report(ident, status="succeeded", result={"n": 2**70}))
        await hear(heard, client.report(ident, status="failed", error="x"))
        await hear(heard, client.report(ident, status="uncertain"))
        await hear(heard, client.cancel(ident))
        await hear(heard, client.cancel(ident))


async def refusals(client: Client, desk: Desk, heard: Heard) -> None:
    wrong: list[Any] = [
        {},
        [],
        call_of(risk=3),
        call_of(surprise=1),
        call_of(agent={"name": ""}),
        call_of(reason="\ud800"),
        call_of(reason="\x00"),
        call_of(deadline="tomorrow"),
        action_of("look_up", {"x": "y" * 300_000}),
        action_of("look_up", {"$int": "1"}),
    ]
    for body in wrong:
        await hear(heard, client.submit_review(body))
        await hear(heard, client.submit_pause(pause_of(body)))
    await hear(heard, client.submit_review(call_of(), idempotency_key="k" * 256))
    await hear(heard, client.submit_pause({"run": "r"}))
    await hear(heard, client.submit_pause(pause_of(call_of(call_id="c"), call_of(call_id="c"))))
    await hear(heard, client.submit_pause(pause_of(action_of("look_up"), state="x" * (8 * 1024 * 1024))))
    await hear(heard, client.claim(agents=[], worker="w"))
    await hear(heard, client.pause("ps_none"))
    await hear(heard, client.heartbeat("ps_none", fence=1))
    await hear(heard, client.finish("ps_none", fence=1, outcome="finished"))
    await hear(heard, client.start_effect("ps_none", fence=1, review_id="r", digest="d"))


async def pauses(client: Client, desk: Desk, heard: Heard) -> None:
    calls = [call_of(call_id="a"), action_of("look_up") | {"call_id": "b"}]
    made = await hear(heard, client.submit_pause(pause_of(*calls, state={"n": 2**70, "half": "\ud83d"})))
    await hear(heard, client.claim(agents=["shop"], worker="w"))
    await hear(heard, client.pause(made["id"], wait=0.1))
    first, second = made["reviews"]
    await asyncio.to_thread(decide.decide, desk, press_on(desk, first["id"], ALICE), Approve())
    await hear(heard, client.pause(made["id"], wait=5))
    old = await hear(heard, client.claim(agents=["shop"], worker="w", pause_id=made["id"], wait=1))
    push_clock(desk, timedelta(seconds=11))
    claimed = await hear(heard, client.claim(agents=["shop"], worker="w"))
    for fence in (old.fence, claimed.fence):
        await hear(heard, client.heartbeat(made["id"], fence=fence))
        start = {"fence": fence, "review_id": first["id"], "digest": first["digest"]}
        started = await hear(heard, client.start_effect(made["id"], **start))
        await hear(heard, client.start_effect(made["id"], **start))
        effect = started.effect_id if started else "ef_none"
        for _ in range(2):
            await hear(
                heard,
                client.end_effect(effect, pause_id=made["id"], fence=fence, status="succeeded", result={"n": 2**70}),
            )
        await hear(heard, client.start_effect(made["id"], **start))
        await hear(heard, client.start_effect(made["id"], fence=fence, review_id=second["id"], digest="other"))
        await hear(heard, client.consume(first["id"]))
        await hear(heard, client.finish(made["id"], fence=fence, outcome="paused_again"))
        following = pause_of(call_of(call_id="c"))
        for _ in range(2):
            ended = client.finish(made["id"], fence=fence, outcome="paused_again", next_pause=following)
            await hear(heard, ended)
        await hear(heard, client.finish(made["id"], fence=fence, outcome="finished"))


@pytest.mark.parametrize("scene", [reviews, refusals, pauses], ids=["reviews", "refusals", "pauses"])
def test_both_clients_hear_the_same(
    database_url: str, tmp_path: Path, scene: Callable[[Client, Desk, Heard], Awaitable[None]]
) -> None:
    async def over_http(base: str, secret: str, desk: Desk, heard: Heard) -> None:
        client = HttpClient(base, secret)
        await scene(client, desk, heard)
        await client.aclose()

    async def in_one_process(desk: Desk, heard: Heard) -> None:
        client = LocalClient(desk)
        await scene(client, desk, heard)
        await client.aclose()

    far: Heard = []
    near: Heard = []
    with a_desk(database_url) as desk, a_door(desk) as door:
        asyncio.run(over_http(str(door.base_url), secret_of(desk), desk, far))
    with a_desk(f"sqlite:///{tmp_path / 'near.db'}") as desk:
        asyncio.run(in_one_process(desk, near))

    assert renamed(far) == renamed(near)


def renamed(heard: Heard) -> list[str]:
    """What was heard, with ids and keys numbered in the order of their appearance."""
    names: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        kind = found[0].partition("_")[0]
        return names.setdefault(found[0], f"{kind}_no_{len(names)}")

    return [re.sub(r"\b(?:rv|ps|ef|sdr)_[0-9a-f]{6,}", number, repr(one)) for one in heard]
