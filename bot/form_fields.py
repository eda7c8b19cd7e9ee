"""The fields of a form, planned from arguments and their JSON Schema; what cannot be edited is kept and says so."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from seconder.action import Json
from seconder.bot import ids
from seconder.bot.card_request import field_label
from seconder.bot.diff import ABSENT
from seconder.bot.form_inputs import Input, Unreadable, input_for, json_input, kept, types_of
from seconder.bot.masks import BULLETS, Masker
from seconder.bot.text import shorten
from seconder.decision import FieldRule

MAX_INPUTS = 40  # a longer form is not read by anybody; the rest stays as it is
MAX_HINT = 300  # of 2,000
_HOLDS = {"value", "selected_option", "selected_options"}  # where Slack puts what a field holds
MAX_FORM = 180_000  # bytes of the inputs as JSON; Slack refuses views over 250 kB


def plan(
    fields: Mapping[str, Json],
    schema: Mapping[str, Json],
    rules: Mapping[str, FieldRule],
    masker: Masker,
    *,
    ask_required: bool = False,
) -> list[Input]:
    """One Input for each field, then for each property of the schema that is not set; the same for equal arguments."""
    properties = schema.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    required = schema.get("required")
    required = required if isinstance(required, list) else []
    planned: list[Input] = []
    inputs = spent = 0
    for name in [*fields, *(name for name in properties if name not in fields)]:
        value, rule = fields.get(name, ABSENT), rules.get(name, FieldRule())
        optional = name in properties and name not in required
        item = Input(name, value, field_label(rule.label or name), optional=optional)
        item = _planned(item, resolve(properties.get(name), schema), rule, masker)
        if item.element is not None:
            item = replace(item, block_id=ids.FIELD.format(inputs), required=ask_required and name in required)
            cost = len(json.dumps(item.block))
            if inputs == MAX_INPUTS or spent + cost > MAX_FORM:
                item = kept(item, "stays as it is: the form is full")
            else:
                inputs, spent = inputs + 1, spent + cost
        planned.append(item)
    return planned


def resolve(schema: Json, root: Mapping[str, Json]) -> Mapping[str, Json]:
    """`schema` with local references followed and `X or null` folded into one type list."""
    for _ in range(10):
        reference = schema.get("$ref") if isinstance(schema, Mapping) else None
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        schema = _at(root, reference)
    if not isinstance(schema, Mapping):
        return {}
    choices = schema.get("anyOf", schema.get("oneOf"))
    if isinstance(choices, list):
        real = [choice for choice in choices if not (isinstance(choice, Mapping) and choice.get("type") == "null")]
        if len(real) == 1:
            inner = resolve(real[0], root)
            kinds = [*types_of(inner), "null"] if len(real) < len(choices) else types_of(inner)
            return {**schema, **inner, "type": kinds, "anyOf": (), "oneOf": ()}
    return schema


def field_of(state: Any, item: Input) -> Json:
    """The value of `item` after the reviewer pressed submit; ABSENT if it is not set. Raises: Unreadable."""
    block = state.get(item.block_id) if isinstance(state, Mapping) and item.block_id else None
    held = block.get(ids.VALUE) if isinstance(block, Mapping) else None
    if not isinstance(held, Mapping) or item.read is None or not isinstance(held.get("value", ""), str | None):
        return item.value
    if not held.keys() & _HOLDS:
        return item.value
    return item.read(held)


def inputs_of(planned: list[Input]) -> Iterator[Input]:
    """Those that have an input."""
    return (item for item in planned if item.element is not None)


def _planned(item: Input, schema: Mapping[str, Json], rule: FieldRule, masker: Masker) -> Input:
    description = schema.get("description")
    if isinstance(description, str) and description.strip():
        item = replace(item, hint=shorten(masker.text(description), MAX_HINT))
    if rule.secret:
        return kept(item, "is hidden and stays as it is")
    if not rule.edit:
        return kept(item, "cannot be changed here")
    if item.value is not ABSENT and masker.hides(item.value, item.name):
        return _hidden_inside(item, masker)
    return input_for(item, schema)


def _hidden_inside(item: Input, masker: Masker) -> Input:
    """An input in which hidden parts stand as numbered marks, put back on reading where they stood."""
    if isinstance(item.value, str):
        return kept(item, "holds a hidden part and stays as it is")
    marked, originals = _numbered(item.value, masker.value(item.value, item.name))
    field = json_input(replace(item, value=marked))

    def read(held: Mapping[str, Any]) -> Json:
        new = field.read(held) if field.read else marked
        return item.value if new is marked else _restored(new, originals)

    return replace(field, value=item.value, read=read) if field.element else replace(field, value=item.value)


def _numbered(value: Json, masked: Json) -> tuple[Json, dict[str, tuple[Json, str]]]:
    originals: dict[str, tuple[Json, str]] = {}

    def walk(real: Json, shown: Json, path: str) -> Json:
        if isinstance(real, Mapping) and isinstance(shown, Mapping):
            return {key: walk(item, shown[key], f"{path}.{key}") for key, item in real.items()}
        if isinstance(real, list | tuple) and isinstance(shown, list):
            return [walk(a, b, f"{path}[{at}]") for at, (a, b) in enumerate(zip(real, shown, strict=True))]
        if isinstance(shown, str) and shown != real:
            mark = f"{shown} #{len(originals) + 1}"
            originals[mark] = (real, path)
            return mark
        return real

    return walk(value, masked, ""), originals


def _restored(new: Json, originals: Mapping[str, tuple[Json, str]], path: str = "") -> Json:
    match new:
        case str():
            value, place = originals.get(new, (new, path))
            if place != path or (new not in originals and BULLETS in new):
                raise Unreadable("A hidden value can only stay where it is; keep its mark, or replace all of it.")
            return value
        case dict():
            return {key: _restored(item, originals, f"{path}.{key}") for key, item in new.items()}
        case list():
            return [_restored(item, originals, f"{path}[{at}]") for at, item in enumerate(new)]
        case _:
            return new


def _at(root: Mapping[str, Json], reference: str) -> Json:
    place: Json = root
    for part in reference[2:].split("/"):
        place = place.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(place, Mapping) else None
    return place
