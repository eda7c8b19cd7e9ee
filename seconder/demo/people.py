"""The people of the story: they read and press through the workspace's control door, as a browser would."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

LOOK_EVERY = 0.2  # seconds between two looks at the workspace


@dataclass(frozen=True, slots=True)
class Card:
    """A message of the app as a person sees it: its text in reading order, and its buttons by label."""

    channel: str
    ts: str
    text: str
    buttons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Form:
    """An open modal: labels to (block id, action id), what its fields hold, and what can be chosen in them."""

    view_id: str
    fields: dict[str, tuple[str, str]]
    values: dict[str, str]
    choices: dict[str, dict[str, str]]


class Workspace:
    """A client of the control door."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, timeout=15)

    def card(self, channel: str, holding: str) -> Card | None:
        """The newest message of the channel whose text or buttons hold these words."""
        found = [card for card in self.cards(channel) if holding in card.text or holding in card.buttons]
        return found[-1] if found else None

    def cards(self, channel: str) -> list[Card]:
        """The channel's messages, oldest first."""
        return [_card(channel, message) for message in self._messages(channel)]

    def replies(self, channel: str) -> list[Card]:
        """What stands in the threads of the channel's messages."""
        return [_card(channel, reply) for message in self._messages(channel) for reply in message.get("replies", [])]

    def press(self, person: str, card: Card | None, label: str) -> dict[str, Any]:
        """Raises: LookupError where the card has no such button."""
        if card is None or label not in card.buttons:
            message = f"there is no button “{label}” to press"
            raise LookupError(message)
        body = {"user": person, "channel": card.channel, "ts": card.ts, "action_id": card.buttons[label]}
        return self._post("press", body)

    def private(self, person: str) -> list[dict[str, Any]]:
        """What only this person can see."""
        return self._list("ephemerals", user=person)

    def form(self, person: str) -> Form | None:
        """The modal on top of this person's screen."""
        views = self._list("modals", user=person)
        return _form(views[-1]) if views else None

    def submit(self, person: str, form: Form, changed: dict[str, str]) -> dict[str, Any]:
        """The form is sent with these fields changed, by label."""
        values: dict[str, dict[str, str]] = {}
        for label, value in changed.items():
            block, action = form.fields[label]
            values.setdefault(block, {})[action] = form.choices.get(label, {}).get(value, value)
        return self._post("submit", {"user": person, "view_id": form.view_id, "values": values})

    def pause(self) -> None:
        """A moment passes before the next look."""
        time.sleep(LOOK_EVERY)

    def close(self) -> None:
        """Nothing more is read or pressed."""
        self._http.close()

    def _messages(self, channel: str) -> list[dict[str, Any]]:
        return self._list("messages", channel=channel)

    def _list(self, name: str, **query: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._http.get(f"/control/{name}", params=query).raise_for_status().json()
        return found

    def _post(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self._http.post(f"/control/{name}", json=body).raise_for_status().json()
        return found


def _card(channel: str, message: dict[str, Any]) -> Card:
    blocks = message.get("blocks", [])
    buttons = {part["text"]["text"]: part["action_id"] for part in _walk(blocks) if part.get("type") == "button"}
    return Card(channel, message["ts"], _text(blocks), buttons)


def _form(view: dict[str, Any]) -> Form:
    fields: dict[str, tuple[str, str]] = {}
    values: dict[str, str] = {}
    choices: dict[str, dict[str, str]] = {}
    for block in view["blocks"]:
        if block["type"] == "input":
            label, element = block["label"]["text"], block["element"]
            fields[label] = (block["block_id"], element["action_id"])
            values[label] = str(element.get("initial_value", ""))
            choices[label] = {option["text"]["text"]: option["value"] for option in element.get("options", [])}
    return Form(view["id"], fields, values, choices)


def _text(blocks: list[dict[str, Any]]) -> str:
    parts = []
    for part in _walk(blocks):
        if part.get("type") in {"text", "plain_text", "mrkdwn", "link"}:
            parts.append(str(part.get("text") or part.get("url") or ""))
        elif part.get("type") == "user":
            parts.append(part["user_id"])
        elif part.get("type") in {"usergroup", "channel"}:
            parts.append(str(part.get("usergroup_id") or part.get("channel_id")))
    return " ".join(parts)


def _walk(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from _walk(item)
    elif isinstance(value, list):
        for item in value:
            yield from _walk(item)
