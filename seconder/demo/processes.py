"""The processes of the story: workspace, bot and worker, each with a log in the folder."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from seconder.demo.place import AGENTS, TRACING, Place
from seconder.demo.refund_desk import FOLDER

START_SECONDS = 60.0


class Processes:
    """Started by name; all are ended when the block ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def workspace(self, place: Place) -> None:
        """The local workspace is up."""
        data = ["--data", str(place.workspace_file), "--port", str(place.workspace_port)]
        self._start("workspace", ["sandbox", *data], {})
        self._await(f"{place.workspace_url}/", "workspace")

    def bot(self, place: Place) -> None:
        """The bot is up and its connection to the workspace stands."""
        self._start("bot", ["up"], place.environment())
        self._await(f"{place.url}/readyz", "bot")

    def worker(self, place: Place, secret: str) -> None:
        """A worker is starting: it has a token and no database."""
        needed = {name: value for name, value in place.environment().items() if name in {FOLDER, TRACING}}
        self._start(
            "worker",
            ["worker", "--agents", AGENTS],
            {**needed, "SECONDER_BASE_URL": place.url, "SECONDER_TOKEN": secret},
        )

    def kill(self, name: str) -> None:
        """SIGKILL, and it is gone."""
        process = self._running.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def check(self) -> None:
        """Raises: RuntimeError where one has ended by itself."""
        for name, process in self._running.items():
            if process.poll() is not None:
                message = f"the {name} ended with {process.returncode}; see {self._folder / name}.log"
                raise RuntimeError(message)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start(self, name: str, arguments: list[str], environment: dict[str, str]) -> None:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("SECONDER_", "SLACK_"))}
        with (self._folder / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(  # noqa: S603 - our own command
                [sys.executable, "-m", "seconder.cli", *arguments],
                env={**kept, **environment},
                cwd=self._folder,
                stdout=log,
                stderr=log,
            )

    def _await(self, url: str, name: str) -> None:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            self.check()
            try:
                if httpx.get(url, timeout=5).is_success:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        message = f"the {name} did not start within {START_SECONDS:.0f} s; see {self._folder / name}.log"
        raise RuntimeError(message)


def free_port() -> int:
    """A port of the loopback address that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
