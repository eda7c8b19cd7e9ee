"""kill -9 at any moment: every commit that was said is there, and the trail verifies."""

import random
import subprocess
import sys
import time
from pathlib import Path

from seconder.store import schema
from tests.support.store import open_store

ROOT = Path(__file__).parents[2]
KILLS = 6


def write_until_killed(url: str, name: str, seconds: float) -> list[str]:
    """The commits that the process said before it was killed, this long after its first."""
    command = [sys.executable, "-m", "tests.support.writing", "loop", url, name]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(seconds)
        process.kill()
        return [line.strip() for line in [first, *process.stdout.readlines()]]


def test_every_commit_that_was_said_survives_kill_9(database_url: str) -> None:
    schema.upgrade(database_url)
    chance = random.Random(9)  # noqa: S311 - when to kill
    said = [
        subject
        for turn in range(KILLS)
        for subject in write_until_killed(database_url, f"w{turn}", chance.uniform(0, 0.2))
    ]

    store = open_store(database_url)
    there = [item.subject for item in store.read(lambda tx: tx.queue.listed(limit=100_000))]
    traced = [entry.payload["subject"] for entry in store.read(lambda tx: tx.trail.entries("admin"))]
    assert store.read(lambda tx: list(tx.trail.breaks("admin"))) == []
    store.close()
    assert len(said) > KILLS
    assert set(said) <= set(there)
    assert traced == there  # one commit: both or neither
    assert len(there) <= len(said) + KILLS  # at most the one that nobody was told of
