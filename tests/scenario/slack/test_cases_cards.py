"""What went wrong elsewhere with messages: words taken for decisions, secrets shown, requests that nobody could see."""

import json
import time
import urllib.parse
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

from slack_sdk import WebClient
from structlog.testing import capture_logs

from seconder.action import Action
from seconder.decision import Edited
from seconder.desk import decide, look
from seconder.desk.decide import Approve
from seconder.review import Delivery, Status
from seconder.sandbox.seed import BOT_TOKEN
from seconder.store.queue import MAX_ATTEMPTS
from tests.support.bot import POLICY, Bot, a_bot, signed
from tests.support.desk import ALICE, OLGA, look_again, press_on, refund
from tests.support.sandbox import eventually

SECRET = "hunter2-is-not-a-word"
POISON = 666
WITH_SECRET = POLICY.replace("  - name: mail\n", "  - name: mail\n    fields: {smtp_password: {secret: true}}\n")
MAIL = {
    "type": "object",
    "properties": {"subject": {"type": "string"}, "smtp_password": {"type": "string"}},
    "required": ["subject", "smtp_password"],
}


def mail(call_id: str = "call_1") -> Any:
    return refund(action=Action(tool="send_mail", arguments={"subject": "Hello"}), call_id=call_id)


class Poisoned(WebClient):
    """Refuses one request in every layout."""

    def chat_postMessage(self, **sent: Any) -> Any:  # noqa: N802
        if str(POISON) in str(sent):
            sent["blocks"] = [*sent["blocks"], {"type": "of tomorrow"}]
        return super().chat_postMessage(**sent)


class Kept(WebClient):
    """Whose token a test can take away."""

    made: ClassVar[list["Kept"]] = []

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.made.append(self)


def test_words_typed_in_the_thread_decide_nothing(one_bot: Bot) -> None:
    review, card = one_bot.asked(refund())

    words = ["approve", "yes, go", "reject", "👍"]
    for person, text in zip((ALICE, ALICE, OLGA, ALICE), words, strict=True):
        one_bot.hand.do("post", user=person, channel="refunds", text=text, thread_ts=card.ts)

    assert [reply.text for reply in one_bot.people.replies("refunds")] == words
    assert one_bot.review(review).status is Status.PENDING
    one_bot.press(ALICE, card, "Approve")
    eventually(lambda: one_bot.review(review).status is Status.DECIDED)
    assert one_bot.trail(review) == ["submitted", "posted", "decided"]


def test_a_secret_is_shown_nowhere_and_reaches_the_tool_through_an_edit_beside_it(
    sqlite_url: str, tmp_path: Path
) -> None:
    with a_bot(sqlite_url, tmp_path, policy=WITH_SECRET) as bot:
        arguments = {"subject": "Hello", "smtp_password": SECRET}
        reason = f"The server wants {SECRET}."
        action = Action(tool="send_mail", arguments=arguments, schema=MAIL)
        review, card = bot.asked(refund(action=action, reason=reason), "outbound-mail")

        bot.press(ALICE, card, "View all")
        bot.modal(ALICE)
        bot.press(ALICE, card, "Edit…")
        bot.people.submit(ALICE, eventually(lambda: _with_field(bot, "subject")), {"subject": "Good day"})
        eventually(lambda: bot.review(review).status is Status.DECIDED)
        bot.card("outbound-mail", "Approved with edits")

        decision = bot.review(review).decision
        assert isinstance(decision, Edited)
        assert decision.action.arguments == {"subject": "Good day", "smtp_password": SECRET}
        assert SECRET not in str(bot.hand.see("log"))


def _with_field(bot: Bot, label: str) -> Any:
    form = bot.people.form(ALICE)
    return form if form is not None and label in form.fields else None


def test_a_request_that_slack_refuses_in_every_layout_is_undelivered_and_holds_up_no_other(
    sqlite_url: str, tmp_path: Path
) -> None:
    with a_bot(sqlite_url, tmp_path, client=Poisoned) as bot:
        first, second, third = (bot.submit(refund(amount, call_id=str(amount))) for amount in (1, POISON, 3))

        bot.posted(first)
        bot.posted(third)
        eventually(lambda: bot.review(second).delivery is Delivery.UNDELIVERED)

        assert bot.review(second).status is Status.PENDING
        assert bot.trail(second) == ["submitted", "undelivered"]
        assert {bot.review(one).delivery for one in (first, third)} == {Delivery.POSTED}


def test_an_app_that_is_shut_out_for_hours_shows_everything_once_it_is_back(sqlite_url: str, tmp_path: Path) -> None:
    with a_bot(sqlite_url, tmp_path, client=Kept, dispatching=False) as bot:
        before = bot.submit(mail())
        bot.dispatcher.work_once()
        look_again(bot.desk)
        for client in Kept.made:
            client.token = "xoxb-revoked"
        decide.decide(bot.desk, press_on(bot.desk, before.id, ALICE), Approve())
        during = bot.submit(mail("call_2"))

        for _ in range(2 * MAX_ATTEMPTS):
            bot.dispatcher.work_once()
            bot.later(timedelta(minutes=10))
        assert bot.review(during).delivery is Delivery.UNDELIVERED
        assert not look.queued(bot.desk, state="dead")

        for client in Kept.made:
            client.token = BOT_TOKEN
        bot.later(timedelta(minutes=10))
        while bot.dispatcher.work_once():
            bot.later(timedelta(seconds=2))
        assert bot.review(during).delivery is Delivery.POSTED
        old, new = bot.cards("outbound-mail")
        assert "Approved by" in old.text
        assert "Approve" in new.buttons


def test_a_clock_that_is_wrong_is_named_in_the_log_and_decides_nothing(http_bot: Bot) -> None:
    review, card = http_bot.asked(refund())
    http_bot.press(OLGA, card, "View all")
    [payload] = http_bot.deliveries("block_actions")
    body = urllib.parse.urlencode({"payload": json.dumps(payload)}).encode()
    form = {"content-type": "application/x-www-form-urlencoded"}

    with capture_logs() as logged:
        late = http_bot.post(body, form | signed(body, at=time.time() - 660))
        forged = http_bot.post(body, form | signed(body, secret="another", at=time.time() - 660))

    assert (late.status_code, forged.status_code) == (401, 401)
    [told] = [entry for entry in logged if entry["event"] == "slack.refused_for_its_time"]
    assert 659 <= told["seconds_apart"] <= 670
    assert http_bot.review(review).status is Status.PENDING
