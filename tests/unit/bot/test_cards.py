"""A card says who asks what and why, shows it all or says what is missing, and is never refused by Slack."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from seconder.bot.cards import Message, card, escalated_note, minimal_card, reminder
from seconder.decision import (
    Answered,
    Approved,
    Decision,
    Edited,
    Edits,
    Escalate,
    FieldRule,
    Rejected,
    Remind,
    Route,
    Rung,
    Source,
    TakenOver,
    Vote,
)
from seconder.review import (
    Agent,
    ContextItem,
    Kind,
    Outcome,
    OutcomeStatus,
    PauseOutcome,
    PauseState,
    Requester,
    Review,
    Status,
)
from tests.support import hostile
from tests.support.blockkit import labels, message_faults, mrkdwn, said
from tests.support.reviews import (
    NOON,
    TOKEN,
    a_call,
    a_pause,
    a_question,
    a_review,
    a_state_edit,
    a_verdict,
    a_view,
    an_interrupt,
    refund,
)

PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
MANY = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
LATER = NOON + timedelta(seconds=134)
ALICE: dict[str, Any] = {"by": ("U01ALICE",), "source": Source.PERSON, "at": LATER}


def decided(decision: Decision, **changes: Any) -> Review:
    return replace(a_review(), status=Status.DECIDED, decision=decision, decided_at=LATER, **changes)


def shown(review: Review, **changes: Any) -> str:
    return said(card(a_view(review, **changes)).blocks)


# --- limits ---------------------------------------------------------------------------------------


@MANY
@given(st.data())
def test_slack_takes_every_card_whatever_the_agent_sends(data: st.DataObject) -> None:
    review = data.draw(hostile.reviews())
    view = a_view(
        review,
        pause=data.draw(st.none() | hostile.pauses(review)),
        moved_to=data.draw(st.none() | hostile.texts),
        eligible_text_mentions=tuple(data.draw(st.lists(st.sampled_from(["S0FIN", "U01BOB", "x"]), max_size=40))),
    )

    for message in (card(view), minimal_card(view), reminder(view), escalated_note(view)):
        assert message_faults(message) == []
        assert mrkdwn(message.blocks) == []
        assert "<" not in message.text


def test_a_card_of_many_long_arguments_fits_and_counts_the_rest() -> None:
    message = card(a_view(a_call({f"field_{n}": "<&>" * 500 for n in range(200)})))

    assert message_faults(message) == []
    assert "more arguments: View all" in said(message.blocks)


# --- what it says ---------------------------------------------------------------------------------


def test_a_card_says_who_asks_for_whom_where_and_why() -> None:
    message = card(a_view())

    assert message.blocks[0]["text"] == {"type": "plain_text", "text": "Issue refund: 240 EUR", "emoji": False}
    text = said(message.blocks)
    assert "support-desk asks to run issue_refund for " in text
    assert "Why it was stopped: Refunds of 50 or more need a person.\nRule refunds (policy.yaml:12)" in text
    assert "The agent says (unverified):The customer sent a photo of the broken cup." in text
    assert {"type": "user", "user_id": "U01RITA"} in message.blocks[1]["elements"][0]["elements"]
    assert {"type": "usergroup", "usergroup_id": "S0FIN"} in message.blocks[1]["elements"][1]["elements"]


def test_arguments_stand_one_a_line_as_the_rule_lists_them_then_as_given_under_their_labels() -> None:
    review = a_review(verdict=a_verdict(fields={"reason": FieldRule(label="Why")}))
    [block] = [block for block in card(a_view(review)).blocks if block["block_id"] == "arguments"]

    lines = ["".join(part["text"] for part in item["elements"]) for item in block["elements"][1]["elements"]]
    assert lines == ["Why: damaged on arrival", "order_id: O-991", "amount: 240", "currency: EUR"]


def test_a_long_argument_says_how_much_is_hidden_and_where_it_can_be_read() -> None:
    text = shown(a_call({"script": "import os\n" * 500 + "rm -rf /"}))

    assert "characters: View all" in text
    assert "import os⏎import os" in text


def test_nothing_is_shown_as_a_blank_line() -> None:
    assert "no arguments" in shown(a_call({}))
    assert "command: empty text" in shown(a_call({"command": ""}))
    assert "command: only white space (4 characters)" in shown(a_call({"command": "   \n"}))


def test_control_sequences_of_slack_are_shown_as_typed_and_escaped_in_the_notification() -> None:
    ping = "<!channel> <@U0123ABCD> <#C0123ABCD|general>"
    review = a_call({ping: ping}, tool=ping, reason=ping, agent=Agent(name=ping))
    message = card(a_view(review))

    assert said(message.blocks).count(ping) >= 5
    assert "<" not in message.text
    assert "&lt;!channel&gt;" in message.text


@pytest.mark.parametrize(
    "text",
    [
        "x86_64",
        "*args*",
        "~deploy~",
        "C:\\new\\table",
        "`ls`",
        'We\'ve "approved" 5 < 6 & 7 > 3',
        "&amp;lt;b",
        ":tada:",
    ],
)
def test_text_is_shown_exactly_as_it_is(text: str) -> None:
    assert f"value: {text}" in shown(a_call({"value": text}))


def test_unseen_characters_are_written_out_and_the_card_warns() -> None:
    text = shown(a_call({"source": "تقرير 2026.pdf", "target": "invoice_\u202efdp.exe"}))

    assert "source: تقرير 2026.pdf" in text
    assert "target: invoice_⟨U+202E⟩fdp.exe" in text
    assert "⚠ Characters that cannot be seen are written out as ⟨U+…⟩ in: target" in text


def test_look_alike_letters_are_flagged_where_they_stand() -> None:
    assert "to: admin@pаypal.com (⚠ look-alike letters)" in shown(a_call({"to": "admin@pаypal.com"}))


def test_secrets_are_masked() -> None:
    review = a_call(
        {"card_number": "4111111111111111", "key": "sk-" + "a" * 29},
        fields={"card_number": FieldRule(secret=True)},
        reason="use 4111111111111111",
    )
    text = shown(review)

    assert "card_number: •••••• (hidden, 16 characters)" in text
    assert "key: •••••• (hidden, 32 characters)" in text
    assert "4111" not in text
    assert "aaaa" not in text


def test_a_link_shows_its_host_and_a_misleading_one_is_no_link() -> None:
    items = (
        ContextItem(label="Ticket", text="broken cup", url="https://desk.example.test/t/1?a=1"),
        ContextItem(label="Trap", text="", url="https://bank.test@evil.test/"),
        ContextItem(label="Script", text="", url="javascript:alert(1)"),
    )
    message = card(a_view(a_review(interrupt=an_interrupt(context=items))))
    [block] = [block for block in message.blocks if block["block_id"] == "context"]

    links = [part for line in block["elements"][1]["elements"] for part in line["elements"] if part["type"] == "link"]
    assert links == [{"type": "link", "url": "https://desk.example.test/t/1?a=1", "text": "desk.example.test"}]
    assert "Trap: https://bank.test@evil.test/" in said(block)


@pytest.mark.parametrize(
    ("default", "then"),
    [
        ("reject", "After that it is rejected."),
        ("expire", "After that it expires"),
        ("allow", "it is approved without anybody."),
    ],
)
def test_the_deadline_is_a_date_for_each_reader_with_what_happens_then(default: str, then: str) -> None:
    message = card(a_view(a_review(deadline_default=default)))
    [block] = [block for block in message.blocks if block["block_id"] == "waiting"]

    assert block["elements"][0]["elements"][1] == {
        "type": "date",
        "timestamp": int((NOON + timedelta(hours=4)).timestamp()),
        "format": "{date_short_pretty} at {time}",
        "fallback": "2026-12-01 16:00 UTC",
    }
    assert then in said(block)


def test_the_next_escalation_is_announced_until_it_is_done() -> None:
    leads = Route(channel="#finance-leads", roles=("leads",))
    ladder = (
        Rung(after=timedelta(minutes=15), step=Remind()),
        Rung(after=timedelta(minutes=30), step=Escalate(route=leads)),
    )
    review = a_review(verdict=a_verdict(ladder=ladder))

    assert "Unanswered, it goes to #finance-leads: 2026-12-01 12:30 UTC." in shown(review)
    assert "Unanswered" not in shown(replace(review, rung=2))


def test_progress_counts_people_who_approved_these_very_arguments() -> None:
    review = a_review(verdict=a_verdict(route=Route(channel="#x", roles=("finance",), approvals=2)))
    votes = (
        Vote(person="U01ALICE", digest=review.digest, at=NOON),
        Vote(person="U01BOB", digest="sha256:old", at=NOON),
    )
    [block] = [block for block in card(a_view(replace(review, votes=votes))).blocks if block["block_id"] == "waiting"]

    assert "1 of 2 approvals (" in said(block)
    assert [part["user_id"] for part in block["elements"][0]["elements"] if part["type"] == "user"] == ["U01ALICE"]


def test_a_call_among_others_of_the_same_stop_says_so() -> None:
    first, second = a_review(), a_review(id="rev_2")
    text = shown(second, siblings=(first,), pause=a_pause(first, second))

    assert "Call 2 of 2 calls in this stop" in text


def test_an_undecidable_review_says_why() -> None:
    assert "⚠ Nobody can approve this: Two people have this e-mail." in shown(
        a_review(undecidable="Two people have this e-mail.")
    )


def test_a_revision_that_somebody_edited_names_the_editor() -> None:
    message = card(a_view(a_review(editor="U01BOB")))

    assert "Edited by : somebody else decides." in said(message.blocks)
    assert "U01BOB" in str(message.blocks[1])


def test_a_requester_who_is_only_named_is_not_verified() -> None:
    review = a_review(interrupt=an_interrupt(requester=Requester(name="Ann")))

    assert "for Ann (not verified)" in shown(review)


# --- buttons --------------------------------------------------------------------------------------


def test_the_buttons_are_labelled_styled_and_carry_only_the_token() -> None:
    [block] = [block for block in card(a_view()).blocks if block["type"] == "actions"]

    assert [(b["text"]["text"], b.get("style"), b["action_id"], b["value"]) for b in block["elements"]] == [
        ("Approve", "primary", "approve", TOKEN),
        ("Edit…", None, "edit", TOKEN),
        ("Reject…", "danger", "reject", TOKEN),
        ("View all", None, "view_all", TOKEN),
    ]


def test_the_token_stands_nowhere_but_in_the_buttons() -> None:
    message = card(a_view())
    rest = [block for block in message.blocks if block["type"] != "actions"]

    assert TOKEN not in str(rest)
    assert TOKEN not in message.text


def test_edit_is_absent_where_edits_are_forbidden() -> None:
    assert labels(card(a_view(a_review(verdict=a_verdict(edits=Edits.FORBIDDEN))))) == [
        "Approve",
        "Reject…",
        "View all",
    ]


def test_a_question_is_answered_not_approved() -> None:
    message = card(a_view(a_question("Which?", options=("A", "B"))))

    assert labels(message) == ["Answer…", "Reject…", "View all"]
    assert "The agent asks:Which?" in said(message.blocks)


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        ((), ["Approve", "Edit…", "Reject…", "View all"]),
        (("approve", "reject"), ["Approve", "Reject…", "View all"]),
        (("approved",), ["Approve", "View all"]),
    ],
)
def test_only_allowed_decisions_have_buttons(allowed: tuple[str, ...], expected: list[str]) -> None:
    assert labels(card(a_view(a_review(interrupt=an_interrupt(allowed_decisions=allowed))))) == expected


def test_a_rule_that_wants_everything_read_says_so_and_keeps_approve() -> None:
    message = card(a_view(a_review(verdict=a_verdict(must_open=True))))

    assert labels(message)[0] == "Approve"
    assert "Approve works after you have opened View all." in said(message.blocks)


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.PENDING])
def test_only_a_pending_review_has_buttons(status: Status) -> None:
    decision = Approved(**ALICE) if status is Status.DECIDED else None

    assert labels(card(a_view(a_review(status=status, decision=decision)))) == []


def test_a_moved_card_says_where_it_went_and_has_no_buttons() -> None:
    message = card(a_view(moved_to="#finance-leads"))

    assert labels(message) == []
    assert "Moved to #finance-leads" in said(message.blocks)


def test_the_minimal_card_can_still_be_decided() -> None:
    assert labels(minimal_card(a_view())) == labels(card(a_view()))


# --- after the decision ---------------------------------------------------------------------------


def verdict_of(message: Message) -> str:
    return said(message.blocks[1])


def test_the_card_says_who_decided_and_how_long_it_took() -> None:
    message = card(a_view(decided(Approved(**ALICE))))

    assert verdict_of(message) == "✅ Approved by  after 2 min 14 s"
    assert {"type": "user", "user_id": "U01ALICE"} in message.blocks[1]["elements"][0]["elements"]
    assert message.text == "Issue refund: 240 EUR (support-desk): approved by Alice"


def test_an_edit_is_shown_as_old_and_new_by_field() -> None:
    text = shown(decided(Edited(**ALICE, action=refund(amount=120, reason=""))))

    assert "Changedamount: 240 → 120reason: damaged on arrival → empty text" in text
    assert text.startswith("Issue refund: 120 EUR")


def test_old_and_new_of_right_to_left_text_stand_on_lines_of_their_own() -> None:
    review = a_call({"owner": "דנה"})
    assert review.interrupt.action is not None
    edited = Edited(**ALICE, action=replace(review.interrupt.action, arguments={"owner": "לוי"}))

    assert "owner:\nwas דנה\nnow לוי" in shown(
        replace(review, status=Status.DECIDED, decision=edited, decided_at=LATER)
    )


def test_a_rejection_shows_its_reason_with_its_lines() -> None:
    text = shown(decided(Rejected(**ALICE, reason="one\ntwo <!here>")))

    assert "⛔ Rejected by  after 2 min 14 sReasonone\ntwo <!here>" in text


def test_the_clock_is_not_a_person_and_expired_is_not_rejected() -> None:
    clock = Rejected(by=(), source=Source.CLOCK, at=LATER, reason="")

    assert "⛔ Rejected by the clock: nobody decided before the deadline." in shown(decided(clock))
    assert "⌛ Expired: nobody decided before 2026-12-01 16:00 UTC. Not run." in shown(a_review(status=Status.EXPIRED))


def test_answers_and_work_done_by_hand_are_shown() -> None:
    answered = replace(
        a_question(), status=Status.DECIDED, decision=Answered(**ALICE, answer={"supplier": "A"}), decided_at=LATER
    )

    assert 'Answer{"supplier": "A"}' in shown(answered)
    assert "✋ Done by hand by  after 2 min 14 sResultpaid in person" in shown(
        decided(TakenOver(**ALICE, result="paid in person"))
    )


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (Outcome(status=OutcomeStatus.SUCCEEDED, at=LATER, result={"id": "re_1"}), 'The call succeeded:{"id": "re_1"}'),
        (Outcome(status=OutcomeStatus.FAILED, at=LATER, error="card closed"), "⚠ The call failed:card closed"),
        (Outcome(status=OutcomeStatus.UNCERTAIN, at=LATER), "Nobody knows whether the call ran"),
    ],
)
def test_the_card_says_what_became_of_the_call(outcome: Outcome, text: str) -> None:
    assert text in shown(decided(Approved(**ALICE), outcome=outcome))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"state": PauseState.WAITING}, "The run waits for the other calls of this stop."),
        ({"state": PauseState.READY}, "The run goes on now."),
        ({"outcome": PauseOutcome.FINISHED, "final_output": "Refunded."}, "The run finished:Refunded."),
        ({"outcome": PauseOutcome.PAUSED_AGAIN}, "The run went on and paused again."),
        ({"outcome": PauseOutcome.FAILED, "error": "boom"}, "⚠ The run failed:boom"),
    ],
)
def test_the_card_says_what_became_of_the_run(changes: dict[str, Any], text: str) -> None:
    review = decided(Approved(**ALICE))

    assert text in shown(review, pause=a_pause(review, **changes))


def test_a_state_is_shown_field_by_field_with_its_edit() -> None:
    review = a_state_edit({"plan": "send", "to": ["a"]})
    assert review.action is not None
    edited = Edited(**ALICE, action=replace(review.action, arguments={"state": {"plan": "wait", "to": ["a"]}}))

    assert "Stateplan: sendto: a" in shown(review)
    assert "Changedplan: send → wait" in shown(
        replace(review, status=Status.DECIDED, decision=edited, decided_at=LATER)
    )


def test_an_approval_between_steps_says_so() -> None:
    assert "asks for approval of issue_refund" in shown(a_review(interrupt=an_interrupt(kind=Kind.APPROVAL)))


# --- in the thread --------------------------------------------------------------------------------


def test_a_reminder_calls_the_people_and_has_no_buttons() -> None:
    message = reminder(a_view())

    assert message.blocks[0]["elements"][0]["elements"][0] == {"type": "usergroup", "usergroup_id": "S0FIN"}
    assert message.text == "Still waiting: Issue refund: 240 EUR. Decide by 2026-12-01 16:00 UTC."
    assert labels(message) == []


def test_the_note_of_an_escalation_says_where_it_went() -> None:
    assert (
        escalated_note(a_view(moved_to="#leads")).text
        == "Nobody decided here in time. Issue refund: 240 EUR moved to #leads."
    )
