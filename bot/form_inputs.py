"""One input of a form for each kind of value, and what Slack's answer to it means.

* A field that was not touched keeps the very value it had: absent, null, "" and 1.0 stay apart.
* Numbers are read exactly or refused; nothing is rounded.
* What an input cannot carry (over 3,000 characters, unseen characters) is kept, and the form says so.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any

from seconder.action import MAX_INTEGER_DIGITS, MAX_SAFE_INTEGER, Json, parse_json
from seconder.bot import ids
from seconder.bot.card_blocks import Block, Element, plain
from seconder.bot.diff import ABSENT
from seconder.bot.form_options import MAX_OPTIONS, options
from seconder.bot.text import hides, shorten, size
from seconder.bot.values import compact, in_full
from seconder.errors import NotCanonical

MAX_TEXT = 3000  # Slack's limit for a text input

_LINE = 80  # longer text gets a box of several lines
_INTEGER = re.compile(r"[+-]?[0-9]+")
_SPACES = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
_JOINERS = re.compile("[\u200c\u200d]")
_SCALARS = (str, int, float, bool, type(None))

Read = Callable[[Any], Json]  # what Slack holds -> value; ABSENT: not set. Raises Unreadable.


class Unreadable(ValueError):
    """What the reviewer typed has no value of the field's kind; the sentence says what to type."""


@dataclass(frozen=True, slots=True)
class Input:
    """One argument of a form: an input with its reader, or (`element` None) a sentence why it is kept."""

    name: str
    value: Json
    label: str
    hint: str = ""
    element: Element | None = None
    read: Read | None = None
    required: bool = False  #: an answer form insists on it
    optional: bool = False  #: the schema lets it be absent
    kept: str = ""
    block_id: str = ""

    @property
    def block(self) -> Block:
        """The input block; Slack lets it stay empty unless an answer is required."""
        block = {"type": "input", "block_id": self.block_id, "label": plain(self.label), "optional": not self.required}
        block["element"] = {**(self.element or {}), "action_id": ids.VALUE}
        return {**block, "hint": plain(self.hint)} if self.hint else block


def input_for(item: Input, schema: Mapping[str, Json]) -> Input:
    """`item` with the input that suits `schema` and its value, or with the sentence why there is none."""
    value, allowed = item.value, schema.get("enum")
    nullable, kinds = "null" in types_of(schema), set(types_of(schema)) - {"null"} or _kinds_of(item.value)
    unset = value is ABSENT or value is None
    if isinstance(allowed, list) and allowed and all(isinstance(choice, _SCALARS) for choice in allowed):
        return _enum(item, allowed)
    if kinds == {"boolean"} and (unset or isinstance(value, bool)):
        return _select(item, [True, False], ["Yes (true)", "No (false)"], "radio_buttons")
    if kinds == {"string"} and (unset or isinstance(value, str)):
        return _text(item, schema)
    if kinds == {"integer"} and (unset or type(value) is int):
        return _integer(item, nullable=nullable)
    if kinds in ({"number"}, {"number", "integer"}) and (unset or type(value) in (int, float)):
        return _number(item, nullable=nullable)
    choices = _choices(schema, value) if kinds == {"array"} else None
    return _selection(item, choices) if choices else json_input(item)


def kept(item: Input, sentence: str) -> Input:
    """`item` without an input; `sentence` says why."""
    return replace(item, element=None, read=None, kept=sentence, block_id="", required=False)


def json_input(item: Input) -> Input:
    """`item` as JSON text."""
    shown = (
        "" if item.value is ABSENT else in_full(item.value) if not isinstance(item.value, str) else compact(item.value)
    )
    if len(shown) > MAX_TEXT or size(shown) > MAX_TEXT * 2:
        return kept(item, f"stays as it is: {len(shown):,} characters are too long to edit in Slack")
    if hides(shown):
        return kept(item, "stays as it is: it holds characters that cannot be seen")

    def read(held: Mapping[str, Any]) -> Json:
        typed = text_of(held)
        if typed is None and not item.optional and item.value is not ABSENT:
            raise Unreadable("Write JSON here; null for nothing.")
        if typed is None:
            return ABSENT
        return item.value if typed == shown else _parsed(typed)

    hint = f"As JSON. {item.hint}".strip()
    return replace(item, element=_box(shown, multiline=True), read=read, hint=hint)


def types_of(schema: Mapping[str, Json]) -> list[str]:
    """The types a schema names."""
    kind = schema.get("type")
    return (
        [kind]
        if isinstance(kind, str)
        else [item for item in kind if isinstance(item, str)]
        if isinstance(kind, list)
        else []
    )


def exact_number(typed: str) -> int | float:
    """The JSON number that `typed` writes. Raises: Unreadable if there is none or only a rounded one."""
    try:
        number = Decimal(typed) if typed.isascii() and "_" not in typed else Decimal("NaN")
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or abs(number.adjusted()) > MAX_INTEGER_DIGITS:
        raise Unreadable("Write a number such as 1234.5, with a point and without spaces.")
    if _INTEGER.fullmatch(typed):
        return int(typed)
    value = float(number)
    if not math.isfinite(value) or Decimal(repr(value)) != number:
        raise Unreadable("This number has more digits than can be kept exactly; write fewer.")
    return value


def text_of(held: Mapping[str, Any]) -> str | None:
    """What stands in a text or number input, None when it is empty or not there."""
    value = held.get("value")
    return value.replace("\r\n", "\n") if isinstance(value, str) and value != "" else None


def choice_of(held: Mapping[str, Any]) -> str | None:
    """The value of the chosen option, if one is chosen."""
    option = held.get("selected_option")
    value = option.get("value") if isinstance(option, Mapping) else None
    return value if isinstance(value, str) else None


def _text(item: Input, schema: Mapping[str, Json]) -> Input:
    value = item.value if isinstance(item.value, str) else ""
    if len(value) > MAX_TEXT or size(value) > MAX_TEXT * 2:
        return kept(item, f"stays as it is: {len(value):,} characters are too long to edit in Slack")
    if hides(_folded(value)):
        return kept(item, "stays as it is: it holds characters that cannot be seen")

    def read(held: Mapping[str, Any]) -> Json:
        typed = text_of(held)
        if _folded(typed or "") == _folded(value) or (typed is None and not value.strip()):
            return item.value
        return typed or ""

    allowed = schema.get("maxLength")
    long = "\n" in value or len(value) > _LINE or (isinstance(allowed, int) and allowed > _LINE * 2)
    return replace(item, element=_box(value, multiline=long), read=read)


def _folded(text: str) -> str:
    """`text` with the spaces and joiners of ordinary writing folded: Slack may not give them back as they were."""
    return _JOINERS.sub("", _SPACES.sub(" ", text))


def _integer(item: Input, *, nullable: bool) -> Input:
    shown = "" if item.value in (ABSENT, None) else str(item.value)

    def read(held: Mapping[str, Any]) -> Json:
        typed = (text_of(held) or "").strip()
        if typed == shown:
            return item.value
        if not typed:
            return _emptied(item, nullable=nullable)
        if not _INTEGER.fullmatch(typed) or len(typed) > MAX_INTEGER_DIGITS:
            raise Unreadable("Write a whole number, digits only.")
        return int(typed)

    if len(shown) > MAX_TEXT:
        return kept(item, "stays as it is: the number is too long to edit in Slack")
    if shown and abs(int(shown)) > MAX_SAFE_INTEGER:
        return replace(item, element=_box(shown), read=read)
    element: Element = {"type": "number_input", "is_decimal_allowed": False}
    return replace(item, element={**element, "initial_value": shown} if shown else element, read=read)


def _number(item: Input, *, nullable: bool) -> Input:
    shown = "" if item.value in (ABSENT, None) else compact(item.value)

    def read(held: Mapping[str, Any]) -> Json:
        typed = (text_of(held) or "").strip()
        if typed == shown:
            return item.value
        return exact_number(typed) if typed else _emptied(item, nullable=nullable)

    return replace(item, element=_box(shown), read=read)


def _enum(item: Input, allowed: list[Json]) -> Input:
    labels = [value if isinstance(value, str) and value.strip() else compact(value) for value in allowed]
    if len(allowed) <= MAX_OPTIONS:
        return _select(item, allowed, labels, "static_select")
    shown = "" if item.value is ABSENT else item.value if isinstance(item.value, str) else compact(item.value)
    if len(shown) > MAX_TEXT or hides(shown):
        return kept(item, "stays as it is: too long to edit in Slack")

    def read(held: Mapping[str, Any]) -> Json:
        typed = text_of(held)
        if typed is None or typed == shown:
            return item.value
        if typed not in labels:
            raise Unreadable(f"This is none of the {len(allowed):,} allowed values; write one exactly.")
        return allowed[labels.index(typed)]

    hint = f"One of {len(allowed):,} allowed values, written exactly. {item.hint}"
    return replace(item, element=_box(shown), read=read, hint=hint.strip())


def _select(item: Input, allowed: list[Json], labels: list[str], kind: str) -> Input:
    choices = options(labels)
    current = next(
        (at for at, value in enumerate(allowed) if type(value) is type(item.value) and value == item.value), None
    )

    def read(held: Mapping[str, Any]) -> Json:
        chosen = choice_of(held)
        if chosen is None or (current is not None and chosen == str(current)):
            return item.value
        if not chosen.isdecimal() or int(chosen) >= len(allowed):
            raise Unreadable("Choose one of the values.")
        return allowed[int(chosen)]

    element: Element = {"type": kind, "options": choices}
    return replace(
        item, element=element if current is None else {**element, "initial_option": choices[current]}, read=read
    )


def _selection(item: Input, allowed: list[Json]) -> Input:
    choices = options([value if isinstance(value, str) and value.strip() else compact(value) for value in allowed])
    current = item.value if isinstance(item.value, list | tuple) else []

    def read(held: Mapping[str, Any]) -> Json:
        chosen = held.get("selected_options")
        if not isinstance(chosen, list):
            return item.value
        positions = {option.get("value") for option in chosen if isinstance(option, Mapping)}
        values = [value for at, value in enumerate(allowed) if str(at) in positions]
        if {compact(value) for value in values} == {compact(value) for value in current}:
            return item.value
        return [*(value for value in current if value in values), *(value for value in values if value not in current)]

    element: Element = {"type": "multi_static_select", "options": choices}
    initial = [choices[allowed.index(value)] for value in current]
    return replace(item, element={**element, "initial_options": initial} if initial else element, read=read)


def _choices(schema: Mapping[str, Json], value: Json) -> list[Json] | None:
    items = schema.get("items")
    choices = items.get("enum") if isinstance(items, Mapping) else None
    if not isinstance(choices, list) or not 0 < len(choices) <= MAX_OPTIONS:
        return None
    current = value if isinstance(value, list | tuple) else []
    known = all(isinstance(item, str) and item in choices for item in current) and len(set(current)) == len(current)
    return choices if known and all(isinstance(choice, str) for choice in choices) else None


def _parsed(typed: str) -> Json:
    try:
        return parse_json(typed, path="field")
    except NotCanonical as error:
        wrong = error.faults[0].message.removeprefix("not JSON: ")
        raise Unreadable(shorten(f"This is not JSON: {wrong}", 140)) from error


def _emptied(item: Input, *, nullable: bool) -> Json:
    if nullable:
        return None
    if not item.optional and item.value not in (ABSENT, None):
        raise Unreadable("Write a number.")
    return ABSENT


def _box(text: str, *, multiline: bool = False) -> Element:
    element: Element = {"type": "plain_text_input", "multiline": multiline, "max_length": MAX_TEXT}
    return {**element, "initial_value": text} if text else element


def _kinds_of(value: Json) -> set[str]:
    for python, kind in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string")):
        if isinstance(value, python):
            return {kind}
    return {"json"}
