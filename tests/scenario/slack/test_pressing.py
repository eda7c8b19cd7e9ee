"""What people see and press: cards, forms, private answers; each press goes through the workspace and real Bolt."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from seconder.action import Action
from seconder.bot import ids
from seconder.decision import Answered, Approved, Edited, Rejected
from seconder.review import Agent, Interrupt, Kind, Question, Requester, Review, Status
from tests.support.bot import Bot, a_bot
from tests.support.desk import ALICE, BOB, LENA, OLGA, RILEY, TEAM, refund
from tests.support.sandbox import eventually

BUTTONS = ["Approve", "Edit…", "Reject…", "View all"]


def of_tool(tool: str, **arguments: object) -> Interrupt:
    """An interrupt for this tool."""
    held = {"amount": 240, "order": "O-991", **arguments}
    return refund(action=Action(tool=tool, arguments=held))


def finance(bot: Bot) -> frozenset[str]:
    """Who is in the group, as far as the desk knows."""
    group = bot.desk.store.read(lambda tx: tx.people.group(TEAM, "S0FINANCE"))
    return frozenset() if group is None else group.members


def decided(bot: Bot, review: Review) -> Review:
    """The review, once it is decided."""
    eventually(lambda: bot.review(review).status is Status.DECIDED)
    return bot.review(review)


@pytest.mark.parametrize("over", ["socket", "http"])
def test_a_card_is_posted_approved_and_shows_it_over_both_ways_in(database_url: str, tmp_path: Path, over: str) -> None:
    with a_bot(database_url, tmp_path, over=over) as bot:
        review, card = bot.asked(refund())
        assert [label for label in card.buttons if label in BUTTONS] == BUTTONS
        assert "Refunds need a person." in card.text
        assert all(not bot.people.cards(channel) for channel in ("finance-leads", "agents"))

        answer = bot.press(ALICE, card, "Approve")
        shown = bot.card("refunds", "Approved by")

        assert answer == {"acked": True, "status": 200}
        assert isinstance(bot.review(review).decision, Approved)
        assert ALICE in shown.text
        assert "Approve" not in shown.buttons
        assert bot.trail(review) == ["submitted", "posted", "decided"]


def test_an_edit_form_is_prefilled_and_sending_it_decides(bot: Bot) -> None:
    review, card = bot.asked(refund())

    bot.press(ALICE, card, "Edit…")
    form = bot.form(ALICE)
    answer = bot.people.submit(ALICE, form, {"amount": "120"})

    assert form.values == {"amount": "240"}
    assert (answer["acked"], answer["response_action"], answer["view"]) == (True, "clear", None)
    decision = decided(bot, review).decision
    assert isinstance(decision, Edited)
    assert decision.action.arguments == {"amount": 120, "order": "O-991"}
    assert "240 → 120" in bot.card("refunds", "Approved with edits").text


def test_a_bad_value_is_told_under_its_field_and_nothing_is_decided(one_bot: Bot) -> None:
    review, card = one_bot.asked(refund())
    one_bot.press(ALICE, card, "Edit…")
    form = one_bot.form(ALICE)

    answer = one_bot.people.submit(ALICE, form, {"amount": "-5"})

    block_id, _ = form.fields["amount"]
    assert answer["response_action"] == "errors"
    assert list(answer["errors"]) == [block_id]
    assert one_bot.review(review).status is Status.PENDING
    assert one_bot.people.submit(ALICE, one_bot.form(ALICE), {"amount": "5"})["response_action"] == "clear"


def test_a_bad_value_for_what_was_decided_meanwhile_is_told_who_decided(one_bot: Bot) -> None:
    _, card = one_bot.asked(refund())
    one_bot.press(ALICE, card, "Edit…")
    form = one_bot.form(ALICE)
    one_bot.press(BOB, card, "Approve")

    answer = one_bot.people.submit(ALICE, form, {"amount": "-5"})

    assert answer["response_action"] == "update"
    assert f"approved by <@{BOB}>" in str(answer["view"])


def test_a_rejection_takes_its_reason_from_the_form(bot: Bot) -> None:
    review, card = bot.asked(refund())

    bot.press(BOB, card, "Reject…")
    bot.people.submit(BOB, bot.form(BOB), {"Reason": "Outside the window"})

    decision = decided(bot, review).decision
    assert isinstance(decision, Rejected)
    assert decision.reason == "Outside the window"
    assert "Outside the window" in bot.card("refunds", "Rejected").text


def test_a_question_is_answered_in_its_form(bot: Bot) -> None:
    question = Interrupt(
        kind=Kind.QUESTION,
        agent=Agent(name="shop"),
        question=Question(prompt="Which way?", options=("left", "right")),
        requester=Requester(slack_user=RILEY),
    )
    review, card = bot.asked(question, "agents")
    assert "Which way?" in card.text
    assert "Approve" not in card.buttons

    bot.press(LENA, card, "Answer…")
    form = bot.form(LENA)
    [label] = form.fields
    chosen = next(b for b in bot.modal(LENA)["blocks"] if b["type"] == "input")["element"]["options"][1]["value"]
    bot.people.submit(LENA, form, {label: chosen})

    decision = decided(bot, review).decision
    assert isinstance(decision, Answered)
    assert decision.answer == "right"


@pytest.mark.parametrize(
    ("person", "change", "says"),
    [
        (OLGA, {}, "Only finance can decide this."),
        (LENA, {}, "Only finance can decide this."),
        (RILEY, {}, "somebody else has to decide. Those in finance can decide."),
        (ALICE, {"restricted": True}, "Guests cannot decide this. Those in finance can decide."),
        (ALICE, {"stranger": True}, "Only people of the workspace"),
    ],
)
def test_whoever_may_not_decide_is_told_in_private_who_can(
    one_bot: Bot, person: str, change: dict[str, bool], says: str
) -> None:
    review, card = one_bot.asked(refund())
    if change:
        one_bot.hand.do("people", user=person, **change)

    for label in ("Approve", "Edit…", "Reject…"):
        assert one_bot.press(person, card, label)["acked"]
    eventually(lambda: len(one_bot.whispers(person)) == 3)

    assert all(says in said for said in one_bot.whispers(person))
    assert one_bot.people.form(person) is None
    assert one_bot.review(review).status is Status.PENDING
    assert one_bot.trail(review).count("refused") == 3
    assert not one_bot.whispers(BOB)


def test_somebody_deactivated_meanwhile_cannot_send_the_form_they_had_open(one_bot: Bot) -> None:
    review, card = one_bot.asked(refund())
    one_bot.press(ALICE, card, "Edit…")
    form = one_bot.form(ALICE)
    with_group = one_bot.calls("users.info")
    one_bot.later(timedelta(seconds=61))
    one_bot.sandbox.workspace.directory.change_user(ALICE, deleted=True)
    payload = {"user": ALICE, "view_id": form.view_id}

    answer = one_bot.hand.do("submit", **payload)

    assert answer["response_action"] == "update"
    assert "Deactivated people" in str(answer["view"])
    assert len(one_bot.calls("users.info")) > len(with_group)
    assert one_bot.review(review).status is Status.PENDING


def test_a_person_removed_from_the_group_between_two_presses_is_refused(bot: Bot) -> None:
    review, card = bot.asked(of_tool("wire"))
    bot.press(ALICE, card, "Approve")
    bot.card("refunds", "1 of 2")
    bot.hand.do("people", user="bob", group="finance", member=False)
    eventually(lambda: BOB not in finance(bot))

    bot.press(BOB, bot.card("refunds", "1 of 2"), "Approve")

    bot.told(BOB, "Only finance or leads can decide this.")
    assert bot.review(review).status is Status.PENDING


def test_facts_that_are_too_old_are_looked_at_at_the_click(bot: Bot) -> None:
    review, card = bot.asked(refund())
    assert not bot.calls("users.info")

    bot.press(ALICE, card, "Approve")
    assert decided(bot, review).decision is not None

    assert [call["args"]["user"] for call in bot.calls("users.info")] == [ALICE]
    assert [call["args"]["usergroup"] for call in bot.calls("usergroups.users.list")] == ["S0FINANCE"]


def test_the_second_of_two_approvals_counts_at_once_though_the_first_was_long_ago(bot: Bot) -> None:
    review, card = bot.asked(of_tool("wire"))
    bot.press(ALICE, card, "Approve")
    voted = bot.card("refunds", "1 of 2")
    assert ALICE in voted.text
    bot.later(timedelta(minutes=5))

    bot.press(LENA, voted, "Approve")

    decision = decided(bot, review).decision
    assert isinstance(decision, Approved)
    assert decision.by == (ALICE, LENA)
    assert not bot.whispers(LENA)


def test_the_same_person_counts_once_and_is_told(one_bot: Bot) -> None:
    review, card = one_bot.asked(of_tool("wire"))
    one_bot.press(ALICE, card, "Approve")

    one_bot.press(ALICE, one_bot.card("refunds", "1 of 2"), "Approve")

    one_bot.told(ALICE, "1 of 2 approvals so far")
    assert one_bot.review(review).status is Status.PENDING


@pytest.mark.parametrize("kind", ["429", "500", "drop"])
def test_nothing_is_decided_where_slack_does_not_say_who_is_in_the_group(one_bot: Bot, kind: str) -> None:
    review, card = one_bot.asked(refund())
    one_bot.fault("usergroups.users.list", kind, retry_after=30)

    assert one_bot.press(ALICE, card, "Approve")["acked"]

    one_bot.told(ALICE, "Nothing was decided; please press again.")
    assert one_bot.review(review).status is Status.PENDING
    one_bot.press(ALICE, card, "Approve")
    assert decided(one_bot, review).decision is not None


def test_a_look_that_hangs_does_not_hold_up_the_answer(one_bot: Bot) -> None:
    review, card = one_bot.asked(refund())
    one_bot.fault("users.info", "timeout_after")

    assert one_bot.press(ALICE, card, "Approve")["acked"]

    one_bot.told(ALICE, "Nothing was decided; please press again.")
    assert one_bot.review(review).status is Status.PENDING


def test_view_all_opens_and_turns_its_pages(one_bot: Bot) -> None:
    _, card = one_bot.asked(of_tool("sign", text="A long contract. " * 6000))

    one_bot.press(OLGA, card, "View all")
    first = one_bot.modal(OLGA)
    pressed = {"user": OLGA, "view_id": first["id"], "action_id": ids.PAGE_NEXT}
    one_bot.hand.do("press", **pressed)
    eventually(lambda: "Page 2 of" in str(one_bot.modal(OLGA)))
    one_bot.hand.do("press", **{**pressed, "action_id": ids.PAGE_PREVIOUS})
    eventually(lambda: "Page 1 of" in str(one_bot.modal(OLGA)))

    assert "Page 1 of" in str(first)


def test_a_rule_that_must_be_opened_takes_an_approval_only_after_view_all(bot: Bot) -> None:
    review, card = bot.asked(of_tool("sign"))

    bot.press(ALICE, card, "Approve")
    bot.told(ALICE, "View all")
    bot.press(BOB, card, "View all")
    bot.modal(BOB)
    bot.press(ALICE, card, "Approve")
    assert bot.review(review).status is Status.PENDING
    bot.press(ALICE, card, "View all")
    bot.modal(ALICE)
    bot.press(ALICE, card, "Approve")

    decision = decided(bot, review).decision
    assert decision is not None
    assert decision.by == (ALICE,)


def test_the_loser_of_a_race_is_told_who_won(bot: Bot) -> None:
    review, card = bot.asked(refund())
    bot.press(ALICE, card, "Approve")
    decided(bot, review)

    bot.press(BOB, card, "Approve", action_id=ids.APPROVE, stale=True)

    said = bot.told(BOB, "Already decided")
    assert f"approved by <@{ALICE}>" in said
    assert bot.trail(review).count("decided") == 1


def test_after_an_escalation_the_old_card_says_where_it_went_and_its_button_answers(bot: Bot) -> None:
    review, old = bot.asked(refund())

    bot.later(timedelta(minutes=21))
    new = bot.card("finance-leads", "Approve")
    moved = bot.card("refunds", "finance-leads")
    bot.press(ALICE, old, "Approve", stale=True)

    bot.told(ALICE, "This card is out of date")
    assert not set(BUTTONS[:3]) & set(moved.buttons)
    bot.press(LENA, new, "Approve")
    assert decided(bot, review).decision is not None


def test_a_reminder_stands_once_in_the_thread_of_the_card(bot: Bot) -> None:
    _, card = bot.asked(refund())

    bot.later(timedelta(minutes=11))

    eventually(lambda: bot.people.replies("refunds"))
    [reply] = bot.people.replies("refunds")
    assert "still waits for a decision" in reply.text
    assert [one.ts for one in bot.people.cards("refunds")] == [card.ts]


def test_a_press_after_the_deadline_is_told_so(one_bot: Bot) -> None:
    review, card = one_bot.asked(refund(deadline=one_bot.desk.store.read(lambda tx: tx.now()) + timedelta(seconds=90)))
    one_bot.desk.store.write(lambda tx: tx.push_clock(timedelta(seconds=91)))

    one_bot.press(ALICE, card, "Approve")

    one_bot.told(ALICE, "Too late")
    assert one_bot.review(review).status is Status.PENDING


def test_an_edit_that_the_policy_denies_is_told_in_the_form(sqlite_url: str, tmp_path: Path) -> None:
    policy = """
version: 1
roles:
  finance: {user_groups: [S0FINANCE]}
fallback: {channel: "#agents", roles: [finance]}
rules:
  - {name: never, tool: issue_refund, when: args.amount > 1000, verdict: deny, because: Too much.}
  - {name: refunds, tool: issue_refund, verdict: ask, route: {channel: "#refunds", roles: [finance]}}
"""
    with a_bot(sqlite_url, tmp_path, policy=policy) as bot:
        review, card = bot.asked(refund())
        bot.press(ALICE, card, "Edit…")
        form = bot.form(ALICE)

        answer = bot.people.submit(ALICE, form, {"amount": "5000"})

        assert answer["response_action"] == "errors"
        assert "The policy denies this edit: Too much." in str(answer["errors"])
        assert bot.review(review).status is Status.PENDING


def test_an_edit_by_one_of_two_asks_again_with_a_new_card(bot: Bot) -> None:
    review, old = bot.asked(of_tool("wire"))
    bot.press(ALICE, old, "Edit…")
    bot.people.submit(ALICE, bot.form(ALICE), {"amount": "120"})

    fresh = eventually(lambda: next((c for c in bot.cards("refunds") if "120" in c.text and c.buttons), None))
    eventually(lambda: not next(c for c in bot.cards("refunds") if c.ts == old.ts).buttons.get("Approve"))
    bot.press(BOB, fresh, "Approve")

    decision = decided(bot, review).decision
    assert isinstance(decision, Edited)
    assert decision.by == (ALICE, BOB)


def test_a_requester_named_by_email_is_found_and_cannot_decide(bot: Bot) -> None:
    review, card = bot.asked(refund(requester=Requester(email="Alice@acme.example")))

    bot.press(ALICE, card, "Approve")
    bot.told(ALICE, "The agent acts for you here")
    bot.press(BOB, card, "Approve")

    assert decided(bot, review).requester_user == ALICE


def test_an_email_that_nobody_has_makes_the_request_undecidable_and_the_card_says_so(bot: Bot) -> None:
    review, card = bot.asked(refund(requester=Requester(email="nobody@acme.example")))

    assert "Nobody can approve this" in card.text
    assert "Approve" not in card.buttons or bot.press(ALICE, card, "Approve")["acked"]
    assert bot.review(review).status is Status.PENDING
    undecidable = bot.review(review).undecidable
    assert undecidable is not None
    assert "nobody@acme.example" in undecidable


def test_two_cards_in_one_channel_are_never_confused(one_bot: Bot) -> None:
    first, card = one_bot.asked(refund(240))
    second = one_bot.submit(refund(77, call_id="call_2"))
    other = one_bot.posted(second)

    one_bot.press(ALICE, other, "Approve")

    assert decided(one_bot, second).decision is not None
    assert one_bot.review(first).status is Status.PENDING
    assert card.ts != other.ts


def test_what_slack_sends_twice_decides_once(http_bot: Bot) -> None:
    review, card = http_bot.asked(refund())
    http_bot.press(ALICE, card, "Approve")
    [payload] = http_bot.deliveries("block_actions")

    again = http_bot.send(payload)

    assert again.status_code == 200
    assert http_bot.trail(review).count("decided") == 1
    http_bot.told(ALICE, "Already decided")


@pytest.mark.parametrize("how", ["used", "expired"])
def test_a_form_that_cannot_open_any_more_is_told_in_private(http_bot: Bot, how: str) -> None:
    review, card = http_bot.asked(refund())
    http_bot.press(ALICE, card, "Edit…")
    http_bot.form(ALICE)
    [payload] = http_bot.deliveries("block_actions")
    if how == "expired":
        http_bot.fault("views.open", "drop")
        http_bot.press(ALICE, card, "Edit…")
        http_bot.told(ALICE, "The form did not open in time")
        payload = http_bot.deliveries("block_actions")[-1]
        http_bot.clock.ahead += 4

    http_bot.send(payload)

    error = {"used": "exchanged_trigger_id", "expired": "expired_trigger_id"}[how]
    eventually(lambda: [call["error"] for call in http_bot.calls("views.open")][-1:] == [error])
    http_bot.told(ALICE, "The form did not open in time. Nothing was decided; please press again.")
    assert http_bot.review(review).status is Status.PENDING


def test_a_vote_needs_the_action_that_was_shown(one_bot: Bot) -> None:
    wire = of_tool("wire")
    assert wire.action is not None
    review, card = one_bot.asked(replace(wire, action=replace(wire.action, summary="A wire")))
    one_bot.press(ALICE, card, "Approve")
    one_bot.card("refunds", "1 of 2")

    [vote] = one_bot.review(review).votes

    assert vote.digest == review.digest
