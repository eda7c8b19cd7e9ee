"""Slack's own types as a JSON Schema, rearranged so that a union is decided by the object's `type`."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator, ValidationError
from jsonschema.validators import extend

_SCHEMA = Path(__file__).with_name("blockkit.schema.json")


UNION = "oneOfTheseTypes"


def schema_faults(value: object, definition: str) -> list[tuple[str, str]]:
    """(sentence, JSON pointer inside `value`) for each fault against one definition of the schema."""
    errors = [_deepest(error) for error in _validator(definition).iter_errors(value)]
    return [(_words(e), "".join(f"/{step}" for step in e.absolute_path)) for e in errors]


@cache
def _validator(definition: str) -> Any:
    kind: Any = extend(Draft7Validator, {UNION: _check_union})  # type: ignore[no-untyped-call]
    return kind({"$ref": f"#/definitions/{definition}", "definitions": _definitions()})


@cache
def _definitions() -> dict[str, Any]:
    raw: dict[str, Any] = json.loads(_SCHEMA.read_text())["definitions"]
    return {name: _by_type(schema, raw) for name, schema in raw.items()}


def _by_type(schema: Any, raw: dict[str, Any]) -> Any:
    """`schema` with every union of typed objects turned into a choice by their type."""
    if isinstance(schema, list):
        return [_by_type(item, raw) for item in schema]
    if not isinstance(schema, dict):
        return schema
    members = _members(schema, raw)
    if "anyOf" not in schema or not members or len(members) == 1:
        return {key: _by_type(value, raw) for key, value in schema.items()}
    cases: dict[str, Any] = {}
    for kind, found in members.items():
        shaped = [_by_type(one, raw) for one in found]
        cases[kind] = shaped[0] if len(shaped) == 1 else {"anyOf": shaped}
    return {"type": "object", UNION: cases}


def _check_union(validator: Any, cases: dict[str, Any], value: Any, _schema: Any) -> Iterator[ValidationError]:
    if not isinstance(value, dict):
        return
    kind = value.get("type")
    if isinstance(kind, str) and kind in cases:
        yield from validator.descend(value, cases[kind])
    else:
        yield ValidationError(f"unsupported type: {kind}")


def _members(schema: dict[str, Any], raw: dict[str, Any]) -> dict[str, list[dict[str, Any]]] | None:
    """The typed objects of a union, by their type; None where a member has no constant `type`."""
    if "$ref" in schema:
        target = raw[schema["$ref"].rsplit("/", 1)[1]]
        inner = _members(target, raw)
        if inner is None or "anyOf" in target:
            return inner
        return {kind: [schema] for kind in inner}
    if "anyOf" in schema:
        found: dict[str, list[dict[str, Any]]] = {}
        for one in schema["anyOf"]:
            inner = _members(one, raw)
            if inner is None:
                return None
            for kind, schemas in inner.items():
                found.setdefault(kind, []).extend(schemas)
        return found
    const = schema.get("properties", {}).get("type", {}).get("const")
    return {const: [schema]} if isinstance(const, str) else None


def _deepest(error: ValidationError) -> ValidationError:
    """The most telling fault below a union: that of the member with the fewest faults."""
    while error.context:
        branches: dict[Any, list[ValidationError]] = {}
        for inner in error.context:
            branches.setdefault(inner.schema_path[0], []).append(inner)
        error = min(branches.values(), key=len)[0]
    return error


def _words(error: ValidationError) -> str:
    if error.validator == "required":
        return error.message.replace("'", "`").replace("is a required property", "is a required field")
    return error.message[:300]
