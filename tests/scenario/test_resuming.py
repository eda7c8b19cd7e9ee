"""Invariants 7 to 9: missing is no, resume once, effect once."""

import threading
from datetime import timedelta

import pytest

from seconder.action import Action
from seconder.desk import cancel, claim, climb, decide, effects, look
from seconder.desk.claim import Finish
from seconder.desk.decide import Answer, Approve, Edit, Reject
from seconder.desk.desk import Desk
from seconder.desk.said import claim_json
from seconder.desk.submit import PauseRequest
from seconder.errors import CannotConsume, EffectUncertain, IllegalTransition, LeaseLost, NotFound, OutcomeConflict
from seconder.review import Agent, OutcomeStatus, Pause, PauseOutcome, PauseState, Status
from tests.support.desk import ALICE, BOB, a_desk, paused, press_on, push_clock, refund, submitted, token

DEAD_WORKER = timedelta(seconds=11)


def claimed(desk: Desk, pause_id: str | None = None) -> Pause:
    pause = claim.claim(desk, token(), ["shop"], worker="w", pause_id=pause_id)
    assert pause is not None
    return pause


def start(desk: Desk, pause: Pause, number: int = 0) -> effects.Started:
    review = pause.reviews[number]
    digest = effects.runnable(review).digest
    return effects.start_effect(desk, pause.id, agent="shop", fence=pause.fence, review_id=review.id, digest=digest)


def end(desk: Desk, pause: Pause, started: effects.Started, status: str = "succeeded") -> None:
    effects.end_effect(
        desk, started.effect_id, agent="shop", pause_id=pause.id, fence=pause.fence, status=status, result="done"
    )


def an_approved_pause(desk: Desk) -> str:
    pause_id = paused(desk, refund())
    [review] = look.pause(desk, pause_id)[0].reviews
    decide.decide(desk, press_on(desk, review.id, ALICE), Approve())
    return pause_id


def test_a_pause_is_ready_only_when_all_its_reviews_are_settled(database_url: str) -> None:
    with a_desk(database_url) as desk:
        pause_id = paused(desk, refund(), refund(call_id="call_2"), refund(call_id="call_3"))
        first, second, third = look.pause(desk, pause_id)[0].reviews

        decide.decide(desk, press_on(desk, first.id, ALICE), Approve())
        decide.decide(desk, press_on(desk, second.id, BOB), Reject("no"))
        before = claim.claim(desk, token(), ["shop"], worker="w")
        cancel.cancel(desk, third.id, by="agent")
        pause = claimed(desk)

        assert before is None
        assert [review.status for review in pause.reviews] == [Status.DECIDED, Status.DECIDED, Status.CANCELLED]
        assert pause.run_state == b'{"here":1}'


def test_what_the_policy_allows_is_ready_at_once_and_what_it_denies_never_runs(database_url: str) -> None:
    with a_desk(database_url) as desk:
        pause_id = paused(
            desk,
            refund(action=Action(tool="look_up", arguments={}), call_id="a"),
            refund(action=Action(tool="delete_account", arguments={}), call_id="b"),
        )

        pause = claimed(desk, pause_id)

        assert start(desk, pause).verdict == "run"
        denied = pause.reviews[1]
        with pytest.raises(CannotConsume) as refusal:
            effects.start_effect(
                desk, pause.id, agent="shop", fence=pause.fence, review_id=denied.id, digest=denied.digest
            )
        assert refusal.value.code == "denied"


def test_of_ten_workers_one_claims_a_pause(database_url: str) -> None:
    with a_desk(database_url) as desk:
        an_approved_pause(desk)
        won: list[Pause | None] = []
        ready = threading.Barrier(10)

        def compete() -> None:
            ready.wait()
            won.append(claim.claim(desk, token(), ["shop"], worker="w"))

        threads = [threading.Thread(target=compete) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert len([pause for pause in won if pause is not None]) == 1


def test_a_stale_worker_can_neither_start_nor_end_nor_finish(database_url: str) -> None:
    with a_desk(database_url) as desk:
        an_approved_pause(desk)
        stale = claimed(desk)
        push_clock(desk, DEAD_WORKER)
        fresh = claimed(desk)

        with pytest.raises(LeaseLost):
            start(desk, stale)
        with pytest.raises(LeaseLost):
            claim.heartbeat(desk, stale.id, agent="shop", fence=stale.fence)
        with pytest.raises(LeaseLost):
            claim.finish(desk, token(), stale.id, fence=stale.fence, finish=Finish(outcome=PauseOutcome.FINISHED))
        assert fresh.fence == stale.fence + 1
        assert start(desk, fresh).verdict == "run"


def test_a_call_that_ran_is_not_run_again_by_the_next_worker(database_url: str) -> None:
    with a_desk(database_url) as desk:
        an_approved_pause(desk)
        first = claimed(desk)
        end(desk, first, start(desk, first))
        push_clock(desk, DEAD_WORKER)
        second = claimed(desk)

        again = start(desk, second)

        assert (again.verdict, again.result) == ("done", "done")


@pytest.mark.parametrize(
    ("answer", "verdict"), [(effects.HAPPENED, "told"), (effects.STOP, "told"), (effects.NOT_HAPPENED, "run")]
)
def test_a_call_without_an_end_is_a_question_to_a_person_and_runs_again_only_by_their_word(
    database_url: str, answer: str, verdict: str
) -> None:
    with a_desk(database_url) as desk:
        pause_id = an_approved_pause(desk)
        crashed = claimed(desk)
        started = start(desk, crashed)
        push_clock(desk, DEAD_WORKER)

        assert claim.claim(desk, token(), ["shop"], worker="w") is None
        refunded, question = look.pause(desk, pause_id)[0].reviews
        assert refunded.outcome is not None
        assert refunded.outcome.status is OutcomeStatus.UNCERTAIN
        assert question.interrupt.question is not None
        assert started.key in question.interrupt.question.prompt
        decide.decide(desk, press_on(desk, question.id, BOB), Answer(answer))
        pause = claimed(desk)
        again = start(desk, pause)

        assert again.verdict == verdict
        assert again.key == started.key
        assert [said["id"] for said in claim_json(pause, "run-1", 10)["reviews"]] == [refunded.id]


def test_a_call_is_not_started_twice_under_one_lease(database_url: str) -> None:
    with a_desk(database_url) as desk:
        an_approved_pause(desk)
        pause = claimed(desk)
        start(desk, pause)

        with pytest.raises(EffectUncertain):
            start(desk, pause)


def test_only_the_decided_arguments_can_be_started(database_url: str) -> None:
    with a_desk(database_url) as desk:
        pause_id = paused(desk, refund())
        [review] = look.pause(desk, pause_id)[0].reviews
        decide.decide(desk, press_on(desk, review.id, ALICE), Edit({"amount": 120, "order": "O-991"}))
        pause = claimed(desk)

        with pytest.raises(CannotConsume):
            effects.start_effect(
                desk, pause.id, agent="shop", fence=pause.fence, review_id=review.id, digest=review.digest
            )
        assert start(desk, pause).action.arguments == {"amount": 120, "order": "O-991"}


def test_a_finish_may_be_told_twice_and_another_agent_sees_nothing(database_url: str) -> None:
    with a_desk(database_url) as desk:
        an_approved_pause(desk)
        pause = claimed(desk)
        done = Finish(outcome=PauseOutcome.FINISHED, final_output="all good")

        first = claim.finish(desk, token(), pause.id, fence=pause.fence, finish=done)
        again = claim.finish(desk, token(), pause.id, fence=pause.fence, finish=done)

        assert first == again
        assert (first.state, first.final_output) == (PauseState.FINISHED, "all good")
        with pytest.raises(NotFound):
            look.pause(desk, pause.id, agent="another")
        with pytest.raises(NotFound):
            claim.finish(desk, token("another"), pause.id, fence=pause.fence, finish=done)


def test_a_run_that_pauses_again_leaves_its_next_pause_in_the_same_commit(database_url: str) -> None:
    with a_desk(database_url) as desk:
        an_approved_pause(desk)
        pause = claimed(desk)
        request = PauseRequest(
            run="run-1",
            agent=Agent(name="shop"),
            framework="test",
            framework_version="1",
            run_state=b"{}",
            interrupts=(refund(call_id="call_9"),),
        )

        finished = claim.finish(
            desk,
            token(),
            pause.id,
            fence=pause.fence,
            finish=Finish(outcome=PauseOutcome.PAUSED_AGAIN, next_pause=request),
        )

        assert finished.next_pause_id is not None
        following = look.pause(desk, finished.next_pause_id)[0]
        assert (following.run_id, following.state) == (pause.run_id, PauseState.WAITING)


def test_a_resume_that_fails_for_a_passing_reason_is_tried_again_and_given_up_in_the_end(database_url: str) -> None:
    with a_desk(database_url) as desk:
        pause_id = an_approved_pause(desk)
        failed = Finish(outcome=PauseOutcome.FAILED, error="the model is overloaded", retry=True)

        for _ in range(claim.MAX_ATTEMPTS):
            pause = claimed(desk)
            claim.finish(desk, token(), pause.id, fence=pause.fence, finish=failed)
            push_clock(desk, timedelta(minutes=11))

        ended = look.pause(desk, pause_id)[0]
        assert (ended.state, ended.outcome, ended.error) == (
            PauseState.FINISHED,
            PauseOutcome.FAILED,
            "the model is overloaded",
        )


def test_a_resume_that_kills_its_worker_each_time_is_failed_and_others_go_on(database_url: str) -> None:
    with a_desk(database_url) as desk:
        poison = an_approved_pause(desk)
        for _ in range(claim.MAX_ATTEMPTS):
            claimed(desk, poison)
            push_clock(desk, DEAD_WORKER)
        healthy = paused(desk, refund(action=Action(tool="look_up", arguments={})), run="run-2")

        assert claim.claim(desk, token(), ["shop"], worker="w", pause_id=poison) is None
        assert claimed(desk).id == healthy
        assert look.pause(desk, poison)[0].outcome is PauseOutcome.FAILED


def test_an_agent_that_waits_for_itself_consumes_a_decision_once(database_url: str) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund())
        with pytest.raises(CannotConsume) as pending:
            effects.consume(desk, review.id, agent="shop")
        decide.decide(desk, press_on(desk, review.id, ALICE), Approve())

        taken = effects.consume(desk, review.id, agent="shop")
        with pytest.raises(CannotConsume) as again:
            effects.consume(desk, review.id, agent="shop")
        first, second = (
            effects.report(desk, review.id, agent="shop", status=OutcomeStatus.SUCCEEDED, result={"id": 7})
            for _ in range(2)
        )
        with pytest.raises(OutcomeConflict):
            effects.report(desk, review.id, agent="shop", status=OutcomeStatus.FAILED, error="x")

        assert (pending.value.code, again.value.code) == ("pending", "already_consumed")
        assert taken.action.digest == review.digest
        assert first == second


@pytest.mark.parametrize("how", ["rejected", "expired", "cancelled"])
def test_each_way_of_not_being_decided_for_is_a_different_answer(database_url: str, how: str) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund(deadline=desk.store.read(lambda tx: tx.now()) + timedelta(hours=1)))
        if how == "rejected":
            decide.decide(desk, press_on(desk, review.id, ALICE), Reject("no"))
        elif how == "cancelled":
            cancel.cancel(desk, review.id, by="agent")
            cancel.cancel(desk, review.id, by="agent")
        else:
            push_clock(desk, timedelta(hours=1))
            climb.climb(desk, review.id)

        with pytest.raises(CannotConsume) as refusal:
            effects.consume(desk, review.id, agent="shop")
        assert refusal.value.code == how
        if how != "cancelled":
            with pytest.raises(IllegalTransition):
                cancel.cancel(desk, review.id, by="agent")


def test_a_pause_that_cannot_be_handed_out_does_not_hide_the_next_one(database_url: str) -> None:
    with a_desk(database_url) as desk:
        an_approved_pause(desk)
        crashed = claimed(desk)
        start(desk, crashed)
        healthy = paused(desk, refund(action=Action(tool="look_up", arguments={})), run="run-2")
        push_clock(desk, DEAD_WORKER)

        assert claimed(desk).id == healthy
