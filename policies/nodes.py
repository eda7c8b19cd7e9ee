"""A YAML file as spots: each knows its line and its path, and a wrong one records a fault instead of raising."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from difflib import get_close_matches
from enum import StrEnum
from typing import TypeVar

import yaml

from seconder.errors import Fault

E = TypeVar("E", bound=StrEnum)

MAX_DURATION = timedelta(days=365)
MAX_TEXT = 500  # characters: a card has room for a sentence
DURATION = re.compile(r"(?:(\d{1,5})d)?(?:(\d{1,5})h)?(?:(\d{1,5})m)?(?:(\d{1,6})s)?")
NUMBER = re.compile(r"\d{1,18}(\.\d{1,9})?")


@dataclass(frozen=True, slots=True)
class Faults:
    """Every fault of all files."""

    found: list[tuple[str, int, int, Fault]] = field(default_factory=list)

    def add(self, file: str, line: int, path: str, message: str, *, column: int = 0) -> None:
        place = f"{file}:{line}: {path}" if path else f"{file}:{line}"
        self.found.append((file, line, column, Fault(place, message)))

    def in_order(self) -> list[Fault]:
        """By file, line and column."""
        return [found[-1] for found in sorted(self.found, key=lambda found: found[:3])]


@dataclass(frozen=True, slots=True)
class Spot:
    """One place in a file; every reader returns a harmless value where it recorded a fault."""

    node: yaml.Node
    path: str
    file: str
    faults: Faults

    @property
    def line(self) -> int:
        return self.node.start_mark.line + 1

    @property
    def source(self) -> str:
        """`file:line`."""
        return f"{self.file}:{self.line}"

    def fault(self, message: str) -> None:
        self.faults.add(self.file, self.line, self.path, message, column=self.node.start_mark.column)

    def child(self, node: yaml.Node, step: str) -> "Spot":
        path = f"{self.path}{step}" if step.startswith("[") or not self.path else f"{self.path}.{step}"
        return Spot(node, path, self.file, self.faults)

    # --- collections --------------------------------------------------------------------------------

    def fields(self, known: Sequence[str], *, required: Sequence[str] = ()) -> dict[str, "Spot"]:
        """The known keys that are there; unknown, doubled and missing ones are faults."""
        if not isinstance(self.node, yaml.MappingNode):
            self.fault(f"must be a mapping with {', '.join(known)}, not {self._what()}")
            return {}
        found = {}
        for name, spot in self.entries():
            if name in known:
                found[name] = spot
            else:
                spot.fault(f"there is no key {name!r} here; {nearest(name, known)}")
        for name in required:
            if name not in found:
                self.fault(f"{name!r} is missing; add it")
        return found

    def entries(self) -> Iterator[tuple[str, "Spot"]]:
        """Every key and its spot, in file order; a doubled key is a fault, and only its first value counts."""
        if not isinstance(self.node, yaml.MappingNode):
            self.fault(f"must be a mapping, not {self._what()}")
            return
        seen: dict[str, int] = {}
        for key, value in self._pairs(self.node, ()):
            name = key.value if isinstance(key, yaml.ScalarNode) else "?"
            spot = self.child(key, name)
            if not isinstance(key, yaml.ScalarNode):
                spot.fault("a key must be plain text")
            elif name in seen:
                spot.fault(f"the key {name!r} stands here twice, first at line {seen[name]}; keep one")
            else:
                seen[name] = key.start_mark.line + 1
                yield name, self.child(value, name)

    def _pairs(self, node: yaml.MappingNode, inside: tuple[int, ...]) -> list[tuple[yaml.Node, yaml.Node]]:
        """Keys and values with `<<` followed; a key that stands in the mapping itself wins over a merged one."""
        own = [pair for pair in node.value if pair[0].tag != "tag:yaml.org,2002:merge"]
        names = {key.value for key, _ in own if isinstance(key, yaml.ScalarNode)}
        pairs = list(own)
        for key, value in node.value:
            if key.tag != "tag:yaml.org,2002:merge":
                continue
            for part in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                if not isinstance(part, yaml.MappingNode) or id(part) in inside or part is node:
                    self.child(key, "<<").fault("merge a mapping that does not contain this one")
                    continue
                merged = self._pairs(part, (*inside, id(node)))
                pairs += [pair for pair in merged if pair[0].value not in names]
                names |= {pair[0].value for pair in merged if isinstance(pair[0], yaml.ScalarNode)}
        return pairs

    def items(self, *, least: int = 1, most: int = 1000) -> list["Spot"]:
        if not isinstance(self.node, yaml.SequenceNode):
            self.fault(f"must be a list, not {self._what()}")
            return []
        if not least <= len(self.node.value) <= most:
            self.fault(f"must have {least} to {most} entries, not {len(self.node.value)}")
        return [self.child(node, f"[{index}]") for index, node in enumerate(self.node.value[:most])]

    def is_list(self) -> bool:
        return isinstance(self.node, yaml.SequenceNode)

    # --- values -------------------------------------------------------------------------------------

    def text(self, *, most: int = MAX_TEXT) -> str:
        """Text without space around it; what YAML reads as a number or as true has to be quoted."""
        if not isinstance(self.node, yaml.ScalarNode):
            self.fault(f"must be text, not {self._what()}")
            return ""
        value: str = self.node.value.strip()
        if self.node.tag != "tag:yaml.org,2002:str":
            kind = self.node.tag.rpartition(":")[2]
            self.fault(f"YAML reads {value!r} as {kind}; put it in quotes" if value else "must not be empty")
        elif not value:
            self.fault("must not be empty")
        elif len(value) > most:
            self.fault(f"is {len(value):,} characters long; at most {most:,} are possible")
        return value[:most]

    def plain(self) -> str:
        """The characters of a value as they stand in the file, whatever YAML makes of them."""
        if isinstance(self.node, yaml.ScalarNode):
            return str(self.node.value).strip()
        self.fault(f"must be a value, not {self._what()}")
        return ""

    def integer(self, low: int, high: int) -> int:
        value = self.plain()
        if value.isascii() and value.isdigit() and len(value) < len(str(high)) + 2 and low <= int(value) <= high:
            return int(value)
        self.fault(f"must be a whole number from {low:,} to {high:,}, not {value!r}")
        return low

    def number(self) -> Decimal:
        """More than zero, exact."""
        value = self.plain()
        if NUMBER.fullmatch(value) and Decimal(value) > 0:
            return Decimal(value)
        self.fault(f"must be a number more than zero, such as 100 or 99.50, not {value!r}")
        return Decimal(1)

    def percent(self) -> Decimal:
        """`10%` as 0.1."""
        value = self.plain()
        digits = value.removesuffix("%")
        if value.endswith("%") and NUMBER.fullmatch(digits) and Decimal(digits) <= 100:  # noqa: PLR2004
            return Decimal(digits) / 100
        self.fault(f"must be a percentage from 0% to 100%, not {value!r}")
        return Decimal(0)

    def flag(self) -> bool:
        value = self.plain()
        if value in {"true", "false"}:
            return value == "true"
        self.fault(f"must be true or false, not {value!r}")
        return False

    def duration(self) -> timedelta:
        value = self.plain()
        found = DURATION.fullmatch(value)
        if found and value:
            days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
            length = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
            if timedelta(0) < length <= MAX_DURATION:
                return length
            self.fault(f"{value} must be more than nothing and at most {MAX_DURATION.days} days")
        else:
            self.fault(f"must be a duration such as 90s, 15m, 2h30m or 1d, not {value!r}")
        return timedelta(seconds=1)

    def choice(self, words: type[E], default: E) -> E:
        value = self.plain()
        try:
            return words(value)
        except ValueError:
            known = [str(word) for word in words]
            close = get_close_matches(value, known, n=1)
            end = f"did you mean {close[0]!r}?" if close else "choose one of them"
            self.fault(f"{value!r} is not one of {', '.join(known)}; {end}")
            return default

    def _what(self) -> str:
        match self.node:
            case yaml.ScalarNode():
                return repr(self.node.value) if self.node.value else "nothing"
            case yaml.SequenceNode():
                return "a list"
            case _:
                return "a mapping"


def nearest(word: str, known: Sequence[str]) -> str:
    """The end of a fault's sentence: which known word was probably meant, or which there are."""
    close = get_close_matches(word, known, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known are {', '.join(sorted(known))}" if known else "none is declared"


def compose(text: str, file: str, faults: Faults) -> Spot | None:
    """The root of the file, or None and a fault that says where reading stopped."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        faults.add(file, line, "", _unreadable(error))
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        faults.add(file, line, "", "a character that YAML does not allow stands here; remove it")
    except RecursionError:
        faults.add(file, 1, "", "is nested too deeply to be a policy")
    else:
        if root is not None:
            return Spot(root, "", file, faults)
        faults.add(file, 1, "", "is empty; a policy needs version, roles, fallback and rules")
    return None


def _unreadable(error: yaml.MarkedYAMLError) -> str:
    problem = ", ".join(part for part in (error.context, error.problem) if part)
    if "'\\t'" in problem:
        return "a tab cannot indent YAML; use spaces"
    return f"the YAML cannot be read: {problem}"
