"""`seconder db`: the database is brought up to date, checked, copied."""

from pathlib import Path
from typing import Annotated

import typer

from seconder.cli.opening import settings
from seconder.cli.show import AsJson, console, emit, say

program = typer.Typer(help="The database: upgrade, check, backup.", no_args_is_help=True)


@program.command()
def upgrade(as_json: AsJson = False) -> None:
    """Bring the database to the newest schema; it is made where there is none."""
    from seconder.desk import upkeep

    found = settings(beside=False)
    applied = upkeep.upgrade(found)
    if as_json:
        emit({"database": found.database, "applied": applied})
    elif applied:
        console().print(f"{found.database}: applied {', '.join(applied)}", markup=False)
    else:
        console().print(f"{found.database} is up to date", markup=False)


@program.command()
def check(as_json: AsJson = False) -> None:
    """Say whether the database is up to date and whole; exit code 1 if not."""
    from seconder.desk import upkeep

    found = settings(beside=False)
    condition = upkeep.check(found)
    if as_json:
        pending, broken = [*condition.pending], [*condition.broken]
        emit({"database": found.database, "ok": condition.good, "pending": pending, "broken": broken})
    elif condition.good:
        console().print(f"{found.database} is up to date and whole", markup=False)
    if condition.pending and not as_json:
        say(f"{found.database} lacks {', '.join(condition.pending)}: run `seconder db upgrade`")
    if condition.broken and not as_json:
        say(f"{found.database} is damaged, go back to a backup: {'; '.join(condition.broken)}")
    if not condition.good:
        raise typer.Exit(1)


@program.command()
def backup(path: Annotated[Path, typer.Argument(help="The file to write.")], as_json: AsJson = False) -> None:
    """Copy a SQLite database while it is in use."""
    from seconder.desk import upkeep

    size = upkeep.backup(settings(beside=False), path)
    if as_json:
        emit({"path": str(path), "bytes": size})
    else:
        console().print(f"{path} ({size:,} bytes)", markup=False)
        say("keep SECONDER_KEYS somewhere else: without the ring nobody can read the backup")
