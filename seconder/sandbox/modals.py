"""Views: each person's stack of modals and their App Home."""

from typing import Any

from seconder.sandbox import blocks as kit
from seconder.sandbox import entries, limits
from seconder.sandbox.entries import State
from seconder.sandbox.handles import Handles
from seconder.sandbox.refusal import Refused
from seconder.sandbox.storage import Doc
from seconder.sandbox.workspace import Workspace, name_block


class Modals:
    """Opens, stacks, changes and closes views; refuses what Slack refuses."""

    def __init__(self, workspace: Workspace, handles: Handles) -> None:
        self._workspace = workspace
        self._storage = workspace.storage
        self._handles = handles

    def open(self, trigger: str, view: Doc) -> Doc:
        """A new modal on an empty stack; whatever was open is closed."""
        self.check(view, "modal")
        user, _ = self._handles.spend(trigger)
        for old in self.stack(user):
            self._forget(old["id"])
        return self._add(user, view, [])

    def push(self, trigger: str, view: Doc) -> Doc:
        """A modal on top of the one in which the trigger was made."""
        self.check(view, "modal")
        user, _ = self._handles.spend(trigger)
        return self.put_on_top(user, view)

    def put_on_top(self, user: str, view: Doc) -> Doc:
        self.check(view, "modal")
        stack = self.stack(user)
        if not stack:
            raise Refused("invalid_trigger_id")
        if len(stack) >= limits.VIEW_STACK:
            raise Refused("push_limit_reached")
        return self._add(user, view, stack)

    def update(self, view: Doc, *, view_id: str | None, external_id: str | None, seen: str | None) -> Doc:
        """The same modal with another content; what was typed stays where block and action are the same.

        `seen` is the hash that the app last saw; another one is refused.
        """
        found = self._find(view_id, external_id)
        self.check(view, found["type"], replaces=found["id"])
        if seen and seen != found["hash"]:
            raise Refused("hash_conflict")
        return self._store(found["_user"], {**self._filled(view, found), "id": found["id"]})

    def publish(self, user: str, view: Doc, seen: str | None) -> Doc:
        """The App Home of one person."""
        self._workspace.directory.user(user)
        self.check(view, "home")
        old = self.home(user)
        if seen and old and seen != old["hash"]:
            raise Refused("hash_conflict")
        name = old["id"] if old else self._new_id()
        filled = self._filled(view, {"id": name, "root_view_id": name, "previous_view_id": None})
        stored = self._store(user, {**filled, "id": name})
        self._storage.put("home", user, {"view": name})
        return stored

    def home(self, user: str) -> Doc | None:
        kept = self._storage.get("home", user)
        return self._storage.get("view", kept["view"]) if kept else None

    def stack(self, user: str) -> list[Doc]:
        """The open modals of a person, the one on top last."""
        names = (self._storage.get("stack", user) or {"views": []})["views"]
        return [view for name in names if (view := self._storage.get("view", name))]

    def view(self, view_id: str) -> Doc:
        return self._find(view_id, None)

    def close_top(self, user: str) -> list[Doc]:
        """Take the modal on top away, or all of them where it clears on close; what was closed, topmost first."""
        stack = self.stack(user)
        if not stack:
            return []
        closed = [stack[-1]]
        if stack[-1].get("clear_on_close"):
            closed = stack[::-1]
        self._keep(user, stack[: len(stack) - len(closed)])
        return closed

    def remove(self, user: str, view_id: str) -> None:
        """Take one modal away; the ones below and above stay."""
        self._keep(user, [view for view in self.stack(user) if view["id"] != view_id])

    def clear(self, user: str) -> None:
        self._keep(user, [])

    def typed(self, view_id: str) -> State:
        return self._storage.get("typed", view_id) or {}

    def type_in(self, view_id: str, values: State) -> None:
        """Remember what a person has entered so far; other fields keep what they had."""
        kept = self.typed(view_id)
        for block, actions in values.items():
            kept.setdefault(block, {}).update(actions)
        self._storage.put("typed", view_id, kept)

    def shown(self, view: Doc) -> Doc:
        """The view as payloads and answers carry it, with the state of its inputs."""
        public = {k: v for k, v in view.items() if not k.startswith("_")}
        return public | {"state": {"values": entries.state(view["blocks"], self.typed(view["id"]))}}

    def check(self, view: Any, surface: str, *, replaces: str | None = None) -> None:
        """Raises: Refused, with pointers, for a view that Slack would not take on this surface."""
        if not isinstance(view, dict) or view.get("type") != surface:
            raise Refused("invalid_arguments", [f"[ERROR] must be a {surface} view [json-pointer:/view]"])
        faults = kit.view_faults(view)
        if faults:
            raise Refused("invalid_arguments", faults)
        if len(repr(view)) > limits.VIEW_BYTES:
            raise Refused("view_too_large")
        external = view.get("external_id")
        taken = {v["id"] for v in self._storage.all("view") if external and v["external_id"] == external}
        if taken - {replaces}:
            raise Refused("duplicate_external_id")

    def _add(self, user: str, view: Doc, stack: list[Doc]) -> Doc:
        name = self._new_id()
        about = {
            "id": name,
            "root_view_id": stack[0]["id"] if stack else name,
            "previous_view_id": stack[-1]["id"] if stack else None,
        }
        stored = self._store(user, {**self._filled(view, about), "id": name})
        self._storage.put("stack", user, {"views": [*(v["id"] for v in stack), name]})
        self._workspace.changed({"user": user})
        return stored

    def _filled(self, view: Doc, about: Doc) -> Doc:
        seed = self._workspace.seed
        return {
            "team_id": seed.team_id, "type": view["type"],
            "blocks": name_block(view["blocks"], self._workspace.fresh),
            "private_metadata": view.get("private_metadata", ""), "callback_id": view.get("callback_id", ""),
            "title": view.get("title"), "clear_on_close": bool(view.get("clear_on_close")),
            "notify_on_close": bool(view.get("notify_on_close")), "close": view.get("close"),
            "submit": view.get("submit"), "previous_view_id": about["previous_view_id"],
            "root_view_id": about["root_view_id"], "app_id": seed.app_id,
            "external_id": view.get("external_id", ""), "app_installed_team_id": seed.team_id, "bot_id": seed.bot_id,
        }  # fmt: skip

    def _store(self, user: str, view: Doc) -> Doc:
        stamp = f"{self._workspace.clock():.0f}.{self._workspace.fresh()[:8]}"
        stored = view | {"hash": stamp, "_user": user}
        self._storage.put("view", view["id"], stored)
        self._workspace.changed({"user": user})
        return stored

    def _find(self, view_id: str | None, external_id: str | None) -> Doc:
        if view_id:
            found = self._storage.get("view", view_id)
            if found:
                return found
        for view in self._storage.all("view"):
            if external_id and view["external_id"] == external_id:
                return view
        raise Refused("not_found")

    def _keep(self, user: str, stack: list[Doc]) -> None:
        kept = [v["id"] for v in stack]
        for view in self.stack(user):
            if view["id"] not in kept:
                self._forget(view["id"])
        self._storage.put("stack", user, {"views": kept})
        self._workspace.changed({"user": user})

    def _forget(self, view_id: str) -> None:
        self._storage.drop("view", view_id)
        self._storage.drop("typed", view_id)

    def _new_id(self) -> str:
        return f"V0{self._workspace.fresh()[:9].upper()}"
