"""`seconder keys`: a fresh key is printed; what is stored is sealed with the newest key."""

import secrets
import sys

import typer

from seconder.cli.opening import desk, settings
from seconder.cli.show import AsJson, console, emit, say

program = typer.Typer(help="The keys under which stored secrets are sealed.", no_args_is_help=True)


@program.command()
def new(as_json: AsJson = False) -> None:
    """Print a fresh key for SECONDER_KEYS."""
    from seconder.keyring import new_key

    key = new_key(secrets.token_bytes)
    if as_json:
        emit({"key": key})
    else:
        print(key)


@program.command()
def rotate(as_json: AsJson = False) -> None:
    """Seal everything stored with the first key of SECONDER_KEYS, so that the others can be forgotten.

    Put the new key in front of the old ones and restart every process before.
    """
    from rich.console import Console
    from rich.progress import Progress

    from seconder.desk.rotate import rotate as seal_again

    with (
        desk(settings(beside=False)) as opened,
        Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress,
    ):
        task = progress.add_task("sealing", total=None)
        rows = seal_again(opened, lambda done, total: progress.update(task, completed=done, total=total))
    if as_json:
        emit({"rows": rows})
        return
    console().print(f"{rows:,} rows were sealed with the newest key" if rows else "everything has the newest key")
    say("once every process has the new ring, the older keys can be taken out of SECONDER_KEYS")
