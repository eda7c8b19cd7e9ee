"""The status machine as a table, compared with the drawing it stands under."""

import itertools

import pytest

from seconder.action import Action
from seconder.errors import IllegalTransition
from seconder.review import TRANSITIONS, Agent, Interrupt, Kind, Question, StateValue, Status, Step, after
from tests.support.store import REFUND, review

ALLOWED = {
    Status.PENDING: {
        Step.VOTE: Status.PENDING,
        Step.REMIND: Status.PENDING,
        Step.ESCALATE: Status.PENDING,
        Step.REVISE: Status.PENDING,
        Step.DECIDE: Status.DECIDED,
        Step.EXPIRE: Status.EXPIRED,
        Step.CANCEL: Status.CANCELLED,
    },
    Status.ALLOWED: {Step.CONSUME: Status.ALLOWED, Step.REPORT: Status.ALLOWED},
    Status.DECIDED: {Step.CONSUME: Status.DECIDED, Step.REPORT: Status.DECIDED},
}


@pytest.mark.parametrize(("status", "step"), list(itertools.product(Status, Step)))
def test_a_step_leads_where_the_drawing_says_or_is_refused(status: Status, step: Step) -> None:
    to = ALLOWED.get(status, {}).get(step)
    if to is not None:
        assert after(status, step, review_id="rv1") is to
        return
    with pytest.raises(IllegalTransition) as refusal:
        after(status, step, review_id="rv1")

    assert (refusal.value.review_id, refusal.value.status, refusal.value.step) == ("rv1", status, step)
    assert str(refusal.value) == f"review rv1 is {status}: cannot {step}"


def test_only_a_pending_review_changes_its_status() -> None:
    assert {before for (before, _), to in TRANSITIONS.items() if before is not to} == {Status.PENDING}


def test_an_action_is_shown_as_it_is() -> None:
    assert review().action == REFUND


def test_a_state_is_shown_as_the_action_of_editing_it() -> None:
    state = StateValue(value={"plan": [1]}, schema={"type": "object"})
    interrupt = Interrupt(kind=Kind.STATE_EDIT, agent=Agent(name="a"), state=state)

    assert review(interrupt=interrupt).action == Action(
        tool="edit_state", arguments={"state": {"plan": [1]}}, schema={"type": "object"}
    )


def test_a_question_shows_no_action() -> None:
    interrupt = Interrupt(kind=Kind.QUESTION, agent=Agent(name="a"), question=Question(prompt="Which?"))

    assert review(interrupt=interrupt).action is None
