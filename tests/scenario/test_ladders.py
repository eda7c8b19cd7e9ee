"""What happens while nobody answers, on both databases: each rung once, and late is no."""

import threading
from datetime import timedelta

import pytest

from seconder.clockwork import sweep
from seconder.decision import Approved, Rejected, Source
from seconder.desk import climb, decide, look
from seconder.desk.decide import Approve
from seconder.desk.desk import Desk
from seconder.errors import DeadlinePassed, IllegalTransition
from seconder.review import Review, Status
from seconder.store.messages import Message
from tests.support.desk import ALICE, LENA, a_desk, paused, press_on, push_clock, refund, refused_as, submitted

MINUTE = timedelta(minutes=1)

ENDS = """
version: 1
roles: {finance: {user_groups: [S0FINANCE]}}
fallback: {channel: "#agents", roles: [finance]}
rules:
  - name: refunds
    tool: issue_refund
    verdict: ask
    because: Refunds need a person.
    route: {channel: "#refunds", roles: [finance]}
    ladder: [{after: 30m, default: END}]
"""
ALLOWED = "    i_accept_auto_allow: true\n"


def messages(desk: Desk, review: Review) -> list[Message]:
    return desk.store.read(lambda tx: tx.messages.of_review(review.id))


def kinds(desk: Desk, review: Review) -> list[str]:
    return [entry.kind for entry in look.history(desk, review.id)]


def now(desk: Desk, review: Review) -> Review:
    return look.review(desk, review.id)


def test_nothing_is_due_before_its_time(database_url: str) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund())
        push_clock(desk, 9 * MINUTE)

        assert climb.due(desk) == []
        assert climb.climb(desk, review.id) is None
        assert sweep(desk) == 0


def test_a_reminder_is_a_reply_and_changes_neither_revision_nor_route(database_url: str) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund())
        push_clock(desk, 11 * MINUTE)
        swept = [sweep(desk), sweep(desk)]
        reminded = now(desk, review)

        assert swept == [1, 0]
        assert (reminded.status, reminded.revision, reminded.rung) == (Status.PENDING, 1, 1)
        assert reminded.verdict.route == review.verdict.route
        assert [(m.kind, m.name) for m in messages(desk, review)] == [("card", "revision 1"), ("reply", "reminder 1")]
        assert kinds(desk, review) == ["submitted", "reminded"]


def test_an_escalation_asks_elsewhere_with_a_new_card(database_url: str) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund())
        push_clock(desk, 21 * MINUTE)
        sweep(desk)
        escalated = now(desk, review)

        assert (escalated.status, escalated.revision, escalated.rung) == (Status.PENDING, 2, 2)
        assert escalated.verdict.route is not None
        assert escalated.verdict.route.channel == "#leads"
        assert [m.channel for m in messages(desk, review) if m.kind == "card"] == ["#refunds", "#leads"]
        assert kinds(desk, review)[-1] == "escalated"


def test_after_an_escalation_the_new_people_decide(database_url: str) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund())
        push_clock(desk, 21 * MINUTE)
        sweep(desk)
        decide.decide(desk, press_on(desk, review.id, LENA), Approve())

        assert isinstance(now(desk, review).decision, Approved)
        assert climb.due(desk) == []


@pytest.mark.parametrize(("end", "status"), [("reject", "decided"), ("expire", "expired"), ("allow", "decided")])
def test_the_last_rung_ends_the_review_as_the_rule_says(database_url: str, end: str, status: str) -> None:
    with a_desk(database_url, ENDS.replace("END", end) + (ALLOWED if end == "allow" else "")) as desk:
        pause_id = paused(desk, refund())
        review = look.pause(desk, pause_id)[0].reviews[0]
        push_clock(desk, 31 * MINUTE)
        sweep(desk)
        ended = now(desk, review)

        assert ended.status.value == status
        assert look.pause(desk, pause_id)[0].state == "ready"
        match end:
            case "reject":
                assert isinstance(ended.decision, Rejected)
                assert (ended.decision.source, ended.decision.by) == (Source.CLOCK, ())
            case "allow":
                assert isinstance(ended.decision, Approved)
                assert (ended.decision.source, ended.decision.by) == (Source.CLOCK, ())
            case _:
                assert ended.decision is None


def test_a_review_that_nobody_swept_for_a_day_goes_straight_to_its_end(database_url: str) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund())
        push_clock(desk, timedelta(days=1))
        sweep(desk)

        assert now(desk, review).status is Status.DECIDED
        assert kinds(desk, review) == ["submitted", "decided"]
        assert [m.kind for m in messages(desk, review)] == ["card"]


def test_the_interrupts_own_deadline_expires_before_the_ladder_ends(database_url: str) -> None:
    with a_desk(database_url) as desk:
        first = submitted(desk, refund())
        review = submitted(desk, refund(deadline=first.created_at + 5 * MINUTE))
        push_clock(desk, 6 * MINUTE)
        sweep(desk)

        assert now(desk, review).status is Status.EXPIRED
        assert now(desk, first).status is Status.PENDING


def test_late_is_no_whoever_comes_first(database_url: str) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund())
        press = press_on(desk, review.id, ALICE)
        push_clock(desk, timedelta(hours=5))
        sweep(desk)
        refused_as(IllegalTransition, lambda: decide.decide(desk, press, Approve()))

        assert isinstance(now(desk, review).decision, Rejected)


def test_two_sweepers_do_each_rung_once(database_url: str) -> None:
    with a_desk(database_url) as desk:
        reviews = [submitted(desk, refund(call_id=f"call_{n}")) for n in range(10)]
        for minutes in (11, 10):
            push_clock(desk, minutes * MINUTE)
            both = threading.Barrier(2)

            def swept(both: threading.Barrier = both) -> None:
                both.wait()
                sweep(desk)

            threads = [threading.Thread(target=swept) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        for review in reviews:
            assert kinds(desk, review) == ["submitted", "reminded", "escalated"]
            assert sorted(m.kind for m in messages(desk, review)) == ["card", "card", "reply", "reply"]


def test_a_press_and_the_clock_at_the_same_time_make_one_decision(database_url: str) -> None:
    with a_desk(database_url) as desk:
        for early in range(0, 50, 10):
            review = submitted(desk, refund())
            press = press_on(desk, review.id, ALICE)
            push_clock(desk, timedelta(hours=4, milliseconds=-early))

            def until_ended(review: Review = review) -> None:
                while now(desk, review).status is Status.PENDING:
                    sweep(desk)

            sweeper = threading.Thread(target=until_ended)
            sweeper.start()
            try:
                told = decide.decide(desk, press, Approve()).decision
            except (DeadlinePassed, IllegalTransition):
                told = None
            sweeper.join()

            assert kinds(desk, review).count("decided") == 1
            assert isinstance(now(desk, review).decision, Rejected if told is None else Approved)
