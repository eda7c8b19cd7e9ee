"""A decision is a closed union of frozen values: whoever matches one handles every kind."""

import dataclasses
import subprocess
import sys
import typing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from seconder.action import Action
from seconder.decision import Answered, Approved, Decision, Edited, Rejected, Source, TakenOver, kind_of

ROOT = Path(__file__).parents[2]
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SAID = {"by": ("U1",), "source": Source.PERSON, "at": NOON}

FORGETFUL = """
from seconder.decision import Answered, Approved, Decision, Edited, Rejected, TakenOver


def complete(decision: Decision) -> str:
    match decision:
        case Approved() | Edited() | TakenOver():
            return "yes"
        case Rejected() | Answered():
            return "no"


def forgetful(decision: Decision) -> str:
    match decision:
        case Approved() | Edited():
            return "yes"
        case Rejected() | Answered():
            return "no"
"""


def test_each_kind_has_its_word() -> None:
    decisions: list[Decision] = [
        Approved(**SAID),  # type: ignore[arg-type]
        Edited(**SAID, action=Action(tool="t", arguments={})),  # type: ignore[arg-type]
        Rejected(**SAID, reason="no"),  # type: ignore[arg-type]
        Answered(**SAID, answer=1),  # type: ignore[arg-type]
        TakenOver(**SAID, result="done"),  # type: ignore[arg-type]
    ]

    assert [kind_of(decision) for decision in decisions] == ["approved", "edited", "rejected", "answered", "taken_over"]
    assert {type(decision) for decision in decisions} == set(typing.get_args(Decision))


def test_a_decision_cannot_be_changed() -> None:
    decision = Rejected(by=("U1",), source=Source.PERSON, at=NOON, reason="no")

    with pytest.raises(dataclasses.FrozenInstanceError):
        decision.reason = "yes"  # type: ignore[misc]


def test_a_match_that_forgets_a_kind_does_not_type_check(tmp_path: Path) -> None:
    (tmp_path / "forgetful.py").write_text(FORGETFUL)
    command = [
        sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--no-error-summary",
        str(tmp_path / "forgetful.py"),
    ]  # fmt: skip
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert checked.returncode == 1, checked.stdout + checked.stderr
    lines = checked.stdout.splitlines()
    assert all("forgetful.py" in line for line in lines)
    assert any("TakenOver" in line and "exhaustive-match" in line for line in lines)
    assert not any(int(line.split(":")[1]) < 12 for line in lines)
