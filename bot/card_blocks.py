"""The few Block Kit pieces that cards, forms and the full view are made of; text handed in is visible already."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeAlias

from seconder.bot.text import shorten

Element: TypeAlias = dict[str, Any]
Block: TypeAlias = dict[str, Any]

DATE_FORMAT = "{date_short_pretty} at {time}"

_NOBODY = 40  # characters of what should be a user id and is none
_USER = re.compile(r"[UW][A-Z0-9]{1,40}")
_GROUP = re.compile(r"S[A-Z0-9]{1,40}")


def plain(text: str) -> Element:
    """A plain_text object in which `:tada:` stays as it is."""
    return {"type": "plain_text", "text": text, "emoji": False}


def words(text: str, *styles: str) -> Element:
    """A text element, styled `bold`, `italic` or `code`; never markup."""
    element: Element = {"type": "text", "text": text or " "}
    return {**element, "style": dict.fromkeys(styles, True)} if styles else element


def bold(text: str) -> Element:
    return words(text, "bold")


def person(user: str) -> Element:
    """A mention of a Slack user, or a short text where it is not a user id."""
    return {"type": "user", "user_id": user} if _USER.fullmatch(user) else words(shorten(user, _NOBODY))


def mention(ident: str) -> Element:
    """A mention of a Slack user or user group, or the text itself where it is neither."""
    return {"type": "usergroup", "usergroup_id": ident} if _GROUP.fullmatch(ident) else person(ident)


def people(users: Sequence[str]) -> list[Element]:
    """Mentions with commas between them and "and" before the last."""
    elements: list[Element] = []
    for index, user in enumerate(users):
        if index:
            elements.append(words(" and " if index == len(users) - 1 else ", "))
        elements.append(person(user))
    return elements


def moment(at: datetime) -> Element:
    """A date that each reader sees in their own time zone."""
    return {"type": "date", "timestamp": int(at.timestamp()), "format": DATE_FORMAT, "fallback": utc(at)}


def utc(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def link(url: str, text: str) -> Element:
    return {"type": "link", "url": url, "text": text}


def line(*elements: Element) -> Element:
    return {"type": "rich_text_section", "elements": list(elements)}


def quote(text: str) -> Element:
    return {"type": "rich_text_quote", "elements": [words(text)]}


def preformatted(text: str) -> Element:
    return {"type": "rich_text_preformatted", "elements": [words(text)]}


def bullets(lines: Sequence[Element]) -> Element:
    return {"type": "rich_text_list", "style": "bullet", "elements": list(lines)}


def rich(block_id: str, *elements: Element) -> Block:
    return {"type": "rich_text", "block_id": block_id, "elements": list(elements)}


def header(text: str) -> Block:
    return {"type": "header", "block_id": "header", "text": plain(text)}


def note(block_id: str, text: str) -> Block:
    return {"type": "context", "block_id": block_id, "elements": [plain(text)]}


def button(action_id: str, label: str, value: str, style: str | None = None) -> Element:
    element: Element = {"type": "button", "action_id": action_id, "text": plain(label), "value": value}
    return {**element, "style": style} if style else element


def actions(*buttons: Element) -> Block:
    return {"type": "actions", "block_id": "actions", "elements": list(buttons)}
