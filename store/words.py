"""Types of readable columns, the same on both databases: what one refuses, the other refuses too.

PostgreSQL stores no NUL character and counts lengths; SQLite does neither, and both raise errors of
their own for half a surrogate pair. So names and ids (`Word`) are refused before they reach the
database, and sentences that nobody compares (`Sentence`) are cleaned.
"""

from typing import Any

from sqlalchemy import Column, Dialect, String, Text
from sqlalchemy.types import TypeDecorator

from seconder.errors import Fault, InvalidInput

LONGEST_SENTENCE = 8000  # characters; an error text beyond it is cut
UNFIT = {0: "\N{REPLACEMENT CHARACTER}", **dict.fromkeys(range(0xD800, 0xE000), "\N{REPLACEMENT CHARACTER}")}


class Word(TypeDecorator[str]):
    """At most `length` characters, compared exactly; binding anything else raises InvalidInput."""

    impl = String
    cache_ok = True

    def __init__(self, name: str, length: int) -> None:
        super().__init__(length)
        self.name, self.length = name, length

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's
        if value is None:
            return None
        if len(value) > self.length:
            raise InvalidInput([Fault(self.name, f"longer than {self.length} characters")])
        if value.translate(UNFIT) != value:
            raise InvalidInput([Fault(self.name, "holds a NUL character or half of a character; send plain text")])
        return str(value)


class Sentence(TypeDecorator[str]):
    """Free text for people: NUL and half characters become U+FFFD, and what is too long is cut."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's
        if value is None:
            return None
        return value[:LONGEST_SENTENCE].translate(UNFIT)


def word(name: str, length: int, *constraints: Any, **options: Any) -> Column[str]:
    """A column of words, whose refusals name it."""
    return Column(name, Word(name, length), *constraints, **options)
