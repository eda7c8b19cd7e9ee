"""An action is a tool name and arguments; its digest is over the RFC 8785 form of both.

Integers beyond +-(2^53-1) have no exact RFC 8785 form. They are written `{"$int": "digits"}`
before canonicalising and decoded exactly when the stored bytes are read back; arguments that use
that key themselves are refused. -0.0 becomes 0. NaN, infinities, lone surrogates, names that are
not text and nesting deeper than MAX_DEPTH are refused with NotCanonical.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import rfc8785

from seconder.errors import Fault, NotCanonical, TooLarge

Json: TypeAlias = Any

MAX_SAFE_INTEGER = 2**53 - 1  # RFC 8785 section 3.2.2.3: IEEE doubles are exact up to here
MAX_DEPTH = 64
MAX_ARGUMENTS = 256 * 1024  # bytes of canonical form
MAX_INTEGER_DIGITS = 4000
BIG_INTEGER = "$int"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What an agent proposes; equal actions have equal digests."""

    tool: str
    arguments: Mapping[str, Json]
    schema: Mapping[str, Json] | None = None
    summary: str | None = None

    @property
    def canonical(self) -> bytes:
        """The stored form: canonical bytes of `{tool, arguments}`."""
        return canonical({"tool": self.tool, "arguments": self.arguments})

    @property
    def digest(self) -> str:
        """`sha256:` and 64 hexadecimal digits over `canonical`."""
        return digest_of(self.canonical)

    def with_arguments(self, arguments: Mapping[str, Json]) -> "Action":
        """The same tool with other arguments."""
        return Action(tool=self.tool, arguments=arguments, schema=self.schema, summary=self.summary)


def action_from_canonical(data: bytes, *, schema: Mapping[str, Json] | None, summary: str | None) -> Action:
    """The action whose canonical form is `data`, big integers exact."""
    value = from_canonical(data)
    return Action(tool=value["tool"], arguments=value["arguments"], schema=schema, summary=summary)


def canonical(value: Json, *, path: str = "action", limit: int = MAX_ARGUMENTS) -> bytes:
    """RFC 8785 bytes of `value`.

    Raises: NotCanonical, naming the field; TooLarge beyond `limit` bytes.
    """
    data = rfc8785.dumps(_encode(value, path, 0))
    if len(data) > limit:
        raise TooLarge(path, limit)
    return data


def from_canonical(data: bytes) -> Json:
    """The value whose canonical form is `data`; digits beyond the exact integers were a float and become one."""
    return json.loads(data, object_hook=_decode_object, parse_int=_decode_digits)


def digest_of(data: bytes) -> str:
    """`sha256:` and 64 hexadecimal digits."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def parse_json(text: str | bytes, *, path: str = "body") -> Json:
    """The JSON value in `text`, with integers exact.

    Raises: NotCanonical for duplicate keys, NaN and infinities, or text that is not JSON.
    """

    def pairs(items: list[tuple[str, Json]]) -> dict[str, Json]:
        seen = dict(items)
        if len(seen) != len(items):
            names = [name for name, _ in items]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise _refuse(path, f"the key {twice[0]!r} stands twice in one object; send it once")
        return seen

    def constant(name: str) -> Json:
        raise _refuse(path, f"{name} is not JSON; send a number or null")

    def integer(digits: str) -> int:
        if len(digits.lstrip("-")) > MAX_INTEGER_DIGITS:
            raise _refuse(path, f"an integer has more than {MAX_INTEGER_DIGITS} digits")
        return int(digits)

    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=constant, parse_int=integer)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise _refuse(path, f"not JSON: {error}") from error
    except RecursionError as error:
        raise _refuse(path, f"nested deeper than {MAX_DEPTH} levels") from error


def _encode(value: Json, path: str, depth: int) -> Json:
    if depth > MAX_DEPTH:
        raise _refuse(path, f"nested deeper than {MAX_DEPTH} levels")
    match value:
        case None | bool():
            return value
        case int():
            return _encode_integer(value, path)
        case float():
            if not math.isfinite(value):
                raise _refuse(path, f"{value} has no JSON form; send a number or null")
            return 0 if value == 0 else value
        case str():
            return _encode_text(value, path)
        case Mapping():
            return _encode_object(value, path, depth)
        case list() | tuple():
            return [_encode(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]
        case _:
            raise _refuse(path, f"a {type(value).__name__} has no JSON form")


def _encode_integer(value: int, path: str) -> Json:
    if abs(value) <= MAX_SAFE_INTEGER:
        return value
    if abs(value) >= 10**MAX_INTEGER_DIGITS:
        raise _refuse(path, f"an integer has more than {MAX_INTEGER_DIGITS} digits")
    return {BIG_INTEGER: str(value)}


def _encode_text(value: str, path: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _refuse(path, "holds half of a character (a lone surrogate); send valid Unicode") from None
    return value


def _encode_object(value: Mapping[Json, Json], path: str, depth: int) -> dict[str, Json]:
    encoded = {}
    for name, item in value.items():
        if not isinstance(name, str):
            raise _refuse(path, f"the key {name!r} is not text")
        if name == BIG_INTEGER:
            raise _refuse(path, f"the key {BIG_INTEGER!r} is reserved; rename it")
        encoded[_encode_text(name, path)] = _encode(item, f"{path}.{name}", depth + 1)
    return encoded


def _decode_object(value: dict[str, Json]) -> Json:
    if value.keys() == {BIG_INTEGER}:
        return int(value[BIG_INTEGER])
    return value


def _decode_digits(digits: str) -> int | float:
    value = int(digits)
    return value if abs(value) <= MAX_SAFE_INTEGER else float(digits)


def _refuse(path: str, message: str) -> NotCanonical:
    return NotCanonical([Fault(path.encode("utf-8", "backslashreplace").decode(), message)])
