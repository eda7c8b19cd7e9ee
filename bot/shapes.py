"""What Slack sends has a shape; whatever has another is refused before Bolt and the listeners read it.

Only what they rely on is looked at: the rest of a payload grows with Slack.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

MAX_ID = 255

OBJECTS = ("team", "enterprise", "user", "channel", "container", "view", "message", "event", "function_data")
LISTS = ("authorizations", "response_urls")
IDS = ("id", "team_id", "enterprise_id", "channel_id", "message_ts", "ts", "app_installed_team_id")


def well_formed(payload: Any) -> bool:
    """Whether it is an interaction or an event that the listeners can read."""
    if not isinstance(payload, dict) or not isinstance(payload.get("type"), str):
        return False
    if not all(isinstance(payload.get(name) or {}, dict) for name in OBJECTS):
        return False
    if not all(_dicts(payload.get(name) or []) for name in LISTS):
        return False
    parts = (payload, *(payload.get(name) or {} for name in OBJECTS if name != "event"))
    if not all(part.get(name) is None or is_id(part[name]) for part in parts for name in IDS):
        return False
    check = _KINDS.get(payload["type"])
    return check is None or check(payload)


def is_id(value: object) -> bool:
    """Whether it can be one of Slack's ids or one of our tokens: short, printable, without anything exotic."""
    return isinstance(value, str) and len(value) <= MAX_ID and value.isascii() and value.isprintable()


def _block_actions(payload: Mapping[str, Any]) -> bool:
    actions = payload.get("actions")
    if not _has_id(payload.get("user")) or not _dicts(actions) or not actions:
        return False
    view = payload.get("view")
    return all(is_id(action.get("action_id")) for action in actions) and (not view or _has_id(view))


def _submission(payload: Mapping[str, Any]) -> bool:
    view = payload.get("view")
    if not _has_id(payload.get("user")) or not _has_id(view) or not _dicts(view.get("blocks") or []):
        return False
    if not is_id(view.get("type")) or not is_id(view.get("callback_id")):
        return False
    state = view.get("state")
    values = state.get("values") if _object(state) else None
    return _object(values) and all(
        _object(block) and all(_object(entry) for entry in block.values()) for block in values.values()
    )


def _event(payload: Mapping[str, Any]) -> bool:
    event = payload.get("event")
    if not _object(event) or not isinstance(event.get("type"), str):
        return False
    match event["type"]:
        case "user_change":
            return _has_id(event.get("user"))
        case "subteam_updated" | "subteam_members_changed":
            return is_id(event.get("subteam_id")) or _has_id(event.get("subteam"))
        case _:
            return True


_KINDS: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    "block_actions": _block_actions,
    "view_submission": _submission,
    "event_callback": _event,
}


def _has_id(value: Any) -> TypeGuard[dict[str, Any]]:
    return _object(value) and bool(value.get("id")) and is_id(value["id"])


def _object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _dicts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)
