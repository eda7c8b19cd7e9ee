"""What a resumed run of Pydantic AI does and what its model hears, for every kind of decision."""

import asyncio
from datetime import date

import pytest
from pydantic import BaseModel
from pydantic_ai.messages import ToolCallPart, UserPromptPart
from pydantic_ai.toolsets import FunctionToolset

import seconder
from seconder.frameworks import Failed, Finished, PausedAgain
from tests.support.agents import ledger, write
from tests.support.memory_desk import MemoryDesk
from tests.support.pydantic_agents import Receipt, agent, call, heard, paused, resumed, resumed_with, seen

pytestmark = pytest.mark.anyio

REFUND = call("refund", "c1", order="O-991", amount=240)
EDITED = "[A reviewer changed the arguments before approving: amount 240 -> 120 (by U01ALICE, U02BOB)]"


async def test_a_run_without_gated_calls_returns_its_output(desk: MemoryDesk) -> None:
    assert await seconder.run(agent([call("lookup", "c1", order="O-1")], "hello"), "hi", client=desk) == "hello"
    assert desk.pauses == {}


async def test_a_gated_tool_does_not_run_before_the_decision_and_is_shown_as_the_model_called_it(
    desk: MemoryDesk,
) -> None:
    await paused(desk, REFUND, call("lookup", "c0", order="O-991"))
    [review] = desk.reviews

    assert [entry["tool"] for entry in ledger()] == ["lookup"]
    assert await desk.claim(agents=["desk"], worker="w") is None
    assert review["action"]["tool"] == "refund"
    assert review["action"]["arguments"] == {"order": "O-991", "amount": 240}
    assert review["action"]["arguments_schema"]["required"] == ["order", "amount"]
    assert review["action"]["summary"] == "Pay money back."


async def test_an_approved_call_runs_as_it_was_shown_and_what_ran_before_does_not_run_again(desk: MemoryDesk) -> None:
    await paused(desk, call("lookup", "c0", order="O-991"), REFUND)
    await desk.approve("c1")
    made, factory = resumed_with("all done")

    assert await resumed(desk, factory) == Finished("all done", "all done")
    key = f"sdr_{desk.review_of('c1')['run']}_c1"
    assert [(entry["tool"], entry["key"]) for entry in ledger()] == [("lookup", None), ("refund", key)]
    assert heard(made) == [("c0", "success", "O-991 cost 240"), ("c1", "success", "refunded 240 for O-991")]
    assert seconder.effect_key() is None


async def test_edited_arguments_are_what_runs_and_the_model_is_told(desk: MemoryDesk) -> None:
    await paused(desk, REFUND)
    await desk.edit("c1", "U01ALICE", "U02BOB", amount=120)
    made, factory = resumed_with("done")

    await resumed(desk, factory)

    assert [entry["amount"] for entry in ledger()] == [120.0]
    assert heard(made) == [("c1", "success", f"{EDITED}\nrefunded 120 for O-991")]


async def test_a_result_that_is_no_text_stays_as_it_is_beside_the_notice_of_an_edit(desk: MemoryDesk) -> None:
    await paused(desk, call("receipt", "c1", order="O-991", amount=240))
    await desk.edit("c1", "U01ALICE", "U02BOB", amount=120)
    made, factory = resumed_with("done")

    await resumed(desk, factory)

    assert heard(made) == [("c1", "success", Receipt(order="O-991", total=120))]
    assert EDITED in [part.content for part in (seen(made) or [])[-1].parts if isinstance(part, UserPromptPart)]
    assert [effect.result for effect in desk.effects.values()] == [{"order": "O-991", "total": 120.0}]


class Booking(BaseModel):
    model_config = {"strict": True}

    day: date
    tags: tuple[str, ...]


async def test_edited_arguments_fit_a_strict_model_behind_a_toolset_that_asks(desk: MemoryDesk) -> None:
    def book(booking: Booking, seats: int) -> str:
        write("book", seats=seats, day=booking.day.isoformat(), tags=booking.tags)
        return "booked"

    more = {"tools": [], "toolsets": [FunctionToolset([book]).approval_required()]}
    shown = '{"seats": 1, "booking": {"day": "2027-01-02", "tags": ["a"]}}'
    await paused(desk, ToolCallPart("book", shown, tool_call_id="c1"), **more)
    await desk.edit("c1", booking={"day": "2027-01-03", "tags": ["b"]})
    made, factory = resumed_with("done", **more)

    await resumed(desk, factory)

    assert [(entry["day"], entry["tags"]) for entry in ledger()] == [("2027-01-03", ["b"])]
    assert heard(made)[0][2].endswith("\nbooked")


async def test_edited_arguments_that_the_tool_refuses_do_not_run_and_the_model_hears_of_it(desk: MemoryDesk) -> None:
    await paused(desk, REFUND)
    await desk.edit("c1", amount="a lot")
    made, factory = resumed_with("sorry")

    await resumed(desk, factory)

    assert ledger() == []
    assert [(call_id, outcome) for call_id, outcome, _ in heard(made)] == [("c1", "retried")]


async def test_the_model_hears_each_cause_of_a_refusal_in_its_own_words(desk: MemoryDesk) -> None:
    desk.policy = lambda action: "deny" if action["arguments"]["order"] == "O-5" else "ask"
    await paused(desk, *(call("refund", f"c{n}", order=f"O-{n}", amount=100 + n) for n in range(1, 8)))
    await desk.reject("c1", "the order was never paid")
    await desk.reject("c2", "default", source="clock")
    await desk.settle("c3", "expired")
    await desk.settle("c4", "cancelled")
    await desk.reject("c6", "cap reached", source="policy")
    await desk.take_over("c7", "Refunded by hand, reference 77.")
    made, factory = resumed_with("understood")

    await resumed(desk, factory)

    assert ledger() == []
    assert heard(made) == [
        ("c1", "denied", "Not executed: U01ALICE rejected this call: the order was never paid"),
        ("c2", "denied", "Not executed: nobody decided in time, and then the rule rejects: default"),
        (
            "c3",
            "denied",
            (
                "Not executed: nobody decided before the deadline. It was not rejected either; "
                "tell the user that it is still open and was not done."
            ),
        ),
        ("c4", "denied", "Not executed: the request was cancelled before anybody decided."),
        ("c5", "denied", "Not executed: the policy forbids this call. The rule says deny."),
        ("c6", "denied", "Not executed: the policy rejected this call: cap reached"),
        ("c7", "success", "Refunded by hand, reference 77."),
    ]


async def test_three_calls_of_one_pause_are_decided_each_for_itself(desk: MemoryDesk) -> None:
    await paused(desk, *(call("refund", f"c{n}", order=f"O-{n}", amount=n * 100) for n in (1, 2, 3)))
    await desk.edit("c3", amount=5)
    await desk.reject("c2", "no")
    await desk.approve("c1")
    made, factory = resumed_with("done")

    await resumed(desk, factory)

    ran = sorted((entry["order"], entry["amount"], entry["key"][-2:]) for entry in ledger())
    assert ran == [("O-1", 100.0, "c1"), ("O-3", 5.0, "c3")]
    assert [outcome for _, outcome, _ in heard(made)] == ["success", "denied", "success"]


async def test_what_the_policy_allows_runs_through_the_ledger_without_a_person(desk: MemoryDesk) -> None:
    desk.policy = lambda _: "allow"
    await paused(desk, REFUND)

    await resumed(desk, resumed_with("done")[1])

    assert len(ledger()) == 1
    assert [effect.status for effect in desk.effects.values()] == ["succeeded"]


async def test_a_failing_tool_is_recorded_as_failed_and_ends_the_run_as_the_sdk_does(desk: MemoryDesk) -> None:
    await paused(desk, call("explode", "c1", order="O-991"))
    await desk.approve("c1")

    result = await resumed(desk, resumed_with("x")[1])

    assert result == Failed("ValueError: the bank refused O-991", retry=False)
    [effect] = desk.effects.values()
    assert (effect.status, effect.error) == ("failed", "ValueError: the bank refused O-991")


async def test_a_typed_output_comes_back_as_json(desk: MemoryDesk) -> None:
    await paused(desk, REFUND, output_type=Receipt)
    await desk.approve("c1")
    _, factory = resumed_with([call("final_result", "end", order="O-991", total=240)], output_type=Receipt)

    result = await resumed(desk, factory)

    assert result == Finished(Receipt(order="O-991", total=240), {"order": "O-991", "total": 240.0})


async def test_a_run_waits_for_the_decision_and_goes_on_here(desk: MemoryDesk) -> None:
    made = agent([REFUND], [call("refund", "c2", order="O-2", amount=5)], "done")
    run = asyncio.create_task(seconder.run(lambda: (made, None), "please", client=desk))
    for call_id in ("c1", "c2"):
        await desk.asked(call_id)
        await desk.approve(call_id)

    assert await run == "done"
    assert len(ledger()) == 2


async def test_a_call_that_needs_a_decision_after_the_first_one_pauses_again(desk: MemoryDesk) -> None:
    await seconder.run(
        agent([REFUND]), "please", client=desk, wait=False, requester="riley@example.com", session="case-7",
        environment="prod", reason="it broke", context_items=[{"label": "Order", "text": "O-991"}], run_id="run-1",
    )  # fmt: skip
    await desk.approve("c1")
    _, factory = resumed_with([call("refund", "c2", order="O-992", amount=999_999)])

    assert isinstance(await resumed(desk, factory), PausedAgain)
    again = desk.review_of("c2")
    assert (again["status"], again["run"]) == ("pending", "run-1")
    assert again["requester"] == {"email": "riley@example.com"}
    assert (again["session"], again["environment"], again["reason"]) == ("case-7", "prod", "it broke")
    assert again["context"] == [{"label": "Order", "text": "O-991"}]
    assert [entry["amount"] for entry in ledger()] == [240.0]


async def test_a_tool_that_asks_by_itself_is_gated_where_it_asks_and_only_there(desk: MemoryDesk) -> None:
    await paused(desk, call("pay", "c1", amount=80))
    await desk.approve("c1")
    made, factory = resumed_with([call("pay", "c2", amount=10)], [call("pay", "c3", amount=90)])

    assert isinstance(await resumed(desk, factory), PausedAgain)
    assert [(entry["amount"], entry["key"] is None) for entry in ledger()] == [(80, False), (10, True)]
    assert heard(made)[-1] == ("c2", "success", "paid 10")


@pytest.mark.parametrize("amount", [2**53 + 1, 10**30])
async def test_integers_stay_exact(desk: MemoryDesk, amount: int) -> None:
    await paused(desk, ToolCallPart("pay", f'{{"amount": {amount}}}', tool_call_id="c1"))
    await desk.approve("c1")

    await resumed(desk, resumed_with("done")[1])

    assert [entry["amount"] for entry in ledger()] == [amount]


@pytest.mark.parametrize(("tool", "more"), [("refund", '"order": "a", '), ("pay", "")])
async def test_a_call_that_nobody_can_read_is_refused_to_the_model_and_the_run_goes_on(
    desk: MemoryDesk, tool: str, more: str
) -> None:
    twice = ToolCallPart(tool, f'{{{more}"amount": 70, "amount": 80}}', tool_call_id="c1")
    made = agent([twice], "I give up")

    assert await seconder.run(made, "please", client=desk) == "I give up"
    assert ledger() == []
    assert "stands twice in one object" in str(heard(made)[0])
