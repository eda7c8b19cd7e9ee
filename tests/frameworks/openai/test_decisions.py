"""What a resumed run does and what its model hears, for every kind of decision."""

import pytest

import seconder
from seconder.frameworks import Failed, Finished, PausedAgain
from tests.support.agents import agent, call, heard, ledger, paused, resumed, resumed_with
from tests.support.memory_desk import MemoryDesk

pytestmark = pytest.mark.anyio

REFUND = call("refund", "c1", order="O-991", amount=240)


async def test_a_gated_tool_does_not_run_before_the_decision(desk: MemoryDesk) -> None:
    await paused(desk, REFUND)

    assert ledger() == []
    assert await desk.claim(agents=["desk"], worker="w") is None


async def test_an_approved_call_runs_as_it_was_shown(desk: MemoryDesk) -> None:
    await paused(desk, REFUND)
    await desk.approve("c1")
    made, factory = resumed_with("all done")

    assert await resumed(desk, factory) == Finished("all done", "all done")
    assert ledger() == [{"tool": "refund", "key": desk_key(desk, "c1"), "order": "O-991", "amount": 240.0}]
    assert heard(made) == ["refunded 240 for O-991"]


def desk_key(desk: MemoryDesk, call_id: str) -> str:
    return f"sdr_{desk.review_of(call_id)['run']}_{call_id}"


async def test_edited_arguments_are_what_runs_and_the_model_is_told(desk: MemoryDesk) -> None:
    await paused(desk, REFUND)
    await desk.edit("c1", "U01ALICE", "U02BOB", amount=120)
    made, factory = resumed_with("done")

    await resumed(desk, factory)

    assert [entry["amount"] for entry in ledger()] == [120.0]
    notice = "[A reviewer changed the arguments before approving: amount 240 -> 120 (by U01ALICE, U02BOB)]"
    assert heard(made) == [f"{notice}\nrefunded 120 for O-991"]


async def test_edited_arguments_that_the_tool_refuses_are_a_failure_that_the_model_hears_of(desk: MemoryDesk) -> None:
    await paused(desk, REFUND)
    await desk.edit("c1", amount="a lot")
    made, factory = resumed_with("sorry")

    await resumed(desk, factory)

    assert ledger() == []
    assert [effect.status for effect in desk.effects.values()] == ["failed"]
    assert heard(made)[0].startswith("[A reviewer changed the arguments before approving: amount 240 -> a lot")
    assert "An error occurred while running the tool" in heard(made)[0]


@pytest.mark.parametrize("amount", [2**53 + 1, 10**30])
async def test_integers_stay_exact(desk: MemoryDesk, amount: int) -> None:
    await paused(desk, call("pay", "c1", amount=amount))

    assert desk.review_of("c1")["action"]["arguments"] == {"amount": amount}


async def test_the_model_hears_each_cause_of_a_refusal_in_its_own_words(desk: MemoryDesk) -> None:
    desk.policy = lambda action: "deny" if action["arguments"]["order"] == "O-5" else "ask"
    calls = [call("refund", f"c{n}", order=f"O-{n}", amount=100 + n) for n in range(1, 8)]
    await paused(desk, *calls)
    await desk.reject("c1", "the order was never paid")
    await desk.reject("c2", "default", source="clock")
    await desk.settle("c3", "expired")
    await desk.settle("c4", "cancelled")
    await desk.answer("c6", "Use store credit instead.")
    await desk.take_over("c7", "Refunded by hand, reference 77.")
    made, factory = resumed_with("understood")

    await resumed(desk, factory)

    assert ledger() == []
    assert heard(made) == [
        "Not executed: U01ALICE rejected this call: the order was never paid",
        "Not executed: nobody decided in time, and then the rule rejects: default",
        (
            "Not executed: nobody decided before the deadline. It was not rejected either; "
            "tell the user that it is still open and was not done."
        ),
        "Not executed: the request was cancelled before anybody decided.",
        "Not executed: the policy forbids this call. The rule says deny.",
        "Use store credit instead.",
        "Refunded by hand, reference 77.",
    ]


async def test_several_calls_of_one_pause_are_decided_each_for_itself(desk: MemoryDesk) -> None:
    await paused(desk, *(call("refund", f"c{n}", order=f"O-{n}", amount=n * 100) for n in (1, 2, 3)))
    await desk.edit("c3", amount=5)
    await desk.reject("c2", "no")
    await desk.approve("c1")
    made, factory = resumed_with("done")

    await resumed(desk, factory)

    assert sorted((entry["order"], entry["amount"]) for entry in ledger()) == [("O-1", 100.0), ("O-3", 5.0)]
    assert heard(made)[0] == "refunded 100 for O-1"
    assert heard(made)[1] == "Not executed: U01ALICE rejected this call: no"
    assert heard(made)[2].endswith("\nrefunded 5 for O-3")


async def test_what_the_policy_allows_runs_through_the_ledger_without_a_person(desk: MemoryDesk) -> None:
    desk.policy = lambda _: "allow"
    await paused(desk, REFUND)
    _, factory = resumed_with("done")

    await resumed(desk, factory)

    assert len(ledger()) == 1
    assert [effect.status for effect in desk.effects.values()] == ["succeeded"]


async def test_a_failing_tool_is_recorded_as_failed_and_the_model_gets_the_tools_own_text(desk: MemoryDesk) -> None:
    await paused(desk, call("explode", "c1", order="O-991"))
    await desk.approve("c1")
    made, factory = resumed_with("it failed")

    await resumed(desk, factory)

    [effect] = desk.effects.values()
    assert (effect.status, effect.error) == ("failed", "ValueError: the bank refused O-991")
    assert "An error occurred while running the tool" in heard(made)[0]


async def test_a_call_that_needs_a_decision_after_the_first_one_pauses_again(desk: MemoryDesk) -> None:
    await seconder.run(
        agent([REFUND]), "please", client=desk, wait=False, requester="riley@example.com", session="case-7",
        environment="prod", reason="it broke", context_items=[{"label": "Order", "text": "O-991"}], run_id="run-1",
    )  # fmt: skip
    await desk.approve("c1")
    _, factory = resumed_with([call("refund", "c2", order="O-992", amount=60)])

    result = await resumed(desk, factory)

    assert isinstance(result, PausedAgain)
    again = desk.review_of("c2")
    assert again["status"] == "pending"
    assert again["run"] == "run-1"
    assert again["requester"] == {"email": "riley@example.com"}
    assert (again["session"], again["environment"], again["reason"]) == ("case-7", "prod", "it broke")
    assert again["context"] == [{"label": "Order", "text": "O-991"}]
    assert len(ledger()) == 1


async def test_approving_one_call_never_approves_the_next_of_the_same_tool(desk: MemoryDesk) -> None:
    await paused(desk, REFUND)
    await desk.approve("c1")
    _, factory = resumed_with([call("refund", "c2", order="O-992", amount=999_999)])

    await resumed(desk, factory)

    assert "sticky" not in str(desk.states)
    assert [entry["amount"] for entry in ledger()] == [240.0]
    assert desk.review_of("c2")["status"] == "pending"


async def test_a_tool_whose_own_policy_lets_a_call_through_runs_it_plainly(desk: MemoryDesk) -> None:
    await paused(desk, call("pay", "c1", amount=80.0))
    await desk.approve("c1")
    made, factory = resumed_with([call("pay", "c2", amount=10.0)], "done")

    assert isinstance(await resumed(desk, factory), Finished)
    assert [(entry["amount"], entry["key"] is None) for entry in ledger()] == [(80.0, False), (10.0, True)]
    assert heard(made)[-1] == "paid 10"


async def test_the_policy_of_a_tool_gates_again_in_the_resumed_run(desk: MemoryDesk) -> None:
    await paused(desk, call("pay", "c1", amount=80.0))
    await desk.approve("c1")
    _, factory = resumed_with([call("pay", "c2", amount=90.0)])

    assert isinstance(await resumed(desk, factory), PausedAgain)
    assert [entry["amount"] for entry in ledger()] == [80.0]


async def test_a_call_that_nobody_can_read_is_refused_to_the_model_and_the_run_goes_on(desk: MemoryDesk) -> None:
    from agents.testing import function_call  # noqa: PLC0415 - only here a call is malformed

    twice = function_call("refund", '{"order": "a", "order": "b", "amount": 1}', call_id="c1")
    made = agent([twice], "I give up")

    assert await seconder.run(made, "please", client=desk) == "I give up"
    assert ledger() == []
    assert "stands twice in one object" in heard(made)[0]


async def test_a_failure_of_the_run_itself_ends_it(desk: MemoryDesk) -> None:
    await paused(desk, REFUND)
    await desk.approve("c1")
    _, factory = resumed_with()  # the script is empty: the model raises

    result = await resumed(desk, factory)

    assert isinstance(result, Failed)
    assert not result.retry
    assert "UnexpectedModelCall" in result.error
