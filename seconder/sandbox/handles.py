"""The short-lived handles that Slack hands out with an interaction: trigger ids and response URLs."""

from dataclasses import dataclass

from seconder.sandbox import limits
from seconder.sandbox.refusal import Refused
from seconder.sandbox.storage import Doc
from seconder.sandbox.workspace import Workspace

TRIGGERS_KNOWN_SECONDS = 600


@dataclass
class _Trigger:
    user: str
    view: str | None
    at: float
    used: bool = False


class Handles:
    """Triggers live in memory for three seconds; response URLs are kept, as people answer late."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._triggers: dict[str, _Trigger] = {}

    def trigger(self, user: str, view: str | None = None) -> str:
        """A trigger for what `user` just did; `view` is the modal in which it was done."""
        now = self._workspace.clock()
        self._triggers = {k: t for k, t in self._triggers.items() if now - t.at < TRIGGERS_KNOWN_SECONDS}
        name = f"{int(now * 1000)}.{len(self._triggers)}.{self._workspace.fresh()}"
        self._triggers[name] = _Trigger(user, view, now)
        return name

    def spend(self, trigger: str) -> tuple[str, str | None]:
        """(user, view) of a trigger that is now used up; refuses it late, twice or unknown."""
        found = self._triggers.get(trigger)
        if found is None:
            raise Refused("invalid_trigger_id")
        if found.used:
            raise Refused("exchanged_trigger_id")
        if self._workspace.clock() - found.at > limits.TRIGGER_SECONDS:
            raise Refused("expired_trigger_id")
        found.used = True
        return found.user, found.view

    def response_token(self, channel: str, user: str, *, ts: str | None, private: bool) -> str:
        """The secret part of a response URL about one message, or about none for a command."""
        token = self._workspace.fresh() + self._workspace.fresh()
        body: Doc = {"channel": channel, "user": user, "ts": ts, "private": private, "uses": 0}
        self._workspace.storage.put("response", token, body | {"at": self._workspace.clock()})
        return token

    def respond(self, token: str, body: Doc) -> None:
        """Do what a call of the response URL asks for; the sixth use and the 31st minute are refused."""
        found = self._workspace.storage.get("response", token)
        if found is None:
            raise Refused("no_such_url")
        if self._workspace.clock() - found["at"] > limits.RESPONSE_URL_SECONDS:
            raise Refused("expired_url")
        if found["uses"] >= limits.RESPONSE_URL_USES:
            raise Refused("used_url")
        self._workspace.storage.put("response", token, found | {"uses": found["uses"] + 1})
        self.answer(found, body)

    def answer(self, about: Doc, body: Doc) -> None:
        """Post, replace or delete as `body` says, in the place and for the person of `about`."""
        work = self._workspace
        text, blocks = str(body.get("text") or ""), body.get("blocks")
        if body.get("delete_original") and about["ts"]:
            remove = work.remove_whisper if about["private"] else work.delete
            remove(about["channel"], about["ts"])
            return
        work.check_message(text, blocks)
        if body.get("replace_original") and about["ts"]:
            if about["private"]:
                work.rewrite_whisper(about["channel"], about["ts"], text=text, blocks=blocks)
            else:
                work.update(about["channel"], about["ts"], text=text, blocks=blocks, metadata=body.get("metadata"))
        elif body.get("response_type") == "in_channel":
            work.post(about["channel"], text=text, blocks=blocks, thread_ts=body.get("thread_ts"))
        else:
            work.whisper(about["channel"], about["user"], text=text, blocks=blocks, thread_ts=body.get("thread_ts"))
