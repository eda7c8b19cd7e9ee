"""Options of a select: labels short enough for Slack that still differ from each other."""

from seconder.bot.card_blocks import Element, plain
from seconder.bot.text import one_line, size

MAX_OPTIONS = 100  # Slack's limit for a select
MAX_OPTION = 75  # Slack's limit for an option's label


def options(labels: list[str]) -> list[Element]:
    """Options with distinct labels of at most 75; their values are positions."""
    shown = [shorten_label(label) for label in labels]
    distinct = len(set(shown)) == len(shown) and all(label.strip() for label in shown)
    if not distinct or any(size(one_line(label)) > MAX_OPTION for label in labels):
        shown = [shorten_label(f"{index + 1}. {_tail(label, labels)}") for index, label in enumerate(labels)]
    return [{"text": plain(label), "value": str(index)} for index, label in enumerate(shown)]


def shorten_label(label: str) -> str:
    """`label` on one line of at most 75."""
    line = one_line(label)
    if size(line) <= MAX_OPTION:
        return line
    while size(line) > MAX_OPTION - 1:
        line = line[: -max(1, (size(line) - MAX_OPTION) // 6)]
    return f"{line}…"


def _tail(label: str, labels: list[str]) -> str:
    """`label` from where it begins to differ from the others, if its beginning is long and shared."""
    if size(one_line(label)) <= MAX_OPTION:
        return label
    shared = next((at for at, letters in enumerate(zip(*labels, strict=False)) if len(set(letters)) > 1), 0)
    keep = MAX_OPTION // 3
    return f"{label[:keep]}…{label[shared:]}" if shared > keep * 2 else label
