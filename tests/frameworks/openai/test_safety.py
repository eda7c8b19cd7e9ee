"""What must never happen in a resumed run: twice, unseen, unknown, or with secrets lying about."""

import asyncio
import json
from typing import Any

import pytest
from agents import Runner, function_tool

import seconder
from seconder.errors import ConfigurationError, LeaseLost, Unreachable
from seconder.frameworks import Failed, Finished
from seconder.frameworks.lease import resume
from seconder.frameworks.openai_agents import pause_of
from seconder.gate import EffectStart
from tests.support.agents import (
    CANARY,
    Deps,
    agent,
    call,
    explode,
    heard,
    ledger,
    lookup,
    paused,
    refund,
    resumed,
    resumed_with,
    whoami,
    write,
)
from tests.support.memory_desk import MemoryDesk

pytestmark = pytest.mark.anyio

REFUND = call("refund", "c1", order="O-991", amount=240)


async def approved(desk: MemoryDesk, *calls: Any, **more: Any) -> str:
    ident = await paused(desk, *(calls or (REFUND,)), **more)
    for review in desk.reviews:
        if review["status"] == "pending":
            await desk.approve(review["call_id"])
    return ident


# --- once ---------------------------------------------------------------------------------------


async def test_the_same_claim_resumed_twice_executes_once(desk: MemoryDesk) -> None:
    await approved(desk)
    claim = await desk.claim(agents=["desk"], worker="w")
    assert claim is not None
    made, factory = resumed_with("done")

    await resume(desk, claim, resumed_with("done")[1])
    with pytest.raises(LeaseLost):
        await resume(desk, claim, factory)

    assert len(ledger()) == 1
    assert made.model.calls == ()  # type: ignore[union-attr]


async def test_a_run_that_crashed_after_its_effect_goes_on_with_the_recorded_result(desk: MemoryDesk) -> None:
    await approved(desk)
    assert isinstance(await resumed(desk, resumed_with()[1]), Failed)  # the tool ran, then the model was not there
    [pause] = desk.pauses.values()
    pause["outcome"] = None  # as if the worker had died before it could say so
    made, factory = resumed_with("done")

    assert isinstance(await resumed(desk, factory), Finished)
    assert len(ledger()) == 1
    assert heard(made) == ["refunded 240 for O-991"]


async def test_a_failure_that_was_recorded_before_is_told_again_and_not_tried_again(desk: MemoryDesk) -> None:
    await approved(desk, call("explode", "c1", order="O-991"))
    await resumed(desk, resumed_with()[1])
    [pause] = desk.pauses.values()
    pause["outcome"] = None
    made, factory = resumed_with("done")

    await resumed(desk, factory)

    assert len(ledger()) == 1
    assert heard(made) == ["It ran before and failed: ValueError: the bank refused O-991"]


async def test_what_a_person_said_of_an_uncertain_effect_is_told_and_the_tool_is_not_run(desk: MemoryDesk) -> None:
    await approved(desk)
    review = desk.review_of("c1")
    await _start(desk, review)
    desk.effects[review["id"]].status = "told"
    desk.effects[review["id"]].result = "A person confirmed that it happened."
    [pause] = desk.pauses.values()
    pause["reviews"].append(
        {**review, "id": "rv_question", "kind": "question", "call_id": None, "action": None, "question": {}}
    )
    made, factory = resumed_with("done")

    await resumed(desk, factory)

    assert ledger() == []
    assert heard(made) == ["A person confirmed that it happened."]


async def _start(desk: MemoryDesk, review: dict[str, Any]) -> EffectStart:
    claim = await desk.claim(agents=["desk"], worker="dead")
    assert claim is not None
    started = await desk.start_effect(
        claim.pause["id"], fence=claim.fence, review_id=review["id"], digest=review["digest"]
    )
    await desk.advance(11)
    return started


async def test_an_effect_that_was_started_and_never_ended_is_not_run_again(desk: MemoryDesk) -> None:
    await approved(desk)
    await _start(desk, desk.review_of("c1"))

    result = await resumed(desk, resumed_with("done")[1])

    assert isinstance(result, Failed)
    assert result.retry
    assert ledger() == []


async def test_the_idempotency_key_is_the_same_in_the_tool_and_outside_there_is_none(desk: MemoryDesk) -> None:
    await approved(desk)

    await resumed(desk, resumed_with("done")[1])

    assert [entry["key"] for entry in ledger()] == [f"sdr_{desk.review_of('c1')['run']}_c1"]
    assert seconder.effect_key() is None


async def test_parallel_calls_each_have_their_own_key(desk: MemoryDesk) -> None:
    await approved(desk, *(call("refund", f"c{n}", order=f"O-{n}", amount=n) for n in (1, 2, 3)))

    await resumed(desk, resumed_with("done")[1])

    assert {entry["order"]: entry["key"][-2:] for entry in ledger()} == {"O-1": "c1", "O-2": "c2", "O-3": "c3"}


# --- not at all ---------------------------------------------------------------------------------


async def refused(desk: MemoryDesk, factory: Any, because: str) -> None:
    result = await resumed(desk, factory)

    assert isinstance(result, Failed)
    assert because in result.error
    assert not result.retry
    assert ledger() == []


async def test_a_tool_that_was_removed_is_not_executed(desk: MemoryDesk) -> None:
    await approved(desk)

    await refused(desk, resumed_with("x", tools=[lookup])[1], "has no tool refund any more")


async def test_a_tool_that_lost_its_gate_is_not_executed(desk: MemoryDesk) -> None:
    await paused(desk, REFUND)
    await desk.reject("c1", "no")

    @function_tool(name_override="refund")
    def ungated(order: str, amount: float) -> str:
        write("ungated", order=order, amount=amount)
        return "oh no"

    await refused(desk, resumed_with("x", tools=[ungated])[1], "does not need approval any more")


async def test_a_run_whose_calls_are_not_those_that_were_reviewed_is_not_resumed(desk: MemoryDesk) -> None:
    await approved(desk)
    desk.review_of("c1")["call_id"] = "c9"

    await refused(desk, resumed_with("x")[1], "(c1) are not those that were reviewed (c9)")


async def test_a_run_with_a_call_that_nobody_reviewed_is_not_resumed(desk: MemoryDesk) -> None:
    await approved(desk, REFUND, call("refund", "c2", order="O-2", amount=1))
    [pause] = desk.pauses.values()
    pause["reviews"].pop()

    await refused(desk, resumed_with("x")[1], "(c1, c2) are not those that were reviewed (c1)")


async def test_arguments_that_were_changed_in_the_stored_run_are_not_executed(desk: MemoryDesk) -> None:
    ident = await approved(desk)
    desk.states[ident] = json.loads(json.dumps(desk.states[ident]).replace("240", "999"))

    await refused(desk, resumed_with("x")[1], "call c1")


async def test_a_review_of_another_tool_lets_nothing_run(desk: MemoryDesk) -> None:
    await approved(desk)
    desk.review_of("c1")["action"]["tool"] = "lookup"

    await refused(desk, resumed_with("x")[1], "is of refund, but lookup was reviewed")


async def test_a_renamed_agent_is_refused(desk: MemoryDesk) -> None:
    await approved(desk)

    await refused(desk, resumed_with("x", name="other")[1], "does not fit the agent as it is now")


async def test_a_run_of_a_newer_sdk_is_refused_with_what_to_do(desk: MemoryDesk) -> None:
    ident = await approved(desk)
    desk.states[ident]["run_state"]["$schemaVersion"] = "9.9"

    await refused(desk, resumed_with("x")[1], "was stored with state schema 9.9")


async def test_a_state_of_another_format_is_refused(desk: MemoryDesk) -> None:
    ident = await approved(desk)
    desk.states[ident] = {"format": 2}

    await refused(desk, resumed_with("x")[1], "has format 2")


async def test_a_run_of_an_unknown_framework_is_refused(desk: MemoryDesk) -> None:
    ident = await approved(desk)
    desk.pauses[ident]["framework"] = "homemade"

    await refused(desk, resumed_with("x")[1], "does not know the agent framework 'homemade'")


async def test_a_factory_that_makes_no_agent_is_refused(desk: MemoryDesk) -> None:
    await approved(desk)

    await refused(desk, lambda: "agent", "returned a str")


async def test_an_approval_for_always_in_the_stored_run_lets_nothing_run(desk: MemoryDesk) -> None:
    result = await Runner.run(agent([REFUND]), "please")
    pause = await pause_of(result, run="run-1", agent_name="desk")
    state = result.to_state()
    state.approve(result.interruptions[0], always_approve=True)
    pause["state"]["run_state"] = state.to_json()
    await desk.submit_pause(pause)
    await desk.approve("c1")
    made, factory = resumed_with([call("refund", "c2", order="O-992", amount=999_999)], "done")

    await resumed(desk, factory)

    assert [entry["amount"] for entry in ledger()] == [240.0]
    assert heard(made)[-1].startswith("Not executed: nobody has decided on exactly this call.")


async def test_two_calls_with_one_id_never_reach_a_reviewer(desk: MemoryDesk) -> None:
    from agents.exceptions import ModelBehaviorError  # noqa: PLC0415 - only here

    with pytest.raises(ModelBehaviorError):
        await paused(desk, REFUND, call("refund", "c1", order="O-2", amount=1))

    assert desk.pauses == {}


async def test_two_agents_with_one_name_are_refused_before_anything_runs(desk: MemoryDesk) -> None:
    twin = agent("hello")

    with pytest.raises(ConfigurationError, match="same name"):
        await seconder.run(agent([REFUND], handoffs=[twin]), "please", client=desk)


# --- leases -------------------------------------------------------------------------------------


async def test_a_worker_that_lost_its_lease_executes_nothing_more(desk: MemoryDesk) -> None:
    ident = await approved(desk)
    claim = await desk.claim(agents=["desk"], worker="w")
    assert claim is not None
    await desk.steal(ident)

    with pytest.raises(LeaseLost):
        await resume(desk, claim, resumed_with("done")[1])

    assert ledger() == []
    assert desk.finishes == []


async def test_losing_the_lease_stops_a_tool_that_still_runs(desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seconder.frameworks.lease.HEARTBEAT", 0.01)
    begun = asyncio.Event()

    @function_tool(name_override="refund", needs_approval=True)
    async def slow(order: str, amount: float) -> str:
        begun.set()
        await asyncio.sleep(60)
        return "too late"

    ident = await approved(desk, tools=[slow])
    claim = await desk.claim(agents=["desk"], worker="w")
    assert claim is not None
    work = asyncio.create_task(resume(desk, claim, resumed_with("x", tools=[slow])[1]))
    await begun.wait()
    await desk.steal(ident)

    with pytest.raises(LeaseLost):
        await work

    assert [effect.status for effect in desk.effects.values()] == ["started"]


async def test_the_lease_is_renewed_while_a_run_is_resumed(desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seconder.frameworks.lease.HEARTBEAT", 0.01)

    @function_tool(name_override="refund", needs_approval=True)
    async def slow(order: str, amount: float) -> str:
        await desk.until(lambda: desk.heartbeats >= 3)
        return "done"

    await approved(desk, tools=[slow])

    assert isinstance(await resumed(desk, resumed_with("x", tools=[slow])[1]), Finished)
    assert desk.heartbeats >= 3


class Deaf(MemoryDesk):
    """A desk that records the start of an effect and whose answer is lost on the way."""

    async def start_effect(self, pause_id: str, **said: Any) -> EffectStart:
        await super().start_effect(pause_id, **said)
        raise Unreachable("the line is dead")


async def test_an_effect_whose_start_is_unknown_is_not_run(desk: MemoryDesk) -> None:
    deaf = Deaf()
    await approved(deaf)

    result = await resumed(deaf, resumed_with("done")[1])

    assert result == Failed("the line is dead", retry=True)
    assert ledger() == []


# --- secrets ------------------------------------------------------------------------------------


@pytest.mark.parametrize("context", [Deps(), {"api_key": CANARY}], ids=["object", "mapping"])
async def test_the_stored_run_holds_nothing_of_the_users_context(desk: MemoryDesk, context: Any) -> None:
    inner = agent([REFUND], name="Inner")
    await seconder.run(
        agent([call("ask_inner", "c0", input="go")], tools=[inner.as_tool("ask_inner", "Ask.")]),
        "please", client=desk, context=context, wait=False,
    )  # fmt: skip
    await paused(desk, REFUND, context=context)

    assert len(desk.states) == 2
    assert CANARY not in json.dumps([desk.states, desk.pauses])


async def test_the_context_of_a_resumed_run_comes_from_the_factory(desk: MemoryDesk) -> None:
    await approved(desk, call("whoami", "c1"), context=Deps(), tools=[whoami])
    made = agent("done", tools=[whoami])

    await resumed(desk, lambda: (made, Deps(api_key="fresh")))

    assert [entry["api_key"] for entry in ledger()] == ["fresh"]


# --- the user's own things ----------------------------------------------------------------------


async def test_the_users_agent_and_tools_are_left_as_they_are(desk: MemoryDesk) -> None:
    await approved(desk)
    made, factory = resumed_with("done", tools=[refund, explode])
    before = (refund.on_invoke_tool, refund.needs_approval, list(made.tools))

    await resumed(desk, factory)

    assert (refund.on_invoke_tool, refund.needs_approval, list(made.tools)) == before


async def test_a_tool_that_runs_out_of_its_time_is_recorded_as_failed(desk: MemoryDesk) -> None:
    @function_tool(name_override="refund", needs_approval=True, timeout=0.02)
    async def slow(order: str, amount: float) -> str:
        await asyncio.sleep(60)
        return "too late"

    await approved(desk, tools=[slow])
    made, factory = resumed_with("sorry", tools=[slow])

    await resumed(desk, factory)

    assert [effect.status for effect in desk.effects.values()] == ["failed"]
    assert "timed out" in heard(made)[0]


async def test_a_failure_that_the_tool_wants_raised_ends_the_run_and_is_recorded(desk: MemoryDesk) -> None:
    @function_tool(name_override="refund", needs_approval=True, failure_error_function=None)
    def hard(order: str, amount: float) -> str:
        message = "the bank is closed"
        raise ValueError(message)

    await approved(desk, tools=[hard])

    result = await resumed(desk, resumed_with("x", tools=[hard])[1])

    assert isinstance(result, Failed)
    assert "the bank is closed" in result.error
    assert [effect.error for effect in desk.effects.values()] == ["ValueError: the bank is closed"]


async def test_an_effect_in_progress_is_recorded_though_the_call_beside_it_ends_the_run(desk: MemoryDesk) -> None:
    begun = asyncio.Event()

    @function_tool(name_override="refund", needs_approval=True)
    async def slow(order: str, amount: float) -> str:
        begun.set()
        await asyncio.sleep(0.05)
        write("slow", order=order)
        return "refunded"

    @function_tool(name_override="explode", needs_approval=True, failure_error_function=None)
    async def hard(order: str) -> str:
        await begun.wait()
        message = "the bank is closed"
        raise ValueError(message)

    await approved(desk, REFUND, call("explode", "c2", order="O-2"), tools=[slow, hard])

    result = await resumed(desk, resumed_with("x", tools=[slow, hard])[1])

    assert isinstance(result, Failed)
    assert len(ledger()) == 1
    assert sorted(effect.status for effect in desk.effects.values()) == ["failed", "succeeded"]


async def test_a_long_result_is_cut_in_the_ledger_and_whole_for_the_model(desk: MemoryDesk) -> None:
    @function_tool(name_override="refund", needs_approval=True)
    def long(order: str, amount: float) -> str:
        return "é" * 9000

    await approved(desk, tools=[long])
    made, factory = resumed_with("x", tools=[long])

    await resumed(desk, factory)

    [effect] = desk.effects.values()
    assert len(effect.result.encode()) <= 8192
    assert effect.result.endswith("[cut]")
    assert heard(made) == ["é" * 9000]
