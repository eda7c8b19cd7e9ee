"""How results look: tables and JSON on stdout, sentences on stderr, times as people and machines read them."""

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from seconder.bot.text import one_line, visible

PIPED_WIDTH = 250  # columns where nobody looks: nothing is cut off
LABEL_WIDTH = 14  # so that several lists stand under each other
UNITS = ((timedelta(days=2), "d", 86400), (timedelta(hours=2), "h", 3600), (timedelta(minutes=2), "min", 60))

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]


def say(text: str, *, name: bool = True) -> None:
    """The text is on stderr, each line under our name; terminal controls in it are made visible."""
    lines = [f"seconder: {line}" if name else line for line in visible(text).splitlines()]
    print("\n".join(lines), file=sys.stderr)


def emit(value: Any) -> None:
    """The value is on stdout as JSON, in ASCII: nothing in it can move a cursor."""
    print(json.dumps(value, indent=2))


def emit_line(value: Any) -> None:
    """The value is one line of JSON on stdout, at once."""
    print(json.dumps(value), flush=True)


def console() -> Any:
    """A Rich console on stdout."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False, emoji=False)


def draw(drawn: Any) -> None:
    """Something of Rich is on stdout, without the spaces at the ends of its lines."""
    paper = console()
    with paper.capture() as capture:
        paper.print(drawn)
    print("\n".join(line.rstrip() for line in capture.get().splitlines()))


def text(value: object, style: str = "") -> Any:
    """Anything as one line of text that is neither markup nor a terminal's control."""
    from rich.text import Text

    return Text(one_line(str(value)), style=style)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str) -> None:
    """A table on stdout, its first column never broken; `empty` on stderr where there are no rows."""
    from rich.table import Table

    shown = [*rows]
    if not shown:
        say(empty, name=False)
        return
    drawn = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for number, column in enumerate(columns):
        drawn.add_column(column, no_wrap=number == 0, overflow="fold")
    for row in shown:
        drawn.add_row(*(text(cell) for cell in row))
    draw(drawn)


def facts(pairs: Iterable[tuple[str, object]], *, under: str = "") -> None:
    """Labels and values on stdout, one to a line, indented by `under`; what is None or empty is left out."""
    from rich.table import Table
    from rich.text import Text

    drawn = Table.grid(padding=(0, 3, 0, 0))
    drawn.add_column(style="dim", no_wrap=True, min_width=LABEL_WIDTH)
    drawn.add_column(overflow="fold")
    for label, value in pairs:
        if value is not None and value != "":
            drawn.add_row(Text(under).append_text(text(label)), text(value))
    draw(drawn)


def when(at: datetime | None, now: datetime) -> str:
    """`2026-01-31 09:05 UTC, 3 min ago`."""
    return "" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC, {ago(at, now)}"


def ago(at: datetime, now: datetime) -> str:
    """`3 min ago`, `in 4 h`, `now`."""
    away = abs(now - at)
    if away < timedelta(seconds=1):
        return "now"
    size, seconds = next(((unit, each) for least, unit, each in UNITS if away >= least), ("s", 1))
    count = f"{away.total_seconds() / seconds:.0f} {size}"
    return f"{count} ago" if at <= now else f"in {count}"
