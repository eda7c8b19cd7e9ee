"""`ask`, bare `interrupt` and agent-inbox's HumanInterrupt, on the real desk."""

import asyncio
from collections.abc import Callable
from typing import Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel

import seconder
from seconder.desk import decide
from seconder.desk.client import LocalClient
from seconder.desk.desk import Desk
from seconder.errors import Unanswered
from seconder.frameworks import Failed, Finished, Resumed
from seconder.frameworks.langgraph import ask
from seconder.frameworks.lease import resume
from tests.support.desk import ALICE, RILEY, press_on
from tests.support.graphs import NAME, opening

pytestmark = pytest.mark.anyio


class State(TypedDict, total=False):
    said: Any


class Trip(BaseModel):
    city: str
    days: int


def asking(node: Any) -> Any:
    builder: Any = StateGraph(State)
    builder.add_node("ask", node).add_edge(START, "ask")
    return opening(lambda saver: builder.compile(checkpointer=saver, name=NAME))


async def stopped(client: LocalClient, node: Callable[[State], State]) -> tuple[dict[str, Any], ...]:
    result = await seconder.run(asking(node), {}, client=client, requester=RILEY, wait=False)
    assert isinstance(result, seconder.Paused)
    return result.reviews


async def gone_on(client: LocalClient, node: Callable[[State], State]) -> Resumed:
    claim = await client.claim(agents=[NAME], worker="w", wait=5)
    assert claim is not None
    return (await resume(client, claim, asking(node))).resumed


async def press(desk: Desk, review: dict[str, Any], said: Any) -> None:
    await asyncio.to_thread(lambda: decide.decide(desk, press_on(desk, review["id"], ALICE), said))


@pytest.mark.parametrize(
    ("question", "answer", "said"),
    [
        (lambda: ask("Which order?"), "O-991", "O-991"),
        (lambda: ask("Go?", options=["yes", "no"]), "no", "no"),
        (lambda: ask("Where to?", schema=Trip), {"city": "Oslo", "days": 3}, Trip(city="Oslo", days=3)),
        (lambda: ask("How many?", schema={"type": "integer"}), 3, 3),
        (lambda: interrupt("What is your age?"), "41", "41"),
        (lambda: interrupt({"any": ["json"]}), "fine", "fine"),
        (lambda: interrupt("Where to?", response_schema=Trip), {"city": "Oslo", "days": 3}, Trip(city="Oslo", days=3)),
    ],
)
async def test_an_answer_goes_on_where_the_graph_asked(
    real: Desk, client: LocalClient, question: Any, answer: Any, said: Any
) -> None:
    def node(_: State) -> State:
        return {"said": question()}

    [review] = await stopped(client, node)
    assert review["kind"] == "question"
    await press(real, review, decide.Answer(answer))

    result = await gone_on(client, node)

    assert isinstance(result, Finished), result
    assert result.final_output == {"said": said}


async def test_a_question_shows_its_options_and_schema(client: LocalClient) -> None:
    [review] = await stopped(client, lambda _: {"said": ask("Go?", options=["yes", "no"])})

    assert review["question"] == {"prompt": "Go?", "options": ["yes", "no"], "answer_schema": None}


async def test_a_rejected_ask_is_no_answer(real: Desk, client: LocalClient) -> None:
    def node(_: State) -> State:
        try:
            return {"said": ask("Go?")}
        except Unanswered as error:
            return {"said": f"{error.status}: {error}"}

    [review] = await stopped(client, node)
    await press(real, review, decide.Reject("not today"))

    result = await gone_on(client, node)

    assert isinstance(result, Finished)
    assert result.final_output["said"].startswith("rejected: Not executed:")
    assert "not today" in result.final_output["said"]


async def test_a_rejected_bare_interrupt_is_never_taken_for_an_answer(real: Desk, client: LocalClient) -> None:
    ran = []

    def node(_: State) -> State:
        ran.append(interrupt("Go?"))
        return {"said": "went"}

    [review] = await stopped(client, node)
    await press(real, review, decide.Reject("not today"))

    result = await gone_on(client, node)

    assert isinstance(result, Failed)
    assert "could not tell it from an answer" in result.error
    assert ran == []


def inbox(**config: bool) -> Callable[[State], State]:
    allow = dict.fromkeys(("allow_ignore", "allow_respond", "allow_edit", "allow_accept"), True) | config

    def node(_: State) -> State:
        request = {"action_request": {"action": "send", "args": {"to": "Bo"}}, "config": allow, "description": "Mail"}
        return {"said": interrupt([request])[0]}

    return node


@pytest.mark.parametrize(
    ("choice", "config", "said"),
    [
        (decide.Approve(), {}, {"type": "accept", "args": None}),
        (decide.Edit({"to": "Ann"}), {}, {"type": "edit", "args": {"action": "send", "args": {"to": "Ann"}}}),
        (decide.Reject("no"), {"allow_respond": False}, {"type": "ignore", "args": None}),
    ],
)
async def test_a_human_interrupt_gets_the_answers_of_an_inbox(
    real: Desk, client: LocalClient, choice: Any, config: Any, said: Any
) -> None:
    node = inbox(**config)
    [review] = await stopped(client, node)
    assert (review["kind"], review["action"]["tool"]) == ("approval", "send")
    await press(real, review, choice)

    result = await gone_on(client, node)

    assert isinstance(result, Finished), result
    assert result.final_output == {"said": said}


async def test_a_rejected_human_interrupt_is_told_why(real: Desk, client: LocalClient) -> None:
    [review] = await stopped(client, inbox())
    await press(real, review, decide.Reject("too early"))

    result = await gone_on(client, inbox())

    assert isinstance(result, Finished)
    assert result.final_output["said"]["type"] == "response"
    assert "too early" in result.final_output["said"]["args"]


async def test_two_questions_at_once_get_their_own_answers(real: Desk, client: LocalClient) -> None:
    class Both(TypedDict, total=False):
        one: str
        two: str

    def graph(saver: Any) -> Any:
        builder = StateGraph(Both)
        builder.add_node("n1", lambda _: {"one": ask("First?")})
        builder.add_node("n2", lambda _: {"two": ask("Second?")})
        return builder.add_edge(START, "n1").add_edge(START, "n2").compile(checkpointer=saver, name=NAME)

    result = await seconder.run(opening(graph), {}, client=client, requester=RILEY, wait=False)
    by_prompt = {review["question"]["prompt"]: review for review in result.reviews}
    await press(real, by_prompt["Second?"], decide.Answer("b"))
    await press(real, by_prompt["First?"], decide.Answer("a"))
    claim = await client.claim(agents=[NAME], worker="w", wait=5)
    assert claim is not None

    ended = (await resume(client, claim, opening(graph))).resumed

    assert isinstance(ended, Finished)
    assert ended.final_output == {"one": "a", "two": "b"}
