"""`seconder queue`: what waits to be done in Slack, and what was given up."""

from typing import Annotated

import typer

from seconder.cli.opening import desk
from seconder.cli.show import AsJson, emit, say, table, when

program = typer.Typer(help="What waits to be done in Slack.", no_args_is_help=True)

STATES = ("queued", "leased", "dead")
Ident = Annotated[int, typer.Argument(help="The item's number, as `seconder queue list` shows it.", metavar="ID")]
State = Annotated[str | None, typer.Option("--state", help="Only queued, leased or dead ones.")]


@program.command("list")
def list_items(state: State = None, as_json: AsJson = False) -> None:
    """Show what waits, in the order in which it is due."""
    from seconder.desk import look, people
    from seconder.desk.wire import iso

    if state is not None and state not in STATES:
        raise typer.BadParameter(f"{state!r} is not one of {', '.join(STATES)}", param_hint="--state")
    with desk() as opened:
        items, now = look.queued(opened, state=state), people.now(opened)
    if as_json:
        names = ("id", "topic", "subject", "state", "attempts", "error")
        stamps = [{"created_at": iso(item.created_at), "due_at": iso(item.due_at)} for item in items]
        emit([{name: getattr(item, name) for name in names} | at for item, at in zip(items, stamps, strict=True)])
        return
    columns = ("id", "state", "topic", "about", "tries", "due", "last error")
    rows = ((i.id, i.state, i.topic, i.subject, i.attempts, when(i.due_at, now), i.error or "") for i in items)
    table(columns, rows, empty="Nothing waits.")


@program.command()
def retry(item: Ident, as_json: AsJson = False) -> None:
    """Try a dead item again, now."""
    from seconder.desk import delivery

    with desk() as opened:
        _done(item, delivery.retry(opened, item), "due again", as_json=as_json)


@program.command()
def drop(item: Ident, as_json: AsJson = False) -> None:
    """Forget a dead item."""
    from seconder.desk import delivery

    with desk() as opened:
        _done(item, delivery.drop(opened, item), "dropped", as_json=as_json)


def _done(item: int, was_dead: bool, what: str, *, as_json: bool) -> None:
    if as_json:
        emit({"id": item, "done": was_dead})
    elif was_dead:
        print(f"{item} is {what}")
    else:
        say(f"no dead item {item}: `seconder queue list --state dead` shows those there are")
    if not was_dead:
        raise typer.Exit(1)
