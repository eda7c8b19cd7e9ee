"""Crash points end the process, and only under test."""

import os
import subprocess
import sys

import pytest

from seconder import faults
from seconder.errors import ConfigurationError

REACH = "from seconder.faults import crash_point\nfor n in range(3):\n crash_point('worker.claimed'); print(n)"


def reached(**environment: str) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, "-u", "-c", REACH],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.split()


def test_a_crash_point_does_nothing_unless_it_is_named() -> None:
    assert reached(SECONDER_TESTING="1") == (0, ["0", "1", "2"])
    assert reached(SECONDER_TESTING="1", SECONDER_CRASH_AT="worker.effect_ran") == (0, ["0", "1", "2"])


def test_a_named_crash_point_ends_the_process_as_kill_9_does() -> None:
    assert reached(SECONDER_TESTING="1", SECONDER_CRASH_AT="worker.claimed") == (137, [])


def test_a_crash_point_can_be_the_nth_time() -> None:
    assert reached(SECONDER_TESTING="1", SECONDER_CRASH_AT="worker.claimed:3") == (137, ["0", "1"])


def test_outside_a_test_nothing_crashes() -> None:
    assert reached(SECONDER_CRASH_AT="worker.claimed") == (0, ["0", "1", "2"])


def test_a_crash_point_that_is_set_outside_a_test_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECONDER_CRASH_AT", "worker.claimed")

    with pytest.raises(ConfigurationError, match="SECONDER_TESTING is not 1"):
        faults.check()


@pytest.mark.parametrize("wanted", ["nowhere", "worker.claimed:0", "worker.claimed:x"])
def test_a_crash_point_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    monkeypatch.setenv("SECONDER_TESTING", "1")
    monkeypatch.setenv("SECONDER_CRASH_AT", wanted)

    with pytest.raises(ConfigurationError, match="SECONDER_CRASH_AT"):
        faults.check()


def test_without_a_crash_point_there_is_nothing_to_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECONDER_TESTING", "1")

    faults.check()
