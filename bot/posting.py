"""One message to Slack, once: announced in its row, posted, and found again where the answer was lost.

new ─ announce ─> posting ─ Slack answers ─> placed
                    ├─ Slack surely did nothing ─> new again, or refused
                    └─ nobody knows ─> after UNKNOWN, looked for by its metadata:
                          found ─> placed, doubles deleted;  not there ─> new again
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from seconder.bot.card_view import Message as Drawn
from seconder.bot.channels import ChannelMissing, Channels
from seconder.bot.pace import Pace
from seconder.bot.slack import LAYOUT, SHUT_OUT, VANISHED, trouble
from seconder.desk import delivery, people
from seconder.desk.delivery import Message, Showing
from seconder.desk.desk import Desk
from seconder.faults import crash_point

UNKNOWN = timedelta(seconds=10)  # a post without an answer may still appear so long
REFUSED = timedelta(seconds=30)  # until somebody makes the channel or invites the bot, it is asked again
EVENT = "seconder_card"
WINDOW = timedelta(hours=1)  # around an attempt is looked through: Slack's clock may be apart from ours
PAGE = 200  # messages

log = structlog.get_logger("seconder.dispatcher")


@dataclass(frozen=True, slots=True)
class Later(Exception):
    """The message is to be looked at again after `wait`; `counts` where that is a failed attempt."""

    why: str
    wait: timedelta | None = None
    counts: bool = False


class ThreadGone(Exception):
    """The message under which a reply is to stand is not in Slack any more."""


class Posting:
    """Posts, updates and finds messages."""

    def __init__(self, desk: Desk, client: WebClient, pace: Pace, channels: Channels) -> None:
        self._desk, self._client, self._pace, self._channels = desk, client, pace, channels

    def post(
        self,
        message: Message,
        draw: Callable[[], Drawn],
        *,
        plain: Callable[[], Drawn] | None = None,
        thread: str | None = None,
    ) -> None:
        """The message is in Slack and its row knows where. Raises: Later, ThreadGone."""
        channel_id = message.channel_id if thread else self._channel(message)
        if channel_id is None:
            raise RuntimeError(f"message {message.id} has a thread and no channel")
        wait = self._pace.before_post(channel_id, message.id)
        if wait > 0:
            raise Later("a post a second per channel", timedelta(seconds=wait))
        refused = self._try(message, draw(), channel_id, thread)
        if refused is not None and plain is not None:
            log.warning("dispatcher.layout_refused", review=message.review_id, error=refused)
            delivery.not_posted(self._desk, message.id, error=refused)
            refused = self._try(message, plain(), channel_id, thread)
        if refused is not None:
            raise self._refused(message, refused)

    def find(self, message: Message, showing: Showing, *, thread: str | None = None) -> bool:
        """Whether a post without an answer is in Slack after all; its row knows where. Raises: Later, ThreadGone."""
        if message.attempted_at is None or message.channel_id is None:
            return False
        age = showing.now - message.attempted_at
        if age < UNKNOWN:
            raise Later("a post without an answer is looked for", UNKNOWN - age)
        try:
            found = sorted(self._places(message, thread))
        except (SlackApiError, OSError) as error:
            said = trouble(error)
            if thread is not None and said.error in VANISHED:
                raise ThreadGone(said.error) from error
            wait = None if said.wait is None else timedelta(seconds=said.wait)
            raise Later(said.error, wait, counts=wait is None) from error
        if not found:
            delivery.not_posted(self._desk, message.id, error="the post was not in Slack")
            return False
        self._placed(message, message.channel_id, found[0], "")
        for double in found[1:]:
            self._delete(message.channel_id, double)
        return True

    def update(
        self, message: Message, draw: Callable[[], Drawn], plain: Callable[[], Drawn] | None = None, *, live: bool
    ) -> bool:
        """Whether Slack shows this; False where the message is gone. Raises: Later."""
        drawn = draw()
        shown, state = shown_hash(drawn), "live" if live else "retired"
        if message.shown == shown:
            if message.state != state:
                delivery.updated(self._desk, message.id, shown=shown, state=state)
            return True
        wait = self._pace.before_update()
        if wait > 0:
            raise Later("Slack's budget for updates", timedelta(seconds=wait))
        self._pace.updated()
        try:
            self._client.chat_update(
                channel=message.channel_id or "", ts=message.ts or "", text=drawn.text, blocks=drawn.blocks
            )
        except (SlackApiError, OSError) as error:
            said = trouble(error)
            if said.error in LAYOUT and plain is not None:
                log.warning("dispatcher.layout_refused", review=message.review_id, error=said.error)
                return self.update(message, plain, live=live)
            return self._not_updated(message, error)
        crash_point("dispatcher.updated")
        delivery.updated(self._desk, message.id, shown=shown, state=state)
        return True

    def _channel(self, message: Message) -> str:
        try:
            return self._channels.find(message.channel)
        except ChannelMissing as missing:
            raise self._refused(message, str(missing)) from missing
        except (SlackApiError, OSError) as error:
            said = trouble(error)
            wait = None if said.wait is None else timedelta(seconds=said.wait)
            if said.certain and wait is None:
                raise self._refused(message, said.error) from error
            raise Later(said.error, wait, counts=wait is None) from error

    def _try(self, message: Message, drawn: Drawn, channel_id: str, thread: str | None) -> str | None:
        """None where it is posted, else Slack's word for what it does not like about the layout. Raises: Later."""
        if not delivery.posting(self._desk, message.id, channel_id=channel_id):
            raise Later("another dispatcher posts this message", UNKNOWN)
        crash_point("dispatcher.posting")
        try:
            ts = self._send(message, drawn, channel_id, thread)
        except (SlackApiError, OSError) as error:
            said = trouble(error)
            if said.certain and said.error in LAYOUT:
                return said.error
            if thread is not None and said.error in VANISHED:
                raise ThreadGone(said.error) from error
            raise self._not_sent(message, channel_id, error) from error
        crash_point("dispatcher.posted")
        self._placed(message, channel_id, ts, shown_hash(drawn))
        return None

    def _send(self, message: Message, drawn: Drawn, channel_id: str, thread: str | None) -> str:
        self._pace.posted(channel_id, message.id)
        answer = self._client.chat_postMessage(
            channel=channel_id,
            text=drawn.text,
            blocks=drawn.blocks,
            thread_ts=thread,
            unfurl_links=False,
            unfurl_media=False,
            metadata={"event_type": EVENT, "event_payload": {"id": message.id}},
        )
        return str(answer["ts"])

    def _not_sent(self, message: Message, channel_id: str, error: Exception) -> Later:
        said = trouble(error)
        if said.wait is not None:
            self._pace.blocked(channel_id, said.wait)
            delivery.not_posted(self._desk, message.id, error=said.error)
            return Later(said.error, timedelta(seconds=said.wait))
        if said.certain:
            return self._refused(message, said.error)
        log.warning("dispatcher.unknown_outcome", review=message.review_id, error=said.error)
        return Later(said.error, UNKNOWN)

    def _refused(self, message: Message, error: str) -> Later:
        if message.error != error:
            log.error("dispatcher.refused", review=message.review_id, channel=message.channel, error=error)
        delivery.refused(self._desk, message, error=error)
        return Later(error, REFUSED)

    def _not_updated(self, message: Message, error: Exception) -> bool:
        said = trouble(error)
        if said.error in VANISHED:
            log.warning("dispatcher.card_gone", review=message.review_id)
            delivery.updated(self._desk, message.id, shown="", state="gone")
            return False
        if said.wait is not None:
            self._pace.blocked("update", said.wait)
            raise Later(said.error, timedelta(seconds=said.wait)) from error
        if said.error in SHUT_OUT:  # until somebody gives the app a token that is good
            raise Later(said.error, REFUSED) from error
        raise Later(said.error, counts=True) from error

    def _placed(self, message: Message, channel_id: str, ts: str, shown: str) -> None:
        workspace = people.workspace(self._desk)
        team = "" if workspace is None else workspace.team_id
        if not delivery.posted(self._desk, message, team_id=team, channel_id=channel_id, ts=ts, shown=shown):
            self._delete(channel_id, ts)

    def _delete(self, channel_id: str, ts: str) -> None:
        try:
            self._client.chat_delete(channel=channel_id, ts=ts)
        except (SlackApiError, OSError) as error:
            raise Later(trouble(error).error, counts=True) from error

    def _places(self, message: Message, thread: str | None) -> Iterator[str]:
        cursor = ""
        while True:
            page = self._page(message, thread, cursor)
            for posted in page["messages"]:
                metadata = posted.get("metadata") or {}
                if metadata.get("event_type") == EVENT and metadata.get("event_payload", {}).get("id") == message.id:
                    yield posted["ts"]
            cursor = (page.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                return

    def _page(self, message: Message, thread: str | None, cursor: str) -> Any:
        asked: dict[str, Any] = {"channel": message.channel_id, "cursor": cursor, "limit": PAGE}
        if message.attempted_at is not None:
            asked["oldest"] = f"{(message.attempted_at - WINDOW).timestamp():.6f}"
            asked["latest"] = f"{(message.attempted_at + WINDOW).timestamp():.6f}"
        if thread is None:
            return self._client.conversations_history(**asked, include_all_metadata=True)
        return self._client.conversations_replies(**asked, include_all_metadata=True, ts=thread)


def shown_hash(drawn: Drawn) -> str:
    """Equal for what looks equal."""
    data = json.dumps([drawn.text, drawn.blocks], sort_keys=True, ensure_ascii=True).encode()
    return hashlib.sha256(data).hexdigest()
