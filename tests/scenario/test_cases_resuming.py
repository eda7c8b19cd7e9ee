"""What went wrong elsewhere between a decision and the run: told once, told the truth, run once, nothing left over."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest

from seconder.desk import cancel, claim, climb, decide, effects, look
from seconder.desk.claim import Finish
from seconder.desk.client import LocalClient
from seconder.desk.decide import Approve, Edit, Reject
from seconder.desk.desk import Desk
from seconder.desk.people import now
from seconder.desk.submit import PauseRequest
from seconder.errors import CannotConsume, LeaseLost
from seconder.review import Agent, Pause, PauseOutcome, PauseState, Review, Status
from seconder.store.tables import pauses
from tests.support.desk import ALICE, BOB, a_desk, paused, press_on, push_clock, refund, token

ROUNDS = 10
ROUND = 20_000  # characters that each round adds to the run


def claimed(desk: Desk) -> Pause:
    pause = claim.claim(desk, token(), ["shop"], worker="w")
    assert pause is not None
    return pause


def asked(desk: Desk, pause_id: str) -> tuple[Review, ...]:
    return look.pause(desk, pause_id)[0].reviews


def start(desk: Desk, pause: Pause, review: Review) -> effects.Started:
    lease: dict[str, Any] = {"agent": "shop", "fence": pause.fence}
    return effects.start_effect(desk, pause.id, review_id=review.id, digest=review.digest, **lease)


def why_not(desk: Desk, pause: Pause, review: Review) -> str:
    """The word for why this call of the claimed pause is not run."""
    with pytest.raises(CannotConsume) as refused:
        start(desk, pause, review)
    return refused.value.code


def test_reject_edit_expiry_and_cancel_each_reach_their_run(database_url: str) -> None:
    with a_desk(database_url) as desk:
        soon = now(desk) + timedelta(minutes=1)
        ids = [paused(desk, refund(call_id=word), run=word) for word in ("reject", "edit", "cancel")]
        ids.append(paused(desk, refund(call_id="expire", deadline=soon), run="expire"))
        rejected, edited, cancelled, expired = (asked(desk, pause_id)[0] for pause_id in ids)

        decide.decide(desk, press_on(desk, rejected.id, ALICE), Reject("no"))
        decide.decide(desk, press_on(desk, edited.id, BOB), Edit({"amount": 95, "order": "O-991"}))
        cancel.cancel(desk, cancelled.id, by="an operator")
        push_clock(desk, timedelta(minutes=2))
        climb.climb(desk, expired.id)

        pauses_by_id = {pause.id: pause for pause in (claimed(desk) for _ in ids)}
        told = [why_not(desk, pauses_by_id[ids[place]], pauses_by_id[ids[place]].reviews[0]) for place in (0, 2, 3)]
        assert told == ["rejected", "cancelled", "expired"]
        ran = pauses_by_id[ids[1]].reviews[0]
        decision = ran.decision
        assert decision is not None
        action = effects.runnable(ran)
        lease: dict[str, Any] = {"agent": "shop", "fence": pauses_by_id[ids[1]].fence}
        started = effects.start_effect(desk, ids[1], review_id=ran.id, digest=action.digest, **lease)
        assert started.action.arguments == {"amount": 95, "order": "O-991"}


def test_a_run_whose_requests_were_all_taken_back_executes_nothing(database_url: str) -> None:
    with a_desk(database_url) as desk:
        pause_id = paused(desk, *(refund(call_id=f"call_{number}") for number in range(3)))

        for review in asked(desk, pause_id):
            cancel.cancel(desk, review.id, by="an operator")

        pause = claimed(desk)
        assert [review.status for review in pause.reviews] == [Status.CANCELLED] * 3
        assert [why_not(desk, pause, review) for review in pause.reviews] == ["cancelled"] * 3


def test_of_two_copies_of_one_run_a_decision_on_one_is_none_on_the_other(database_url: str) -> None:
    with a_desk(database_url) as desk:
        first, copy = paused(desk, refund()), paused(desk, refund())
        decide.decide(desk, press_on(desk, asked(desk, first)[0].id, ALICE), Approve())

        pause = claimed(desk)

        assert pause.id == first
        assert claim.claim(desk, token(), ["shop"], worker="w") is None
        assert asked(desk, copy)[0].status is Status.PENDING
        with pytest.raises(LeaseLost):
            start(desk, look.pause(desk, copy)[0], asked(desk, copy)[0])


def test_a_finished_run_cannot_use_its_approval_again(database_url: str) -> None:
    with a_desk(database_url) as desk:
        pause_id = paused(desk, refund())
        decide.decide(desk, press_on(desk, asked(desk, pause_id)[0].id, ALICE), Approve())
        pause = claimed(desk)
        started = start(desk, pause, pause.reviews[0])
        lease: dict[str, Any] = {"agent": "shop", "pause_id": pause_id, "fence": pause.fence}
        effects.end_effect(desk, started.effect_id, status="succeeded", result="done", **lease)
        claim.finish(desk, token(), pause_id, fence=pause.fence, finish=Finish(outcome=PauseOutcome.FINISHED))
        push_clock(desk, timedelta(hours=1))

        with pytest.raises(LeaseLost):
            start(desk, pause, pause.reviews[0])

        assert claim.claim(desk, token(), ["shop"], worker="w") is None
        assert [entry.kind for entry in look.history(desk, pause.reviews[0].id)].count("started") == 1


def test_a_call_that_ran_stays_done_though_its_run_failed_afterwards(database_url: str) -> None:
    with a_desk(database_url) as desk:
        pause_id = paused(desk, refund())
        decide.decide(desk, press_on(desk, asked(desk, pause_id)[0].id, ALICE), Approve())
        pause = claimed(desk)
        started = start(desk, pause, pause.reviews[0])
        lease: dict[str, Any] = {"agent": "shop", "pause_id": pause_id, "fence": pause.fence}
        effects.end_effect(desk, started.effect_id, status="succeeded", result="refunded", **lease)
        failed = Finish(outcome=PauseOutcome.FAILED, error="the model answered 500", retry=True)
        claim.finish(desk, token(), pause_id, fence=pause.fence, finish=failed)
        push_clock(desk, timedelta(minutes=1))

        again = claimed(desk)
        repeated = start(desk, again, again.reviews[0])

        assert (repeated.verdict, repeated.result) == ("done", "refunded")


def test_what_a_caller_changes_after_submitting_changes_nothing(database_url: str) -> None:
    with a_desk(database_url) as desk:
        arguments: dict[str, Any] = {"amount": 240, "order": "O-991", "lines": [{"sku": "A", "count": 1}]}
        body = {"agent": "shop", "action": {"tool": "look_up", "arguments": arguments}}

        async def submit_and_change() -> dict[str, Any]:
            client = LocalClient(desk)
            review = await client.submit_review(body)
            arguments["amount"], arguments["extra"] = 9000, True
            arguments["lines"][0]["count"] = 99
            return await client.consume(review["id"])

        consumed = asyncio.run(submit_and_change())

        assert consumed["arguments"] == {"amount": 240, "order": "O-991", "lines": [{"sku": "A", "count": 1}]}


def test_a_run_of_many_rounds_keeps_only_the_state_that_it_needs(database_url: str) -> None:
    with a_desk(database_url) as desk:
        grown = "x" * ROUND
        pause_id = paused(desk, refund(call_id="call_0"))
        for number in range(1, ROUNDS + 1):
            decide.decide(desk, press_on(desk, asked(desk, pause_id)[0].id, ALICE), Approve())
            pause = claimed(desk)
            following = PauseRequest(
                run="run-1",
                agent=Agent(name="shop"),
                framework="test",
                framework_version="1",
                run_state=json.dumps({"said": grown * number}).encode(),
                interrupts=(refund(call_id=f"call_{number}"),),
            )
            paused_again = Finish(outcome=PauseOutcome.PAUSED_AGAIN, next_pause=following)
            finished = claim.finish(desk, token(), pause.id, fence=pause.fence, finish=paused_again)
            pause_id = finished.next_pause_id or ""

        assert stored(desk) < 2 * ROUNDS * ROUND
        decide.decide(desk, press_on(desk, asked(desk, pause_id)[0].id, ALICE), Approve())
        state = claimed(desk).run_state
        assert state is not None
        assert len(state) > ROUNDS * ROUND


def test_the_state_of_a_run_that_failed_is_kept(database_url: str) -> None:
    with a_desk(database_url) as desk:
        pause_id = paused(desk, refund())
        decide.decide(desk, press_on(desk, asked(desk, pause_id)[0].id, ALICE), Approve())
        pause = claimed(desk)

        failed = Finish(outcome=PauseOutcome.FAILED, error="the agent is not there")
        claim.finish(desk, token(), pause_id, fence=pause.fence, finish=failed)

        assert look.pause(desk, pause_id)[0].state is PauseState.FINISHED
        assert stored(desk) > 0


def stored(desk: Desk) -> int:
    """Bytes of all run states in the database."""
    return desk.store.read(
        lambda tx: sum(len(state) for (state,) in tx.connection.execute(pauses.select().with_only_columns(
            pauses.c.run_state)) if state is not None)
    )  # fmt: skip
