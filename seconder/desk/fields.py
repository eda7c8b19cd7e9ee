"""Kinds of fields in the bodies that callers send."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field

from seconder.desk.exact import mended

MAX_PROSE = 20_000  # characters
MIN_YEAR, MAX_YEAR = 1900, 9000  # beyond these an offset has no UTC
MAX_FENCE = 2**31 - 1

DECISION_WORDS = {
    "approve": "approved",
    "edit": "edited",
    "reject": "rejected",
    "answer": "answered",
    "take_over": "taken_over",
}


def plain(text: str) -> str:
    """Raises: ValueError for a NUL, which PostgreSQL does not store."""
    if "\x00" in text:
        message = "holds a NUL character; remove it"
        raise ValueError(message)
    return text


def _is_text(value: object) -> object:
    if not isinstance(value, str):
        message = "send a time as text with its offset, like 2027-01-01T10:00:00Z"
        raise ValueError(message)  # noqa: TRY004 - pydantic turns ValueError into a fault
    return value


def _in_utc(at: datetime) -> datetime:
    if not MIN_YEAR < at.year < MAX_YEAR:
        message = f"send a year between {MIN_YEAR} and {MAX_YEAR}"
        raise ValueError(message)
    return at.astimezone(UTC)


def _address(text: str) -> str:
    try:
        parts = urlsplit(plain(text))
        usable = bool(parts.hostname) and parts.username is None and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not text.isascii() or any(letter.isspace() for letter in text):
        message = "send an address like https://host/path, without a user name in it"
        raise ValueError(message)
    return text


def _said(text: object) -> object:
    return str(mended(text))[:MAX_PROSE].replace("\x00", "") if isinstance(text, str) else text


def _decision_word(value: object) -> object:
    return DECISION_WORDS.get(value, value) if isinstance(value, str) else value


Word = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(plain)]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(plain)]
Prose = Annotated[str, Field(max_length=MAX_PROSE), AfterValidator(plain)]
Said = Annotated[str, Field(description=f"Cut at {MAX_PROSE:,} characters."), BeforeValidator(_said)]
Told = Annotated[Any, BeforeValidator(mended)]
Address = Annotated[
    str,
    Field(
        max_length=2000, pattern=r"^https?://", description="Hears how the review ended, signed by Standard Webhooks."
    ),
    AfterValidator(_address),
]
Share = Annotated[float, Field(ge=0, le=1, strict=True)]
Flag = Annotated[bool, Field(strict=True)]
Moment = Annotated[AwareDatetime, BeforeValidator(_is_text), AfterValidator(_in_utc)]
Fence = Annotated[int, Field(ge=0, le=MAX_FENCE, strict=True)]
DecisionWord = Annotated[
    Literal["approved", "edited", "rejected", "answered", "taken_over"], BeforeValidator(_decision_word)
]
