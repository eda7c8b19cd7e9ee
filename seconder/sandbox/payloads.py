"""Interaction and event payloads in the shapes in which Slack sends them."""

from typing import Any

from seconder.sandbox.entries import State
from seconder.sandbox.storage import Doc
from seconder.sandbox.workspace import Workspace

TOKEN = "sandbox-verification-token"  # noqa: S105  made up


class Payloads:
    """Builds payloads about one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._seed = workspace.seed

    def block_actions(
        self, user: Doc, action: Doc, *, trigger: str, place: Doc, state: State, response_url: str | None = None
    ) -> Doc:
        """A press; `place` holds container, and channel and message, or view."""
        payload = self._interaction("block_actions", user) | {"trigger_id": trigger} | place
        if response_url:
            payload["response_url"] = response_url
        if "view" not in place:
            payload["state"] = {"values": state}
        return payload | {"actions": [action]}

    def view_submission(self, user: Doc, view: Doc, trigger: str) -> Doc:
        return self._interaction("view_submission", user) | {
            "trigger_id": trigger, "view": view, "response_urls": [],
        }  # fmt: skip

    def view_closed(self, user: Doc, view: Doc, *, cleared: bool) -> Doc:
        return self._interaction("view_closed", user) | {"view": view, "is_cleared": cleared}

    def block_suggestion(self, user: Doc, place: Doc, block_id: str, action_id: str, value: str) -> Doc:
        asked = {"action_id": action_id, "block_id": block_id, "value": value}
        return self._interaction("block_suggestion", user) | asked | place

    def command(self, user: Doc, channel: Doc, command: str, text: str, *, trigger: str, response_url: str) -> Doc:
        seed = self._seed
        return {
            "token": TOKEN, "team_id": seed.team_id, "team_domain": seed.domain, "channel_id": channel["id"],
            "channel_name": channel.get("name", "directmessage"), "user_id": user["id"], "user_name": user["name"],
            "command": command, "text": text, "api_app_id": seed.app_id, "is_enterprise_install": "false",
            "response_url": response_url, "trigger_id": trigger,
        }  # fmt: skip

    def event(self, event: Doc) -> Doc:
        """An Events API callback around one event."""
        seed, work = self._seed, self._workspace
        return {
            "token": TOKEN, "team_id": seed.team_id, "context_team_id": seed.team_id,
            "context_enterprise_id": None, "api_app_id": seed.app_id, "event": event, "type": "event_callback",
            "event_id": f"Ev0{work.fresh()[:10].upper()}", "event_time": int(work.now()),
            "authorizations": [{
                "enterprise_id": None, "team_id": seed.team_id, "user_id": seed.bot_user, "is_bot": True,
                "is_enterprise_install": False,
            }],
            "is_ext_shared_channel": False, "event_context": f"4-{work.fresh()}",
        }  # fmt: skip

    def message_event(self, channel: Doc, message: Doc) -> Doc:
        kind = "im" if channel.get("is_im") else "mpim" if channel.get("is_mpim") else "channel"
        return {**message, "channel": channel["id"], "channel_type": kind, "event_ts": message["ts"]}

    def home_opened(self, user: str, channel: str, view: Doc | None) -> Doc:
        event: Doc = {"type": "app_home_opened", "user": user, "channel": channel, "tab": "home"}
        event["event_ts"] = f"{self._workspace.now():.6f}"
        return event | ({"view": view} if view else {})

    def action(self, block: Doc, element: Doc, entry: Doc | None) -> Doc:
        """One item of `actions`: a button with its value, or an element with what it holds now."""
        kind = element["type"]
        found: Doc = {"type": kind, "action_id": element["action_id"], "block_id": block["block_id"]}
        if entry is not None:
            found |= entry
            kept: tuple[str, ...] = ("placeholder", "initial_option", "initial_date", "initial_options")
        else:
            kept = ("text", "value", "style", "url", "confirm", "accessibility_label")
        found |= {name: _spelled(element[name]) for name in kept if name in element and name not in found}
        return found | {"action_ts": f"{self._workspace.now():.6f}"}

    def message_place(self, channel: Doc, message: Doc, *, private: bool) -> Doc:
        """Where something in a message was pressed; of a private message Slack sends no copy."""
        container: Doc = {
            "type": "message", "message_ts": message["ts"], "channel_id": channel["id"], "is_ephemeral": private,
        }  # fmt: skip
        if "thread_ts" in message:
            container["thread_ts"] = message["thread_ts"]
        place: Doc = {
            "container": container,
            "channel": {"id": channel["id"], "name": channel.get("name", "directmessage")},
        }
        return place if private else place | {"message": message}

    def view_place(self, view: Doc) -> Doc:
        return {"container": {"type": "view", "view_id": view["id"]}, "view": view}

    def _interaction(self, kind: str, user: Doc) -> Doc:
        seed = self._seed
        return {
            "type": kind, "token": TOKEN, "api_app_id": seed.app_id,
            "user": {"id": user["id"], "username": user["name"], "name": user["name"], "team_id": user["team_id"]},
            "team": {"id": seed.team_id, "domain": seed.domain},
            "enterprise": None, "is_enterprise_install": False,
        }  # fmt: skip


def _spelled(value: Any) -> Any:
    """Slack sends plain text back with `emoji` spelled out."""
    if isinstance(value, dict) and value.get("type") == "plain_text":
        return {"emoji": True, **value}
    return value
