"""`seconder demo`: a local workspace, the bot, and a support agent that asks, all in one process."""

import asyncio
import operator
import os
import threading
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import structlog
from rich.console import Console

from seconder import app
from seconder.demo.cases import CASES, Case
from seconder.demo.place import AGENTS, Place, prepare
from seconder.demo.refund_desk import NAME, make_agent
from seconder.desk import look
from seconder.desk.client import LocalClient
from seconder.desk.desk import Desk
from seconder.frameworks.openai_agents import run
from seconder.review import PauseState
from seconder.sandbox.server import Sandbox

FOLDER = Path("seconder-demo")
ALL_DAY = 24 * 3600.0  # seconds
RILEY = "U01RILEY"

log = structlog.get_logger()


def demo(console: Console, *, folder: Path = FOLDER, workspace_port: int = 8711, port: int = 8710) -> None:
    """Runs until SIGINT or SIGTERM; started again in the same folder it goes on where it was."""
    place = prepare(folder, workspace_port=workspace_port, port=port)
    held: list[Desk] = []

    def advance(by: timedelta) -> None:
        held[0].store.write(lambda tx: tx.push_clock(by))

    workspace = Sandbox(place.workspace_file, port=workspace_port, advance=advance)
    workspace.start()
    try:
        with app.running(place.settings(os.environ), AGENTS, offset_allowed=True) as parts:
            held.append(parts.desk)
            customers = threading.Thread(target=_customers, args=(parts.desk, place), name="customers", daemon=True)
            customers.start()
            _greet(console, place)
            app.serve(parts.web, "127.0.0.1", port)
    finally:
        workspace.stop()


def _greet(console: Console, place: Place) -> None:
    console.print(f"\n  [bold]Open {place.workspace_url}[/bold] and look into #refunds.\n")
    console.print("  As Riley, for whom the agent acts, press Approve: you are refused.")
    console.print("  Switch to Alice from finance, press Edit…, put 120, send: the refund happens once.")
    console.print("  Leave the next request alone and press +30 min: it escalates.")
    console.print(f"  Everything is kept in {place.folder}; stop with Ctrl-C, or kill -9 it and start again.\n")


def _customers(desk: Desk, place: Place) -> None:
    """One customer after the other: the next comes when the one before is dealt with."""
    asyncio.run(_serve_customers(desk, place))


async def _serve_customers(desk: Desk, place: Place) -> None:
    client = LocalClient(desk)
    for case in CASES:
        marker = place.folder / f"asked-{case.order}"
        if not marker.exists():
            marker.touch()
            await _say(place, case)
            await run(make_agent, case.wish, client=client, requester=RILEY, wait=False, **about(case))
        await look.wait(desk, partial(_open_reviews, desk, case), operator.not_, ALL_DAY)


def about(case: Case) -> dict[str, Any]:
    """What every request of this case says beside the action."""
    facts = [
        {"label": "Customer", "text": f"{case.customer}, {case.person}"},
        {"label": "Order", "text": f"{case.order}, total {case.total:.2f} EUR"},
        {"label": "Trouble", "text": case.trouble},
    ]
    return {
        "name": NAME,
        "session": f"case-{case.order}",
        "environment": "demo",
        "reason": f"{case.person} reports that {case.trouble}.",
        "context_items": facts,
    }


async def _say(place: Place, case: Case) -> None:
    async with httpx.AsyncClient(base_url=place.workspace_url) as page:
        said = {"user": RILEY, "channel": "support", "text": f"{NAME}: {case.wish}"}
        answer = await page.post("/control/post", json=said)
    if answer.is_error:
        log.warning("demo.not_said", status=answer.status_code)


def _open_reviews(desk: Desk, case: Case) -> bool:
    """Whether somebody or some worker still has to do something for this customer."""
    page = look.listed(desk, agent=NAME, status=None, limit=200)
    mine = [review for review in page.reviews if review.interrupt.session == f"case-{case.order}"]
    pauses = {review.pause_id for review in mine if review.pause_id is not None}
    return any(look.pause(desk, pause_id)[0].state is not PauseState.FINISHED for pause_id in pauses)
