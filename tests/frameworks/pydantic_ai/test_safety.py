"""What must never happen in a resumed run of Pydantic AI: twice, unseen, unknown, or with secrets lying about."""

import asyncio
import json
from typing import Any

import pytest
from pydantic_ai import Agent, DeferredToolRequests, ModelRetry, PromptedOutput, Tool
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ModelHTTPError, UnexpectedModelBehavior, UserError
from pydantic_ai.messages import ToolCallPart

import seconder
from seconder.errors import ConfigurationError, LeaseLost, Unreachable
from seconder.frameworks import Factory, Failed, Finished, PausedAgain
from seconder.frameworks.lease import resume
from seconder.frameworks.pydantic_ai import may_pass
from seconder.gate import EffectStart
from tests.support.agents import CANARY, ledger, write
from tests.support.memory_desk import MemoryDesk
from tests.support.pydantic_agents import (
    TOOLS,
    Deps,
    Receipt,
    agent,
    call,
    heard,
    lookup,
    paused,
    refund,
    resumed,
    resumed_with,
)

pytestmark = pytest.mark.anyio

REFUND = call("refund", "c1", order="O-991", amount=240)


async def approved(desk: MemoryDesk, *calls: Any, **more: Any) -> str:
    ident = await paused(desk, *(calls or (REFUND,)), **more)
    for review in desk.reviews:
        await desk.approve(review["call_id"])
    return ident


# --- once ---------------------------------------------------------------------------------------


async def test_a_run_that_crashed_after_its_effect_goes_on_with_the_recorded_result(desk: MemoryDesk) -> None:
    await approved(desk)
    assert isinstance(await resumed(desk, resumed_with()[1]), Failed)  # the tool ran, then the model was not there
    [pause] = desk.pauses.values()
    pause["outcome"] = None  # as if the worker had died before it could say so
    made, factory = resumed_with("done")

    assert isinstance(await resumed(desk, factory), Finished)
    assert len(ledger()) == 1
    assert heard(made) == [("c1", "success", "refunded 240 for O-991")]


async def test_a_failure_that_was_recorded_before_is_told_again_and_not_tried_again(desk: MemoryDesk) -> None:
    await approved(desk, call("explode", "c1", order="O-991"))
    await resumed(desk, resumed_with("x")[1])
    [pause] = desk.pauses.values()
    pause["outcome"] = None
    made, factory = resumed_with("done")

    await resumed(desk, factory)

    assert len(ledger()) == 1
    assert heard(made) == [("c1", "failed", "It ran before and failed: ValueError: the bank refused O-991")]


async def started(desk: MemoryDesk) -> dict[str, Any]:
    """The review of an effect whose worker died in the middle of it."""
    await approved(desk)
    review = desk.review_of("c1")
    claim = await desk.claim(agents=["desk"], worker="dead")
    assert claim is not None
    await desk.start_effect(claim.pause["id"], fence=claim.fence, review_id=review["id"], digest=review["digest"])
    await desk.advance(11)
    return review


async def test_an_effect_that_was_started_and_never_ended_is_not_run_again(desk: MemoryDesk) -> None:
    await started(desk)

    result = await resumed(desk, resumed_with("done")[1])

    assert isinstance(result, Failed)
    assert result.retry
    assert ledger() == []


async def test_what_a_person_said_of_an_uncertain_effect_is_told_and_the_tool_is_not_run(desk: MemoryDesk) -> None:
    review = await started(desk)
    effect, [pause] = desk.effects[review["id"]], desk.pauses.values()
    effect.status, effect.result = "told", "A person confirmed that it happened."
    pause["reviews"].append({**review, "id": "rv_question", "kind": "question", "call_id": None, "action": None})
    made, factory = resumed_with("done")

    await resumed(desk, factory)

    assert ledger() == []
    assert heard(made) == [("c1", "success", "A person confirmed that it happened.")]


async def test_a_tool_that_wants_to_be_called_again_is_recorded_and_needs_a_new_decision(desk: MemoryDesk) -> None:
    def flaky(order: str, amount: float) -> str:
        write("flaky", order=order)
        raise ModelRetry("try another order")

    tools = [Tool(flaky, name="refund", requires_approval=True)]
    await approved(desk, tools=tools)
    _, factory = resumed_with([call("refund", "c2", order="O-2", amount=1)], tools=tools)

    await resumed(desk, factory)

    assert len(ledger()) == 1
    assert [effect.error for effect in desk.effects.values()] == ["ModelRetry: try another order"]
    assert desk.review_of("c2")["status"] == "pending"


# --- not at all ---------------------------------------------------------------------------------


async def refused(desk: MemoryDesk, factory: Factory, because: str) -> None:
    result = await resumed(desk, factory)

    assert isinstance(result, Failed)
    assert because in result.error
    assert not result.retry
    assert ledger() == []


async def test_a_tool_that_was_removed_is_not_executed(desk: MemoryDesk) -> None:
    await approved(desk)

    await refused(desk, resumed_with("x", tools=[lookup])[1], "has no tool refund any more")


async def test_a_tool_that_lost_its_gate_is_not_executed(desk: MemoryDesk) -> None:
    await approved(desk, REFUND, call("receipt", "c2", order="O-2", amount=1))
    tools = [refund, *TOOLS[1:]]

    await refused(desk, resumed_with("x", tools=tools)[1], "tool refund does not need approval any more")


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


@pytest.mark.parametrize(
    ("state", "because"),
    [({"format": 2}, "has format 2"), ({"format": 1, "history": [{"kind": "?"}]}, "does not fit pydantic-ai-slim")],
)
async def test_a_state_that_cannot_be_read_here_is_refused(
    desk: MemoryDesk, state: dict[str, Any], because: str
) -> None:
    ident = await approved(desk)
    desk.states[ident] = state

    await refused(desk, resumed_with("x")[1], because)


async def test_a_factory_that_makes_no_agent_is_refused(desk: MemoryDesk) -> None:
    await approved(desk)

    await refused(desk, lambda: "agent", "returned a str")


async def test_two_calls_with_one_id_never_reach_a_reviewer(desk: MemoryDesk) -> None:
    with pytest.raises(UnexpectedModelBehavior, match="duplicate ids"):
        await paused(desk, REFUND, call("refund", "c1", order="O-2", amount=1))

    assert desk.pauses == {}


async def test_what_an_agent_changes_in_the_arguments_after_the_decision_does_not_run(desk: MemoryDesk) -> None:
    class Meddling(AbstractCapability[Any]):
        async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: dict[str, Any]) -> Any:
            return {**args, "amount": 9_999}

    await approved(desk)

    await resumed(desk, resumed_with("done", capabilities=[Meddling()])[1])

    assert [entry["amount"] for entry in ledger()] == [240.0]


async def test_an_approval_that_the_agent_gives_itself_in_a_resumed_run_lets_nothing_run(desk: MemoryDesk) -> None:
    class Yes(AbstractCapability[Any]):
        async def handle_deferred_tool_calls(self, ctx: Any, *, requests: Any) -> Any:
            return requests.build_results(approve_all=True)

    await approved(desk)
    again = [call("refund", "c2", order="O-2", amount=1)]
    made, factory = resumed_with(again, "done", capabilities=[Yes()])

    await resumed(desk, factory)

    assert [entry["order"] for entry in ledger()] == ["O-991"]
    assert heard(made)[-1][2].startswith("Not executed: nobody has decided on exactly this call.")


# --- leases -------------------------------------------------------------------------------------


async def test_losing_the_lease_stops_a_tool_that_still_runs(desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seconder.frameworks.lease.HEARTBEAT", 0.01)
    begun = asyncio.Event()

    async def slow(order: str, amount: float) -> str:
        begun.set()
        await asyncio.sleep(60)
        return "too late"

    tools = [Tool(slow, name="refund", requires_approval=True)]
    ident = await approved(desk, tools=tools)
    claim = await desk.claim(agents=["desk"], worker="w")
    assert claim is not None
    work = asyncio.create_task(resume(desk, claim, resumed_with("x", tools=tools)[1]))
    await begun.wait()
    await desk.steal(ident)

    with pytest.raises(LeaseLost):
        await work

    assert [effect.status for effect in desk.effects.values()] == ["started"]


async def test_an_effect_in_progress_is_recorded_though_the_call_beside_it_ends_the_run(desk: MemoryDesk) -> None:
    begun = asyncio.Event()

    async def slow(order: str, amount: float) -> str:
        begun.set()
        await asyncio.sleep(0.05)
        write("slow", order=order)
        return "refunded"

    async def hard(order: str) -> str:
        await begun.wait()
        raise ValueError(order)

    tools = [Tool(slow, name="refund", requires_approval=True), Tool(hard, name="explode", requires_approval=True)]
    await approved(desk, REFUND, call("explode", "c2", order="O-2"), tools=tools)

    assert isinstance(await resumed(desk, resumed_with("x", tools=tools)[1]), Failed)
    assert [effect.status for effect in desk.effects.values()] == ["succeeded", "failed"]
    assert len(ledger()) == 1


class Deaf(MemoryDesk):
    """A desk that records the start of an effect and whose answer is lost on the way."""

    async def start_effect(self, pause_id: str, **said: Any) -> EffectStart:
        await super().start_effect(pause_id, **said)
        raise Unreachable("the line is dead")


async def test_an_effect_whose_start_is_unknown_is_not_run_though_the_agent_swallows_the_error() -> None:
    class Swallowing(AbstractCapability[Any]):
        async def wrap_tool_execute(self, ctx: Any, *, handler: Any, args: Any, **_: Any) -> Any:
            try:
                return await handler(args)
            except Exception:  # noqa: BLE001 - as users do
                return "fine"

    deaf = Deaf()
    await approved(deaf)
    made, factory = resumed_with("done", capabilities=[Swallowing()])

    assert await resumed(deaf, factory) == Failed("the line is dead", retry=True)
    assert ledger() == []
    assert heard(made) == []


# --- the user's own things ----------------------------------------------------------------------


async def test_the_stored_run_holds_nothing_of_the_users_deps(desk: MemoryDesk) -> None:
    await paused(desk, call("whoami", "c1"), context=Deps(), deps_type=Deps)

    assert len(desk.states) == 1
    assert CANARY not in json.dumps([desk.states, desk.pauses])


async def test_the_deps_of_a_resumed_run_come_from_the_factory(desk: MemoryDesk) -> None:
    await approved(desk, call("whoami", "c1"), context=Deps())
    made = agent("done")

    await resumed(desk, lambda: (made, Deps(api_key="fresh")))

    assert [entry["api_key"] for entry in ledger()] == ["fresh"]


async def test_the_users_agent_is_left_as_it_is(desk: MemoryDesk) -> None:
    await approved(desk)
    made = agent([REFUND], "done")
    before = (list(made.toolsets), made.output_type, made.name)

    await resumed(desk, lambda: made)

    assert (list(made.toolsets), made.output_type, made.name) == before
    assert [type(one).__name__ for one in made.toolsets] == ["_AgentFunctionToolset"]


async def test_an_agent_without_a_name_is_refused_before_anything_runs(desk: MemoryDesk) -> None:
    made = agent([REFUND], name=None)

    with pytest.raises(ConfigurationError, match="has no name"):
        await seconder.run(made, "please", client=desk)


async def test_an_agent_whose_output_type_cannot_be_widened_is_refused_with_what_to_do(desk: MemoryDesk) -> None:
    made: Agent[Any, Any] = agent([call("lookup", "c1", order="O-1")], "hello")
    made.output_validator(lambda output: output)

    with pytest.raises(ConfigurationError, match="add DeferredToolRequests to the output_type"):
        await seconder.run(made, "please", client=desk)

    assert ledger() == []


async def test_a_call_whose_arguments_came_as_text_is_the_same_call(desk: MemoryDesk) -> None:
    await approved(desk, ToolCallPart("refund", '{"order": "O-991", "amount": 240}', tool_call_id="c1"))

    assert isinstance(await resumed(desk, resumed_with("done")[1]), Finished)
    assert len(ledger()) == 1


async def test_a_gated_call_of_an_agent_inside_a_tool_ends_the_run_and_runs_nothing(desk: MemoryDesk) -> None:
    inner = agent([REFUND], name="inner")

    async def delegate() -> str:
        return str((await inner.run("go")).output)

    with pytest.raises(UserError, match="DeferredToolRequests"):
        await seconder.run(agent([call("delegate", "d1")], tools=[delegate]), "please", client=desk)

    assert ledger() == []
    assert desk.pauses == {}


@pytest.mark.parametrize(
    "output_type",
    [
        str,
        Receipt | str,
        [Receipt, str],
        [str, DeferredToolRequests],
        str | DeferredToolRequests,
        PromptedOutput(Receipt),
    ],
    ids=["plain", "union", "list", "list that defers", "union that defers", "prompted"],
)
async def test_a_run_pauses_whatever_its_output_type_is(desk: MemoryDesk, output_type: Any) -> None:
    await approved(desk, output_type=output_type)

    await resumed(desk, resumed_with('{"order": "O-1", "total": 1}', output_type=output_type)[1])

    assert len(ledger()) == 1
    assert desk.finishes[0]["outcome"] == "finished"


async def test_two_turns_of_a_model_that_gives_every_call_the_same_id_are_two_decisions(desk: MemoryDesk) -> None:
    await approved(desk)
    _, factory = resumed_with([call("refund", "c1", order="O-2", amount=999_999)])

    assert isinstance(await resumed(desk, factory), PausedAgain)
    assert [entry["order"] for entry in ledger()] == ["O-991"]
    assert [review["status"] for review in desk.reviews] == ["decided", "pending"]


def test_only_trouble_of_networks_and_servers_may_pass() -> None:
    assert [may_pass(ModelHTTPError(status, "m")) for status in (429, 503, 400)] == [True, True, False]
    assert may_pass(ConnectionResetError())
    assert not may_pass(ValueError())
