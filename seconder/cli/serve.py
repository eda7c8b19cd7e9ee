"""`seconder up`, `worker`, `demo`, `sandbox`: what runs until it is told to end."""

import errno
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from seconder.cli import opening
from seconder.cli.show import console, say
from seconder.errors import ConfigurationError

Agents = Annotated[str, typer.Option("--agents", help="A dict of agent names and factories.", metavar="MODULE:ATTR")]
SomeAgents = Annotated[
    str | None, typer.Option("--agents", help="Also resume the runs of these agents here.", metavar="MODULE:ATTR")
]
Folder = Annotated[Path | None, typer.Option("--folder", help="Where it keeps everything [default: seconder-demo].")]
Script = Annotated[bool, typer.Option("--script", help="Play the story without a person, check every step, and end.")]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Of the HTTP door.")]
PagePort = Annotated[int, typer.Option("--page-port", min=0, max=65535, help="Of the workspace's page.")]
SandboxPort = Annotated[int, typer.Option("--port", min=0, max=65535, help="Of the workspace's page and Web API.")]
Data = Annotated[Path, typer.Option("--data", help="The file that keeps the workspace.")]


def up(agents: SomeAgents = None) -> None:
    """Run the bot, the HTTP door and the clock; with --agents, a worker too."""
    from seconder import app
    from seconder.desk import upkeep

    found = opening.settings(beside=False)
    _here()
    with upkeep.reached(found), _until_told():
        app.up(found, agents)


def worker(agents: Agents) -> None:
    """Resume the runs of these agents, over HTTP: SECONDER_TOKEN and SECONDER_BASE_URL, no database, no keys."""
    from seconder import app

    found = opening.settings()
    _here()
    with _until_told():
        app.work(found, agents)


def demo(script: Script = False, folder: Folder = None, port: Port = 8710, page_port: PagePort = 8711) -> None:
    """Try it: a Slack workspace in the browser and an agent that asks. No accounts, nothing leaves this machine."""
    opening.logs(opening.settings(beside=False))
    if script:
        from seconder.demo.script import script as play

        raise typer.Exit(play(console(), keep=folder))
    from seconder.demo import play as story

    with _ports(), _until_told():
        story.demo(console(), folder=folder or story.FOLDER, workspace_port=page_port, port=port)


def sandbox(port: SandboxPort = 8711, data: Data = Path("seconder-workspace.db")) -> None:
    """Serve a local Slack workspace in the browser, for a bot that runs elsewhere on this machine."""
    from seconder.sandbox.server import run

    opening.logs(opening.settings(beside=False))

    def ready(url: str) -> None:
        print(url, flush=True)
        say(
            f"give the bot SECONDER_SLACK_API_URL={url}/api/ SLACK_BOT_TOKEN=xoxb-sandbox SLACK_APP_TOKEN=xapp-sandbox",
            name=False,
        )

    with _ports(), _until_told():
        run(data, port, ready=ready)


@contextmanager
def _until_told() -> Iterator[None]:
    """SIGINT and SIGTERM end the block in good order: uvicorn raises them again when it has stopped."""

    def told(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, told)
    try:
        yield
    except KeyboardInterrupt:
        return
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _ports() -> Iterator[None]:
    """A port that another process has is said as such."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        message = "a port is taken by another process, perhaps an earlier start: end it, or name other ports"
        raise ConfigurationError(message) from error


def _here() -> None:
    """Agents are found in the folder the command runs in, as with `python -m`."""
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
