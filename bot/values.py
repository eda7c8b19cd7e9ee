"""Values in words: a tool's name, an argument on one line, an amount, a duration."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from seconder.action import Action, Json
from seconder.bot.look_alikes import LOOK_ALIKE, look_alike
from seconder.bot.masks import Masker
from seconder.bot.text import has_rtl, one_line, shorten, size, visible

HEADER = 150  # Slack's limit for a header

_AMOUNTS = ("amount", "total_amount", "total", "price")
_CURRENCIES = ("currency", "currency_code")
_WHO = ("to", "recipient", "recipients", "email", "payee", "principal")
_WHERE = ("url", "path", "file_path", "target", "destination", "file", "filename", "file_name", "table", "database")
_SYSTEM = ("repo", "repository", "branch", "host", "zone", "cluster", "workspace", "channel")
_THING = ("customer_id", "customer", "user_id", "user", "account_id", "account", "order_id", "order", "title", "name")
_TARGETS = (*_WHO, *_WHERE, *_SYSTEM, *_THING, "command", "query", "sql")  # the first that is there is shown
_SEPARATORS = re.compile(r"[_\-./:\s]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SMALL_UNITS = re.compile(r"\bcents?\b|smallest|minor unit", re.IGNORECASE)
_LIST_SHOWN = 3  # longer lists say how many items they have


@dataclass(frozen=True, slots=True)
class Shown:
    """A value on one line; `words` if the text is ours ("empty text"), not the value's own."""

    text: str
    words: bool = False


def brief(value: Json, limit: int, more: str = "") -> Shown:
    """`value` on one line within `limit`, already masked by the caller."""
    words = in_words(value)
    if words is not None:
        return Shown(words, words=True)
    text = value if isinstance(value, str) else _listed(value) or compact(value)
    warning = f" ({LOOK_ALIKE})" if look_alike(text) else ""
    return Shown(shorten(text, limit - len(warning), more) + warning)


def in_words(value: Json) -> str | None:
    """What to say where the value itself would show as nothing, else None."""
    match value:
        case None:
            return "nothing (null)"
        case "":
            return "empty text"
        case str() if not value.strip():
            return f"only white space ({count(len(value), 'character')})"
        case Mapping() if not value:
            return "empty object"
        case list() | tuple() if not value:
            return "empty list"
        case _:
            return None


def in_full(value: Json) -> str:
    """`value` as exact text: strings as they are, everything else as indented JSON."""
    return value if isinstance(value, str) else json.dumps(Masker.plain(value), ensure_ascii=False, indent=2)


def compact(value: Json) -> str:
    """`value` as JSON on one line."""
    return json.dumps(Masker.plain(value), ensure_ascii=False)


def tool_words(tool: str) -> str:
    """`issue_refund` and `issueRefund` as "Issue refund"; visible."""
    words = " ".join(part for part in _SEPARATORS.split(_CAMEL.sub(" ", one_line(tool))) if part)
    return words[:1].upper() + words[1:].lower() if words else "Unnamed tool"


def headline(action: Action, masker: Masker) -> str:
    """The tool in plain words, with the amount or else the target: at most 150."""
    words = shorten(tool_words(action.tool), HEADER // 2)
    what = amount(action, masker) or _target(action, masker)
    line = shorten(what, HEADER - size(words) - 2) if what else ""
    return f"{words}: {line}" if line else words


def amount(action: Action, masker: Masker) -> str:
    """`240 EUR` where the arguments say amount and currency, `240` where only an amount, else nothing."""
    for name in _AMOUNTS:
        value = masker.value(action.arguments.get(name), name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return f"{value:,}{_currency(action)}{_small_units(action, name)}"
        if isinstance(value, str) and value.strip() and value == one_line(value):
            return f"{value}{_currency(action)}{_small_units(action, name)}"
    return ""


def duration(span: timedelta) -> str:
    """`2 min 14 s`, `3 h 5 min`, `2 d 4 h`: the two largest units."""
    seconds = max(0, int(span.total_seconds()))
    days, hours, minutes = seconds // 86400, seconds // 3600 % 24, seconds // 60 % 60
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds % 60, "s")]
    first = next((index for index, (number, _) in enumerate(parts) if number), len(parts) - 1)
    said = [f"{number} {unit}" for number, unit in parts[first : first + 2] if number]
    return " ".join(said) or "less than 1 s"


def count(number: int, noun: str) -> str:
    """`1 character`, `1,240 characters`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def hidden_names(values: Mapping[str, Json]) -> list[str]:
    """Names of those `values` in which a character cannot be seen, in their order."""
    return [name for name, value in values.items() if any(visible(text) != text for text in _texts(name, value))]


def turns(*texts: str) -> bool:
    """True if right-to-left letters would turn the order of these texts on one line."""
    return any(has_rtl(text) for text in texts)


def _texts(name: str, value: Json) -> Iterator[str]:
    yield name
    match value:
        case str():
            yield value
        case Mapping():
            for key, item in value.items():
                yield from _texts(key, item)
        case list() | tuple():
            for item in value:
                yield from _texts("", item)
        case _:
            return


def _listed(value: Json) -> str | None:
    if not isinstance(value, list | tuple):
        return None
    plain = all(isinstance(item, str) and item.strip() == item != "" and "," not in item for item in value)
    text = ", ".join(value) if plain else compact(value)
    return f"{len(value):,} items: {text}" if len(value) > _LIST_SHOWN else text


def _currency(action: Action) -> str:
    for name in _CURRENCIES:
        code = action.arguments.get(name)
        if isinstance(code, str) and code.isascii() and code.isalpha():
            return f" {code.upper()}"
    return ""


def _small_units(action: Action, name: str) -> str:
    properties = (action.schema or {}).get("properties")
    schema = properties.get(name) if isinstance(properties, Mapping) else None
    said = str(schema.get("description", "")) if isinstance(schema, Mapping) else ""
    return " (in cents)" if "cent" in said.lower() else " (in smallest units)" if _SMALL_UNITS.search(said) else ""


def _target(action: Action, masker: Masker) -> str:
    for name in _TARGETS:
        value = masker.value(action.arguments.get(name), name)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, list) and value and isinstance(value[0], str) and value[0].strip():
            return value[0] if len(value) == 1 else f"{value[0]} and {len(value) - 1:,} more"
    return ""
