"""Text as a reviewer sees it: nothing hidden, nothing that Slack reads as markup, nothing over its limit.

`visible` shows as `⟨U+202E⟩` whatever has no glyph of its own: control and format characters, zero-width
and bidi characters, tags, fillers, private and unassigned code points, lone surrogates, spaces other than
U+0020. Newline and tab stay; joiners and variation selectors stay inside an emoji. It may be applied twice.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

MAX_MARKS = 4  # combining marks on one letter; more than any script stacks hide the lines around them
LONG_GAP = 16  # spaces in a row that push the rest of a line out of sight

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# printable for Python, and still blank: fillers, blank symbols, variation selectors, tags
_BLANKS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufffc"
    "\U0001d159\U00013441\U00013442\U00016fe4\U000e0000-\U000e0fff]"
)
_EMOJI = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf"
    "\u2934\u2935\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_EMOJI_SEQUENCE = re.compile(
    f"[0-9#*]\ufe0f\u20e3|{_EMOJI}(?:[\U0001f3fb-\U0001f3ff]?\u200d{_EMOJI}|\ufe0f\u200d{_EMOJI}|\ufe0f)+"
)
_ESCAPE = re.compile(r"⟨U\+[0-9A-F]{4,6}⟩")
_LONGEST_ESCAPE = len("⟨U+10FFFF⟩")
_GAPS = re.compile(rf"^ +| {{{LONG_GAP},}}")
_TRAILING = re.compile(" +$")


def visible(text: str) -> str:
    """`text` with every character that a reader cannot see written as `⟨U+…⟩`."""
    if text.isascii():
        return _CONTROLS.sub(lambda found: _name(found[0]), text)
    return "".join(_visible_pieces(text))


def one_line(text: str) -> str:
    """`visible` on one line: ⏎ for a newline, ⇥ for a tab; spaces at the ends and long gaps are counted."""
    return _TRAILING.sub(_count_spaces, _beginning(text))


def hides(text: str) -> bool:
    """True if `text` holds characters that `visible` has to write out."""
    return visible(text) != text


def escape(text: str) -> str:
    """`text` for a field that Slack reads as mrkdwn: the three characters that could start a token."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def size(text: str) -> int:
    """What `text` counts for in Slack's limits: after escaping, in UTF-16 units (the larger of the known ways)."""
    astral = 0 if text.isascii() else sum(character > "\uffff" for character in text)
    return len(text) + 4 * text.count("&") + 3 * text.count("<") + 3 * text.count(">") + astral


@dataclass(frozen=True, slots=True)
class Cut:
    """The beginning of a text, made visible, and how many characters of it are not shown."""

    shown: str
    hidden: int


def cut(text: str, limit: int, render: Callable[[str], str] = visible) -> Cut:
    """As much of `text` as fits in `limit` when rendered and escaped; no character is cut in half."""
    fits, over = 0, min(len(text), limit) + 1
    while over - fits > 1:
        middle = (fits + over) // 2
        fits, over = (middle, over) if size(render(text[:middle])) <= limit else (fits, middle)
    fits = _whole(text, fits)
    return Cut(render(text[:fits]), len(text) - fits)


def shorten(text: str, limit: int, more: str = "", *, lines: bool = False) -> str:
    """`text` within `limit`, on one line unless `lines`; if cut, it ends with how much is missing and `more`."""
    whole = cut(text, limit, visible if lines else one_line)
    if not whole.hidden:
        return whole.shown
    tail = f"… + {len(text):,} characters{more}"
    part = cut(text, max(0, limit - len(tail)), visible if lines else _beginning)
    return f"{part.shown}… + {part.hidden:,} characters{more}"


def chunks(text: str, limit: int) -> Iterator[str]:
    """The parts of a visible `text`, each within `limit`, at line ends where possible; joined they are `text`."""
    at = 0
    while at < len(text):
        end = min(at + limit, len(text))
        while (over := size(text[at:end]) - limit) > 0:
            end -= max(1, over // 6)
        if end < len(text):
            better = text.rfind("\n", (at + end) // 2, end) + 1 or _whole(text, _before_escape(text, end))
            end = better if better > at else end
        yield text[at:end]
        at = end


def has_rtl(text: str) -> bool:
    """True if `text` holds right-to-left letters, which turn what stands beside them on the same line."""
    return not text.isascii() and any(unicodedata.bidirectional(character) in ("R", "AL") for character in text)


def _beginning(text: str) -> str:
    line = visible(text).replace("\n", "⏎").replace("\t", "⇥")
    return _GAPS.sub(_count_spaces, line)


def _visible_pieces(text: str) -> Iterator[str]:
    at = 0
    for found in _EMOJI_SEQUENCE.finditer(text):
        if all(part in "\u200d\ufe0f" or part.isprintable() for part in found[0]):
            yield from _visible_characters(text[at : found.start()], at_start=at == 0)
            yield found[0]
            at = found.end()
    yield from _visible_characters(text[at:], at_start=at == 0)


def _visible_characters(text: str, *, at_start: bool) -> Iterator[str]:
    marks = MAX_MARKS if at_start else 0  # a mark at the start would land on our own text
    for character in text:
        if character in "\n\t":
            marks = MAX_MARKS
            yield character
        elif not character.isprintable() or _BLANKS.match(character):
            marks = MAX_MARKS
            yield _name(character)
        elif not character.isascii() and unicodedata.category(character) in ("Mn", "Me"):
            marks += 1
            yield character if marks <= MAX_MARKS else _name(character)
        else:
            marks = 0
            yield character


def _name(character: str) -> str:
    return f"⟨U+{ord(character):04X}⟩"


def _count_spaces(found: re.Match[str]) -> str:
    count = len(found[0])
    return "⟨1 space⟩" if count == 1 else f"⟨{count:,} spaces⟩"


def _whole(text: str, end: int) -> int:
    while 0 < end < len(text) and (_continues(text[end]) or text[end - 1] == "\u200d"):
        end -= 1
    return end


def _continues(character: str) -> bool:
    return not character.isascii() and (
        unicodedata.category(character) in ("Mn", "Me", "Mc")
        or character == "\u200d"
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    )


def _before_escape(text: str, end: int) -> int:
    begin = text.rfind("⟨", max(0, end - _LONGEST_ESCAPE), end)
    found = _ESCAPE.match(text, begin) if begin >= 0 else None
    return begin if found is not None and found.end() > end else end
