"""A machine that presses, crashes, waits and resumes in any order: what must hold holds after every step."""

import tempfile
from collections import Counter
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from seconder.decision import Approved, Edited, Source
from seconder.desk import cancel, claim, climb, decide, effects, look
from seconder.desk.claim import Finish
from seconder.desk.decide import Answer, Approve, Edit, Reject
from seconder.errors import SeconderError
from seconder.review import Pause, PauseOutcome, Review, Status
from tests.support.desk import ALICE, BOB, LENA, OLGA, RILEY, a_desk, paused, press_on, push_clock, refund, token

PEOPLE = st.sampled_from([RILEY, ALICE, BOB, LENA, OLGA])
CHOICES = st.sampled_from([Approve(), Reject("no"), Edit({"amount": 120, "order": "O-991"})])


class AnyOrder(RuleBasedStateMachine):
    """One desk on SQLite; workers may die at every point, presses may come at every moment."""

    def __init__(self) -> None:
        super().__init__()
        self._stack = ExitStack()
        folder = self._stack.enter_context(tempfile.TemporaryDirectory())
        self.desk = self._stack.enter_context(a_desk(f"sqlite:///{Path(folder) / 'any.db'}"))
        self.pauses: list[str] = []
        self.leases: list[Pause] = []
        self.ran: Counter[str] = Counter()
        self.may_run_again: Counter[str] = Counter()
        self.settled: dict[str, Review] = {}

    def teardown(self) -> None:
        self._stack.close()

    def reviews(self) -> list[Review]:
        return [review for ident in self.pauses for review in look.pause(self.desk, ident)[0].reviews]

    @rule(calls=st.integers(1, 2))
    @precondition(lambda self: len(self.pauses) < 3)
    def an_agent_pauses(self, calls: int) -> None:
        run = f"run-{len(self.pauses)}"
        self.pauses.append(paused(self.desk, *(refund(call_id=f"{run}-{number}") for number in range(calls)), run=run))

    @rule(person=PEOPLE, choice=CHOICES, data=st.data())
    @precondition(lambda self: self.pauses)
    def somebody_presses(self, person: str, choice: decide.Choice, data: st.DataObject) -> None:
        review = data.draw(st.sampled_from(self.reviews()))
        if review.effect_id is not None:
            said = data.draw(st.sampled_from([effects.HAPPENED, effects.NOT_HAPPENED, effects.STOP]))
            choice = Answer(said)
        try:
            after = decide.decide(self.desk, press_on(self.desk, review.id, person), choice)
        except SeconderError:
            return
        if review.effect_id is not None and choice == Answer(effects.NOT_HAPPENED) and after.status is Status.DECIDED:
            self.may_run_again[review.effect_id] += 1

    @rule(minutes=st.sampled_from([0, 1, 11, 25, 300]))
    def time_passes(self, minutes: int) -> None:
        push_clock(self.desk, timedelta(minutes=minutes))
        for ident in climb.due(self.desk):
            climb.climb(self.desk, ident)

    @rule()
    def a_worker_claims(self) -> None:
        pause = claim.claim(self.desk, token(), ["shop"], worker="w")
        if pause is not None:
            self.leases.append(pause)

    @rule(data=st.data(), ends=st.booleans())
    @precondition(lambda self: self.leases)
    def a_worker_runs_a_call(self, data: st.DataObject, ends: bool) -> None:
        pause = data.draw(st.sampled_from(self.leases))
        review = data.draw(st.sampled_from(pause.reviews))
        try:
            digest = effects.runnable(review).digest
            started = effects.start_effect(
                self.desk, pause.id, agent="shop", fence=pause.fence, review_id=review.id, digest=digest
            )
            if started.verdict == "run":
                self.ran[started.effect_id] += 1
                assert isinstance(look.review(self.desk, review.id).decision, Approved | Edited)
            if ends:
                effects.end_effect(
                    self.desk,
                    started.effect_id,
                    agent="shop",
                    pause_id=pause.id,
                    fence=pause.fence,
                    status="succeeded",
                    result="ok",
                )
        except SeconderError:
            return

    @rule(data=st.data())
    @precondition(lambda self: self.leases)
    def a_worker_finishes(self, data: st.DataObject) -> None:
        pause = data.draw(st.sampled_from(self.leases))
        try:
            claim.finish(self.desk, token(), pause.id, fence=pause.fence, finish=Finish(outcome=PauseOutcome.FINISHED))
        except SeconderError:
            return

    @rule(data=st.data())
    @precondition(lambda self: self.pauses)
    def somebody_cancels(self, data: st.DataObject) -> None:
        review = data.draw(st.sampled_from(self.reviews()))
        try:
            cancel.cancel(self.desk, review.id, by="admin")
        except SeconderError:
            return

    @invariant()
    def a_settled_review_never_changes_its_decision(self) -> None:
        for review in self.reviews():
            before = self.settled.get(review.id)
            if before is not None:
                assert (review.status, review.decision) == (before.status, before.decision)
            elif review.status is not Status.PENDING:
                self.settled[review.id] = review

    @invariant()
    def nobody_decides_for_themselves_and_outsiders_never(self) -> None:
        for review in self.reviews():
            if review.decision is not None and review.decision.source is Source.PERSON:
                assert not {RILEY, OLGA} & set(review.decision.by)

    @invariant()
    def a_call_runs_once_unless_a_person_said_that_it_had_not_happened(self) -> None:
        for effect_id, times in self.ran.items():
            assert times <= 1 + self.may_run_again[effect_id]

    @invariant()
    def the_trail_verifies_and_holds_at_most_one_decision(self) -> None:
        assert look.verify(self.desk)[1] == []
        for review in self.reviews():
            kinds = [entry.kind for entry in look.history(self.desk, review.id)]
            assert kinds.count("decided") + kinds.count("expired") + kinds.count("cancelled") <= 1


AnyOrder.TestCase.settings = settings(max_examples=40, stateful_step_count=30)
TestAnyOrder = pytest.mark.timeout(400)(AnyOrder.TestCase)
