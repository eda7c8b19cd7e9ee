"""Strategies for what an agent may send at its worst."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from seconder.action import Action
from seconder.decision import Answered, Approved, Decision, Edited, FieldRule, Rejected, Route, Source, TakenOver, Vote
from seconder.review import (
    Agent,
    ContextItem,
    Interrupt,
    Kind,
    Outcome,
    OutcomeStatus,
    Pause,
    PauseOutcome,
    PauseState,
    Question,
    Requester,
    Review,
    StateValue,
    Status,
)
from tests.support.reviews import NOON, a_pause, a_review, a_verdict

_PIECES = st.sampled_from(
    [
        "&",
        "<",
        ">",
        "<!channel>",
        "<@U01ALICE>",
        "\u202e",
        "\u200b",
        "\n",
        " ",
        "🎉",
        "🏳️‍🌈",
        "\ud83d",
        "е",
        "a",
        "'",
        "`",
        "\U000e0041",
        "",
    ]
)
texts = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=40),
    st.lists(_PIECES, max_size=30).map("".join),
    st.tuples(_PIECES, st.sampled_from([0, 1, 80, 700, 6000])).map(lambda pair: pair[0] * pair[1]),
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=6) | st.dictionaries(texts, inner, max_size=6), max_leaves=10
)
arguments = st.one_of(
    st.dictionaries(texts, values, max_size=8),
    st.sampled_from([0, 1, 50, 300]).map(lambda n: {f"field_{at}<&>": "&" * (at * 7) for at in range(n)}),
)
_SCHEMAS = st.sampled_from(
    [{"type": kind} for kind in ("string", "integer", "number", "boolean", "array", "object", "null")]
    + [
        {"type": ["string", "null"]},
        {"enum": ["a", "<b>", None, 1]},
        {"enum": ["&" * 300 + str(n) for n in range(100)]},
    ]
    + [
        {"enum": [str(n) for n in range(101)]},
        {"$ref": "#/nowhere"},
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    ]
    + [{"type": "array", "items": {"enum": ["a", "b", "&" * 200]}}, {"type": "string", "description": "<&>" * 900}]
)


@st.composite
def schemas(draw: st.DrawFn, names: list[str]) -> dict[str, Any]:
    """A schema for some of `names`, and for some fields that are not set."""
    chosen = [name for name in names if draw(st.booleans())] + ["unset_1", "unset_2"]
    return {"type": "object", "properties": {name: draw(_SCHEMAS) for name in chosen}}


_links = texts.map(lambda text: f"https://a.test/{text}")
_items = st.builds(ContextItem, label=texts, text=texts, url=st.none() | texts | _links)


@st.composite
def reviews(draw: st.DrawFn, status: Status | None = None) -> Review:
    """A review of any kind, in any state, with hostile text wherever text can be."""
    kind, fields = draw(st.sampled_from(Kind)), draw(arguments)
    action = Action(
        tool=draw(texts), arguments=fields, schema=draw(schemas(list(fields))), summary=draw(st.none() | texts)
    )
    interrupt = Interrupt(
        kind=kind,
        agent=Agent(name=draw(texts), version=draw(st.none() | texts)),
        action=action if kind in (Kind.TOOL_CALL, Kind.APPROVAL) else None,
        question=Question(prompt=draw(texts), options=tuple(draw(st.lists(texts, max_size=12))))
        if kind is Kind.QUESTION
        else None,
        state=StateValue(value=draw(values), schema=action.schema) if kind is Kind.STATE_EDIT else None,
        reason=draw(st.none() | texts),
        context=tuple(draw(st.lists(_items, max_size=12))),
        requester=draw(st.none() | st.builds(Requester, name=texts)),
        environment=draw(st.none() | texts),
        risk=draw(st.none() | st.floats(0, 1)),
    )
    rules = {
        name: draw(st.builds(FieldRule, label=st.none() | texts, secret=st.booleans(), edit=st.booleans()))
        for name in list(fields)[:3]
    }
    route = Route(channel=draw(texts), roles=(), approvals=draw(st.integers(1, 40)))
    named = tuple(draw(st.lists(texts, max_size=12)))
    verdict = a_verdict(rule=draw(texts), because=draw(texts), source=draw(texts), route=route, reject_reasons=named)
    verdict = replace(verdict, fields=rules, must_open=draw(st.booleans()))
    review = a_review(
        interrupt=interrupt, verdict=verdict, digest="sha256:" + "0" * 64, undecidable=draw(st.none() | texts)
    )
    review = replace(
        review,
        votes=tuple(Vote(person=f"U{n}", digest=review.digest, at=NOON) for n in range(draw(st.integers(0, 40)))),
    )
    return _settled(draw, review, status or draw(st.sampled_from(Status)))


@st.composite
def pauses(draw: st.DrawFn, review: Review) -> Pause:
    """The pause of `review`, with any outcome."""
    state, outcome = draw(st.sampled_from(PauseState)), draw(st.none() | st.sampled_from(PauseOutcome))
    return a_pause(review, state=state, outcome=outcome, final_output=draw(values), error=draw(st.none() | texts))


def _settled(draw: st.DrawFn, review: Review, status: Status) -> Review:
    if status is not Status.DECIDED:
        return replace(review, status=status)
    outcome = draw(
        st.none()
        | st.builds(
            Outcome, status=st.sampled_from(OutcomeStatus), at=st.just(NOON), result=values, error=st.none() | texts
        )
    )
    return replace(
        review, status=status, decision=_decision(draw, review), decided_at=NOON + timedelta(seconds=9), outcome=outcome
    )


def _decision(draw: st.DrawFn, review: Review) -> Decision:
    by = tuple(draw(st.lists(st.sampled_from(["U01ALICE", "U01BOB"]) | texts, max_size=30)))
    common: Any = {"by": by, "source": draw(st.sampled_from(Source)), "at": NOON}
    edited = (review.action or Action(tool="t", arguments={})).with_arguments(draw(arguments))
    every: list[Decision] = [
        Approved(**common),
        Edited(**common, action=edited),
        Rejected(**common, reason=draw(texts)),
        Answered(**common, answer=draw(values)),
        TakenOver(**common, result=draw(texts)),
    ]
    return draw(st.sampled_from(every))
