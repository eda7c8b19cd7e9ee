"""`seconder reviews`: what was asked, and what became of it."""

import asyncio
import getpass
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from seconder.bot.text import one_line
from seconder.cli.opening import desk
from seconder.cli.review_text import actors, arguments, deciders, described, details, happened, row, since, what
from seconder.cli.show import AsJson, emit, emit_line, facts, say, table, when
from seconder.review import Review, Status

if TYPE_CHECKING:
    from seconder.desk.desk import Desk

program = typer.Typer(help="What was asked, and what became of it.", no_args_is_help=True)

MOST = 200
LOOKED_AT = 100  # newest reviews that `watch` follows
LONG = 3600.0  # seconds; a wait that ends is begun again

Marks: TypeAlias = dict[str, tuple[object, ...]]
Ident = Annotated[str, typer.Argument(help="The review's id, as `seconder reviews list` shows it.", metavar="ID")]
SomeIdent = Annotated[str | None, typer.Argument(help="Only this review, until it is settled.", metavar="[ID]")]
StatusOption = Annotated[Status | None, typer.Option("--status", help="Only those of this status.")]
AgentOption = Annotated[str | None, typer.Option("--agent", help="Only this agent's.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=MOST, help="How many, newest first.")]


@program.command("list")
def list_reviews(
    status: StatusOption = None, agent: AgentOption = None, limit: Limit = 20, as_json: AsJson = False
) -> None:
    """Show the newest reviews."""
    from seconder.desk import look, people
    from seconder.desk.said import review_json

    with desk() as opened:
        page = look.listed(opened, agent=agent, status=status, limit=limit)
        now, names = people.now(opened), people.names(opened, deciders(page.reviews))
    if as_json:
        emit([review_json(review) for review in page.reviews])
        return
    columns = ("id", "status", "what", "agent", "asked", "since")
    rows = (row(review, names, now) for review in page.reviews)
    table(columns, rows, empty="No reviews yet: an agent makes one when it asks.")
    if page.cursor is not None:
        say(f"the newest {limit} are shown; --limit shows up to {MOST}", name=False)


@program.command()
def show(review_id: Ident, as_json: AsJson = False) -> None:
    """Show one review with its history."""
    from seconder.desk import look, people
    from seconder.desk.said import review_json

    with desk() as opened:
        review = look.review(opened, review_id)
        if as_json:
            emit(review_json(review, look.run_name(opened, review.run_id)))
            return
        entries = look.history(opened, review_id)
        known = deciders([review]) | actors(entry.payload for entry in entries)
        now, names = people.now(opened), people.names(opened, known)
    facts(described(review, names, now))
    facts(arguments(review), under="  ")
    facts(details(review, now))
    print()
    rows = ((when(entry.at, now), entry.kind, happened(review, entry.payload, names)) for entry in entries)
    table(("when", "what happened", ""), rows, empty="Its trail is empty.")


@program.command()
def watch(review_id: SomeIdent = None, as_json: AsJson = False) -> None:
    """Print every change as it happens; ends with Ctrl-C, or when the one review is settled."""
    with desk() as opened:
        opened.store.watch()
        try:
            asyncio.run(_watch(opened, review_id, as_json=as_json))
        except KeyboardInterrupt:
            return


@program.command()
def cancel(review_id: Ident, as_json: AsJson = False) -> None:
    """Take a pending review back: nobody needs to decide it, and its agent learns that it was cancelled."""
    from seconder.desk import cancel as use_case
    from seconder.desk.said import review_json

    with desk() as opened:
        review = use_case.cancel(opened, review_id, by=f"command line: {getpass.getuser()}")
    if as_json:
        emit(review_json(review))
    else:
        print(f"{review.id} is {review.status.value}")


async def _watch(opened: "Desk", review_id: str | None, *, as_json: bool) -> None:
    from seconder.desk import look

    marks: Marks = {}
    news = await asyncio.to_thread(_news, opened, review_id, marks)
    if review_id is None:
        news = [review for review in news if review.status is Status.PENDING]
    while True:
        await asyncio.to_thread(_tell, opened, news, as_json=as_json)
        if review_id is not None and news and look.settled(news[-1]):
            return
        news = await look.wait(opened, partial(_news, opened, review_id, marks), bool, LONG)


def _news(opened: "Desk", review_id: str | None, marks: Marks) -> list[Review]:
    """What changed since the last call, oldest first; it counts as told from now on."""
    from seconder.desk import look

    if review_id is not None:
        found = [look.review(opened, review_id)]
    else:
        found = [*look.listed(opened, agent=None, status=None, limit=LOOKED_AT).reviews][::-1]
    news = [review for review in found if marks.get(review.id) != _mark(review)]
    marks |= {review.id: _mark(review) for review in news}
    return news


def _mark(review: Review) -> tuple[object, ...]:
    outcome = None if review.outcome is None else review.outcome.status
    return review.status, review.revision, len(review.votes), review.delivery, review.rung, outcome


def _tell(opened: "Desk", reviews: list[Review], *, as_json: bool) -> None:
    from seconder.desk import people
    from seconder.desk.said import review_json

    now, names = people.now(opened), people.names(opened, deciders(reviews))
    for review in reviews:
        if as_json:
            emit_line(review_json(review))
        else:
            print(one_line(f"{now:%H:%M:%S}  {review.id}  {what(review)}  {since(review, names, now)}"), flush=True)
