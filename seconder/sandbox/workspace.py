"""The workspace: messages, private replies, and everything that has an id or a moment.

All methods run on the server's loop, one after another; each is finished on disk when it returns.
"""

from collections.abc import Callable
from typing import Any

from seconder.sandbox import blocks as kit
from seconder.sandbox import limits
from seconder.sandbox.directory import Directory
from seconder.sandbox.refusal import Refused
from seconder.sandbox.seed import Seed
from seconder.sandbox.storage import Doc, Storage

THREAD_FIELDS = frozenset({"thread_ts", "reply_count", "latest_reply", "reply_users", "reply_users_count"})


class Workspace:
    """`clock` is in epoch seconds; `fresh` gives a new random hexadecimal string at each call.

    `changed` is called with what a page may want to draw anew: `{"channel": …}`, `{"user": …}` or `{}`.
    """

    def __init__(self, storage: Storage, seed: Seed, *, clock: Callable[[], float], fresh: Callable[[], str]) -> None:
        self.storage = storage
        self.seed = seed
        self._clock = clock
        self.fresh = fresh
        self.changed: Callable[[Doc], None] = lambda _: None
        self.directory = Directory(storage, seed, self.now)
        self._last_ts = storage.last_ts()

    def clock(self) -> float:
        """Epoch seconds, not moved by `advance`."""
        return self._clock()

    def now(self) -> float:
        """Epoch seconds as the workspace shows them: the clock plus what was advanced."""
        return self._clock() + float((self.storage.get("meta", "offset") or {"seconds": 0})["seconds"])

    def advance(self, seconds: float) -> None:
        """From now on the workspace's time is that much later."""
        offset = (self.storage.get("meta", "offset") or {"seconds": 0})["seconds"]
        self.storage.put("meta", "offset", {"seconds": offset + seconds})
        self.changed({})

    def next_ts(self) -> str:
        """A message timestamp later than every one before it."""
        ts = f"{self.now():.6f}"
        if ts <= self._last_ts:
            whole, part = self._last_ts.split(".")
            micros = int(whole) * 1_000_000 + int(part) + 1
            ts = f"{micros // 1_000_000}.{micros % 1_000_000:06d}"
        self._last_ts = ts
        return ts

    def channel_for_app(self, channel: str, *, by_name: bool = False) -> Doc:
        """A channel in which the app may write; refuses as Slack does."""
        found = self.directory.channel_named(channel) if by_name else self.directory.channel(channel)
        if self.seed.bot_user not in found["members"]:
            raise Refused("not_in_channel")
        if found["is_archived"]:
            raise Refused("is_archived")
        return found

    def post(
        self, channel: str, *, text: str, blocks: list[Any] | None, metadata: Doc | None = None,
        thread_ts: str | None = None, broadcast: bool = False, attachments: list[Any] | None = None,
    ) -> Doc:  # fmt: skip
        """The app writes a message everybody in the channel sees."""
        body = self._by_app(text, blocks, attachments)
        if metadata:
            body["metadata"] = _metadata(metadata)
        if thread_ts:
            body["thread_ts"] = self._root(channel, thread_ts)
            if broadcast:
                body["subtype"] = "thread_broadcast"
        return self._add(channel, body)

    def write(self, channel: str, user: str, text: str, thread_ts: str | None = None) -> Doc:
        """A person writes a message."""
        body: Doc = {
            "type": "message", "user": user, "text": text, "ts": self.next_ts(), "team": self.seed.team_id,
            "client_msg_id": self.fresh(),
        }  # fmt: skip
        if text:
            body["blocks"] = [_as_rich_text(text, self.fresh()[:5])]
        if thread_ts:
            body["thread_ts"] = self._root(channel, thread_ts)
        return self._add(channel, body)

    def whisper(
        self, channel: str, user: str, *, text: str, blocks: list[Any] | None, thread_ts: str | None = None
    ) -> Doc:
        """The app writes a message that only `user` sees."""
        body = self._by_app(text, blocks, None)
        if thread_ts:
            body["thread_ts"] = thread_ts
        self.storage.add_message(channel, body, viewer=user)
        self.changed({"channel": channel, "user": user})
        return body

    def update(
        self, channel: str, ts: str, *, text: str, blocks: list[Any] | None, metadata: Doc | None,
        attachments: list[Any] | None = None,
    ) -> Doc:  # fmt: skip
        """Rewrite one of the app's own messages; without blocks it has none afterwards."""
        body = self._own(channel, ts, "cant_update_message")
        for field in ("blocks", "attachments"):
            body.pop(field, None)
        body["text"] = text
        if blocks:
            body["blocks"] = self._named(blocks)
        if attachments:
            body["attachments"] = attachments
        if metadata is not None:
            body["metadata"] = _metadata(metadata)
        body["edited"] = {"user": self.seed.bot_user, "ts": f"{self.now():.6f}"}
        self.storage.replace_message(channel, body)
        self.changed({"channel": channel})
        return body

    def delete(self, channel: str, ts: str) -> None:
        """The message is gone; where it has replies a tombstone keeps its place."""
        body = self._own(channel, ts, "cant_delete_message")
        if body.get("reply_count"):
            kept = {k: body[k] for k in ("type", "ts", "thread_ts", "reply_count", "reply_users", "latest_reply")}
            stone = kept | {"subtype": "tombstone", "user": "USLACKBOT", "text": "This message was deleted."}
            self.storage.replace_message(channel, stone)
        else:
            self.storage.delete_message(channel, ts)
        if body.get("thread_ts") not in (None, ts):
            self._count_replies(channel, body["thread_ts"])
        self.changed({"channel": channel})

    def remove_whisper(self, channel: str, ts: str) -> None:
        self.storage.delete_message(channel, ts)
        self.changed({"channel": channel})

    def rewrite_whisper(self, channel: str, ts: str, *, text: str, blocks: list[Any] | None) -> None:
        """Only a response_url can do this."""
        found = self.storage.message(channel, ts)
        if found is None:
            raise Refused("message_not_found")
        body = found[0] | {"text": text, "blocks": self._named(blocks or [])}
        self.storage.replace_message(channel, body)
        self.changed({"channel": channel})

    def check_message(self, text: str, blocks: object, attachments: object = None) -> None:
        """Raises: Refused, with Slack's word and pointers, for a message that Slack would not take."""
        if not text and not blocks and not attachments:
            raise Refused("no_text")
        if isinstance(attachments, list) and len(attachments) > limits.ATTACHMENTS:
            raise Refused("too_many_attachments")
        if not blocks:
            return
        faults = kit.faults(blocks, "message")
        if faults:
            raise Refused("invalid_blocks", faults)
        if kit.total_text(blocks) > limits.ALL_TEXT_OF_A_MESSAGE:
            raise Refused("msg_blocks_too_long")
        if kit.table_text(blocks) > limits.TABLE_TEXT:
            raise Refused("invalid_blocks", ["[ERROR] table text is too long [json-pointer:/blocks]"])

    def _by_app(self, text: str, blocks: list[Any] | None, attachments: list[Any] | None) -> Doc:
        seed = self.seed
        body: Doc = {
            "type": "message", "user": seed.bot_user, "bot_id": seed.bot_id, "app_id": seed.app_id, "text": text,
            "ts": self.next_ts(), "team": seed.team_id,
            "bot_profile": {
                "id": seed.bot_id, "app_id": seed.app_id, "user_id": seed.bot_user, "name": seed.bot_name,
                "deleted": False, "updated": 0, "team_id": seed.team_id, "icons": {},
            },
        }  # fmt: skip
        if blocks:
            body["blocks"] = self._named(blocks)
        if attachments:
            body["attachments"] = attachments
        return body

    def _named(self, blocks: list[Any]) -> list[Any]:
        """Blocks and interactive elements without an id get one."""
        return [name_block(block, self.fresh) for block in blocks]

    def _add(self, channel: str, body: Doc) -> Doc:
        self.storage.add_message(channel, body)
        root = body.get("thread_ts")
        if root:
            self._count_replies(channel, root)
        self.changed({"channel": channel})
        return body

    def _count_replies(self, channel: str, root: str) -> None:
        found = self.storage.message(channel, root)
        if found is None:
            return
        replies = [m for m in self.storage.thread(channel, root) if m["ts"] != root]
        body = {k: v for k, v in found[0].items() if k not in THREAD_FIELDS}
        if replies:
            users = list(dict.fromkeys(m["user"] for m in replies))
            body |= {"thread_ts": root, "reply_count": len(replies), "latest_reply": replies[-1]["ts"]}
            body |= {"reply_users": users, "reply_users_count": len(users)}
        self.storage.touch_message(channel, body)

    def _root(self, channel: str, ts: str) -> str:
        found = self.storage.message(channel, ts)
        if found is None:
            raise Refused("thread_not_found")
        return str(found[0].get("thread_ts") or ts)

    def _own(self, channel: str, ts: str, error: str) -> Doc:
        found = self.storage.message(channel, ts)
        if found is None or found[1] is not None or found[0].get("subtype") == "tombstone":
            raise Refused("message_not_found")
        if found[0].get("user") != self.seed.bot_user:
            raise Refused(error)
        return found[0]


def name_block(value: Any, fresh: Callable[[], str], *, top: bool = True) -> Any:
    """A copy in which every block has a `block_id` and every interactive element an `action_id`."""
    if isinstance(value, list):
        return [name_block(v, fresh, top=top) for v in value]
    if not isinstance(value, dict):
        return value
    named = {k: name_block(v, fresh, top=k == "child_blocks") for k, v in value.items()}
    if top and "block_id" not in named:
        named["block_id"] = fresh()[:5]
    interactive = str(named.get("type", "")) in INTERACTIVE
    if interactive and "action_id" not in named:
        named["action_id"] = fresh()[:5]
    return named


INTERACTIVE = frozenset({
    "button", "icon_button", "overflow", "static_select", "external_select", "users_select", "channels_select",
    "conversations_select", "multi_static_select", "multi_external_select", "multi_users_select",
    "multi_channels_select", "multi_conversations_select", "checkboxes", "radio_buttons", "datepicker", "timepicker",
    "datetimepicker", "plain_text_input", "number_input", "email_text_input", "url_text_input", "rich_text_input",
    "file_input", "feedback_buttons", "workflow_button",
})  # fmt: skip


def _metadata(metadata: Doc) -> Doc:
    if not isinstance(metadata.get("event_type"), str) or not isinstance(metadata.get("event_payload"), dict):
        raise Refused("invalid_metadata_format")
    if len(repr(metadata)) > limits.METADATA_BYTES:
        raise Refused("metadata_too_large")
    return {"event_type": metadata["event_type"], "event_payload": metadata["event_payload"]}


def _as_rich_text(text: str, block_id: str) -> Doc:
    section = {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
    return {"type": "rich_text", "block_id": block_id, "elements": [section]}
