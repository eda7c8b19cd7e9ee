"""Every listener: parse, call the desk (which commits), ack; what needs the network comes after, lazily.

ack=...   decides and answers Slack; makes no network call but for facts that are too old
lazy=...  opens a modal or tells somebody in private; `logged` begins with `if "said" not in context`,
          since Bolt runs it even where the listener raised
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeAlias, TypeVar

import structlog
from slack_bolt import Ack, App, BoltContext
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.webhook import WebhookClient

from seconder.bot import forms, ids
from seconder.bot.full_view import full_view
from seconder.bot.people import BUDGET, Refresher
from seconder.bot.presses import Body, kept, pressed, sent
from seconder.bot.replies import reply
from seconder.bot.slack import SECONDS, trouble
from seconder.bot.text import shorten
from seconder.desk import decide, opening, people
from seconder.desk.decide import Choice
from seconder.desk.desk import Desk
from seconder.desk.press import Press
from seconder.errors import InvalidInput, SeconderError, StaleFacts
from seconder.faults import crash_point
from seconder.review import Review

T = TypeVar("T")

log = structlog.get_logger("seconder.bot")


@dataclass(frozen=True, slots=True)
class Hands:
    """What every listener works with."""

    desk: Desk
    refresher: Refresher
    monotonic: Callable[[], float] = time.monotonic

    def with_fresh_facts(self, do: Callable[[], T]) -> T:
        """What `do` gives; facts that are too old are looked at, each once, all within BUDGET, and it is done again.

        There can be two looks: those who voted before are asked for only once the presser is known.
        """
        end, looked = self.monotonic() + BUDGET, set[str]()
        while True:
            try:
                return do()
            except StaleFacts as stale:
                wanted, left = {*stale.people, *stale.groups}, end - self.monotonic()
                if wanted <= looked or left <= 0:
                    raise
                self.refresher.refresh(stale.people, stale.groups, within=left)
                looked |= wanted

    def decide(self, press: Press, choice: Choice) -> SeconderError | None:
        """None where the press counted, else why it did not."""
        crash_point("listener.before_decide")
        try:
            self.with_fresh_facts(lambda: decide.decide(self.desk, press, choice))
        except SeconderError as error:
            return error
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
        press = pressed(body)
        refused = hands.decide(press, decide.Approve())
        context["said"] = {"tell": None if refused is None else hands.sentence(press, refused)}
        ack()

    def view_all(ack: Ack, body: Body, context: BoltContext) -> None:
        context["said"] = _opened(hands, pressed(body), 0)
        ack()

    def turn(ack: Ack, body: Body, context: BoltContext) -> None:
        step = 1 if body["actions"][0]["action_id"] == ids.PAGE_NEXT else -1
        context["said"] = {**_opened(hands, sent(body), kept(body).page + step), "turned": True}
        ack()

    after, opened = [logged(tell)], [logged(show)]
    app.action(ids.APPROVE)(ack=approve, lazy=after)
    app.action(ids.VIEW_ALL)(ack=view_all, lazy=opened)
    app.action(ids.EDIT)(ack=_opener(hands, "edited", forms.edit_form), lazy=opened)
    app.action(ids.REJECT)(ack=_opener(hands, "rejected", forms.reject_form), lazy=opened)
    app.action(ids.ANSWER)(ack=_opener(hands, "answered", forms.answer_form), lazy=opened)
    app.action(ids.PAGE_NEXT)(ack=turn, lazy=opened)
    app.action(ids.PAGE_PREVIOUS)(ack=turn, lazy=opened)


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

    app.view(ids.EDIT_FORM)(_submitted(hands, "edited", edited))
    app.view(ids.REJECT_FORM)(_submitted(hands, "rejected", rejected))
    app.view(ids.ANSWER_FORM)(_submitted(hands, "answered", answered))


Read: TypeAlias = Callable[[Review, dict[str, Any]], Choice | forms.FieldErrors]


def _submitted(hands: Hands, decision: str, read: Read) -> Callable[..., None]:
    def submitted(ack: Ack, body: Body) -> None:
        press = sent(body)
        review = opening.of_token(hands.desk, press.token)
        if review is None:
            ack(response_action="update", view=notice("This form belongs to no request that is known here."))
            return
        choice = read(review, body["view"]["state"]["values"])
        if isinstance(choice, forms.FieldErrors):
            late = hands.form(press, decision, lambda *_: {})
            errors = {} if "tell" in late else choice.errors
            _refuse(ack, errors, late.get("tell", ""))
            return
        refused = hands.decide(press, choice)
        if refused is None:
            ack(response_action="clear")
        else:
            _refuse(ack, _first_field(body, refused), hands.sentence(press, refused))

    return submitted


def _refuse(ack: Ack, errors: dict[str, str], sentence: str) -> None:
    """The form stays, with what is wrong under its fields; with nothing to mend it gives way to a sentence."""
    if errors:
        ack(response_action="errors", errors=errors)
    else:
        ack(response_action="update", view=notice(sentence))


def _first_field(body: Body, error: SeconderError) -> dict[str, str]:
    """What the desk does not accept, under the form's first field, so that what was typed is not lost."""
    blocks = body["view"].get("blocks") or ()
    fields = [block["block_id"] for block in blocks if block.get("type") == "input" and "block_id" in block]
    if not fields or not isinstance(error, InvalidInput):
        return {}
    return {fields[0]: shorten("; ".join(fault.message for fault in error.faults), forms.MAX_MESSAGE)}


def _events(app: App, hands: Hands) -> None:
    def person(ack: Ack, event: Body, context: BoltContext) -> None:
        context["said"] = {"people": [event["user"]["id"]], "groups": []}
        ack()

    def group(ack: Ack, event: Body, context: BoltContext) -> None:
        context["said"] = {"people": [], "groups": [event.get("subteam_id") or event["subteam"]["id"]]}
        ack()

    def look(_client: WebClient, _body: Body, context: BoltContext) -> None:
        hands.refresher.refresh_changed(context["said"]["people"], context["said"]["groups"])

    app.event("user_change")(ack=person, lazy=[logged(look)])
    app.event("subteam_updated")(ack=group, lazy=[logged(look)])
    app.event("subteam_members_changed")(ack=group, lazy=[logged(look)])


Lazy: TypeAlias = Callable[[WebClient, Body, BoltContext], None]


def logged(do: Lazy) -> Lazy:
    """The same, run only where the listener said something; what it raises is logged, which Bolt would swallow."""

    def lazily(client: WebClient, body: Body, context: BoltContext) -> None:
        if "said" not in context:
            return
        try:
            do(client, body, context)
        except Exception:
            log.exception("bot.lazy_failed", listener=do.__name__)

    return lazily


def _opened(hands: Hands, press: Press, page: int) -> dict[str, Any]:
    try:
        review = decide.mark_opened(hands.desk, press)
    except SeconderError as error:
        return {"tell": hands.sentence(press, error)}
    return {"view": full_view(review, press.token, page)}


def show(client: WebClient, body: Body, context: BoltContext) -> None:
    """The modal is on the person's screen, or they are told why not."""
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
    sentence = context["said"].get("tell")
    if sentence is not None:
        _whisper(client, body, sentence)


def _whisper(client: WebClient, body: Body, sentence: str) -> None:
    channel = (body.get("channel") or {}).get("id")
    thread = (body.get("message") or {}).get("thread_ts")
    try:
        if channel is None:  # pressed inside a modal: it gives way to the sentence
            client.views_update(view_id=body["view"]["id"], view=notice(sentence))
        else:
            client.chat_postEphemeral(channel=channel, user=body["user"]["id"], text=sentence, thread_ts=thread)
    except (SlackApiError, OSError) as error:
        if not _answered(body, sentence, thread):
            log.warning("bot.not_told", error=trouble(error).error)


def _answered(body: Body, sentence: str, thread: str | None) -> bool:
    """Whether the press itself was answered in private: Slack takes that for people who only look into the channel."""
    url = body.get("response_url")
    if not url:
        return False
    said: dict[str, Any] = {"text": sentence, "response_type": "ephemeral", "replace_original": False}
    try:
        webhook = WebhookClient(url, retry_handlers=[], timeout=SECONDS)
        return webhook.send_dict({**said, "thread_ts": thread} if thread else said).status_code == HTTPStatus.OK
    except OSError as error:
        log.warning("bot.not_answered", error=trouble(error).error)
        return False


def notice(sentence: str) -> dict[str, Any]:
    """A modal that says one thing."""
    text = {"type": "mrkdwn", "text": sentence, "verbatim": True}
    return {
        "type": "modal",
        "title": {"type": "plain_text", "text": "Not decided"},
        "close": {"type": "plain_text", "text": "Close"},
        "blocks": [{"type": "section", "text": text}],
    }
