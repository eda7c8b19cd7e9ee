"""What a decision does to the calls of `HumanInTheLoopMiddleware`, in both of its modes."""

from typing import Any

import pytest

import seconder
from seconder.frameworks import Failed, Finished, PausedAgain, Resumed
from seconder.frameworks.lease import resume
from tests.support.agents import ledger
from tests.support.graphs import NAME, Scripted, agent, call, gate, model, opening, opening_sync, told
from tests.support.memory_desk import MemoryDesk

pytestmark = pytest.mark.anyio

C1 = call("refund", "c1", order="O-1", amount=240)
C2 = call("refund", "c2", order="O-2", amount=5)
C3 = call("refund", "c3", order="O-3", amount=7)


async def paused(desk: MemoryDesk, *calls: Any, mode: str, opens: Any = opening, **more: Any) -> str:
    first = opens(lambda saver: agent(saver, list(calls), mode=mode, **more))
    stopped = await seconder.run(first, "please", client=desk, wait=False, run_id="run-1")
    assert isinstance(stopped, seconder.Paused)
    return stopped.id


async def resumed(desk: MemoryDesk, says: Scripted, *, mode: str, opens: Any = opening, **more: Any) -> Resumed:
    claim = await desk.claim(agents=[NAME], worker="w")
    assert claim is not None
    return (await resume(desk, claim, opens(lambda saver: agent(saver, says, mode=mode, **more)))).resumed


async def test_an_approved_call_runs_once_with_the_key_of_its_effect(desk: MemoryDesk, mode: str) -> None:
    await paused(desk, C1, mode=mode)
    await desk.approve("c1")
    says = model("done")

    result = await resumed(desk, says, mode=mode)

    assert isinstance(result, Finished)
    assert result.final_output["messages"][-1].text == "done"
    assert result.json_output["messages"][-1]["content"] == "done"
    assert ledger() == [{"tool": "refund", "key": "sdr_run-1_c1", "order": "O-1", "amount": 240.0}]
    assert told(says) == {"c1": "refunded 240 for O-1"}
    assert [effect.status for effect in desk.effects.values()] == ["succeeded"]


async def test_an_edit_is_what_runs_and_the_model_is_told(desk: MemoryDesk, mode: str) -> None:
    await paused(desk, C1, mode=mode)
    await desk.edit("c1", amount=120)
    says = model("done")

    await resumed(desk, says, mode=mode)

    assert [entry["amount"] for entry in ledger()] == [120.0]
    assert "amount 240 -> 120 (by U01ALICE)" in told(says)["c1"]
    assert "refunded 120 for O-1" in told(says)["c1"]


async def test_an_edit_that_does_not_fit_the_tool_is_told_and_does_nothing(desk: MemoryDesk, mode: str) -> None:
    await paused(desk, C1, mode=mode)
    await desk.edit("c1", amount="much")
    says = model("done")

    await resumed(desk, says, mode=mode)

    assert ledger() == []
    assert "amount" in told(says)["c1"]


async def test_approve_edit_and_reject_go_to_their_own_calls(desk: MemoryDesk, mode: str) -> None:
    await paused(desk, C1, C2, C3, mode=mode)
    await desk.edit("c3", amount=1)
    await desk.reject("c2", "over limit")
    await desk.approve("c1")
    says = model("done")

    await resumed(desk, says, mode=mode)

    assert sorted((entry["order"], entry["amount"]) for entry in ledger()) == [("O-1", 240.0), ("O-3", 1.0)]
    assert "rejected this call: over limit" in told(says)["c2"]


@pytest.mark.parametrize(
    ("settle", "said"),
    [
        (lambda desk: desk.reject("c1", "no"), "U01ALICE rejected this call: no"),
        (lambda desk: desk.reject("c1", "late", source="clock"), "nobody decided in time, and then the rule rejects"),
        (lambda desk: desk.settle("c1", "expired"), "It was not rejected either"),
        (lambda desk: desk.settle("c1", "cancelled"), "the request was cancelled"),
        (lambda desk: desk.take_over("c1", "paid by bank transfer"), "paid by bank transfer"),
    ],
)
async def test_what_is_not_run_has_a_sentence_of_its_own(desk: MemoryDesk, mode: str, settle: Any, said: str) -> None:
    await paused(desk, C1, mode=mode)
    await settle(desk)
    says = model("done")

    await resumed(desk, says, mode=mode)

    assert ledger() == []
    assert said in told(says)["c1"]


async def test_only_a_person_is_said_to_have_rejected(desk: MemoryDesk, mode: str) -> None:
    await paused(desk, C1, mode=mode)
    await desk.settle("c1", "expired")
    says = model("done")

    await resumed(desk, says, mode=mode)

    assert "User rejected" not in told(says)["c1"]


async def test_a_refusal_needs_no_leave_of_the_middleware(desk: MemoryDesk, mode: str) -> None:
    only = {"middleware": [gate(mode, refund={"allowed_decisions": ["approve"]})]}
    await paused(desk, C1, mode=mode, **only)
    await desk.reject("c1", "no")
    says = model("done")

    await resumed(desk, says, mode=mode, **only)

    assert ledger() == []
    assert "rejected this call: no" in told(says)["c1"]


async def test_policy_verdicts_need_nobody(mode: str) -> None:
    desk = MemoryDesk(policy=lambda action: "deny" if action["arguments"]["amount"] > 50 else "allow")
    await paused(desk, C1, C2, mode=mode)
    says = model("done")

    await resumed(desk, says, mode=mode)

    assert [entry["order"] for entry in ledger()] == ["O-2"]
    assert "the policy forbids this call" in told(says)["c1"]


async def test_a_call_that_is_not_gated_runs_beside_a_reviewed_one(desk: MemoryDesk, mode: str) -> None:
    await paused(desk, call("lookup", "l1", order="O-1"), C1, mode=mode)
    await desk.approve("c1")

    await resumed(desk, model("done"), mode=mode)

    assert sorted(entry["tool"] for entry in ledger()) == ["lookup", "refund"]
    assert [review["call_id"] for review in desk.reviews] == ["c1"]


async def test_a_run_pauses_again_and_goes_on(desk: MemoryDesk, mode: str) -> None:
    await paused(desk, C1, mode=mode)
    await desk.approve("c1")
    assert isinstance(await resumed(desk, model([C2]), mode=mode), PausedAgain)
    await desk.approve("c2")

    result = await resumed(desk, model("done"), mode=mode)

    assert isinstance(result, Finished)
    assert [entry["order"] for entry in ledger()] == ["O-1", "O-2"]


async def test_a_checkpointer_without_async_methods_will_do(desk: MemoryDesk, mode: str) -> None:
    await paused(desk, C1, mode=mode, opens=opening_sync)
    await desk.approve("c1")

    result = await resumed(desk, model("done"), mode=mode, opens=opening_sync)

    assert isinstance(result, Finished)
    assert [entry["amount"] for entry in ledger()] == [240.0]


async def test_a_failing_tool_is_recorded_and_fails_the_run_as_it_would_alone(desk: MemoryDesk, mode: str) -> None:
    await paused(desk, call("explode", "c1", order="O-1"), mode=mode)
    await desk.approve("c1")

    result = await resumed(desk, model("done"), mode=mode)

    assert result == Failed("ValueError: the bank refused O-1", retry=False)
    assert [(effect.status, effect.error) for effect in desk.effects.values()] == [
        ("failed", "ValueError: the bank refused O-1")
    ]
