"""The control door: JSON under /control/ by which the page, tests and scripts act as people and plan trouble."""

from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from seconder.sandbox.forms import Forms
from seconder.sandbox.journal import Fault, FaultKind, Faults, Rates
from seconder.sandbox.people_acts import Acts
from seconder.sandbox.refusal import Refused
from seconder.sandbox.socket_mode import SocketMode
from seconder.sandbox.storage import Doc


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Press(_Body):
    user: str
    channel: str = ""
    ts: str = ""
    view_id: str | None = None
    action_id: str
    block_id: str | None = None
    value: Any = None
    entry: Doc | None = None
    state: Doc | None = None
    stale: bool = False


class Submit(_Body):
    user: str
    view_id: str | None = None
    values: Doc = Field(default_factory=dict)
    state: Doc | None = None


class Suggest(_Body):
    user: str
    action_id: str
    query: str = ""
    view_id: str | None = None
    channel: str = ""
    ts: str = ""


class Post(_Body):
    user: str
    channel: str
    text: str
    thread_ts: str | None = None


class Command(_Body):
    user: str
    channel: str
    command: str
    text: str = ""


class People(_Body):
    user: str
    group: str | None = None
    member: bool | None = None
    channel: str | None = None
    deleted: bool | None = None
    restricted: bool | None = None
    stranger: bool | None = None


class PlannedFault(_Body):
    method: str = "*"
    kind: FaultKind
    times: int = 1
    retry_after: int = 1


class Advance(_Body):
    seconds: float


class RateSwitch(_Body):
    enabled: bool | None = None
    scale: float | None = Field(default=None, gt=0)


class Who(_Body):
    user: str


class Control:
    """`advance` moves the clock of the app beside us; None where there is none to move."""

    def __init__(
        self, acts: Acts, forms: Forms, *, rates: Rates, faults: Faults, socket: SocketMode | None,
        advance: Callable[[timedelta], None] | None,
    ) -> None:  # fmt: skip
        self._acts, self._forms = acts, forms
        self._workspace, self._modals = acts.workspace, acts.modals
        self._journal, self._rates, self._faults = acts.journal, rates, faults
        self._socket, self._advance = socket, advance
        self.router = APIRouter(prefix="/control")
        for name, call in self._calls().items():
            self.router.add_api_route(f"/{name}", call, methods=["POST"], response_model=None)
        for name, read in self._reads().items():
            self.router.add_api_route(f"/{name}", read, methods=["GET"], response_model=None)

    def _calls(self) -> dict[str, Callable[..., Coroutine[Any, Any, Any]]]:
        return {
            "press": self.press, "submit": self.submit, "close": self.close, "suggest": self.suggest,
            "post": self.post, "command": self.command, "home": self.open_home, "people": self.people,
            "faults": self.faults, "advance": self.advance, "rates": self.rates, "refresh": self.refresh,
        }  # fmt: skip

    def _reads(self) -> dict[str, Callable[..., Coroutine[Any, Any, Any]]]:
        return {
            "modals": self.modals, "messages": self.messages, "ephemerals": self.ephemerals, "log": self.log,
            "home": self.home, "status": self.status,
        }  # fmt: skip

    async def press(self, body: Press) -> Doc:
        if body.view_id:
            return await self._acts.press_in_view(
                body.user, body.view_id, body.action_id, block_id=body.block_id, value=body.value,
                entry=body.entry, typed=body.state,
            )  # fmt: skip
        return await self._acts.press(
            body.user, body.channel, body.ts, body.action_id, block_id=body.block_id, value=body.value,
            entry=body.entry, stale=body.stale, state=body.state,
        )  # fmt: skip

    async def submit(self, body: Submit) -> Doc:
        return await self._forms.submit(body.user, body.view_id, values=body.values, state=body.state)

    async def close(self, body: Who) -> Doc:
        return await self._forms.close(body.user)

    async def suggest(self, body: Suggest) -> Doc:
        if body.view_id:
            view = self._modals.shown(self._modals.view(body.view_id))
            place, blocks = self._acts.payloads.view_place(view), view["blocks"]
        else:
            channel = self._workspace.directory.channel_named(body.channel)
            found = self._workspace.storage.message(channel["id"], body.ts)
            if found is None:
                raise Refused("message_not_found")
            place = self._acts.payloads.message_place(channel, found[0], private=found[1] is not None)
            blocks = found[0].get("blocks", [])
        return await self._acts.suggest(body.user, body.action_id, body.query, place=place, blocks=blocks)

    async def post(self, body: Post) -> Doc:
        return await self._acts.write(body.user, body.channel, body.text, body.thread_ts)

    async def command(self, body: Command) -> Doc:
        return await self._acts.command(body.user, body.channel, body.command, body.text)

    async def open_home(self, body: Who) -> Doc:
        return await self._acts.open_home(body.user)

    async def people(self, body: People) -> Doc:
        """Change a person or their groups and channels; the app hears of it as from Slack."""
        directory = self._workspace.directory
        user: str = directory.user_named(body.user)["id"]
        flags = {"deleted": body.deleted, "is_restricted": body.restricted, "is_stranger": body.stranger}
        changes = {name: value for name, value in flags.items() if value is not None}
        if changes:
            changed = directory.change_user(user, **changes)
            self._acts.tell({"type": "user_change", "user": changed, "event_ts": f"{self._workspace.now():.6f}"})
        member = body.member is not False
        if body.group:
            self._regroup(body.group, user, member)
        if body.channel:
            place = directory.channel_named(body.channel)
            directory.change_channel(place["id"], members=_with(place["members"], user, member))
        self._workspace.changed({})
        return directory.user(user)

    def _regroup(self, group: str, user: str, member: bool) -> None:
        before = self._workspace.directory.group(group)
        after = self._workspace.directory.change_group(before["id"], _with(before["users"], user, member))
        added = [u for u in after["users"] if u not in before["users"]]
        removed = [u for u in before["users"] if u not in after["users"]]
        now = int(self._workspace.now())
        self._acts.tell({"type": "subteam_updated", "subteam": after, "event_ts": f"{now}.000100"})
        self._acts.tell({
            "type": "subteam_members_changed", "subteam_id": after["id"], "team_id": self._workspace.seed.team_id,
            "date_previous_update": before["date_update"], "date_update": now, "added_users": added,
            "added_users_count": len(added), "removed_users": removed, "removed_users_count": len(removed),
            "event_ts": f"{now}.000200",
        })  # fmt: skip

    async def faults(self, body: PlannedFault) -> Doc:
        """Plan `times` faults; 0 forgets every plan."""
        if body.times <= 0:
            self._faults.clear()
        else:
            self._faults.plan(Fault(**body.model_dump()))
        return {"ok": True}

    async def advance(self, body: Advance) -> Any:
        if self._advance is None:
            return JSONResponse({"ok": False, "error": "nothing_to_advance"}, status_code=409)
        await run_in_threadpool(self._advance, timedelta(seconds=body.seconds))
        self._workspace.advance(body.seconds)
        return {"ok": True, "now": self._workspace.now()}

    async def rates(self, body: RateSwitch) -> Doc:
        if body.enabled is not None:
            self._rates.enabled = body.enabled
        if body.scale is not None:
            self._rates.scale = body.scale
        return {"ok": True, "enabled": self._rates.enabled, "scale": self._rates.scale}

    async def refresh(self) -> Doc:
        """Tell the app's connections to come back."""
        return {"ok": True, "told": await self._socket.refresh() if self._socket else 0}

    async def modals(self, user: str) -> list[Doc]:
        person = self._workspace.directory.user_named(user)
        return [self._modals.shown(view) for view in self._modals.stack(person["id"])]

    async def home(self, user: str) -> Doc | None:
        view = self._modals.home(self._workspace.directory.user_named(user)["id"])
        return self._modals.shown(view) if view else None

    async def messages(self, channel: str) -> list[Doc]:
        """Oldest first, each with its `replies`; without private ones and tombstones."""
        place = self._workspace.directory.channel_named(channel)
        everything = self._workspace.storage.messages(place["id"])
        shown = [m for m in everything if m.get("subtype") != "tombstone"]
        tops = [m for m in everything if m.get("thread_ts") in (None, m["ts"])]
        replies: dict[str, list[Doc]] = {}
        for message in shown:
            if message.get("thread_ts") not in (None, message["ts"]):
                replies.setdefault(message["thread_ts"], []).append(message)
        return [m | {"channel": place["id"], "replies": replies.get(m["ts"], [])} for m in tops if m in shown]

    async def ephemerals(self, user: str) -> list[Doc]:
        person = self._workspace.directory.user_named(user)
        found = self._workspace.storage.ephemerals(person["id"])
        return [message | {"channel": channel} for channel, message in found]

    async def log(self) -> list[Doc]:
        return list(self._journal.entries)

    async def status(self) -> Doc:
        connected = await self._acts.delivery.connected()
        return {"connected": connected, "now": self._workspace.now(), "can_advance": self._advance is not None}


async def refused(_request: Request, error: Exception) -> JSONResponse:
    """The control door's answer to what cannot be done: 404 for what is not there, else 400."""
    word = error.error if isinstance(error, Refused) else str(error)
    missing = word.endswith("not_found") or word.startswith("no_such")
    told = {"ok": False, "acked": False, "error": word}
    if isinstance(error, Refused) and error.messages:
        told["messages"] = list(error.messages)
    return JSONResponse(told, status_code=404 if missing else 400)


def _with(members: list[str], user: str, member: bool) -> list[str]:
    rest = [m for m in members if m != user]
    return [*rest, user] if member else rest
