"""A review comes back as it was stored, and is found by whoever looks for it."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from seconder.action import Action
from seconder.decision import (
    Answered,
    Approved,
    Decision,
    Default,
    DefaultKind,
    Edits,
    Escalate,
    FieldRule,
    Rejected,
    Remind,
    Route,
    Rung,
    Source,
    TakenOver,
    Verdict,
)
from seconder.errors import InvalidInput, NotFound
from seconder.review import (
    Agent,
    ContextItem,
    Delivery,
    Interrupt,
    Kind,
    Outcome,
    OutcomeStatus,
    Question,
    Requester,
    Review,
    StateValue,
    Status,
    Step,
)
from seconder.store.database import Store
from seconder.store.reviews import Submitted
from seconder.store.row import to_millis
from seconder.store.tx import Tx
from tests.support.store import ASK, NOON, SECOND, add, add_pause, approved, edited, pause, review

LATER = NOON + timedelta(minutes=5)
OTHER_ROUTE = Route(channel="#finance-leads", roles=("finance_leads",), approvals=2)


def reading(store: Store, ident: str = "rv1") -> Review:
    return store.read(lambda tx: tx.reviews.get(ident))


# --- what is stored comes back ------------------------------------------------------------------

EVERYTHING = Interrupt(
    kind=Kind.TOOL_CALL,
    agent=Agent(name="support", version="3"),
    action=Action(
        tool="t", arguments={"big": 10**30, "x": [1.5, None, "\x00"]}, schema={"type": "object"}, summary="s"
    ),
    reason="because \x00 and \ud800",
    context=(ContextItem(label="order", text="O-991", url="https://example.com/o"),),
    requester=Requester(slack_user="U9", email="a@example.com", name="Ann"),
    session="s1",
    environment="prod",
    risk=0.25,
    confidence=0.5,
    call_id="call_1",
    allowed_decisions=("approved", "rejected"),
    deadline=NOON,
    callback_url="https://example.com/done",
)
A_LADDER = (
    Rung(after=timedelta(minutes=15), step=Remind()),
    Rung(after=timedelta(minutes=30), step=Escalate(route=OTHER_ROUTE)),
    Rung(after=timedelta(hours=4), step=Default(kind=DefaultKind.REJECT)),
)
A_VERDICT = Verdict(
    kind=ASK.kind, rule="r", because="b", source="p.yaml:1", route=OTHER_ROUTE, ladder=A_LADDER,
    fields={"card": FieldRule(label="Card", secret=True, edit=False)}, edits=Edits.SECOND, must_open=True,
    requester_none_ok=True, reject_reasons=("too much",),
)  # fmt: skip
QUESTION = Question(prompt="Which?", options=("a", "b"), answer_schema={"type": "string"})
STATE = StateValue(value={"plan": [1, 10**40, {"deep": 0.1}]}, schema={"type": "object"})


@pytest.mark.parametrize(
    "interrupt",
    [
        EVERYTHING,
        Interrupt(kind=Kind.QUESTION, agent=Agent(name="a"), question=QUESTION),
        Interrupt(kind=Kind.STATE_EDIT, agent=Agent(name="a"), state=STATE),
    ],
    ids=lambda interrupt: interrupt.kind,
)
def test_a_review_comes_back_as_it_was_stored(store: Store, interrupt: Interrupt) -> None:
    add_pause(store, pause())
    stored = review(
        interrupt=interrupt, verdict=A_VERDICT, pause_id="ps1", run_id="rn1", effect_id="ef1", undecidable="why",
        requester_user="U9", editor="U3", rung=1, revision=4, delivery=Delivery.POSTED,
    )  # fmt: skip
    add(store, stored)

    assert reading(store) == stored


@pytest.mark.parametrize(
    "decision",
    [
        approved(),
        edited(amount=10**25),
        Rejected(by=("U1", "U2"), source=Source.CLOCK, at=NOON, reason="no"),
        Answered(by=("U1",), source=Source.PERSON, at=NOON, answer={"n": [10**20, 0.5, None]}),
        TakenOver(by=("U1",), source=Source.PERSON, at=NOON, result="did it"),
    ],
    ids=lambda decision: type(decision).__name__,
)
def test_a_decision_comes_back_as_it_was_made(store: Store, decision: Decision) -> None:
    pending = add(store, review())
    store.write(lambda tx: tx.reviews.decide(pending, decision, at=LATER))

    assert reading(store) == replace(pending, status=Status.DECIDED, decision=decision, decided_at=LATER)


def test_an_outcome_comes_back_as_it_was_reported(store: Store) -> None:
    add(store, review(status=Status.ALLOWED))
    outcome = Outcome(status=OutcomeStatus.FAILED, at=NOON, result={"n": 10**30}, error="broke")
    store.write(lambda tx: tx.reviews.set_outcome("rv1", outcome))

    assert reading(store, "rv1").outcome == outcome


def test_the_allowed_decision_is_there_from_the_beginning(store: Store) -> None:
    decision = Approved(by=(), source=Source.POLICY, at=NOON)
    stored = add(store, review(status=Status.ALLOWED, decision=decision, decided_at=NOON))

    assert reading(store) == stored


def test_small_changes_change_only_themselves(store: Store) -> None:
    stored = add(store, review())
    store.write(lambda tx: tx.reviews.set_delivery("rv1", Delivery.UNDELIVERED))
    store.write(lambda tx: tx.reviews.set_requester("rv1", "U7", "two people have this address"))

    assert reading(store) == replace(
        stored, delivery=Delivery.UNDELIVERED, requester_user="U7", undecidable="two people have this address"
    )


# --- finding them --------------------------------------------------------------------------------


def test_reviews_are_listed_newest_first_and_page_by_page(store: Store) -> None:
    for number in range(5):
        add(store, review(f"rv{number}", created_at=NOON + SECOND * (number // 2)))  # some at the same time

    def page(cursor: tuple[int, str] | None) -> list[Review]:
        return store.read(lambda tx: tx.reviews.listed(agent="support", status=None, limit=2, after_cursor=cursor))

    seen: list[str] = []
    cursor = None
    while shown := page(cursor):
        seen += [value.id for value in shown]
        cursor = (to_millis(shown[-1].created_at), shown[-1].id)

    assert seen == ["rv4", "rv3", "rv2", "rv1", "rv0"]


def test_reviews_are_listed_by_agent_and_status(store: Store) -> None:
    add(store, review("rv1"))
    add(store, review("rv2", status=Status.EXPIRED))
    add(store, review("rv3", interrupt=Interrupt(kind=Kind.QUESTION, agent=Agent(name="other"), question=QUESTION)))

    def ids(**where: Any) -> list[str]:
        given = {"agent": None, "status": None, "limit": 10, **where}
        return [value.id for value in store.read(lambda tx: tx.reviews.listed(**given))]

    assert ids() == ["rv3", "rv2", "rv1"]
    assert ids(agent="support") == ["rv2", "rv1"]
    assert ids(agent="support", status=Status.EXPIRED) == ["rv2"]


def test_the_sweep_sees_what_is_due_longest_overdue_first_and_nothing_settled(store: Store) -> None:
    for ident, hours in (("rv1", 3), ("rv2", 1), ("rv3", 2), ("rv4", 9)):
        add(store, review(ident, deadline=NOON + timedelta(hours=hours)))
    settled = reading(store, "rv3")
    store.write(lambda tx: tx.reviews.end(settled, Step.CANCEL, at=NOON))

    def due(hours: float, limit: int = 10) -> list[str]:
        return store.read(lambda tx: tx.reviews.due(NOON + timedelta(hours=hours), limit))

    assert due(0.9) == []
    assert due(1) == ["rv2"]
    assert due(5) == ["rv2", "rv1"]
    assert due(5, limit=1) == ["rv2"]
    store.write(lambda tx: tx.reviews.put_off("rv2", NOON + timedelta(hours=8)))
    assert due(5) == ["rv1"]


def test_the_reviews_of_a_pause_come_in_the_order_of_submission(store: Store) -> None:
    add_pause(store, pause())
    for ident, position in (("rvb", 0), ("rva", 1), ("rvc", 2)):
        add(store, review(ident, pause_id="ps1"), Submitted(position=position))

    assert [value.id for value in store.read(lambda tx: tx.reviews.of_pause("ps1"))] == ["rvb", "rva", "rvc"]


def test_the_same_key_submitted_by_many_at_once_makes_one_review(store: Store) -> None:
    def submit(number: int) -> str:
        def write(tx: Tx) -> str:
            known = tx.reviews.by_idempotency_key("tk1", "once")
            if known is not None:
                assert known[1] == "sha256:body"
                return known[0].id
            submitted = Submitted(idempotency_key="once", body_digest="sha256:body")
            tx.reviews.add(review(f"rv{number}"), submitted, due_at=None)
            return f"rv{number}"

        return store.write(write)

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(submit, range(8)))) == 1


# --- what no database column may hold ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("session", "s" * 256),
        ("call_id", "c" * 256),
        ("environment", "e" * 101),
        ("session", "a\x00b"),
        ("call_id", "\ud800"),
    ],
)
def test_a_name_that_one_database_cannot_hold_is_refused_by_both(store: Store, field: str, value: str) -> None:
    changed: dict[str, Any] = {field: value}
    interrupt = replace(review().interrupt, **changed)

    with pytest.raises(InvalidInput) as refusal:
        add(store, review(interrupt=interrupt))

    assert [fault.path for fault in refusal.value.faults] == [field]
    with pytest.raises(NotFound):
        reading(store)


def test_the_longest_names_are_kept_whole(store: Store) -> None:
    interrupt = replace(review().interrupt, session="é" * 255, call_id="🙂" * 255, environment="e" * 100)
    stored = add(store, review(interrupt=interrupt))

    assert reading(store) == stored


def test_sentences_are_cleaned_of_what_no_database_holds(store: Store) -> None:
    add(store, review(undecidable="two\x00people \ud800"))

    assert reading(store).undecidable == "two�people �"
