"""The command line in this process, in a folder of its own, with no environment but what a test gives it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from seconder import app
from seconder.cli import main
from seconder.desk.desk import Desk
from seconder.settings import read

KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
OTHER_KEY = "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXowMTIzNDU="

POLICY = """
version: 1
roles:
  finance: {user_groups: [S0FINANCE], users: [U02ALICE]}
fallback: {channel: "#agents", roles: [finance]}
rules:
  - name: refunds
    tool: issue_refund
    when: args.amount >= 50
    verdict: ask
    because: Refunds of 50 or more need a person.
    route: {channel: "#refunds", roles: [finance]}
    fields: {card: {secret: true}}
  - {name: small refunds, tool: issue_refund, verdict: allow}
"""


@dataclass(frozen=True, slots=True)
class Said:
    """What a command said: its exit code, stdout and stderr."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


@dataclass(slots=True)
class Shell:
    """Runs `seconder` with `environ` and nothing else."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]
    environ: dict[str, str] = field(default_factory=dict)

    def run(self, *words: str, **environ: str) -> Said:
        """What `seconder WORDS` said; `environ` is for this command only."""
        with self.monkeypatch.context() as patch:
            for name, value in {**self.environ, **environ}.items():
                patch.setenv(name, value)
            code = main(words)
        said = self.capsys.readouterr()
        return Said(code, said.out, said.err)

    def fine(self, *words: str, **environ: str) -> Said:
        """As `run`; the command must succeed."""
        said = self.run(*words, **environ)
        assert said.code == 0, said.err
        return said

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    @contextmanager
    def desk(self) -> Iterator[Desk]:
        """The desk that the commands work with."""
        settings = read(self.environ)
        store = app.open_store(settings)
        try:
            yield app.make_desk(settings, store)
        finally:
            store.close()
