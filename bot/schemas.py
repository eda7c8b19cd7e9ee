"""Values checked against a JSON Schema, offline, with sentences for the person who typed them."""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from jsonschema import SchemaError, ValidationError
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from seconder.action import Json
from seconder.bot.masks import Masker

_ROOT = ""  # the name for a fault of the whole, not of one field
_RULES = {
    "type": "must be of type {value}.",
    "minimum": "must be at least {value}.",
    "maximum": "must be at most {value}.",
    "exclusiveMinimum": "must be more than {value}.",
    "exclusiveMaximum": "must be less than {value}.",
    "minLength": "must have at least {value} characters.",
    "maxLength": "must have at most {value} characters.",
    "minItems": "must have at least {value} items.",
    "maxItems": "must have at most {value} items.",
    "pattern": "must have the pattern {value}.",
    "format": "must have the format {value}.",
    "enum": "must be one of the allowed values.",
    "const": "must be the one allowed value.",
    "required": "cannot be left out.",
    "additionalProperties": "holds a name that is not allowed.",
    "uniqueItems": "holds the same item twice.",
    "multipleOf": "must be a multiple of {value}.",
}
_OTHER = "does not satisfy the schema ({keyword})."


def violations(
    values: Mapping[str, Json],
    schema: Mapping[str, Json],
    *,
    before: Mapping[str, Json] | None,
    changed: AbstractSet[str],
) -> list[tuple[str, str]]:
    """(name of the field or "", sentence) for each fault that the person brought in.

    Faults that `before` (None: there was nothing) had already are not told, unless their field is among `changed`.
    A schema that is broken or points elsewhere refuses everything: nothing is fetched.
    """
    if not schema:
        return []
    plain = Masker.plain(schema)
    try:
        kind = validator_for(plain)
        kind.check_schema(plain)
        validator = kind(plain, registry=Registry(), format_checker=kind.FORMAT_CHECKER)
        faults = validator.iter_errors(Masker.plain(before)) if before is not None else ()
        old = {(_name(error), error.validator) for error in faults}
        new = list(validator.iter_errors(Masker.plain(values)))
    except (SchemaError, Unresolvable, RecursionError):
        return [(_ROOT, "The agent's schema cannot be used, so nothing can be edited. Approve or reject.")]
    return list(_told(new, old, changed))


def _told(new: list[Any], old: set[tuple[str, Any]], changed: AbstractSet[str]) -> Iterator[tuple[str, str]]:
    for error in new:
        name = _name(error)
        if name in changed or (name, error.validator) not in old:
            yield name, _sentence(error)


def _name(error: ValidationError) -> str:
    if error.absolute_path:
        return str(error.absolute_path[0])
    if error.validator == "required":
        return next((name for name in _names(error.validator_value) if repr(name) in error.message), _ROOT)
    return _ROOT


def _names(required: Any) -> list[str]:
    return [name for name in required if isinstance(name, str)] if isinstance(required, list) else []


def _sentence(error: ValidationError) -> str:
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in list(error.absolute_path)[1:])
    keyword, value = str(error.validator), error.validator_value
    shown = " or ".join(map(str, value)) if keyword == "type" and isinstance(value, list) else value
    said = _RULES.get(keyword, _OTHER).format(value=shown, keyword=keyword)
    return f"At {place.lstrip('.')}: {said}" if place else said[:1].upper() + said[1:]
