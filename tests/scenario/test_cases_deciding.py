"""What went wrong elsewhere with people and their presses: who counts, for what, until when."""

import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from seconder.action import Action
from seconder.bot.card_result import waiting
from seconder.bot.card_view import CardView
from seconder.decision import Approved, Edited, Rejected
from seconder.desk import climb, decide, delivery, effects, look, opening
from seconder.desk.decide import Approve, Edit, Reject
from seconder.desk.desk import Desk
from seconder.desk.people import Group, Seen, now, remember
from seconder.errors import CannotConsume, DeadlinePassed, InvalidInput, NotEligible, StaleFacts, UnboundCard
from seconder.policies import parse
from seconder.review import Interrupt, Requester, Review, Status
from tests.support.desk import (
    ALICE,
    BOB,
    LENA,
    OLGA,
    POLICY,
    TEAM,
    a_desk,
    look_again,
    paused,
    press_on,
    push_clock,
    refund,
    submitted,
)

OF_THREE = POLICY.replace("approvals: 2", "approvals: 3")
OPEN = POLICY.replace("  finance: {user_groups: [S0FINANCE]}", "  finance: {user_groups: [S0NOBODY]}")


def wire(**more: Any) -> Interrupt:
    """A call that takes several people."""
    return refund(action=Action(tool="wire", arguments={"amount": 240, "order": "O-991"}), **more)


def shown(desk: Desk, review: Review) -> str:
    """What the card says of the approvals so far."""
    seen = delivery.showing(desk, review.id)
    view = CardView(
        review=seen.review, pause=None, token="t", channel="#refunds", now=seen.now, eligible_text_mentions=seen.ask,
        names=seen.names, moved_to=None, siblings=(),
    )  # fmt: skip
    return str(waiting(view))


def kinds(desk: Desk, review: Review) -> list[str]:
    return [entry.kind for entry in look.history(desk, review.id)]


def test_approvals_of_people_who_left_are_neither_counted_nor_shown(database_url: str) -> None:
    with a_desk(database_url, OF_THREE) as desk:
        review = submitted(desk, wire())
        decide.decide(desk, press_on(desk, review.id, ALICE), Approve())
        decide.decide(desk, press_on(desk, review.id, BOB), Approve())
        left = {"deleted": True, "name": "Sam"}
        look_again(desk, alice=left, bob=left)

        after = decide.decide(desk, press_on(desk, review.id, LENA), Approve())

        assert (after.status, [vote.person for vote in after.votes]) == (Status.PENDING, [LENA])
        assert "1 of 3 approvals" in shown(desk, review)
        [dropped] = [entry for entry in look.history(desk, review.id) if entry.kind == "votes_dropped"]
        assert dropped.payload["people"] == [ALICE, BOB]
        look_again(desk)
        decide.decide(desk, press_on(desk, review.id, ALICE), Approve())
        decided = decide.decide(desk, press_on(desk, review.id, BOB), Approve())
        assert isinstance(decided.decision, Approved)
        assert sorted(decided.decision.by) == [ALICE, BOB, LENA]


def test_a_person_who_is_in_both_roles_is_one_of_the_two(database_url: str) -> None:
    with a_desk(database_url) as desk:
        both = Group(team_id=TEAM, group_id="S0FINANCE", members=frozenset({ALICE, BOB, LENA}), as_of=now(desk))
        remember(desk, Seen(groups=(both,)))
        review = submitted(desk, wire())

        after = decide.decide(desk, press_on(desk, review.id, LENA), Approve())

        assert after.status is Status.PENDING
        assert "1 of 2 approvals" in shown(desk, review)


def test_a_group_that_does_not_exist_lets_nobody_decide(database_url: str) -> None:
    with a_desk(database_url, OPEN) as desk:
        review = submitted(desk, refund())

        for person in (ALICE, LENA, OLGA):
            with pytest.raises(StaleFacts):
                decide.decide(desk, press_on(desk, review.id, person), Approve())
        empty = Group(team_id=TEAM, group_id="S0NOBODY", members=frozenset(), as_of=now(desk))
        remember(desk, Seen(groups=(empty,)))
        with pytest.raises(NotEligible):
            decide.decide(desk, press_on(desk, review.id, ALICE), Approve())

        assert look.review(desk, review.id).status is Status.PENDING


def test_the_same_user_id_of_another_workspace_is_refused_and_the_trail_says_which(database_url: str) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund())
        guest = press_on(desk, review.id, ALICE, team_id="T0GUEST")

        with pytest.raises(UnboundCard):
            decide.decide(desk, guest, Approve())
        with pytest.raises(UnboundCard):
            opening.open_form(desk, guest, "edited")

        tried = [entry.payload for entry in look.history(desk, review.id) if entry.kind == "refused"]
        assert [(one["by"], one["team"], one["pressed"]) for one in tried] == [
            (ALICE, "T0GUEST", "approved"),
            (ALICE, "T0GUEST", "open edited"),
        ]
        assert look.review(desk, review.id).status is Status.PENDING


def test_a_press_that_names_the_card_of_another_channel_decides_nothing(database_url: str) -> None:
    with a_desk(database_url) as desk:
        here, there = submitted(desk, refund()), submitted(desk, refund(call_id="call_2"))
        card = press_on(desk, there.id, ALICE)
        forged = press_on(desk, here.id, ALICE, channel_id="C0LEADS")
        copied = press_on(desk, here.id, ALICE, ts=card.ts)
        invented = replace(card, token="00000000000000000000000000000000")

        for press in (forged, copied, invented):
            with pytest.raises(UnboundCard):
                decide.decide(desk, press, Approve())

        assert {look.review(desk, one.id).status for one in (here, there)} == {Status.PENDING}
        assert kinds(desk, here).count("refused") == 2


def test_whom_the_agent_acts_for_can_neither_approve_nor_edit_nor_reject(database_url: str) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund(requester=Requester(slack_user=ALICE)))
        presses = (Approve(), Edit({"amount": 1, "order": "O-991"}), Reject("no"))

        for choice in presses:
            with pytest.raises(NotEligible, match="somebody else"):
                decide.decide(desk, press_on(desk, review.id, ALICE), choice)

        assert kinds(desk, review).count("refused") == 3
        assert decide.decide(desk, press_on(desk, review.id, BOB), Approve()).status is Status.DECIDED


def test_late_presses_are_kept_as_such_and_the_run_is_told_that_it_expired(database_url: str) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund(deadline=now(desk) + timedelta(minutes=5)))
        approve, edit = press_on(desk, review.id, ALICE), press_on(desk, review.id, BOB)
        push_clock(desk, timedelta(minutes=5))

        with pytest.raises(DeadlinePassed):
            decide.decide(desk, approve, Approve())
        with pytest.raises(DeadlinePassed):
            decide.decide(desk, edit, Edit({"amount": 1, "order": "O-991"}))
        climb.climb(desk, review.id)

        late = [entry.payload for entry in look.history(desk, review.id) if entry.kind == "refused"]
        assert [(one["by"], one["pressed"]) for one in late] == [(ALICE, "approved"), (BOB, "edited")]
        assert "decided" not in kinds(desk, review)
        with pytest.raises(CannotConsume) as told:
            effects.consume(desk, review.id, agent="shop")
        assert told.value.code == "expired"


def test_an_answer_to_what_expired_does_not_touch_what_is_asked_now(database_url: str) -> None:
    with a_desk(database_url) as desk:
        old = look.pause(desk, paused(desk, refund(deadline=now(desk) + timedelta(minutes=1))))[0].reviews[0]
        press = press_on(desk, old.id, ALICE)
        push_clock(desk, timedelta(minutes=2))
        climb.climb(desk, old.id)
        fresh = look.pause(desk, paused(desk, refund(call_id="call_2")))[0].reviews[0]

        with pytest.raises(Exception, match="expired"):
            decide.decide(desk, press, Approve())

        assert look.review(desk, old.id).status is Status.EXPIRED
        assert look.review(desk, fresh.id).status is Status.PENDING
        assert kinds(desk, fresh) == ["submitted"]


def test_of_five_calls_each_gets_its_own_decision_in_any_order(database_url: str) -> None:
    with a_desk(database_url) as desk:
        calls = [refund(call_id=f"call_{number}") for number in range(5)]  # equal but for their ids
        pause_id = paused(desk, *calls)
        reviews = look.pause(desk, pause_id)[0].reviews

        decide.decide(desk, press_on(desk, reviews[1].id, ALICE), Approve())
        decide.decide(desk, press_on(desk, reviews[4].id, BOB), Reject("no"))
        decide.decide(desk, press_on(desk, reviews[0].id, BOB), Approve())

        after = look.pause(desk, pause_id)[0].reviews
        assert [type(review.decision) for review in after] == [Approved, Approved, type(None), type(None), Rejected]
        assert after[2].status is after[3].status is Status.PENDING


def test_presses_on_different_cards_at_the_same_moment_all_count(database_url: str) -> None:
    with a_desk(database_url) as desk:
        reviews = [submitted(desk, refund(call_id=f"call_{number}")) for number in range(4)]
        presses = [press_on(desk, review.id, ALICE) for review in reviews]
        start, wrong = threading.Barrier(4), list[Exception]()

        def press(number: int) -> None:
            start.wait()
            try:
                decide.decide(desk, presses[number], Approve())
            except Exception as error:  # noqa: BLE001 - whatever it is, the press was lost
                wrong.append(error)

        threads = [threading.Thread(target=press, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert not wrong
        assert {look.review(desk, review.id).status for review in reviews} == {Status.DECIDED}


def test_what_the_rule_said_when_it_asked_counts_though_the_rule_is_gone(database_url: str) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund())
        without = parse(POLICY.replace("verdict: ask\n    because", "verdict: allow\n    because", 1)
                        .replace('    route: {channel: "#refunds", roles: [finance], approvals: 1}\n', "", 1)
                        .split("    ladder:")[0], name="policy.yml")  # fmt: skip
        later = replace(desk, policy=lambda: without)

        with pytest.raises(CannotConsume) as waiting_still:
            effects.consume(later, review.id, agent="shop")
        decide.decide(later, press_on(later, review.id, ALICE), Reject("no"))
        with pytest.raises(CannotConsume) as refused:
            effects.consume(later, review.id, agent="shop")

        assert (waiting_still.value.code, refused.value.code) == ("pending", "rejected")


def test_what_the_agent_had_wrong_itself_does_not_stop_an_edit_elsewhere(database_url: str) -> None:
    with a_desk(database_url) as desk:
        action = refund().action
        assert action is not None
        order = replace(action, arguments={"amount": 240, "order": 991})
        review = submitted(desk, refund(action=order))

        with pytest.raises(InvalidInput, match="minimum"):
            decide.decide(desk, press_on(desk, review.id, ALICE), Edit({"amount": -1, "order": 991}))
        with pytest.raises(InvalidInput, match="order"):
            decide.decide(desk, press_on(desk, review.id, ALICE), Edit({"amount": 120, "order": 992}))
        decided = decide.decide(desk, press_on(desk, review.id, ALICE), Edit({"amount": 120, "order": 991}))

        assert isinstance(decided.decision, Edited)
        assert decided.decision.action.arguments == {"amount": 120, "order": 991}
