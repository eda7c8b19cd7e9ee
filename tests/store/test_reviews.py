"""Every step out of a status is one guarded UPDATE: decided once, and refused steps change nothing."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest

from seconder.decision import (
    Route,
    Vote,
)
from seconder.errors import IllegalTransition, NotFound, Superseded
from seconder.review import (
    TRANSITIONS,
    Outcome,
    OutcomeStatus,
    Review,
    Status,
    Step,
)
from seconder.store.database import Store
from seconder.store.tx import Tx
from tests.support.store import NOON, REFUND, add, approved, review

LATER = NOON + timedelta(minutes=5)
OTHER_ROUTE = Route(channel="#finance-leads", roles=("finance_leads",), approvals=2)


def escalated(value: Review) -> Review:
    return replace(value, rung=1, verdict=replace(value.verdict, route=OTHER_ROUTE))


def revised(value: Review) -> Review:
    action = REFUND.with_arguments({"amount": 120})
    interrupt = replace(value.interrupt, action=action)
    return replace(value, interrupt=interrupt, digest=action.digest, editor="U1")


STEPS: dict[Step, Callable[[Tx, Review], Any]] = {
    Step.VOTE: lambda tx, value: tx.reviews.vote(value.id, Vote(person="U1", digest=value.digest, at=LATER)),
    Step.REMIND: lambda tx, value: tx.reviews.climb(replace(value, rung=1), revision=1, due_at=LATER),
    Step.ESCALATE: lambda tx, value: tx.reviews.climb(escalated(value), revision=2, due_at=LATER),
    Step.REVISE: lambda tx, value: tx.reviews.revise(revised(value), revision=2),
    Step.DECIDE: lambda tx, value: tx.reviews.decide(value, approved(at=LATER), at=LATER),
    Step.EXPIRE: lambda tx, value: tx.reviews.end(value, Step.EXPIRE, at=LATER),
    Step.CANCEL: lambda tx, value: tx.reviews.end(value, Step.CANCEL, at=LATER),
    Step.CONSUME: lambda tx, value: tx.reviews.consume(value.id, LATER),
    Step.REPORT: lambda tx, value: tx.reviews.set_outcome(
        value.id, Outcome(status=OutcomeStatus.SUCCEEDED, at=LATER, result="done")
    ),
}


def take(store: Store, step: Step, value: Review) -> None:
    store.write(lambda tx: STEPS[step](tx, value))


def in_status(status: Status) -> Review:
    decision = approved() if status in {Status.DECIDED, Status.ALLOWED} else None
    return review(f"rv-{status}", status=status, decision=decision, decided_at=NOON if decision else None)


def get(store: Store, ident: str = "rv1") -> Review:
    return store.read(lambda tx: tx.reviews.get(ident))


def test_each_step_leads_where_the_machine_says_and_elsewhere_changes_nothing(store: Store) -> None:
    for number, (status, step) in enumerate((status, step) for status in Status for step in Step):
        before = add(store, replace(in_status(status), id=f"rv{number}"))

        if (status, step) in TRANSITIONS:
            take(store, step, before)
            after = get(store, before.id)
            assert after != before, (status, step)
            assert after.status is TRANSITIONS[status, step], (status, step)
        else:
            with pytest.raises(IllegalTransition):
                take(store, step, before)
            assert get(store, before.id) == before, (status, step)


def test_a_loser_who_still_believes_the_review_pending_changes_nothing(store: Store) -> None:
    believed = add(store, review())
    store.write(lambda tx: tx.reviews.decide(believed, approved("U1"), at=NOON))
    before = get(store)

    for step in (Step.DECIDE, Step.EXPIRE, Step.CANCEL, Step.REMIND, Step.ESCALATE, Step.REVISE):
        with pytest.raises(IllegalTransition) as refusal:
            take(store, step, believed)
        assert refusal.value.status == "decided"
    assert get(store) == before


def test_a_decision_on_an_older_revision_is_refused(store: Store) -> None:
    believed = add(store, review())
    store.write(lambda tx: tx.reviews.revise(revised(believed), revision=2))

    with pytest.raises(Superseded) as refusal:
        store.write(lambda tx: tx.reviews.decide(believed, approved(), at=NOON))

    assert refusal.value.revision == 2
    assert get(store) == replace(revised(believed), revision=2)


@pytest.mark.parametrize("lock", [True, False])
def test_of_two_who_decide_at_once_one_wins_and_one_is_told(store: Store, lock: bool) -> None:
    for turn in range(10):
        add(store, review(f"rv{turn}"))
        barrier = Barrier(2)

        def decide(person: str, turn: int = turn, barrier: Barrier = barrier) -> str:
            seen = get(store, f"rv{turn}")
            barrier.wait()

            def write(tx: Tx) -> str:
                current = tx.reviews.get(seen.id, lock=True) if lock else seen
                tx.reviews.decide(current, approved(person), at=NOON)
                return person

            try:
                return store.write(write)
            except IllegalTransition:
                return "told"

        with ThreadPoolExecutor(2) as pool:
            ends = list(pool.map(decide, ["U1", "U2"]))

        [winner] = [end for end in ends if end != "told"]
        assert get(store, f"rv{turn}").decision == approved(winner)


def test_a_person_counts_once_for_one_action(store: Store) -> None:
    pending = add(store, review())
    first = Vote(person="U1", digest=pending.digest, at=NOON)

    assert store.write(lambda tx: tx.reviews.vote("rv1", first))
    assert not store.write(lambda tx: tx.reviews.vote("rv1", replace(first, at=LATER)))
    assert store.write(lambda tx: tx.reviews.vote("rv1", replace(first, person="U2", at=LATER)))
    assert get(store).votes == (first, replace(first, person="U2", at=LATER))


def test_a_vote_on_the_new_action_replaces_the_one_on_the_old(store: Store) -> None:
    pending = add(store, review())
    first = Vote(person="U1", digest=pending.digest, at=NOON)
    second = Vote(person="U1", digest=revised(pending).digest, at=LATER)
    store.write(lambda tx: tx.reviews.vote("rv1", first))

    assert store.write(lambda tx: tx.reviews.vote("rv1", second))
    assert get(store).votes == (second,)


def test_a_decision_is_used_once(store: Store) -> None:
    add(store, in_status(Status.DECIDED))

    used = [store.write(lambda tx: tx.reviews.consume("rv-decided", NOON)) for _ in range(3)]

    assert used == [True, False, False]


def test_the_full_view_is_remembered_by_person_and_action(store: Store) -> None:
    add(store, review())
    for _ in range(2):
        store.write(lambda tx: tx.reviews.mark_opened("rv1", "U1", "sha256:a", NOON))

    def seen(person: str, digest: str) -> bool:
        return store.read(lambda tx: tx.reviews.has_opened("rv1", person, digest))

    assert seen("U1", "sha256:a")
    assert not seen("U2", "sha256:a")
    assert not seen("U1", "sha256:b")


def test_an_unknown_review_is_not_found_by_any_step(store: Store) -> None:
    for step in (Step.VOTE, Step.CONSUME, Step.REPORT):
        with pytest.raises(NotFound):
            take(store, step, review("nobody"))
    with pytest.raises(NotFound):
        get(store, "nobody")
