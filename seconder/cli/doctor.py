"""`seconder doctor`: everything that can be wrong, looked at one thing after the other, each with a fix."""

from typing import TYPE_CHECKING

import typer

from seconder.cli.show import AsJson, console, emit, text

if TYPE_CHECKING:
    from seconder.bot.checks import Check

SIGNS = {True: ("✓", "green"), False: ("✗", "red"), None: ("!", "yellow")}


def doctor(as_json: AsJson = False) -> None:
    """Check database, keys, policy, and everything between us and Slack; exit code 1 where something is wrong."""
    from seconder.cli.examine import checks

    done: list[Check] = []
    for check in checks():
        done.append(check)
        if not as_json:
            _print(check)
    wrong = [check for check in done if check.good is False]
    if as_json:
        said = [{"check": c.name, "ok": c.good, "says": c.says, "fix": c.fix} for c in done]
        emit({"ok": not wrong, "checks": said})
    if wrong:
        raise typer.Exit(1)


def _print(check: "Check") -> None:
    sign, style = SIGNS[check.good]
    line = text(sign, style).append(" ").append_text(text(check.name, "bold"))
    line.append(": ").append_text(text(check.says))
    if check.fix is not None and check.good is not True:
        line.append("\n  → ", "dim").append_text(text(check.fix, "dim"))
    console().print(line, soft_wrap=True)
