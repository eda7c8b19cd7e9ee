"""Every press gets a sentence that says what happened and what to do."""

from dataclasses import replace
from datetime import timedelta

import pytest

from seconder import errors
from seconder.bot.replies import lost_race, reply
from seconder.decision import Approved, Rejected, Route, Source, Vote
from seconder.review import Review, Status
from tests.support.reviews import NOON, a_review, a_verdict

NOW = NOON + timedelta(minutes=7)
PENDING = a_review()


def decided(**changes: object) -> Review:
    decision = Approved(by=("U01ALICE", "U01BOB"), source=Source.PERSON, at=NOON)
    return replace(replace(a_review(), status=Status.DECIDED, decision=decision, decided_at=NOON), **changes)  # type: ignore[arg-type]


def test_the_loser_of_a_race_is_told_who_decided_what_and_when() -> None:
    said = "Already decided: approved by <@U01ALICE> and <@U01BOB> 7 min ago. Your press changed nothing."

    assert lost_race(decided(), NOW) == said
    assert reply(errors.IllegalTransition("rev_1", "decided", "decide"), review=decided(), now=NOW) == said


def test_the_clock_is_named_where_the_clock_decided() -> None:
    review = decided(decision=Rejected(by=(), source=Source.CLOCK, at=NOON, reason=""))

    assert lost_race(review, NOW) == "Already decided: rejected by the clock 7 min ago. Your press changed nothing."


def test_too_late_is_told_apart_from_decided_and_cancelled() -> None:
    late = errors.DeadlinePassed("rev_1", NOON)

    assert (
        reply(late, review=PENDING, now=NOW) == "Too late: the deadline passed 7 min ago. Your press decided nothing."
    )
    assert "expired at 2026-12-01 16:00 UTC and was not run" in reply(
        late, review=a_review(status=Status.EXPIRED), now=NOW
    )
    assert (
        reply(late, review=a_review(status=Status.CANCELLED), now=NOW)
        == "This is cancelled already. Your press changed nothing."
    )


def test_the_ineligible_are_told_who_can_decide() -> None:
    error = errors.NotEligible("You are not in <finance>.")
    route = Route(channel="#refunds", roles=("leads", "owners"))

    assert reply(error, review=a_review(verdict=a_verdict(route=route)), now=NOW) == (
        "You are not in &lt;finance&gt;. Those in leads or owners can decide."
    )
    assert reply(error, review=PENDING, now=NOW) == "You are not in &lt;finance&gt;."


def test_a_second_vote_is_told_how_many_are_missing() -> None:
    review = a_review(verdict=a_verdict(route=Route(channel="#x", roles=("finance",), approvals=2)))
    review = replace(review, votes=(Vote(person="U01ALICE", digest=review.digest, at=NOON),))

    assert "1 of 2 approvals so far" in reply(errors.AlreadyVoted(), review=review, now=NOW)


@pytest.mark.parametrize(
    ("error", "part"),
    [
        (errors.Superseded("rev_1", 2), "a newer card"),
        (errors.MustOpen(), "*View all* first"),
        (errors.StaleFacts(["U1"], []), "press again"),
        (errors.UnboundCard(), "newest card"),
        (errors.NotFound("review", "x"), "newest card"),
        (errors.KeyMissing(), "tell an admin"),
        (errors.InvalidInput([errors.Fault("amount", "must be <5>")]), "amount: must be &lt;5&gt;"),
        (errors.LeaseLost(), "press again"),
    ],
)
def test_every_error_becomes_a_sentence_that_says_what_to_do(error: errors.SeconderError, part: str) -> None:
    assert part in reply(error, review=None, now=NOW)


def test_no_error_of_the_tree_is_left_without_words() -> None:
    plain = [kind for kind in errors.SeconderError.__subclasses__() if kind.__init__ is Exception.__init__]

    assert all(len(reply(kind(), review=None, now=NOW)) > 20 for kind in plain)
