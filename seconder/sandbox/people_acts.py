"""What a person does in the workspace, told to the app and answered as Slack answers."""

import asyncio
from typing import Any

from seconder.sandbox import entries
from seconder.sandbox.delivery import Answer, Delivery, Kind
from seconder.sandbox.entries import State
from seconder.sandbox.handles import Handles
from seconder.sandbox.journal import Journal
from seconder.sandbox.modals import Modals
from seconder.sandbox.payloads import Payloads
from seconder.sandbox.refusal import Refused
from seconder.sandbox.storage import Doc
from seconder.sandbox.workspace import Workspace

RETRY_AFTER = (0.0, 60.0, 300.0)
TROUBLE = "We had some trouble connecting. Try again?"


class Acts:
    """`url` is the workspace's own address, for response URLs."""

    def __init__(self, workspace: Workspace, delivery: Delivery, journal: Journal, *, url: str) -> None:
        self.workspace = workspace
        self.delivery = delivery
        self.handles = Handles(workspace)
        self.modals = Modals(workspace, self.handles)
        self.payloads = Payloads(workspace)
        self.url = url
        self.journal = journal
        self._retries: set[asyncio.Task[None]] = set()

    async def press(
        self, user: str, channel: str, ts: str, action_id: str, *, block_id: str | None = None,
        value: Any = None, entry: Doc | None = None, stale: bool = False, state: State | None = None,
    ) -> Doc:  # fmt: skip
        """Press or choose in a message; `stale` presses what an earlier version of it showed.

        Raises: Refused `message_not_found`, `no_such_action`, `user_not_found`, `channel_not_found`.
        """
        person, place = self._active(user), self.workspace.directory.channel_named(channel)
        self._may_see(place, person)
        message, private, block, element = self._find(place["id"], ts, person["id"], action_id, block_id, value, stale)
        held = _held(element, value, entry)
        response = self.handles.response_token(place["id"], person["id"], ts=ts, private=private)
        values = entries.state(message.get("blocks", []), state)
        if held is not None and element["type"] in entries.HELD:
            values[block["block_id"]][element["action_id"]] = held
        payload = self.payloads.block_actions(
            person, self.payloads.action(block, element, held), trigger=self.handles.trigger(person["id"]),
            place=self.payloads.message_place(place, message, private=private), state=values,
            response_url=f"{self.url}/response/{response}",
        )  # fmt: skip
        return _told(await self.send("interactive", payload))

    async def press_in_view(
        self, user: str, view_id: str, action_id: str, *, block_id: str | None = None, value: Any = None,
        entry: Doc | None = None, typed: State | None = None,
    ) -> Doc:  # fmt: skip
        """Press or choose in a modal or the App Home; `typed` is what the person has entered so far."""
        person, view = self._active(user), self.modals.view(view_id)
        block, element = _pick(view["blocks"], action_id, block_id, None)
        held = _held(element, value, entry)
        known = typed or {}
        if held is not None and element["type"] in entries.HELD:
            known.setdefault(block["block_id"], {})[element["action_id"]] = held
        self.modals.type_in(view_id, known)
        trigger = self.handles.trigger(person["id"], view_id)
        payload = self.payloads.block_actions(
            person, self.payloads.action(block, element, held), trigger=trigger,
            place=self.payloads.view_place(self.modals.shown(view)), state={},
        )  # fmt: skip
        return _told(await self.send("interactive", payload))

    async def suggest(self, user: str, action_id: str, query: str, *, place: Doc, blocks: list[Any]) -> Doc:
        """The options of an external select for what was typed so far."""
        person = self._active(user)
        block, element = _pick(blocks, action_id, None, None)
        payload = self.payloads.block_suggestion(person, place, block["block_id"], element["action_id"], query)
        answer = await self.send("interactive", payload)
        body = answer.body if isinstance(answer.body, dict) else {}
        return _told(answer) | {"options": body.get("options", []), "option_groups": body.get("option_groups", [])}

    async def write(self, user: str, channel: str, text: str, thread_ts: str | None = None) -> Doc:
        """A person writes; the app hears of it when it is a member."""
        person, place = self._active(user), self.workspace.directory.channel_named(channel)
        self._may_see(place, person)
        message = self.workspace.write(place["id"], person["id"], text, thread_ts)
        if self.workspace.seed.bot_user in place["members"]:
            self.tell(self.payloads.message_event(place, message))
            if f"<@{self.workspace.seed.bot_user}>" in text:
                event = {"type": "app_mention", **{k: message[k] for k in ("user", "text", "ts", "team")}}
                self.tell({**message, **event, "channel": place["id"], "event_ts": message["ts"]})
        return message | {"channel": place["id"]}

    async def command(self, user: str, channel: str, command: str, text: str) -> Doc:
        """A slash command; what the app answers at once is shown to the person."""
        person, place = self._active(user), self.workspace.directory.channel_named(channel)
        token = self.handles.response_token(place["id"], person["id"], ts=None, private=True)
        trigger = self.handles.trigger(person["id"])
        payload = self.payloads.command(
            person, place, command, text, trigger=trigger, response_url=f"{self.url}/response/{token}"
        )
        answer = await self.send("slash_commands", payload)
        body = {"text": answer.body} if isinstance(answer.body, str) else answer.body
        if answer.acked and isinstance(body, dict) and (body.get("text") or body.get("blocks")):
            about = {"channel": place["id"], "user": person["id"], "ts": None, "private": True}
            self.handles.answer(about, body)
        return _told(answer)

    async def open_home(self, user: str) -> Doc:
        """Open the app's Home tab; the app is told and may publish a view."""
        person = self._active(user)
        direct = self.workspace.directory.direct([person["id"]])
        view = self.modals.home(person["id"])
        shown = self.modals.shown(view) if view else None
        self.tell(self.payloads.home_opened(person["id"], direct["id"], shown))
        return {"channel": direct["id"], "view": shown}

    def tell(self, event: Doc) -> None:
        """Send an event in the background, and again where it is not acknowledged."""
        task = asyncio.get_running_loop().create_task(self._deliver(self.payloads.event(event)))
        self._retries.add(task)
        task.add_done_callback(self._retries.discard)

    async def send(self, kind: Kind, payload: Doc, *, retry: tuple[int, str] | None = None) -> Answer:
        """Deliver one payload and note it in the journal."""
        answer = await self.delivery.send(kind, payload, retry=retry)
        what = payload.get("event", payload)
        self.journal.add(
            "delivery", type=kind, what=what.get("type") or payload.get("command"), acked=answer.acked,
            status=answer.status, error=answer.error, retry=retry[0] if retry else 0, payload=payload,
            answer=answer.body,
        )  # fmt: skip
        return answer

    def cancel(self) -> None:
        """Give up events that are still to be retried."""
        for task in self._retries:
            task.cancel()

    async def _deliver(self, payload: Doc) -> None:
        answer = await self.send("events_api", payload)
        for number, pause in enumerate(RETRY_AFTER, start=1):
            if answer.acked or answer.no_retry:
                return
            await asyncio.sleep(pause)
            reason = "http_timeout" if answer.error == "timeout" else "http_error"
            answer = await self.send("events_api", payload, retry=(number, reason))

    def _active(self, user: str) -> Doc:
        person = self.workspace.directory.user_named(user)
        if person["deleted"]:
            raise Refused("account_inactive")
        return person

    def _may_see(self, channel: Doc, person: Doc) -> None:
        if channel.get("is_private") and person["id"] not in channel["members"]:
            raise Refused("channel_not_found")

    def _find(
        self, channel: str, ts: str, user: str, action_id: str, block_id: str | None, value: Any, stale: bool
    ) -> tuple[Doc, bool, Doc, Doc]:
        found = self.workspace.storage.message(channel, ts)
        if found and found[1] not in (None, user):
            raise Refused("message_not_found")
        versions = [found[0]] if found else []
        if stale:
            versions += self.workspace.storage.past(channel, ts)
        if not versions:
            raise Refused("message_not_found")
        for version in versions:
            try:
                block, element = _pick(version.get("blocks", []), action_id, block_id, value)
            except Refused:
                continue
            return version, bool(found and found[1]), block, element
        raise Refused("no_such_action")


def _pick(blocks: list[Any], action_id: str, block_id: str | None, value: Any) -> tuple[Doc, Doc]:
    for block, element in entries.elements(blocks):
        if element["action_id"] != action_id or block_id not in (None, block["block_id"]):
            continue
        if element["type"] == "button" and value not in (None, element.get("value")):
            continue
        return block, element
    raise Refused("no_such_action")


def _held(element: Doc, value: Any, entry: Doc | None) -> Doc | None:
    if element["type"] == "overflow":
        chosen = entry["selected_option"] if entry else _overflow(element, value)
        return {"type": "overflow", "selected_option": chosen}
    if element["type"] not in entries.HELD:
        return None
    return entry if entry is not None else entries.entry(element, value)


def _overflow(element: Doc, value: Any) -> Doc:
    for option in element["options"]:
        if option.get("value") == value:
            return dict(option)
    raise Refused("no_such_option")


def _told(answer: Answer) -> Doc:
    told: Doc = {"acked": answer.acked, "status": answer.status}
    return told if answer.acked else told | {"error": answer.error}
