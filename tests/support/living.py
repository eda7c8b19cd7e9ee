"""A bot as a process of its own, on a workspace that lives in the test: for tests that kill."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import httpx

from seconder.demo.people import Workspace
from seconder.demo.processes import free_port
from seconder.keyring import new_key
from seconder.sandbox.server import Sandbox
from seconder.store import schema
from tests.support.crash_agent import REFUNDS

T = TypeVar("T")

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
KILLED = 137

POLICY = """
version: 1
roles:
  finance: {user_groups: [S0FINANCE]}
  leads: {users: [U04LENA]}
fallback: {channel: "#agents", roles: [leads]}
rules:
  - name: refunds
    tool: issue_refund
    verdict: ask
    because: Refunds need a person.
    route: {channel: "#refunds", roles: [finance]}
    ladder:
      - {after: %s, escalate: {channel: "#finance-leads", roles: [leads]}}
      - {after: 4h, default: reject}
"""


@dataclass
class Living:
    """One workspace, one database, and the bot that is alive now."""

    folder: Path
    database_url: str
    escalates_after: str = "30m"
    port: int = field(default_factory=free_port)
    keys: str = field(default_factory=lambda: new_key(os.urandom))
    process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        schema.upgrade(self.database_url)
        (self.folder / "policy.yml").write_text(POLICY % self.escalates_after)
        self.sandbox = Sandbox(self.folder / "workspace.db", port=0)
        self.sandbox.start()
        self.people = Workspace(self.sandbox.url)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def refunds(self) -> list[str]:
        path = self.folder / "refunds.jsonl"
        return path.read_text().splitlines() if path.exists() else []

    def environment(self) -> dict[str, str]:
        return {
            "SECONDER_DATABASE_URL": self.database_url,
            "SECONDER_KEYS": self.keys,
            "SECONDER_POLICY": str(self.folder / "policy.yml"),
            "SECONDER_PORT": str(self.port),
            "SECONDER_TESTING": "1",
            "SLACK_BOT_TOKEN": "xoxb-sandbox",
            "SLACK_APP_TOKEN": "xapp-sandbox",
            "SECONDER_SLACK_API_URL": f"{self.sandbox.url}/api/",
            "PYTHONPATH": str(ROOT),
            REFUNDS: str(self.folder / "refunds.jsonl"),
        }

    def start(self, crash_at: str | None = None) -> None:
        """The bot and its worker are up; they die at this point."""
        environment = {**os.environ, **self.environment()}
        if crash_at is not None:
            environment["SECONDER_CRASH_AT"] = crash_at
        with (self.folder / "bot.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "seconder.cli", "up", "--agents", "tests.support.crash_agent:AGENTS"],
                env=environment,
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )
        self.eventually("the bot is up or dead", lambda: self.dead() or self._answers())

    def dead(self) -> bool:
        """Whether the bot has died; anything but the crash point's death is a failure."""
        code = None if self.process is None else self.process.poll()
        if code not in (None, KILLED):
            raise AssertionError(f"the bot ended with {code}:\n{(self.folder / 'bot.log').read_text()[-3000:]}")
        return code == KILLED

    def eventually(self, what: str, look: Callable[[], T | None]) -> T:
        """What `look` finds within PATIENCE."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = look()
            if found:
                return found
            time.sleep(0.1)
        raise AssertionError(f"{what}: not within {PATIENCE} s\n{(self.folder / 'bot.log').read_text()[-3000:]}")

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.people.close()
        self.sandbox.stop()

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/readyz", timeout=2).is_success
        except httpx.TransportError:
            return False
