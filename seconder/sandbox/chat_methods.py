"""chat.*: the app writes."""

from seconder.sandbox import limits
from seconder.sandbox.arguments import Answered, Arguments
from seconder.sandbox.refusal import Refused
from seconder.sandbox.workspace import Workspace


class ChatMethods:
    def __init__(self, workspace: Workspace, url: str) -> None:
        self._workspace = workspace
        self._url = url

    def post(self, call: Arguments) -> Answered:
        channel = self._workspace.channel_for_app(call.required("channel"), by_name=True)
        text = call.text("text")[: limits.MESSAGE_TEXT_KEPT]
        blocks = call.json("blocks", "invalid_blocks_format")
        attachments = call.json("attachments", "invalid_attachments")
        self._workspace.check_message(text, blocks, attachments)
        message = self._workspace.post(
            channel["id"], text=text, blocks=blocks, attachments=attachments,
            metadata=call.json("metadata", "invalid_metadata_format"), thread_ts=call.text("thread_ts") or None,
            broadcast=call.flag("reply_broadcast"),
        )  # fmt: skip
        return {"channel": channel["id"], "ts": message["ts"], "message": message}

    def update(self, call: Arguments) -> Answered:
        channel = self._workspace.channel_for_app(call.required("channel"))
        text, blocks = call.text("text"), call.json("blocks", "invalid_blocks_format")
        attachments = call.json("attachments", "invalid_attachments")
        if len(text) > limits.UPDATE_TEXT:
            raise Refused("msg_too_long")
        self._workspace.check_message(text, blocks, attachments)
        message = self._workspace.update(
            channel["id"], call.required("ts"), text=text, blocks=blocks, attachments=attachments,
            metadata=call.json("metadata", "invalid_metadata_format"),
        )  # fmt: skip
        return {"channel": channel["id"], "ts": message["ts"], "text": text, "message": message}

    def delete(self, call: Arguments) -> Answered:
        channel = self._workspace.directory.channel(call.required("channel"))
        self._workspace.delete(channel["id"], call.required("ts"))
        return {"channel": channel["id"], "ts": call.text("ts")}

    def post_ephemeral(self, call: Arguments) -> Answered:
        channel = self._workspace.channel_for_app(call.required("channel"), by_name=True)
        user = self._workspace.directory.user(call.required("user"))
        if user["id"] not in channel["members"]:
            raise Refused("user_not_in_channel")
        text, blocks = call.text("text"), call.json("blocks", "invalid_blocks_format")
        self._workspace.check_message(text, blocks, call.json("attachments", "invalid_attachments"))
        message = self._workspace.whisper(
            channel["id"], user["id"], text=text, blocks=blocks, thread_ts=call.text("thread_ts") or None
        )
        return {"message_ts": message["ts"]}

    def permalink(self, call: Arguments) -> Answered:
        channel, ts = self._workspace.directory.channel(call.required("channel")), call.required("message_ts")
        found = self._workspace.storage.message(channel["id"], ts)
        if found is None or found[1] is not None:
            raise Refused("message_not_found")
        return {"channel": channel["id"], "permalink": permalink(self._url, channel["id"], ts)}


def permalink(url: str, channel: str, ts: str) -> str:
    """The address under which the page shows one message."""
    return f"{url}/archives/{channel}/p{ts.replace('.', '')}"
