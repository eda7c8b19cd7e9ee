"""Makes Slack show every review as its row is: the queue says which, the row says what.

Whatever died before, the next look at the row does what is missing: it is told by state, not by
event, so doing it twice changes nothing.
"""

import threading
import time
from collections.abc import Callable
from datetime import timedelta

import structlog
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from seconder.bot import cards
from seconder.bot.card_view import CardView
from seconder.bot.card_view import Message as Drawn
from seconder.bot.channels import Channels
from seconder.bot.pace import Pace
from seconder.bot.people import Refresher
from seconder.bot.posting import REFUSED, Later, Posting, ThreadGone
from seconder.bot.slack import trouble
from seconder.desk import delivery, repost
from seconder.desk.delivery import Item, Message, Showing
from seconder.desk.desk import Desk
from seconder.desk.shown import REMINDER
from seconder.faults import crash_point
from seconder.review import Status

IDLE = 1.0  # seconds; polling alone must be enough
AT_ONCE = 10

log = structlog.get_logger("seconder.dispatcher")


class Dispatcher:
    """One thread that works the queue; several processes may each have one."""

    def __init__(
        self,
        desk: Desk,
        client: WebClient,
        refresher: Refresher,
        *,
        worker_name: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._desk, self._refresher, self._name = desk, refresher, worker_name
        self._posting = Posting(desk, client, Pace(monotonic), Channels(client, monotonic))
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dispatcher", daemon=True)

    def start(self) -> None:
        """Works from now on."""
        self._thread.start()

    def stop(self) -> None:
        """What is under way is finished."""
        self._stop.set()
        self._desk.store.changes.bump()
        self._thread.join(timeout=15)

    def work_once(self) -> int:
        """How many items were worked on; for tests, and the body of the loop."""
        items = delivery.claim(self._desk, worker=self._name, limit=AT_ONCE)
        if items:
            crash_point("dispatcher.claimed")
        for item in items:
            if delivery.renew(self._desk, item):
                self._work(item)
        return len(items)

    def _run(self) -> None:
        while not self._stop.is_set():
            seen = self._desk.store.changes.count
            try:
                if not self.work_once():
                    self._desk.store.changes.wait(seen, self._patience())
            except Exception:
                log.exception("dispatcher.failed")
                self._stop.wait(IDLE)

    def _patience(self) -> float:
        due = delivery.next_due(self._desk)
        return IDLE if due is None else min(IDLE, max(0.01, due.total_seconds()))

    def _work(self, item: Item) -> None:
        try:
            self._show(item.subject)
        except Later as later:
            what = delivery.failed(self._desk, item, error=later.why, wait=later.wait, counts=later.counts)
        except Exception as error:
            log.exception("dispatcher.item_failed", review=item.subject, attempts=item.attempts)
            what = delivery.failed(self._desk, item, error=f"{type(error).__name__}: {error}")
        else:
            what = "done" if delivery.done(self._desk, item) else "lost"
        if what == "dead":
            log.warning("dispatcher.dead_letter", review=item.subject, note="see `seconder queue list`")
        elif what == "lost":  # we were too slow: what we showed last may be older than what another showed
            delivery.again(self._desk, item.subject)

    def _show(self, review_id: str) -> None:
        """Every message of the review is as the row says; the first that has to wait is raised at the end."""
        showing = self._with_requester(delivery.showing(self._desk, review_id))
        waits = []
        for message in sorted(showing.messages, key=lambda one: one.ts is None):
            try:
                if message.kind == "card":
                    self._card(showing, message)
                else:
                    self._reply(showing, message)
            except Later as later:
                waits.append(later)
        if waits:
            raise min(waits, key=lambda one: (one.counts, one.wait or timedelta()))

    def _with_requester(self, showing: Showing) -> Showing:
        """An e-mail is looked up before anybody is asked, so that the card says who cannot decide."""
        review = showing.review
        requester = review.interrupt.requester
        known = requester is None or requester.email is None or requester.slack_user is not None
        if known or review.requester_user is not None or review.undecidable is not None:
            return showing
        if review.status is not Status.PENDING or requester is None or requester.email is None:
            return showing
        try:
            found = self._refresher.by_email(requester.email)
        except (SlackApiError, OSError) as error:
            said = trouble(error)
            wait = None if said.wait is None else timedelta(seconds=said.wait)
            if said.certain and wait is None:
                self._undelivered(showing, f"the requester's e-mail: {said.error}")
                wait = REFUSED
            raise Later(said.error, wait, counts=wait is None) from error
        delivery.resolve_requester(self._desk, review.id, found)
        return delivery.showing(self._desk, review.id)

    def _undelivered(self, showing: Showing, error: str) -> None:
        for card in showing.messages:
            if card.kind == "card" and card.state in {"new", "undelivered"}:
                delivery.refused(self._desk, card, error=error)

    def _card(self, showing: Showing, card: Message) -> None:
        review = showing.review
        current = review.status is Status.PENDING and card.revision == review.revision
        view = self._view(showing, card)
        full, plain = (lambda: cards.card(view)), (lambda: cards.minimal_card(view))
        if card.state == "gone" or (card.ts is not None and not self._posting.update(card, full, plain, live=current)):
            self._again(showing, card)
        elif card.ts is not None:
            return
        elif card.state == "posting" and self._posting.find(card, showing):
            fresh = delivery.showing(self._desk, review.id)
            self._card(fresh, next(one for one in fresh.messages if one.id == card.id))
        elif current:
            self._posting.post(card, full, plain=plain)
        else:
            delivery.updated(self._desk, card.id, shown="", state="gone")

    def _again(self, showing: Showing, gone: Message) -> None:
        """A card that people are still to press is posted anew in the place of the one that is gone."""
        current = showing.review.status is Status.PENDING and gone.revision == showing.review.revision
        if current and not _another(showing, gone):
            repost.repost(self._desk, showing.review.id)

    def _reply(self, showing: Showing, reply: Message) -> None:
        if reply.ts is not None or reply.state == "gone":
            return
        parent = _card_above(showing, reply)
        reminds = reply.name.startswith(REMINDER)
        review = showing.review
        late = reminds and (review.status is not Status.PENDING or review.revision != reply.revision)
        if late or parent is None:
            delivery.updated(self._desk, reply.id, shown="", state="gone")
        elif parent.ts is None:
            raise Later("the card of this reply is not posted yet", timedelta(seconds=1))
        else:
            view = self._view(showing, parent)
            draw = cards.reminder if reminds else cards.escalated_note
            try:
                self._below(showing, reply, parent, parent.ts, lambda: draw(view))
            except ThreadGone:
                log.warning("dispatcher.card_gone", review=review.id)
                for lost in (reply, parent):
                    delivery.updated(self._desk, lost.id, shown="", state="gone")
                self._again(showing, parent)

    def _below(self, showing: Showing, reply: Message, parent: Message, thread: str, draw: Callable[[], Drawn]) -> None:
        if reply.state != "posting" or not self._posting.find(reply, showing, thread=thread):
            self._posting.post(repost.in_thread_of(reply, parent), draw, thread=thread)

    def _view(self, showing: Showing, card: Message) -> CardView:
        newest = max((one for one in showing.messages if one.kind == "card"), key=lambda one: one.revision)
        return CardView(
            review=showing.review,
            pause=showing.pause,
            token=card.token or "",
            channel=card.channel,
            now=showing.now,
            eligible_text_mentions=showing.ask,
            names=showing.names,
            moved_to=newest.channel if card.revision < newest.revision else None,
            siblings=showing.siblings,
        )


def _another(showing: Showing, card: Message) -> bool:
    """Whether another card of the same revision is there or on its way."""
    return any(
        one.kind == "card" and one.id != card.id and one.revision == card.revision and one.state != "gone"
        for one in showing.messages
    )


def _card_above(showing: Showing, reply: Message) -> Message | None:
    """The newest card that a reply can stand under; None where none is left."""
    cards_left = [
        one for one in showing.messages if one.kind == "card" and one.revision == reply.revision and one.state != "gone"
    ]
    return cards_left[-1] if cards_left else None
