"""Every listener: parse, call the desk (which commits), ack; what needs the network comes after, lazily.

ack=...   decides and answers Slack; makes no network call but for facts that are too old
lazy=...  opens a modal or tells somebody in private; begins with `if "said" not in context`,
          since Bolt runs it even where the listener raised
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import structlog
from slack_bolt import Ack, App, BoltContext
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from seconder.bot import forms, ids
from seconder.bot.full_view import full_view
from seconder.bot.people import Refresher
from seconder.bot.presses import Body, kept, pressed, sent
from seconder.bot.replies import reply
from seconder.bot.slack import trouble
from seconder.desk import decide, opening, people
from seconder.desk.decide import Choice
from seconder.desk.desk import Desk
from seconder.desk.press import Press
from seconder.errors import SeconderError, StaleFacts
from seconder.faults import crash_point
from seconder.review import Review

T = TypeVar("T")

log = structlog.get_logger("seconder.bot")


@dataclass(frozen=True, slots=True)
class Hands:
    """What every listener works with."""

    desk: Desk
    refresher: Refresher

    def with_fresh_facts(self, do: Callable[[], T]) -> T:
        """What `do` gives; where its facts are too old they are looked at once, and it is done again."""
        try:
            return do()
        except StaleFacts as stale:
            self.refresher.refresh(stale.people, stale.groups)
            return do()

    def decide(self, press: Press, choice: Choice) -> str | None:
        """None where the press counted, else what to tell the person in private."""
        crash_point("listener.before_decide")
        try:
            self.with_fresh_facts(lambda: decide.decide(self.desk, press, choice))
        except SeconderError as error:
            return self.sentence(press, error)
        crash_point("listener.decided")
        return None

    def form(self, press: Press, decision: str, draw: Callable[[Review, str], dict[str, Any]]) -> dict[str, Any]:
        """`{view}` to open, or `{tell}` with the sentence why it does not open."""
        try:
            review = self.with_fresh_facts(lambda: opening.open_form(self.desk, press, decision))
        except SeconderError as error:
            return {"tell": self.sentence(press, error)}
        return {"view": draw(review, press.token)}

    def sentence(self, press: Press, error: SeconderError) -> str:
        """The error in words for the person who pressed."""
        log.info("bot.refused", user=press.user_id, error=type(error).__name__)
        review = opening.of_token(self.desk, press.token)
        return reply(error, review=review, now=people.now(self.desk))


def listen(app: App, hands: Hands) -> None:
    """The app answers every button and form of a card."""
    _buttons(app, hands)
    _forms(app, hands)
    _events(app, hands)


def _buttons(app: App, hands: Hands) -> None:
    def approve(ack: Ack, body: Body, context: BoltContext) -> None:
        context["said"] = {"tell": hands.decide(pressed(body), decide.Approve())}
        ack()

    def view_all(ack: Ack, body: Body, context: BoltContext) -> None:
        context["said"] = _opened(hands, pressed(body), 0)
        ack()

    def turn(ack: Ack, body: Body, context: BoltContext) -> None:
        step = 1 if body["actions"][0]["action_id"] == ids.PAGE_NEXT else -1
        context["said"] = {**_opened(hands, sent(body), kept(body).page + step), "turned": True}
        ack()

    app.action(ids.APPROVE)(ack=approve, lazy=[tell])
    app.action(ids.VIEW_ALL)(ack=view_all, lazy=[show])
    app.action(ids.EDIT)(ack=_opener(hands, "edited", forms.edit_form), lazy=[show])
    app.action(ids.REJECT)(ack=_opener(hands, "rejected", forms.reject_form), lazy=[show])
    app.action(ids.ANSWER)(ack=_opener(hands, "answered", forms.answer_form), lazy=[show])
    app.action(ids.PAGE_NEXT)(ack=turn, lazy=[show])
    app.action(ids.PAGE_PREVIOUS)(ack=turn, lazy=[show])


def _opener(hands: Hands, decision: str, draw: Callable[[Review, str], dict[str, Any]]) -> Callable[..., None]:
    def open_form(ack: Ack, body: Body, context: BoltContext) -> None:
        context["said"] = hands.form(pressed(body), decision, draw)
        ack()

    return open_form


def _forms(app: App, hands: Hands) -> None:
    def edited(review: Review, values: dict[str, Any]) -> Choice | forms.FieldErrors:
        read = forms.read_edit_form(review, values)
        return read if isinstance(read, forms.FieldErrors) else decide.Edit(dict(read.new))

    def rejected(_review: Review, values: dict[str, Any]) -> Choice | forms.FieldErrors:
        read = forms.read_reject(values)
        return read if isinstance(read, forms.FieldErrors) else decide.Reject(read)

    def answered(review: Review, values: dict[str, Any]) -> Choice | forms.FieldErrors:
        read = forms.read_answer(review, values)
        return read if isinstance(read, forms.FieldErrors) else decide.Answer(read.value)

    for callback, read in ((ids.EDIT_FORM, edited), (ids.REJECT_FORM, rejected), (ids.ANSWER_FORM, answered)):
        app.view(callback)(_submitted(hands, read))


def _submitted(
    hands: Hands, read: Callable[[Review, dict[str, Any]], Choice | forms.FieldErrors]
) -> Callable[..., None]:
    def submitted(ack: Ack, body: Body) -> None:
        press = sent(body)
        review = opening.of_token(hands.desk, press.token)
        if review is None:
            ack(response_action="update", view=notice("This form belongs to no request that is known here."))
            return
        choice = read(review, body["view"]["state"]["values"])
        if isinstance(choice, forms.FieldErrors):
            ack(response_action="errors", errors=choice.errors)
            return
        refused = hands.decide(press, choice)
        if refused is None:
            ack(response_action="clear")
        else:
            ack(response_action="update", view=notice(refused))

    return submitted


def _events(app: App, hands: Hands) -> None:
    def person(ack: Ack, event: Body, context: BoltContext) -> None:
        context["said"] = {"people": [event["user"]["id"]], "groups": []}
        ack()

    def group(ack: Ack, event: Body, context: BoltContext) -> None:
        context["said"] = {"people": [], "groups": [event.get("subteam_id") or event["subteam"]["id"]]}
        ack()

    def look(context: BoltContext) -> None:
        if "said" not in context:
            return
        hands.refresher.refresh(context["said"]["people"], context["said"]["groups"])

    app.event("user_change")(ack=person, lazy=[look])
    app.event("subteam_updated")(ack=group, lazy=[look])
    app.event("subteam_members_changed")(ack=group, lazy=[look])


def _opened(hands: Hands, press: Press, page: int) -> dict[str, Any]:
    try:
        review = decide.mark_opened(hands.desk, press)
    except SeconderError as error:
        return {"tell": hands.sentence(press, error)}
    return {"view": full_view(review, press.token, page)}


def show(client: WebClient, body: Body, context: BoltContext) -> None:
    """The modal is on the person's screen, or they are told why not."""
    if "said" not in context:
        return
    said = context["said"]
    if "view" not in said:
        tell(client, body, context)
        return
    try:
        if said.get("turned"):
            client.views_update(view_id=body["view"]["id"], hash=body["view"]["hash"], view=said["view"])
        else:
            client.views_open(trigger_id=body["trigger_id"], view=said["view"])
    except (SlackApiError, OSError) as error:
        log.warning("bot.no_modal", error=trouble(error).error)
        _whisper(client, body, "The form did not open in time. Nothing was decided; please press again.")


def tell(client: WebClient, body: Body, context: BoltContext) -> None:
    """The person reads in private why their press did not count; nothing where it did."""
    if "said" not in context:
        return
    sentence = context["said"].get("tell")
    if sentence is not None:
        _whisper(client, body, sentence)


def _whisper(client: WebClient, body: Body, sentence: str) -> None:
    channel = (body.get("channel") or {}).get("id")
    if channel is None:
        log.warning("bot.nowhere_to_tell")
        return
    thread = (body.get("message") or {}).get("thread_ts")
    try:
        client.chat_postEphemeral(channel=channel, user=body["user"]["id"], text=sentence, thread_ts=thread)
    except (SlackApiError, OSError) as error:
        log.warning("bot.not_told", error=trouble(error).error)


def notice(sentence: str) -> dict[str, Any]:
    """A modal that says one thing."""
    text = {"type": "mrkdwn", "text": sentence, "verbatim": True}
    return {
        "type": "modal",
        "title": {"type": "plain_text", "text": "Not decided"},
        "close": {"type": "plain_text", "text": "Close"},
        "blocks": [{"type": "section", "text": text}],
    }
