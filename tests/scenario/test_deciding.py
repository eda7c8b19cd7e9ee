"""Invariants 1 to 6: decide once, one commit, bound, asked at the click, late is no."""

import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from seconder.decision import Approved, Edited, Rejected
from seconder.desk import climb, decide, look
from seconder.desk.decide import Answer, Approve, Edit, Reject
from seconder.desk.desk import Desk
from seconder.desk.press import Press
from seconder.errors import (
    AlreadyVoted,
    DeadlinePassed,
    IllegalTransition,
    InvalidInput,
    NotEligible,
    StaleFacts,
    Superseded,
    UnboundCard,
)
from seconder.review import Agent, Interrupt, Kind, Question, Requester, Status
from seconder.store.tx import Tx
from tests.support.desk import (
    ALICE,
    BOB,
    LENA,
    OLGA,
    RILEY,
    a_desk,
    look_again,
    post_card,
    press_on,
    push_clock,
    refund,
    refused_as,
    submitted,
)


def kinds(desk: Desk, review_id: str) -> list[str]:
    return [entry.kind for entry in look.history(desk, review_id)]


def test_an_eligible_person_approves_what_was_shown(database_url: str) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund())

        decided = decide.decide(desk, press_on(desk, review.id, ALICE), Approve())

        assert decided.status is Status.DECIDED
        assert isinstance(decided.decision, Approved)
        assert decided.decision.by == (ALICE,)
        assert decided.digest == review.digest


def press_all(desk: Desk, presses: list[Press], choices: list[decide.Choice]) -> list[object]:
    """What each of the presses, made at the same time, was told."""
    told: list[object] = []
    start = threading.Barrier(len(presses))

    def press(number: int) -> None:
        start.wait()
        try:
            told.append(decide.decide(desk, presses[number], choices[number % len(choices)]))
        except IllegalTransition as lost:
            told.append(lost)

    threads = [threading.Thread(target=press, args=(number,)) for number in range(len(presses))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return told


def test_twenty_presses_at_once_give_one_decision_and_nineteen_are_told_they_were_late(database_url: str) -> None:
    with a_desk(database_url) as desk:
        for _ in range(5):
            review = submitted(desk, refund())
            presses = [press_on(desk, review.id, (ALICE, BOB)[number % 2]) for number in range(20)]

            told = press_all(desk, presses, [Approve(), Reject("no"), Edit({"amount": 120, "order": "O-991"})])

            assert len(told) == 20
            assert len([one for one in told if isinstance(one, IllegalTransition)]) == 19
            assert kinds(desk, review.id).count("decided") == 1
            assert kinds(desk, review.id).count("refused") == 19


def test_a_rejection_carries_its_reason(database_url: str) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund())

        decided = decide.decide(desk, press_on(desk, review.id, BOB), Reject("Outside the window"))

        assert isinstance(decided.decision, Rejected)
        assert decided.decision.reason == "Outside the window"


def test_an_edit_decides_on_the_new_arguments_and_keeps_the_proposed_ones_in_the_trail(database_url: str) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund())

        decided = decide.decide(desk, press_on(desk, review.id, ALICE), Edit({"amount": 120, "order": "O-991"}))

        assert isinstance(decided.decision, Edited)
        assert decided.decision.action.arguments == {"amount": 120, "order": "O-991"}
        [entry] = [entry for entry in look.history(desk, review.id) if entry.kind == "decided"]
        assert '"amount":240' in entry.payload["proposed"]
        assert '"amount":120' in entry.payload["arguments"]


def test_an_edit_that_breaks_the_schema_is_refused_by_field_and_nothing_is_decided(database_url: str) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund())

        error = refused_as(
            InvalidInput,
            lambda: decide.decide(desk, press_on(desk, review.id, ALICE), Edit({"amount": -1, "order": "O-991"})),
        )

        assert isinstance(error, InvalidInput)
        assert [fault.path for fault in error.faults] == ["amount"]
        assert look.review(desk, review.id).status is Status.PENDING


@pytest.mark.parametrize(
    ("who", "facts", "says"),
    [
        (RILEY, {}, "somebody else"),
        (OLGA, {}, "Only finance"),
        (LENA, {}, "Only finance"),
        (ALICE, {"alice": {"deleted": True}}, "Deactivated"),
        (ALICE, {"alice": {"is_bot": True}}, "bots"),
        (ALICE, {"alice": {"is_guest": True}}, "Guests"),
        (ALICE, {"alice": {"is_external": True}}, "workspace"),
    ],
)
def test_whoever_may_not_decide_is_refused_and_the_attempt_is_recorded(
    database_url: str, who: str, facts: dict[str, dict[str, bool]], says: str
) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund())
        look_again(desk, **facts)
        press = press_on(desk, review.id, who)

        for choice in (Approve(), Reject("no"), Edit({"amount": 1, "order": "x"})):
            with pytest.raises(NotEligible, match=says):
                decide.decide(desk, press, choice)

        assert look.review(desk, review.id).status is Status.PENDING
        assert kinds(desk, review.id).count("refused") == 3


def test_the_requester_cannot_decide_even_as_a_member_of_the_role(database_url: str) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund(requester=Requester(slack_user=ALICE)))

        with pytest.raises(NotEligible, match="acts for you"):
            decide.decide(desk, press_on(desk, review.id, ALICE), Approve())


@pytest.mark.parametrize("requester", [None, Requester(name="Somebody")])
def test_without_a_known_requester_nobody_can_approve_unless_the_rule_says_so(
    database_url: str, requester: Requester | None
) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund(requester=requester))

        with pytest.raises(NotEligible, match="for whom"):
            decide.decide(desk, press_on(desk, review.id, ALICE), Approve())
        assert review.undecidable is not None


def test_old_facts_decide_nothing_and_name_what_to_look_at(database_url: str) -> None:
    with a_desk(database_url, fresh=timedelta(seconds=60)) as desk:
        review = submitted(desk, refund())
        press = press_on(desk, review.id, ALICE)
        desk.store.write(lambda tx: tx.push_clock(timedelta(seconds=61)))

        error = refused_as(StaleFacts, lambda: decide.decide(desk, press, Approve()))

        assert isinstance(error, StaleFacts)
        assert (error.people, error.groups) == ((ALICE,), ("S0FINANCE",))
        assert "refused" not in kinds(desk, review.id)


def test_a_person_removed_from_the_group_between_two_presses_is_refused(database_url: str) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund())
        press = press_on(desk, review.id, ALICE)
        now = desk.store.read(lambda tx: tx.now())
        group = desk.store.read(lambda tx: tx.people.group("T0DEMO", "S0FINANCE"))
        assert group is not None
        desk.store.write(lambda tx: tx.people.put_group(replace(group, members=frozenset({BOB}), as_of=now)))

        with pytest.raises(NotEligible):
            decide.decide(desk, press, Approve())


@pytest.mark.parametrize(
    "changes",
    [
        {"token": "nothing"},
        {"team_id": "T0OTHER"},
        {"enterprise_id": "E0OTHER"},
        {"channel_id": "C0OTHER"},
        {"ts": "9.9"},
    ],
)
def test_a_press_is_compared_with_everything_its_card_is_bound_to(database_url: str, changes: dict[str, str]) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund())

        with pytest.raises(UnboundCard):
            decide.decide(desk, press_on(desk, review.id, ALICE, **changes), Approve())
        assert look.review(desk, review.id).status is Status.PENDING


def test_the_first_press_in_the_right_channel_binds_a_card_whose_place_is_unknown(database_url: str) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund())
        [card] = desk.store.read(lambda tx: tx.messages.of_review(review.id))
        desk.store.write(lambda tx: tx.messages.change(card.id, state="posting", channel_id="C0REFUNDS"))

        decide.decide(
            desk,
            Press(
                token=card.token or "",
                team_id="T0DEMO",
                enterprise_id=None,
                user_id=ALICE,
                channel_id="C0REFUNDS",
                ts="77.7",
            ),
            Approve(),
        )

        [bound] = desk.store.read(lambda tx: tx.messages.of_review(review.id))
        assert (bound.channel_id, bound.ts) == ("C0REFUNDS", "77.7")


def test_late_is_no_even_before_the_sweep_has_run(database_url: str) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund())
        press = press_on(desk, review.id, ALICE)
        push_clock(desk, timedelta(hours=4))

        with pytest.raises(DeadlinePassed):
            decide.decide(desk, press, Approve())
        assert climb.climb(desk, review.id) == "reject"


def test_two_approvals_are_two_people_and_every_vote_is_asked_again_at_the_end(database_url: str) -> None:
    with a_desk(database_url) as desk:
        wire = refund()
        assert wire.action is not None
        review = submitted(desk, replace(wire, action=replace(wire.action, tool="wire")))

        first = decide.decide(desk, press_on(desk, review.id, ALICE), Approve())
        with pytest.raises(AlreadyVoted):
            decide.decide(desk, press_on(desk, review.id, ALICE), Approve())
        look_again(desk, alice={"deleted": True})
        second = decide.decide(desk, press_on(desk, review.id, BOB), Approve())
        third = decide.decide(desk, press_on(desk, review.id, LENA), Approve())

        assert (first.status, second.status) == (Status.PENDING, Status.PENDING)
        assert isinstance(third.decision, Approved)
        assert third.decision.by == (BOB, LENA)


def test_an_edit_where_two_are_needed_makes_a_revision_that_a_second_person_decides(database_url: str) -> None:
    with a_desk(database_url) as desk:
        wire = refund()
        assert wire.action is not None
        review = submitted(desk, replace(wire, action=replace(wire.action, tool="wire")))
        old = press_on(desk, review.id, BOB)

        revised = decide.decide(desk, press_on(desk, review.id, ALICE), Edit({"amount": 5, "order": "O-1"}))
        with pytest.raises(Superseded):
            decide.decide(desk, old, Approve())
        post_card(desk, review.id)
        decided = decide.decide(desk, press_on(desk, review.id, BOB), Approve())

        assert (revised.status, revised.revision) == (Status.PENDING, 2)
        assert isinstance(decided.decision, Edited)
        assert decided.decision.by == (ALICE, BOB)
        assert decided.decision.action.arguments == {"amount": 5, "order": "O-1"}


def test_after_an_escalation_the_new_route_decides_and_the_old_card_does_not(database_url: str) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund())
        old = press_on(desk, review.id, ALICE)
        push_clock(desk, timedelta(minutes=21))

        assert [climb.climb(desk, review.id) for _ in range(3)] == ["remind", "escalate", None]
        with pytest.raises(Superseded):
            decide.decide(desk, old, Approve())
        with pytest.raises(NotEligible):
            decide.decide(desk, press_on(desk, review.id, ALICE), Approve())
        decided = decide.decide(desk, press_on(desk, review.id, LENA), Approve())

        assert decided.status is Status.DECIDED
        assert decided.revision == 2


def test_a_question_takes_only_one_of_its_options(database_url: str) -> None:
    question = Interrupt(
        kind=Kind.QUESTION,
        agent=Agent(name="shop"),
        question=Question(prompt="Which one?", options=("left", "right")),
        requester=Requester(slack_user=RILEY),
    )
    with a_desk(database_url) as desk:
        review = submitted(desk, question)

        with pytest.raises(InvalidInput):
            decide.decide(desk, press_on(desk, review.id, LENA), Answer("up"))
        with pytest.raises(NotEligible):
            decide.decide(desk, press_on(desk, review.id, LENA), Approve())
        decided = decide.decide(desk, press_on(desk, review.id, LENA), Answer("left"))

        assert decided.status is Status.DECIDED


def test_nothing_is_decided_where_the_trail_cannot_be_written(database_url: str) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund())
        press = press_on(desk, review.id, ALICE)
        before = desk.store.read(lambda tx: tx.queue.listed())

        def break_trail(tx: Tx) -> None:
            tx.connection.exec_driver_sql("ALTER TABLE trail RENAME TO trail_away")

        desk.store.write(break_trail)
        with pytest.raises(Exception, match="trail"):
            decide.decide(desk, press, Approve())
        desk.store.write(lambda tx: tx.connection.exec_driver_sql("ALTER TABLE trail_away RENAME TO trail"))

        assert look.review(desk, review.id).status is Status.PENDING
        assert desk.store.read(lambda tx: tx.queue.listed()) == before
