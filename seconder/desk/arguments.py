"""Edited arguments are checked before they are stored: by the tool's own schema and by the rule's locks."""

from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from referencing.exceptions import Unresolvable

from seconder.action import Action, Json
from seconder.errors import Fault, InvalidInput

MAX_FAULTS = 20
UNUSABLE = "the tool's schema cannot be used: "


def check_arguments(edited: Action, *, locked: frozenset[str], original: Action) -> None:
    """Raises: InvalidInput, a fault for each wrong argument; its path is the argument's name.

    What was wrong in the agent's own proposal and is untouched does not stop an edit elsewhere: that
    could be approved as it is.
    """
    faults = [
        Fault(name, "this argument cannot be edited")
        for name in sorted(locked)
        if edited.arguments.get(name) != original.arguments.get(name)
    ]
    before = schema_faults(original.schema, original.arguments)
    found = schema_faults(edited.schema, edited.arguments)
    faults += [fault for fault in found if fault not in before or fault.message.startswith(UNUSABLE)]
    if faults:
        raise InvalidInput(faults[:MAX_FAULTS])


def schema_faults(schema: Mapping[str, Json] | None, value: Json) -> list[Fault]:
    """What the JSON Schema (2020-12) says against the value; references to other documents are refused."""
    if schema is None:
        return []
    validator = Draft202012Validator(dict(schema), format_checker=Draft202012Validator.FORMAT_CHECKER)
    try:
        errors = sorted(validator.iter_errors(value), key=lambda error: list(map(str, error.absolute_path)))
    except (SchemaError, Unresolvable) as error:
        return [Fault("", f"{UNUSABLE}{error}")]
    return [Fault(_path(error.absolute_path), error.message[:300]) for error in errors]


def _path(parts: Any) -> str:
    return ".".join(str(part) for part in parts)
