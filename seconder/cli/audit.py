"""`seconder audit`: the trail is verified, and taken home as JSON lines."""

from typing import Annotated

import typer

from seconder.cli.opening import desk
from seconder.cli.show import AsJson, console, emit, emit_line, say

program = typer.Typer(help="The trail: who decided what, seeing what.", no_args_is_help=True)

Review = Annotated[str | None, typer.Option("--review", help="Only this review's entries.", metavar="ID")]


@program.command()
def verify(as_json: AsJson = False) -> None:
    """Check every chain of the trail; exit code 1 where one was tampered with."""
    from seconder.desk import look

    with desk() as opened:
        chains, breaks = look.verify(opened)
    if as_json:
        places = [{"subject": broken.subject, "seq": broken.seq, "why": broken.why} for broken in breaks]
        emit({"ok": not breaks, "chains": chains, "breaks": places})
    elif not breaks:
        console().print(f"{chains:,} {'chain verifies' if chains == 1 else 'chains verify'}")
    if breaks and not as_json:
        for broken in breaks:
            say(f"{broken.subject}, entry {broken.seq}: {broken.why}", name=False)
        say(f"the trail does not verify in {len(breaks)} places: compare it with a backup")
    if breaks:
        raise typer.Exit(1)


@program.command()
def export(review: Review = None, as_json: AsJson = False) -> None:  # noqa: ARG001 - JSON lines in any case
    """Print the trail as JSON lines, each chain in order."""
    from seconder.desk import audit

    with desk() as opened:
        for entry in audit.export(opened, review):
            emit_line(entry)
