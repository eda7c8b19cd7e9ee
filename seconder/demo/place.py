"""The demo's folder: database, workspace, keys, policy and settings, kept from one start to the next."""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from seconder import app
from seconder.demo.refund_desk import FOLDER
from seconder.keyring import new_key
from seconder.sandbox.seed import APP_TOKEN, BOT_TOKEN
from seconder.settings import Settings, read

AGENTS = "seconder.demo.refund_desk:AGENTS"
SETTINGS_FILE = "demo.env"
TRACING = "OPENAI_AGENTS_DISABLE_TRACING"  # of the agents' SDK


@dataclass(frozen=True, slots=True)
class Place:
    """Where a demo lives, and the settings of its processes."""

    folder: Path
    workspace_port: int
    port: int

    @property
    def workspace_file(self) -> Path:
        return self.folder / "workspace.db"

    @property
    def workspace_url(self) -> str:
        return f"http://127.0.0.1:{self.workspace_port}"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def environment(self) -> dict[str, str]:
        """What the demo's processes, and commands run beside them, need."""
        return {
            "SECONDER_DATABASE_URL": f"sqlite:///{self.folder / 'seconder.db'}",
            "SECONDER_KEYS": (self.folder / "keys").read_text().strip(),
            "SECONDER_POLICY": str(self.folder / "policy.yaml"),
            "SECONDER_PORT": str(self.port),
            "SECONDER_BASE_URL": self.url,
            "SLACK_BOT_TOKEN": BOT_TOKEN,
            "SLACK_APP_TOKEN": APP_TOKEN,
            "SECONDER_SLACK_API_URL": f"{self.workspace_url}/api/",
            FOLDER: str(self.folder),
            TRACING: "1",  # nothing leaves the machine
        }

    def settings(self, environ: Mapping[str, str]) -> Settings:
        """The demo's settings; of the surroundings only the way of logging counts."""
        shown = {name: value for name, value in environ.items() if name == "SECONDER_LOG"}
        return read({**shown, **self.environment()})


def prepare(folder: Path, *, workspace_port: int, port: int, policy: str | None = None) -> Place:
    """The folder has keys, policy and an up-to-date database; what was there stays."""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    place = Place(folder, workspace_port, port)
    keys = folder / "keys"
    if not keys.exists():
        keys.touch(mode=0o600)
        keys.write_text(new_key(secrets.token_bytes) + "\n")
    rules = folder / "policy.yaml"
    if policy is not None or not rules.exists():
        rules.write_text(policy or demo_policy())
    lines = [f"{name}={value}" for name, value in place.environment().items()]
    settings_file = folder / SETTINGS_FILE
    settings_file.touch(mode=0o600)
    settings_file.write_text("\n".join(lines) + "\n")
    app.migrate(place.environment()["SECONDER_DATABASE_URL"])
    os.environ |= {name: place.environment()[name] for name in (FOLDER, TRACING)}
    return place


def demo_policy() -> str:
    """The policy that the demo starts with."""
    return files("seconder.demo").joinpath("policy.yaml").read_text()
