"""What must never happen in a resumed graph: twice, unseen, unknown, or lost."""

import asyncio
import json
from typing import Any, cast

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

import seconder
from seconder.errors import ConfigurationError, EffectUncertain, InvalidInput, LeaseLost, ResumeRefused, Unreachable
from seconder.frameworks import Failed, Finished, PausedAgain, Resumed, langgraph
from seconder.frameworks.lease import resume
from seconder.gate import Claim, Client
from tests.support.agents import CANARY, ledger
from tests.support.graphs import NAME, Scripted, agent, call, gate, model, opening, told
from tests.support.memory_desk import MemoryDesk

pytestmark = pytest.mark.anyio

C1 = call("refund", "c1", order="O-1", amount=240)
C2 = call("refund", "c2", order="O-2", amount=5)


async def paused(desk: MemoryDesk, *calls: Any, mode: str, thread_id: str | None = None) -> str:
    first = opening(lambda saver: agent(saver, list(calls or (C1,)), mode=mode))
    stopped = await seconder.run(first, "please", client=desk, wait=False, run_id="run-1", thread_id=thread_id)
    assert isinstance(stopped, seconder.Paused)
    return stopped.id


async def claimed(desk: MemoryDesk) -> Claim:
    claim = await desk.claim(agents=[NAME], worker="w")
    assert claim is not None
    return claim


async def adapted(desk: MemoryDesk, claim: Claim, says: Scripted, **more: Any) -> Resumed:
    """How the run goes on, without the end being recorded: the worker dies there."""
    return await langgraph.resume(claim, opening(lambda saver: agent(saver, says, **more)), desk)


# --- once -------------------------------------------------------------------------------------------


async def test_a_worker_that_died_before_the_end_was_recorded_repeats_nothing(desk: MemoryDesk, mode: str) -> None:
    await paused(desk, mode=mode)
    await desk.approve("c1")
    first = await adapted(desk, await claimed(desk), model("done"), mode=mode)
    await desk.advance(20)
    silent = model()

    again = await adapted(desk, await claimed(desk), silent, mode=mode)

    assert isinstance(first, Finished)
    assert isinstance(again, Finished)
    assert again.json_output == first.json_output
    assert len(ledger()) == 1


async def test_a_worker_that_died_at_the_next_pause_leaves_that_pause(desk: MemoryDesk, mode: str) -> None:
    await paused(desk, mode=mode)
    await desk.approve("c1")
    first = await adapted(desk, await claimed(desk), model([C2]), mode=mode)
    await desk.advance(20)

    again = await adapted(desk, await claimed(desk), model(), mode=mode)

    assert isinstance(first, PausedAgain)
    assert again == first
    assert [entry["order"] for entry in ledger()] == ["O-1"]


async def test_a_model_that_was_down_after_the_call_is_asked_again_and_the_call_is_not_repeated(
    desk: MemoryDesk, mode: str
) -> None:
    await paused(desk, mode=mode)
    await desk.approve("c1")
    with pytest.raises(RuntimeError):
        await adapted(desk, await claimed(desk), model(), mode=mode)
    await desk.advance(20)
    says = model("done")

    again = await adapted(desk, await claimed(desk), says, mode=mode)

    assert isinstance(again, Finished)
    assert told(says) == {"c1": "refunded 240 for O-1"}
    assert len(ledger()) == 1


async def test_an_effect_whose_result_was_not_saved_is_told_and_not_run_again(desk: MemoryDesk, mode: str) -> None:
    ident = await paused(desk, mode=mode)
    await desk.approve("c1")
    claim, review = await claimed(desk), desk.review_of("c1")
    started = await desk.start_effect(ident, fence=claim.fence, review_id=review["id"], digest=review["digest"])
    await desk.end_effect(started.effect_id, pause_id=ident, fence=claim.fence, status="succeeded", result="paid")
    says = model("done")

    await adapted(desk, claim, says, mode=mode)

    assert ledger() == []
    assert told(says) == {"c1": "paid"}


async def test_an_effect_that_may_have_happened_stops_the_run_before_anything_is_written(
    desk: MemoryDesk, mode: str
) -> None:
    ident = await paused(desk, mode=mode)
    await desk.approve("c1")
    claim, review = await claimed(desk), desk.review_of("c1")
    await desk.start_effect(ident, fence=claim.fence, review_id=review["id"], digest=review["digest"])

    with pytest.raises(EffectUncertain):
        await adapted(desk, claim, model("done"), mode=mode)

    [effect] = desk.effects.values()
    effect.status, effect.result = "told", "A person says that it happened."
    await desk.advance(20)
    says = model("done")
    assert isinstance(await adapted(desk, await claimed(desk), says, mode=mode), Finished)
    assert told(says) == {"c1": "A person says that it happened."}
    assert ledger() == []


async def test_a_worker_whose_lease_was_taken_runs_nothing(desk: MemoryDesk, mode: str) -> None:
    ident = await paused(desk, mode=mode)
    await desk.approve("c1")
    claim = await claimed(desk)
    await desk.steal(ident)

    with pytest.raises(LeaseLost):
        await adapted(desk, claim, model("done"), mode=mode)

    assert ledger() == []


async def test_two_workers_with_the_same_claim_run_it_once(desk: MemoryDesk, mode: str) -> None:
    await paused(desk, mode=mode)
    await desk.approve("c1")
    claim = await claimed(desk)

    await asyncio.gather(
        adapted(desk, claim, model("done"), mode=mode),
        adapted(desk, claim, model("done"), mode=mode),
        return_exceptions=True,
    )

    assert len(ledger()) == 1


async def test_a_desk_that_cannot_be_told_of_the_start_means_not_run(desk: MemoryDesk, mode: str) -> None:
    await paused(desk, C1, C2, mode=mode)
    await desk.approve("c1")
    await desk.approve("c2")
    claim = await claimed(desk)

    class Down(MemoryDesk):
        async def start_effect(self, *args: Any, **more: Any) -> Any:
            raise Unreachable("no answer")

    with pytest.raises(Unreachable):
        await adapted(Down(), claim, model("done"), mode=mode)

    assert ledger() == []


async def test_a_retry_runs_what_is_left_and_repeats_nothing(desk: MemoryDesk, mode: str) -> None:
    await paused(desk, C1, C2, mode=mode)
    await desk.approve("c1")
    await desk.approve("c2")

    class HalfDown:
        """Answers for every review but that of c2."""

        def __getattr__(self, name: str) -> Any:
            return getattr(desk, name)

        async def start_effect(self, pause_id: str, *, review_id: str, **more: Any) -> Any:
            if review_id == desk.review_of("c2")["id"]:
                await desk.until(lambda: len(ledger()) == 1)
                raise Unreachable("no answer")
            return await desk.start_effect(pause_id, review_id=review_id, **more)

        async def end_effect(self, effect_id: str, **more: Any) -> None:
            await desk.end_effect(effect_id, **more)
            await desk.advance(0)

    with pytest.raises(Unreachable):
        await langgraph.resume(
            await claimed(desk),
            opening(lambda saver: agent(saver, model("done"), mode=mode)),
            cast("Client", HalfDown()),
        )
    await desk.advance(20)
    says = model("done")

    result = await adapted(desk, await claimed(desk), says, mode=mode)

    assert isinstance(result, Finished)
    assert sorted(entry["order"] for entry in ledger()) == ["O-1", "O-2"]
    assert told(says) == {"c1": "refunded 240 for O-1", "c2": "refunded 5 for O-2"}


# --- missing is no ----------------------------------------------------------------------------------


@pytest.mark.parametrize("middleware", ["ungated", "none"])
async def test_a_rejected_call_whose_gate_was_removed_is_not_run(desk: MemoryDesk, mode: str, middleware: str) -> None:
    await paused(desk, mode=mode)
    await desk.reject("c1", "no")
    left = {"ungated": [gate(mode, refund=False)], "none": []}[middleware]

    result = (
        await resume(desk, await claimed(desk), opening(lambda saver: agent(saver, model("done"), middleware=left)))
    ).resumed

    assert ledger() == []
    assert isinstance(result, Finished | Failed)


async def test_an_interrupt_that_does_not_wait_is_refused(desk: MemoryDesk, mode: str) -> None:
    ident = await paused(desk, mode=mode)
    desk.states[ident]["interrupts"] = ["0" * 32]
    await desk.approve("c1")

    with pytest.raises(ResumeRefused, match="are not those of the pause"):
        await adapted(desk, await claimed(desk), model("done"), mode=mode)

    assert ledger() == []


async def test_an_unknown_thread_is_refused_and_no_run_begins(desk: MemoryDesk, mode: str) -> None:
    ident = await paused(desk, mode=mode)
    desk.states[ident]["thread_id"] = "nobody"
    await desk.approve("c1")
    says = model("done")

    with pytest.raises(ResumeRefused, match="has no thread nobody"):
        await adapted(desk, await claimed(desk), says, mode=mode)

    assert (ledger(), says.heard) == ([], [])


async def test_a_thread_that_somebody_else_continued_is_refused(desk: MemoryDesk, mode: str) -> None:
    await paused(desk, mode=mode, thread_id="t")
    await desk.approve("c1")
    async with opening(lambda saver: agent(saver, model("hello"), mode=mode))() as graph:
        await graph.ainvoke({"messages": [("user", "never mind")]}, {"configurable": {"thread_id": "t"}})

    with pytest.raises(ResumeRefused, match="went on after this pause"):
        await adapted(desk, await claimed(desk), model("done"), mode=mode)

    assert ledger() == []


async def test_other_arguments_than_those_shown_are_refused(desk: MemoryDesk, mode: str) -> None:
    await paused(desk, mode=mode)
    await desk.approve("c1")
    desk.review_of("c1")["digest"] = "sha256:" + "0" * 64

    with pytest.raises(ResumeRefused, match="was not reviewed"):
        await adapted(desk, await claimed(desk), model("done"), mode=mode)

    assert ledger() == []


async def test_a_state_of_another_format_is_refused(desk: MemoryDesk) -> None:
    ident = await paused(desk, mode="per_call")
    desk.states[ident]["format"] = "seconder/langgraph/99"
    await desk.approve("c1")

    with pytest.raises(ResumeRefused, match="reads seconder/langgraph/1"):
        await adapted(desk, await claimed(desk), model("done"))


async def test_equal_calls_are_told_apart_by_their_ids(desk: MemoryDesk, mode: str) -> None:
    same = call("refund", "c2", **C1["args"])
    await paused(desk, C1, same, mode=mode)
    await desk.approve("c2")
    await desk.reject("c1", "twice")
    says = model("done")

    await adapted(desk, await claimed(desk), says, mode=mode)

    assert [entry["key"] for entry in ledger()] == ["sdr_run-1_c2"]
    assert "twice" in told(says)["c1"]


# --- before the pause -------------------------------------------------------------------------------


async def test_a_checkpointer_in_memory_is_refused_at_the_pause(desk: MemoryDesk, mode: str) -> None:
    with pytest.raises(ConfigurationError, match="durable checkpointer"):
        await seconder.run(agent(InMemorySaver(), [C1], mode=mode), "please", client=desk, wait=False)

    assert desk.pauses == {}


async def test_a_graph_without_a_checkpointer_is_refused_at_the_pause(desk: MemoryDesk, mode: str) -> None:
    with pytest.raises(ConfigurationError, match="no checkpointer"):
        await seconder.run(agent(None, [C1], mode=mode), "please", client=desk, wait=False)


async def test_a_thread_that_waits_takes_no_new_message(desk: MemoryDesk, mode: str) -> None:
    await paused(desk, mode=mode, thread_id="t")

    with pytest.raises(ConfigurationError, match="waits for a decision"):
        await paused(desk, mode=mode, thread_id="t")


async def test_a_pause_carries_neither_messages_nor_context(desk: MemoryDesk, mode: str) -> None:
    first = opening(lambda saver: agent(saver, [C1], mode=mode))
    await seconder.run(first, CANARY, client=desk, wait=False, context={"api_key": CANARY})

    assert CANARY not in json.dumps([desk.pauses, desk.states])


async def test_a_static_breakpoint_asks_nobody_and_says_so(desk: MemoryDesk) -> None:
    builder = StateGraph(MessagesState).add_node("one", lambda _: {}).add_edge(START, "one")
    stopping = opening(lambda saver: builder.compile(checkpointer=saver, interrupt_before=["one"]))

    with pytest.raises(ConfigurationError, match="static breakpoint"):
        await seconder.run(stopping, "please", client=desk, wait=False)


# --- graphs in graphs -------------------------------------------------------------------------------


def outer(saver: Any, *steps: Any, mode: str) -> Any:
    """A graph with an agent as a node."""
    builder = StateGraph(MessagesState)
    builder.add_node("inner", agent(None, *steps, mode=mode))
    builder.add_edge(START, "inner")
    builder.add_edge("inner", END)
    return builder.compile(checkpointer=saver, name=NAME)


async def test_an_agent_that_is_a_node_of_a_graph_is_gated_like_one_alone(desk: MemoryDesk, mode: str) -> None:
    first = opening(lambda saver: outer(saver, [C1, C2], mode=mode))
    await seconder.run(first, "please", client=desk, wait=False)
    await desk.edit("c1", amount=1)
    await desk.reject("c2", "no")
    says = model("done")

    result = await langgraph.resume(await claimed(desk), opening(lambda saver: outer(saver, says, mode=mode)), desk)

    assert isinstance(result, Finished)
    assert [(entry["order"], entry["amount"]) for entry in ledger()] == [("O-1", 1.0)]
    assert "rejected this call: no" in told(says)["c2"]


async def test_an_agent_that_a_node_invokes_in_its_code_cannot_be_held_back_and_is_refused(
    desk: MemoryDesk, mode: str
) -> None:
    def hiding(saver: Any) -> Any:
        inner = agent(None, [C1], mode=mode)

        async def node(state: Any) -> Any:
            return await inner.ainvoke(state)

        return StateGraph(MessagesState).add_node("n", node).add_edge(START, "n").compile(checkpointer=saver)

    with pytest.raises(InvalidInput, match="could not hold it back"):
        await seconder.run(opening(hiding), "please", client=desk, wait=False)


async def test_a_gated_tool_that_pauses_inside_itself_fails_and_is_not_run_again(desk: MemoryDesk, mode: str) -> None:
    @tool
    def careful(order: str) -> str:
        """Ask in the middle."""
        return str(interrupt("sure?"))

    def asking(saver: Any, *steps: Any) -> Any:
        return create_agent(model(*steps), [careful], middleware=[gate(mode, "careful")], checkpointer=saver, name=NAME)

    await seconder.run(
        opening(lambda saver: asking(saver, [call("careful", "c1", order="O-1")])), "x", client=desk, wait=False
    )
    await desk.approve("c1")

    with pytest.raises(ResumeRefused, match="pauses inside itself"):
        await langgraph.resume(await claimed(desk), opening(lambda saver: asking(saver, "done")), desk)

    assert [effect.status for effect in desk.effects.values()] == ["failed"]


async def test_a_graph_that_the_factory_keeps_is_not_changed(desk: MemoryDesk, mode: str) -> None:
    await paused(desk, mode=mode)
    await desk.approve("c1")
    async with opening(lambda saver: agent(saver, model("done"), mode=mode))() as kept:
        node = kept.nodes["tools"].bound
        before = dict(vars(node))

        await langgraph.resume(await claimed(desk), lambda: kept, desk)

        assert kept.nodes["tools"].bound is node
        assert vars(node) == before
