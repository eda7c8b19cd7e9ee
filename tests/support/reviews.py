"""Reviews, pauses and card views for tests; every builder takes what differs from the everyday refund."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from seconder.action import Action
from seconder.bot.card_view import CardView
from seconder.decision import FieldRule, Route, Verdict, VerdictKind
from seconder.review import (
    Agent,
    Delivery,
    Interrupt,
    Kind,
    Pause,
    PauseState,
    Question,
    Requester,
    Review,
    StateValue,
    Status,
)

NOON = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
TOKEN = "a3f1c05d9b7e4f2286d4e1b0c9a85f37"

REFUND: Mapping[str, Any] = {"order_id": "O-991", "amount": 240, "currency": "EUR", "reason": "damaged on arrival"}
REFUND_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string"},
        "amount": {"type": "integer", "minimum": 1},
        "currency": {"type": "string"},
        "reason": {"type": "string"},
    },
    "required": ["order_id", "amount", "currency"],
    "additionalProperties": False,
}


def refund(**arguments: Any) -> Action:
    """The refund of order O-991, with other or more arguments."""
    return Action(tool="issue_refund", arguments={**REFUND, **arguments}, schema=REFUND_SCHEMA)


def a_verdict(**changes: Any) -> Verdict:
    verdict = Verdict(
        kind=VerdictKind.ASK,
        rule="refunds",
        because="Refunds of 50 or more need a person.",
        source="policy.yaml:12",
        route=Route(channel="#refunds", roles=("finance",)),
    )
    return replace(verdict, **changes)


def an_interrupt(**changes: Any) -> Interrupt:
    interrupt = Interrupt(
        kind=Kind.TOOL_CALL,
        agent=Agent(name="support-desk"),
        action=refund(),
        reason="The customer sent a photo of the broken cup.",
        requester=Requester(slack_user="U01RITA"),
        environment="prod",
    )
    return replace(interrupt, **changes)


def a_review(**changes: Any) -> Review:
    """A pending review of the everyday refund; `interrupt` and `verdict` are among what can differ."""
    interrupt = changes.pop("interrupt", None) or an_interrupt()
    review = Review(
        id="rev_1",
        status=Status.PENDING,
        revision=1,
        interrupt=interrupt,
        verdict=a_verdict(),
        digest="sha256:" + "0" * 64,
        created_at=NOON,
        deadline=NOON + timedelta(hours=4),
        deadline_default="expire",
        rung=0,
        delivery=Delivery.POSTED,
        agent_token="tok_1",
        requester_user=interrupt.requester.slack_user if interrupt.requester else None,
    )
    if interrupt.action is not None and "digest" not in changes:
        changes["digest"] = interrupt.action.digest
    return replace(review, **changes)


def a_call(
    arguments: Mapping[str, Any],
    *,
    schema: Mapping[str, Any] | None = None,
    tool: str = "do_it",
    fields: Mapping[str, FieldRule] | None = None,
    **changes: Any,
) -> Review:
    """A pending review of one call with these arguments; without a digest where there is no canonical form."""
    action = Action(tool=tool, arguments=arguments, schema=schema)
    review = a_review(verdict=a_verdict(fields=fields or {}))
    interrupt = replace(review.interrupt, action=action, **changes)
    return replace(review, interrupt=interrupt, digest="sha256:" + "1" * 64)


def a_question(prompt: str = "Which supplier?", *, options: Sequence[str] = (), schema: Any = None) -> Review:
    question = Question(prompt=prompt, options=tuple(options), answer_schema=schema)
    return a_review(interrupt=an_interrupt(kind=Kind.QUESTION, action=None, question=question))


def a_state_edit(value: Any, schema: Mapping[str, Any] | None = None) -> Review:
    state = StateValue(value=value, schema=schema)
    return a_review(interrupt=an_interrupt(kind=Kind.STATE_EDIT, action=None, state=state))


def a_pause(*reviews: Review, **changes: Any) -> Pause:
    pause = Pause(
        id="pau_1",
        run_id="run_1",
        agent=Agent(name="support-desk"),
        framework="openai",
        framework_version="0.17",
        state=PauseState.WAITING,
        created_at=NOON,
        reviews=reviews,
    )
    return replace(pause, **changes)


def a_view(review: Review | None = None, **changes: Any) -> CardView:
    view = CardView(
        review=review or a_review(),
        pause=None,
        token=TOKEN,
        channel="C01REFUNDS",
        now=NOON,
        eligible_text_mentions=("S0FIN",),
        names={"U01ALICE": "Alice", "U01BOB": "Bob"},
    )
    return replace(view, **changes)
