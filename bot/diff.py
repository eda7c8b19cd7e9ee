"""What an edit changed, field by field, old and new each cut around the first difference."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from seconder.action import Json
from seconder.bot.masks import Masker
from seconder.bot.text import one_line, shorten
from seconder.bot.values import brief

_BEFORE = 24  # characters kept in front of the first difference


class Absent:
    """The field is not there at all, which is neither null nor empty."""


ABSENT = Absent()


@dataclass(frozen=True, slots=True)
class Change:
    """One field, dotted where it lies deeper, with its value before and after; either may be ABSENT."""

    path: str
    old: Json
    new: Json


def changes(old: Mapping[str, Json], new: Mapping[str, Json], prefix: str = "") -> Iterator[Change]:
    """Each field that differs, in the order of `old`, then what `new` adds."""
    for name in [*old, *(name for name in new if name not in old)]:
        path = f"{prefix}.{name}" if prefix else name
        before, after = old.get(name, ABSENT), new.get(name, ABSENT)
        if isinstance(before, Mapping) and isinstance(after, Mapping) and before and after:
            yield from changes(before, after, path)
        elif not same(before, after):
            yield Change(path, before, after)


def same(one: Json, other: Json) -> bool:
    """Equal as JSON: true is not 1, 1 and 1.0 are the same number, lists differ by order."""
    match one, other:
        case (bool(), _) | (_, bool()):
            return one is other
        case (Mapping(), Mapping()):
            return one.keys() == other.keys() and all(same(item, other[name]) for name, item in one.items())
        case (list() | tuple(), list() | tuple()):
            return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
        case _:
            return bool(one == other)


def shown(change: Change, masker: Masker, limit: int) -> tuple[str, str]:
    """Old and new of `change` on one line each, within `limit`, secrets hidden."""
    old, new = (_masked(value, change.path, masker) for value in (change.old, change.new))
    if isinstance(old, str) and isinstance(new, str) and old.strip() and new.strip():
        return _around(old, new, limit)
    return _brief(old, limit), _brief(new, limit)


def _around(old: str, new: str, limit: int) -> tuple[str, str]:
    if len(one_line(old)) <= limit // 2 and len(one_line(new)) <= limit // 2:
        return shorten(old, limit), shorten(new, limit)
    begin = max(0, _first_difference(old, new) - _BEFORE)
    lead = "…" if begin else ""
    return lead + shorten(old[begin:], limit - 1), lead + shorten(new[begin:], limit - 1)


def _first_difference(old: str, new: str) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(old), len(new)))


def _masked(value: Json, path: str, masker: Masker) -> Json:
    return value if isinstance(value, Absent) else masker.value(value, path)


def _brief(value: Json, limit: int) -> str:
    return "not set" if isinstance(value, Absent) else brief(value, limit).text
