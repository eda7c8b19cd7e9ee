"""The workspace's page: one shell, what a person sees as JSON, and a stream of what changed."""

import asyncio
import json
from collections.abc import AsyncIterator
from importlib.resources import files

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, StreamingResponse
from jinja2 import Environment, PackageLoader, select_autoescape
from pydantic import BaseModel, ConfigDict
from starlette.staticfiles import StaticFiles

from seconder.sandbox.people_acts import Acts
from seconder.sandbox.storage import Doc

QUIET_SECONDS = 3.0
QUEUED = 200
CLOSING: Doc = {"closing": True}
POLICY = "default-src 'self'; img-src * data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'"
ROW = ("id", "name", "is_im", "user", "topic", "members")


class Read(BaseModel):
    model_config = ConfigDict(extra="forbid")

    user: str
    channel: str
    ts: str


class Page:
    """`can_advance` shows the button that moves time."""

    def __init__(self, acts: Acts, *, can_advance: bool) -> None:
        self._acts = acts
        self._workspace = acts.workspace
        self._can_advance = can_advance
        self._listeners: set[asyncio.Queue[Doc]] = set()
        templates = Environment(
            loader=PackageLoader("seconder.sandbox", "templates"), autoescape=select_autoescape(default=True)
        )
        self._shell = templates.get_template("index.html")
        self.static = StaticFiles(directory=str(files("seconder.sandbox") / "static"))
        self.router = APIRouter()
        self.router.add_api_route("/", self.shell, methods=["GET"])
        self.router.add_api_route("/archives/{place:path}", self.shell, methods=["GET"])
        self.router.add_api_route("/page/state", self.state, methods=["GET"])
        self.router.add_api_route("/page/channel", self.channel, methods=["GET"])
        self.router.add_api_route("/page/events", self.events, methods=["GET"])
        self.router.add_api_route("/page/read", self.read, methods=["POST"])

    def publish(self, change: Doc) -> None:
        """Tell every open page that something is to be drawn anew."""
        for listener in self._listeners:
            if not listener.full():
                listener.put_nowait(change)

    async def shell(self) -> HTMLResponse:
        shell = self._shell.render(team=self._workspace.seed.team_name)
        return HTMLResponse(shell, headers={"Content-Security-Policy": POLICY, "Cache-Control": "no-store"})

    async def state(self, user: str = "") -> Doc:
        """Everything around the messages: people, channels with unread counts, modals, home, the app's badge."""
        directory, seed = self._workspace.directory, self._workspace.seed
        people = [u for u in directory.people() if not u["is_bot"]]
        viewer = user if any(p["id"] == user for p in people) else people[0]["id"]
        home = self._acts.modals.home(viewer)
        return {
            "team": seed.team_name,
            "app": {"id": seed.app_id, "user": seed.bot_user, "name": seed.bot_name},
            "viewer": viewer,
            "people": directory.people(),
            "groups": directory.groups(),
            "channels": [self._row(c, viewer) for c in directory.channels() if _visible(c, viewer)],
            "modals": [self._acts.modals.shown(v) for v in self._acts.modals.stack(viewer)],
            "home": self._acts.modals.shown(home) if home else None,
            "connected": await self._acts.delivery.connected(),
            "can_advance": self._can_advance,
            "now": self._workspace.now(),
        }

    async def channel(self, user: str, channel: str) -> Doc:
        """The messages of a channel as one person sees them, threads and private replies included."""
        place = self._workspace.directory.channel(channel)
        messages = self._workspace.storage.messages(channel, viewer=user) if _visible(place, user) else []
        return {"channel": channel, "messages": messages}

    async def read(self, body: Read) -> Doc:
        self._workspace.storage.put("read", f"{body.user} {body.channel}", {"ts": body.ts})
        return {"ok": True}

    async def events(self) -> StreamingResponse:
        return StreamingResponse(self._stream(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    async def _stream(self) -> AsyncIterator[str]:
        queue: asyncio.Queue[Doc] = asyncio.Queue(QUEUED)
        self._listeners.add(queue)
        try:
            yield "retry: 700\n\n"
            while True:
                change = await self._next(queue)
                if change == CLOSING:
                    return
                yield f"data: {json.dumps(change)}\n\n"
        finally:
            self._listeners.discard(queue)

    async def _next(self, queue: asyncio.Queue[Doc]) -> Doc:
        try:
            return await asyncio.wait_for(queue.get(), QUIET_SECONDS)
        except TimeoutError:
            return {"connected": await self._acts.delivery.connected()}

    def _row(self, channel: Doc, viewer: str) -> Doc:
        storage = self._workspace.storage
        read = (storage.get("read", f"{viewer} {channel['id']}") or {"ts": "0"})["ts"]
        row = {k: channel[k] for k in ROW if k in channel}
        return row | {"unread": storage.unread(channel["id"], viewer, read), "read": read}


def _visible(channel: Doc, viewer: str) -> bool:
    return not channel.get("is_private") or viewer in channel["members"]
