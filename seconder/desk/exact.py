"""Values that have no exact JSON form, or are nested too deep to be stored and sent, are refused at the door."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from seconder.action import Json
from seconder.errors import Fault, NotCanonical

DEEPEST = 200  # levels; what dumps and loads a value in a later process stops near 255


def check_exact(value: Json, path: str = "body") -> None:
    """Raises: NotCanonical, naming the field, for half characters, infinities, odd names, and deep nesting."""
    level = [(path, value)]
    depth = 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise NotCanonical([Fault(path, f"nested deeper than {DEEPEST} levels")])
        for where, one in level:
            _check_one(where, one)
        level = [inside for where, one in level for inside in _inside(where, one)]


def check_depth(value: Json, path: str) -> None:
    """Only the nesting, of a value that may be large. Raises: NotCanonical."""
    level = [value]
    depth = 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise NotCanonical([Fault(path, f"nested deeper than {DEEPEST} levels")])
        level = [
            inner
            for one in level
            if isinstance(one, Mapping | list | tuple)
            for inner in (one.values() if isinstance(one, Mapping) else one)
            if isinstance(inner, Mapping | list | tuple)
        ]


def mended(value: Json) -> Json:
    """The value with half characters replaced: what a tool said is kept even where it is not Unicode.

    Raises: NotCanonical.
    """
    check_depth(value, "result")
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, TypeError) as error:
        raise NotCanonical([Fault("result", f"has no JSON form: {error}")]) from None
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.loads(text.encode("utf-8", "replace"))
    return value


def _check_one(path: str, value: Any) -> None:
    match value:
        case None | bool() | int():
            return
        case float():
            if not math.isfinite(value):
                raise NotCanonical([Fault(path, f"{value} has no JSON form; send a number or null")])
        case str():
            _check_text(path, value)
        case Mapping():
            for name in value:
                if not isinstance(name, str):
                    raise NotCanonical([Fault(path, f"the key {name!r} is not text")])
                _check_text(path, name)
        case list() | tuple():
            return
        case _:
            raise NotCanonical([Fault(path, f"a {type(value).__name__} has no JSON form")])


def _check_text(path: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        message = "holds half of a character (a lone surrogate); send valid Unicode"
        raise NotCanonical([Fault(path, message)]) from None


def _inside(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield (name if path == "body" else f"{path}.{name}"), inner
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield f"{path}[{index}]", inner
