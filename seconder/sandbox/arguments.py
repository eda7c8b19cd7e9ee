"""The arguments of one Web API call, however they were sent."""

import base64
import json
from collections.abc import Mapping
from typing import Any

from seconder.sandbox.refusal import Refused
from seconder.sandbox.storage import Doc

Answered = dict[str, Any]

STRUCTURES = frozenset({"attachments", "blocks", "metadata", "view"})


class Arguments:
    """Typed reads of a call's arguments; forms send JSON as text, JSON bodies send it as it is."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self._raw = {k: v for k, v in raw.items() if v is not None}

    def __contains__(self, name: str) -> bool:
        return name in self._raw

    def text(self, name: str) -> str:
        return str(self._raw.get(name, ""))

    def required(self, name: str) -> str:
        """Raises: Refused `invalid_arguments` naming the missing one."""
        value = self.text(name)
        if not value:
            raise Refused("invalid_arguments", [f"[ERROR] missing required field: {name}"])
        return value

    def flag(self, name: str) -> bool:
        return str(self._raw.get(name, "")).lower() in {"1", "true"}

    def number(self, name: str, default: int) -> int:
        try:
            return int(self._raw.get(name, default))
        except (TypeError, ValueError):
            raise Refused("invalid_arguments", [f"[ERROR] {name} must be a number"]) from None

    def json(self, name: str, error: str) -> Any:
        """A structure, or None where it is absent; text that is no JSON is refused with `error`."""
        value = self._raw.get(name)
        if not isinstance(value, str):
            return value
        if not value:
            return None
        try:
            return json.loads(value)
        except ValueError:
            raise Refused(error) from None

    def names(self, name: str) -> list[str]:
        """A list sent as JSON or with commas."""
        value = self._raw.get(name)
        if isinstance(value, list):
            return [str(v) for v in value]
        return [v.strip() for v in self.text(name).split(",") if v.strip()]

    def told(self) -> Doc:
        """The arguments as the journal keeps them: without the token, structures read."""
        return {name: _structure(name, value) for name, value in self._raw.items() if name != "token"}

    def page(self, items: list[Any], default: int = 100) -> tuple[list[Any], str]:
        """(the items of the page that `cursor` and `limit` ask for, the next cursor or "")."""
        start = _offset(self.text("cursor"))
        size = self.number("limit", default) or default
        end = start + size
        following = base64.b64encode(f"offset:{end}".encode()).decode() if end < len(items) else ""
        return items[start:end], following


def _structure(name: str, value: Any) -> Any:
    if not isinstance(value, str) or name not in STRUCTURES:
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _offset(cursor: str) -> int:
    if not cursor:
        return 0
    try:
        return int(base64.b64decode(cursor).decode().removeprefix("offset:"))
    except ValueError:
        raise Refused("invalid_cursor") from None
