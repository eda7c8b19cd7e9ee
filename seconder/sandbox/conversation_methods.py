"""conversations.*: channels, their members and what was said in them."""

from typing import Any

from seconder.sandbox.arguments import Answered, Arguments
from seconder.sandbox.refusal import Refused
from seconder.sandbox.storage import Doc
from seconder.sandbox.workspace import Workspace


class ConversationMethods:
    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def all(self, call: Arguments) -> Answered:
        kinds = call.names("types") or ["public_channel"]
        without_archived = call.flag("exclude_archived")
        found = [
            self._told(channel)
            for channel in self._workspace.directory.channels()
            if _kind(channel) in kinds and not (without_archived and channel["is_archived"])
        ]
        page, cursor = call.page(found)
        return {"channels": page, "response_metadata": {"next_cursor": cursor}}

    def info(self, call: Arguments) -> Answered:
        channel = self._workspace.directory.channel(call.required("channel"))
        told = self._told(channel)
        if call.flag("include_num_members"):
            told["num_members"] = len(channel["members"])
        return {"channel": told}

    def members(self, call: Arguments) -> Answered:
        page, cursor = call.page(self._workspace.directory.channel(call.required("channel"))["members"])
        return {"members": page, "response_metadata": {"next_cursor": cursor}}

    def open(self, call: Arguments) -> Answered:
        users = call.names("users")
        if call.text("channel"):
            channel = self._workspace.directory.channel(call.text("channel"))
        elif users:
            channel = self._workspace.directory.direct(users)
        else:
            raise Refused("users_list_not_supplied")
        full = self._told(channel)
        return {"channel": full if call.flag("return_im") else {"id": channel["id"]}}

    def join(self, call: Arguments) -> Answered:
        channel = self._workspace.directory.channel(call.required("channel"))
        members = list(dict.fromkeys([*channel["members"], self._workspace.seed.bot_user]))
        return {"channel": self._told(self._workspace.directory.change_channel(channel["id"], members=members))}

    def history(self, call: Arguments) -> Answered:
        channel = self._readable(call)
        found = [m for m in self._workspace.storage.messages(channel["id"]) if _at_top(m)]
        page, cursor = call.page(self._between(call, found)[::-1])
        return self._messages(call, page, cursor)

    def replies(self, call: Arguments) -> Answered:
        channel, ts = self._readable(call), call.required("ts")
        found = self._workspace.storage.message(channel["id"], ts)
        if found is None or found[1] is not None:
            raise Refused("thread_not_found")
        root = found[0].get("thread_ts") or ts
        thread = self._workspace.storage.thread(channel["id"], root)
        replies = self._between(call, thread[1:])
        page, cursor = call.page([*thread[:1], *replies])
        return self._messages(call, page, cursor)

    def _between(self, call: Arguments, messages: list[Doc]) -> list[Doc]:
        oldest, latest = call.text("oldest") or "0", call.text("latest")
        inclusive = call.flag("inclusive")
        return [m for m in messages if _within(float(m["ts"]), float(oldest), float(latest or "inf"), inclusive)]

    def _messages(self, call: Arguments, page: list[Any], cursor: str) -> Answered:
        if not call.flag("include_all_metadata"):
            page = [{k: v for k, v in m.items() if k != "metadata"} for m in page]
        answer: Answered = {"messages": page, "has_more": bool(cursor)}
        return answer | ({"response_metadata": {"next_cursor": cursor}} if cursor else {})

    def _readable(self, call: Arguments) -> Doc:
        channel = self._workspace.directory.channel(call.required("channel"))
        if self._workspace.seed.bot_user not in channel["members"]:
            raise Refused("not_in_channel")
        return channel

    def _told(self, channel: Doc) -> Doc:
        member = self._workspace.seed.bot_user in channel["members"]
        return {k: v for k, v in channel.items() if k != "members"} | {"is_member": member}


def _kind(channel: Doc) -> str:
    if channel.get("is_im"):
        return "im"
    if channel.get("is_mpim"):
        return "mpim"
    return "private_channel" if channel.get("is_private") else "public_channel"


def _at_top(message: Doc) -> bool:
    return message.get("thread_ts") in (None, message["ts"]) or message.get("subtype") == "thread_broadcast"


def _within(ts: float, oldest: float, latest: float, inclusive: bool) -> bool:
    return oldest <= ts <= latest if inclusive else oldest < ts < latest
