"""A stopped graph as a pause, and a claimed pause found again in the user's checkpointer.

The checkpointer is the run state; the pause keeps only where in it the run stopped:

    {thread_id, checkpoint_id, interrupts: [ids]}, and in the metadata of every checkpoint that a resume writes, MARK
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from langgraph.pregel import Pregel
from langgraph.types import Interrupt, StateSnapshot

from seconder.errors import Fault, InvalidInput, ResumeRefused
from seconder.frameworks.langgraph_asks import Ask, read, same_action
from seconder.frameworks.langgraph_graph import Graph, check_durable, tools
from seconder.gate import Claim

FORMAT = "seconder/langgraph/1"
FRAMEWORK = "langgraph"
MARK = "seconder_pause"


@dataclass(frozen=True, slots=True)
class Place:
    """A claimed run as it is in the checkpointer now.

    `answers` are by interrupt id; None where an earlier attempt, of this same pause, took the run further.
    """

    snapshot: StateSnapshot
    answers: dict[str, Any] | None


def thread(thread_id: str, **metadata: Any) -> Any:
    return {"configurable": {"thread_id": thread_id}, "metadata": metadata}


async def snapshot_of(graph: Graph, thread_id: str) -> StateSnapshot:
    return await graph.aget_state(thread(thread_id), subgraphs=True)


def output_of(graph: Graph, snapshot: StateSnapshot) -> Any:
    """What the graph returned where it stands now: its output channels."""
    channels, values = graph.output_channels, snapshot.values
    if isinstance(channels, str) or not isinstance(values, dict):
        return values
    return {name: value for name, value in values.items() if name in channels}


def asks(graph: Graph, snapshot: StateSnapshot) -> dict[str, Ask]:
    """What the graph asks now, by interrupt id. Raises: InvalidInput."""
    found = {interrupt.id: read(interrupt, values, held) for interrupt, values, held in _waiting(graph, snapshot)}
    missing = [interrupt.id for interrupt in snapshot.interrupts if interrupt.id not in found]
    if missing:
        raise InvalidInput([Fault("interrupts", f"no task of the graph raised {', '.join(missing)}")])
    ids = [one["call_id"] for ask in found.values() for one in ask.interrupts]
    twice = sorted({ident for ident in ids if ids.count(ident) > 1})
    if twice:
        message = f"the call ids {', '.join(twice)} stand twice in one pause: the model must give each call its own"
        raise InvalidInput([Fault("interrupts", message)])
    return found


def pause_of(
    graph: Graph,
    snapshot: StateSnapshot,
    *,
    run: str,
    agent_name: str,
    agent_version: str | None,
    about: Mapping[str, Any],
) -> dict[str, Any]:
    """The pause to submit.

    Raises: InvalidInput where a call cannot be reviewed; ConfigurationError where no other process could resume it.
    """
    check_durable(graph)
    said = {name: value for name, value in about.items() if value is not None}
    asked = asks(graph, snapshot)
    where = snapshot.config["configurable"]
    state = {
        "format": FORMAT,
        "about": said,
        "thread_id": where["thread_id"],
        "checkpoint_id": where["checkpoint_id"],
        "interrupts": list(asked),
    }
    return {
        "run": run,
        "framework": FRAMEWORK,
        "framework_version": version(FRAMEWORK),
        "agent": {"name": agent_name, "version": agent_version},
        "state": state,
        "interrupts": [{**said, **one} for ask in asked.values() for one in ask.interrupts],
    }


def stored(run_state: Any) -> dict[str, Any]:
    """Raises: ResumeRefused where the stored state is not ours."""
    if not isinstance(run_state, dict) or run_state.get("format") != FORMAT:
        found = run_state.get("format") if isinstance(run_state, dict) else None
        raise ResumeRefused(f"the stored run has format {found!r}; this version of Seconder reads {FORMAT}")
    return run_state


async def place(graph: Graph, claim: Claim) -> Place:
    """Where the claimed run stands, with its answers if it still waits for them.

    Raises: ResumeRefused where that is not where it was paused; then nothing was changed or executed.
    """
    state = stored(claim.pause["run_state"])
    snapshot = await snapshot_of(graph, state["thread_id"])
    at = snapshot.config["configurable"].get("checkpoint_id")
    if at is None:
        raise ResumeRefused(f"the checkpointer of this agent has no thread {state['thread_id']}")
    pending, expected = {one.id for one in snapshot.interrupts}, set(state["interrupts"])
    again = claim.pause["attempts"] > 1
    if at != state["checkpoint_id"]:
        if again and (snapshot.metadata or {}).get(MARK) == claim.pause["id"]:
            return Place(snapshot, None)
        raise ResumeRefused(f"thread {state['thread_id']} went on after this pause: somebody else continued it")
    if pending != expected and not (again and pending < expected):
        raise ResumeRefused(
            f"the interrupts that wait in the thread ({_ids(pending)}) are not those of the pause ({_ids(expected)})"
        )
    return Place(snapshot, _answers(graph, snapshot, claim) if pending else None)


def _answers(graph: Graph, snapshot: StateSnapshot, claim: Claim) -> dict[str, Any]:
    reviews = {review["call_id"]: review for review in claim.reviews if review["call_id"] is not None}
    answers = {}
    for ident, ask in _read(graph, snapshot).items():
        decided = []
        for one in ask.interrupts:
            review = reviews.get(one["call_id"])
            if review is None or not same_action(one, review):
                raise ResumeRefused(f"what {one['call_id']} asks for now was not reviewed; nothing was executed")
            decided.append(review)
        answers[ident] = ask.answer(decided)
    return answers


def _read(graph: Graph, snapshot: StateSnapshot) -> dict[str, Ask]:
    try:
        return asks(graph, snapshot)
    except InvalidInput as error:
        raise ResumeRefused(f"the paused graph does not fit the agent as it is now: {error}") from error


def _waiting(graph: Graph, snapshot: StateSnapshot) -> Iterator[tuple[Interrupt, Any, dict[str, Any]]]:
    """Each interrupt with the values and the tools of the graph that it stopped in."""
    for task in snapshot.tasks:
        inner = graph.nodes[task.name].bound if task.name in graph.nodes else None
        if isinstance(task.state, StateSnapshot) and isinstance(inner, Pregel) and task.state.interrupts:
            yield from _waiting(inner, task.state)
        else:
            for interrupt in task.interrupts:
                yield interrupt, snapshot.values, {tool.name: tool for tool in tools(graph)}


def _ids(idents: set[str]) -> str:
    return ", ".join(sorted(idents)) or "none"
