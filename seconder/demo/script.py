"""`seconder demo --script`: the demo's story, played through the real Web API and callbacks without a person.

Workspace, bot and worker are processes of their own, so that the bot can be killed with SIGKILL
while the workspace lives on. Every step says what was checked; the first that fails ends the play.
"""

import asyncio
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from seconder import app
from seconder.demo.cases import CASES
from seconder.demo.people import Workspace
from seconder.demo.place import Place, demo_policy, prepare
from seconder.demo.play import RILEY, about
from seconder.demo.processes import Processes, free_port
from seconder.demo.refund_desk import NAME, make_agent
from seconder.desk import look, tokens
from seconder.desk.desk import Desk
from seconder.frameworks.openai_agents import run
from seconder.gate import Client, connect
from seconder.review import Review

T = TypeVar("T")

PATIENCE = 40.0  # seconds for what takes one or two on a quiet machine
ALICE, OLGA, LENA = "U02ALICE", "U06OLGA", "U04LENA"
CASE = CASES[0]


class StepFailed(Exception):
    """A step of the story did not hold."""


class Story:
    """The story, step by step; `steps` counts what was checked."""

    def __init__(self, console: Console, place: Place, processes: Processes, desk: Desk) -> None:
        self._console, self._place, self._processes, self._desk = console, place, processes, desk
        self._slack = Workspace(place.workspace_url)
        self.steps = 0

    def play(self, secret: str) -> None:
        """Raises: StepFailed."""
        self._ask(secret)
        self._refusals()
        self._edit_and_kill()
        self._resume(secret)
        self._second_gate()
        self._record()

    def close(self) -> None:
        """The people go home."""
        self._slack.close()

    def _ask(self, secret: str) -> None:
        asyncio.run(_start_run(connect(self._place.url, secret)))
        card = self._eventually("a card is in #refunds", lambda: self._slack.card("refunds", "240"))
        self._check("it says why the refund was stopped", "need a person from finance" in card.text)
        self._check("it names customer and order", "C-8842" in card.text and CASE.order in card.text)
        wanted = ["Approve", "Edit…", "Reject…", "View all"]
        self._check(f"it has the buttons {', '.join(wanted)}", [b for b in card.buttons if b in wanted] == wanted)
        self._check("nothing was refunded yet", not self._lines("refunds.jsonl"))

    def _refusals(self) -> None:
        for person, who in ((RILEY, "the requester"), (OLGA, "somebody outside finance")):
            card = self._slack.card("refunds", "240")
            self._slack.press(person, card, "Approve")
            self._eventually(f"{who} is refused in private", partial(self._slack.private, person))
        self._check("the request is still pending", self._review("issue_refund").status == "pending")

    def _edit_and_kill(self) -> None:
        self._slack.press(ALICE, self._slack.card("refunds", "240"), "Edit…")
        form = self._eventually("the edit form opens for Alice", lambda: self._slack.form(ALICE))
        self._check("it is prefilled with 240", "240" in form.values.values())
        answer = self._slack.submit(ALICE, form, {"Amount": "120"})
        self._check("she sends 120 and Slack is answered in time", answer.get("acked") is True)
        self._processes.kill("bot")
        self._say("the bot is killed with SIGKILL")
        self._check("her decision is in the database", self._review("issue_refund").decision is not None)
        self._check("still nothing was refunded", not self._lines("refunds.jsonl"))

    def _resume(self, secret: str) -> None:
        self._processes.bot(self._place)
        self._processes.worker(self._place, secret)
        self._eventually("bot and worker are started again, and the run resumes", lambda: self._lines("refunds.jsonl"))
        [refund] = self._lines("refunds.jsonl")
        self._check("exactly one refund was made, of 120", refund["amount"] == 120)  # noqa: PLR2004 - the story
        card = self._eventually("the card shows what the run did", lambda: self._slack.card("refunds", "Refunded 120"))
        self._check("it shows who decided", ALICE in card.text or "Alice" in card.text)
        self._check("it shows the edit, 240 to 120", "240" in card.text and "120" in card.text)
        self._check("its decision buttons are gone", "Approve" not in card.buttons)

    def _second_gate(self) -> None:
        self._eventually("the mail to the customer asks again", lambda: self._slack.card("outbound-mail", "Approve"))
        self._eventually("nobody answers: a reminder is in the thread", lambda: self._slack.replies("outbound-mail"))
        card = self._eventually(
            "it escalates into #finance-leads", lambda: self._slack.card("finance-leads", CASE.email)
        )
        self._eventually("the old card says where it went", lambda: self._slack.card("outbound-mail", "finance-leads"))
        self._check("no mail was sent yet", not self._lines("mails.jsonl"))
        self._slack.press(LENA, card, "Approve")
        self._eventually("Lena approves, and the mail is sent", lambda: self._lines("mails.jsonl"))
        self._check("exactly one mail went out", len(self._lines("mails.jsonl")) == 1)
        self._eventually("the card shows how the run ended", lambda: self._slack.card("finance-leads", "is done"))

    def _record(self) -> None:
        chains, breaks = look.verify(self._desk)
        self._check(f"the trail verifies: {chains} chains", not breaks)
        kinds = [entry.kind for entry in look.history(self._desk, self._review("issue_refund").id)]
        for kind in ("submitted", "posted", "refused", "decided", "started", "ended", "resumed"):
            self._check(f"the trail has “{kind}”", kind in kinds)
        self._check("there is one decision", kinds.count("decided") == 1)
        self._check("there is one refund", len(self._lines("refunds.jsonl")) == 1)

    def _review(self, tool: str) -> Review:
        page = look.listed(self._desk, agent=NAME, status=None, limit=50)
        return next(r for r in page.reviews if r.action is not None and r.action.tool == tool)

    def _lines(self, name: str) -> list[dict[str, object]]:
        path = self._place.folder / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def _eventually(self, what: str, look_for: Callable[[], T | None]) -> T:
        """Checked until it holds; the processes must live meanwhile."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = look_for()
            if found:
                self._say(what)
                return found
            self._processes.check()
            self._slack.pause()
        message = f"{what}: not within {PATIENCE:.0f} s"
        raise StepFailed(message)

    def _check(self, what: str, holds: object) -> None:
        if not holds:
            raise StepFailed(what)
        self._say(what)

    def _say(self, what: str) -> None:
        self.steps += 1
        self._console.print(f"  [green]✓[/green] {what}")


async def _start_run(client: Client) -> None:
    try:
        await run(make_agent, CASE.wish, client=client, requester=RILEY, wait=False, **about(CASE))
    finally:
        await client.aclose()


def script(console: Console, *, keep: Path | None = None) -> int:
    """The exit code: 0 only if every step held. With `keep` the folder stays there to be looked at."""
    folder = keep or Path(tempfile.mkdtemp(prefix="seconder-script-"))
    started = time.monotonic()
    place = prepare(folder, workspace_port=free_port(), port=free_port(), policy=_quick(demo_policy()))
    with Processes(place.folder) as processes:
        store = app.open_store(place.settings(os.environ))
        try:
            desk = app.make_desk(place.settings(os.environ), store)
            secret = tokens.create(desk, NAME, random=os.urandom).secret
            processes.workspace(place)
            processes.bot(place)
            story = Story(console, place, processes, desk)
            story.play(secret)
            story.close()
        except StepFailed as failure:
            console.print(f"  [red]✗[/red] {failure}")
            console.print(f"    what the processes said is in {place.folder}")
            return 1
        finally:
            store.close()
    console.print(f"\n  {story.steps} checks held, in {time.monotonic() - started:.0f} s.")
    if keep is None:
        shutil.rmtree(folder)
    return 0


def _quick(policy: str) -> str:
    """The mail's ladder in seconds, so that nobody has to wait for it."""
    head, mail = policy.split("- name: mail to customers")
    mail = mail.replace("after: 10m", "after: 3s").replace("after: 20m", "after: 6s")
    return f"{head}- name: mail to customers{mail}"
