"""CEL: compiled once when the policy is loaded; what cannot be answered for sure is Unclear, never true."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import cel

from seconder.action import MAX_SAFE_INTEGER, Json
from seconder.policies.nodes import nearest

MAX_LENGTH = 2000  # characters; the parser recurses, and some 20,000 operators overflow the stack of the process

TYPES = ("bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint")
FUNCTIONS = (
    *("bytes", "contains", "double", "duration", "dyn", "endsWith", "int", "matches", "size", "startsWith"),
    *("string", "timestamp", "type", "uint"),
    *("getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours"),
    *("getMilliseconds", "getMinutes", "getMonth", "getSeconds"),
)
BOUND = re.compile(r"\.\s*(?:all|exists|exists_one|existsOne|map|filter)\s*\(\s*([A-Za-z_]\w*)\s*,")
STEP = r"""\s*\.\s*[A-Za-z_]\w*\b(?!\s*\()|\s*\[\s*(?:\d+|"[^"\\]*"|'[^'\\]*')\s*\]"""
ARGUMENT = re.compile(rf"(?<![\w.])args\b((?:{STEP})*)")
KEY = re.compile(r"""\.\s*(?P<name>\w+)|\[\s*(?P<index>\d+)\s*\]|\[\s*["'](?P<quoted>[^"']*)["']""")
NOUNS: Mapping[type, str] = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a mapping",
}
ERRORS = (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Unclear:
    """Why there is no sure answer, as the end of a sentence; it holds no value of an argument."""

    why: str


@dataclass(frozen=True)
class Facts:
    """The names of one case, handed to CEL once for all its conditions."""

    names: Mapping[str, Json]

    @cached_property
    def context(self) -> cel.Context:
        return cel.Context(dict(self.names))


@dataclass(frozen=True, slots=True)
class Expression:
    text: str
    _program: cel.Program
    _arguments: tuple[tuple[str | int, ...], ...]

    def truth(self, facts: Facts) -> bool | Unclear:
        value = self._value(facts)
        if isinstance(value, bool | Unclear):
            return value
        return Unclear(f"it gives {_noun(value)}, not true or false")

    def amount(self, facts: Facts) -> Decimal | Unclear:
        """Zero or more, exact as written in the arguments."""
        value = self._value(facts)
        if isinstance(value, Unclear):
            return value
        if isinstance(value, bool) or not isinstance(value, int | float):
            return Unclear(f"it gives {_noun(value)}, not a number")
        number = Decimal(repr(value))
        if not number.is_finite() or number < 0:
            return Unclear("it gives a number below zero, or none that can be added")
        return number

    def _value(self, facts: Facts) -> Json:
        for path in self._arguments:
            if _holds_big_integer(_follow(facts.names["args"], path)):
                return Unclear(f"an integer in {_dotted(path)} is too large to be compared exactly")
        try:
            return self._program.execute(facts.context)
        except ERRORS as error:
            return Unclear(self._why(error, facts))

    def _why(self, error: Exception, facts: Facts) -> str:
        match error:
            case KeyError(args=(str(name),)) if re.search(rf"\b{re.escape(name)}\b", self.text):
                return f"there is no {name!r} in what was sent"
            case LookupError():
                return "it reads something that was not sent"
            case ZeroDivisionError():
                return "it divides by zero"
            case OverflowError():
                return "a number becomes too large"
            case TypeError():
                return f"it compares or combines values that do not go together{self._kinds(facts)}"
            case _:
                return "it cannot be evaluated with the values that were sent"

    def _kinds(self, facts: Facts) -> str:
        """What kinds of values the expression reads, without the values."""
        reads = [(_dotted(path), _follow(facts.names["args"], path)) for path in self._arguments]
        reads += [(name, None) for name in self._program.variables() if facts.names.get(name, "") is None]
        kinds = [f"{name} is {_noun(value)}" for name, value in reads[:3]]
        return f" ({', '.join(kinds)})" if kinds else ""


def compiled(text: str, names: tuple[str, ...]) -> Expression | str:
    """The expression, or a sentence that says what is wrong with it."""
    if len(text) > MAX_LENGTH:
        return f"is {len(text):,} characters long; at most {MAX_LENGTH:,} are possible, so make two rules of it"
    try:
        program = cel.compile(text)
    except ValueError as error:
        return f"is not a CEL expression: {_syntax(error)}"
    bound = set(BOUND.findall(text))
    for name in program.variables():
        if name not in bound and name not in names and name not in TYPES:
            return f"there is no {name!r}; {nearest(name, names)}"
    for name in program.functions():
        if name.isidentifier() and not name.startswith("_") and name not in FUNCTIONS:
            return f"there is no function {name!r}; {nearest(name, FUNCTIONS)}"
    return Expression(text, program, tuple(dict.fromkeys(_arguments(text))))


def _arguments(text: str) -> Iterator[tuple[str | int, ...]]:
    """The arguments that an expression reads, as far as their paths are written out."""
    for found in ARGUMENT.finditer(text):
        steps = KEY.finditer(found[1])
        yield tuple(int(step["index"]) if step["index"] else step["name"] or step["quoted"] or "" for step in steps)


def _dotted(path: tuple[str | int, ...]) -> str:
    return ".".join(str(step) for step in ("args", *path))


def _follow(value: Json, path: tuple[str | int, ...]) -> Json:
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list | tuple) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def _holds_big_integer(value: Json) -> bool:
    match value:
        case int():
            return abs(value) > MAX_SAFE_INTEGER
        case Mapping():
            return any(_holds_big_integer(item) for item in value.values())
        case list() | tuple():
            return any(_holds_big_integer(item) for item in value)
        case _:
            return False


def _noun(value: Json) -> str:
    return NOUNS.get(type(value), f"a {type(value).__name__}")


def _syntax(error: ValueError) -> str:
    found = re.search(r"<input>:(\d+):(\d+): (?:Syntax error: )?([^\n]*)", str(error))
    if found is None:
        return "it cannot be parsed"
    line, column, message = found.groups()
    place = f"character {column}" if line == "1" else f"its line {line}, character {column}"
    return f"{message.partition(' expecting ')[0]} ({place})"
