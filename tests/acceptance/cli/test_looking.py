"""`reviews`, `queue` and `audit`: tables for people, JSON for machines, nothing else on stdout."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import Any

import pytest

from seconder.action import Action
from seconder.desk import cancel, delivery
from seconder.desk.desk import Desk
from tests.support.cli import Shell
from tests.support.desk import refund, submitted


def asked(shell: Shell, **more: Any) -> str:
    with shell.desk() as desk:
        return submitted(desk, refund(**more)).id


def give_up(desk: Desk) -> int:
    """The waiting item is dead: as many tries failed as are allowed."""
    while True:
        [item] = delivery.claim(desk, worker="test")
        if delivery.failed(desk, item, error="channel_not_found", wait=-desk.lease) == "dead":
            return item.id


def test_nothing_there_is_said_on_stderr(shell: Shell) -> None:
    for words in (["reviews", "list"], ["queue", "list"], ["tokens", "list"]):
        said = shell.fine(*words)
        assert (said.out, len(said.err.splitlines())) == ("", 1)
        assert shell.fine(*words, "--json").json == []


def test_reviews_are_listed_newest_first_with_whole_ids(shell: Shell) -> None:
    first, second = asked(shell), asked(shell)

    lines = shell.fine("reviews", "list").lines

    assert [line.split()[0] for line in lines] == ["id", second, first]
    assert "issue_refund" in lines[1]
    assert "asked in #refunds" in lines[1]
    assert [review["id"] for review in shell.fine("reviews", "list", "--json").json] == [second, first]
    assert [review["id"] for review in shell.fine("reviews", "list", "--json", "--limit", "1").json] == [second]
    assert shell.fine("reviews", "list", "--json", "--status", "decided").json == []
    assert shell.fine("reviews", "list", "--json", "--agent", "another").json == []


def test_a_review_is_shown_with_its_history_and_without_its_secrets(shell: Shell) -> None:
    action = Action(tool="issue_refund", arguments={"amount": 240, "card": "4111-1111"})
    ident = asked(shell, action=action)

    said = shell.fine("reviews", "show", ident)

    assert "Refunds of 50 or more need a person." in said.out
    assert "240" in said.out
    assert "submitted" in said.out
    assert "4111" not in said.out
    assert shell.fine("reviews", "show", ident, "--json").json["action"]["arguments"]["amount"] == 240


def test_text_from_an_agent_cannot_draw_on_the_terminal(shell: Shell) -> None:
    evil = Action(tool="issue_refund", arguments={"amount": 240, "[red]n[/red]\x1b": "\x1b[2J\x9b2J\u202e[red]x[/red]"})
    ident = asked(shell, action=evil)

    for words in (["show", ident], ["show", ident, "--json"], ["list"], ["list", "--json"]):
        said = shell.fine("reviews", *words)
        assert not {"\x1b", "\x9b", "\u202e"} & {*said.out}
    shown = shell.fine("reviews", "show", ident).out
    assert "[red]x[/red]" in shown
    assert "[red]n[/red]" in shown


def test_a_pending_review_is_cancelled_and_its_trail_says_by_whom(shell: Shell) -> None:
    ident = asked(shell)

    assert shell.fine("reviews", "cancel", ident, "--json").json["status"] == "cancelled"

    assert shell.fine("reviews", "cancel", ident).out == f"{ident} is cancelled\n"
    [entry] = [line for line in shell.fine("audit", "export", "--review", ident).lines if '"cancelled"' in line]
    assert json.loads(entry)["payload"]["by"].startswith("command line: ")


def test_a_settled_review_is_not_cancelled(shell: Shell) -> None:
    ident = asked(shell, action=Action(tool="issue_refund", arguments={"amount": 1}))

    said = shell.run("reviews", "cancel", ident)

    assert (said.code, said.out) == (1, "")
    assert "is allowed" in said.err


def test_watching_one_review_ends_when_it_is_settled(shell: Shell) -> None:
    ident = asked(shell)
    command = [sys.executable, "-m", "seconder.cli", "reviews", "watch", ident, "--json"]
    environ = {**os.environ, **shell.environ}
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        first = json.loads(watching.stdout.readline())
        with shell.desk() as desk:
            cancel.cancel(desk, ident, by="test")
        out, err = watching.communicate(timeout=20)

    assert (first["status"], json.loads(out)["status"], watching.returncode, err) == ("pending", "cancelled", 0, "")


def test_watching_everything_ends_quietly_with_an_interrupt(shell: Shell) -> None:
    ident = asked(shell)
    command = [sys.executable, "-m", "seconder.cli", "reviews", "watch"]
    environ = {**os.environ, **shell.environ}
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        assert ident in watching.stdout.readline()
        another = asked(shell)
        assert another in watching.stdout.readline()
        watching.send_signal(2)
        _, err = watching.communicate(timeout=20)

    assert (watching.returncode, err) == (0, "")


def test_a_dead_item_is_listed_retried_and_dropped(shell: Shell) -> None:
    asked(shell)
    with shell.desk() as desk:
        item = give_up(desk)

    [dead] = shell.fine("queue", "list", "--state", "dead", "--json").json
    assert (dead["id"], dead["error"]) == (item, "channel_not_found")
    assert "channel_not_found" in shell.fine("queue", "list").out
    assert shell.fine("queue", "retry", str(item), "--json").json == {"id": item, "done": True}
    assert shell.fine("queue", "list", "--state", "dead", "--json").json == []
    with shell.desk() as desk:
        item = give_up(desk)
    assert shell.fine("queue", "drop", str(item)).out == f"{item} is dropped\n"
    assert shell.fine("queue", "list", "--json").json == []


def test_an_item_that_is_not_dead_is_left_alone(shell: Shell) -> None:
    asked(shell)
    [item] = shell.fine("queue", "list", "--json").json

    for what in ("retry", "drop"):
        said = shell.run("queue", what, str(item["id"]))
        assert (said.code, said.out) == (1, "")
        assert "no dead item" in said.err


def test_the_trail_verifies_until_somebody_changes_it(shell: Shell) -> None:
    ident = asked(shell)
    assert shell.fine("audit", "verify", "--json").json == {"ok": True, "chains": 1, "breaks": []}

    with closing(sqlite3.connect(shell.folder / "seconder.db")) as connection:
        connection.execute("UPDATE trail SET at = at + 1")
        connection.commit()

    said = shell.run("audit", "verify")
    assert (said.code, said.out) == (1, "")
    assert f"review:{ident}, entry 1: its hash does not match" in said.err
    assert shell.run("audit", "verify", "--json").json["ok"] is False


def test_the_trail_is_exported_as_json_lines(shell: Shell) -> None:
    ident = asked(shell)
    shell.fine("tokens", "create", "--agent", "shop")

    entries = [json.loads(line) for line in shell.fine("audit", "export").lines]
    mine = [json.loads(line) for line in shell.fine("audit", "export", "--review", ident).lines]

    assert [entry["subject"] for entry in entries] == ["admin", f"review:{ident}"]
    assert mine == entries[1:]
    assert mine[0].keys() == {"subject", "seq", "at", "kind", "payload", "hash"}
    assert shell.run("audit", "export", "--review", "rv_1").code == 1


@pytest.mark.parametrize("words", [["reviews", "list"], ["tokens", "list"], ["audit", "verify"], ["queue", "list"]])
def test_commands_beside_a_demo_use_it_and_say_so(shell: Shell, words: list[str]) -> None:
    (shell.folder / "seconder-demo").mkdir()
    shell.write("seconder-demo/demo.env", "".join(f"{name}={value}\n" for name, value in shell.environ.items()))
    shell.environ = {}

    said = shell.fine(*words, "--json")

    assert "using the demo in ./seconder-demo" in said.err
    assert said.json is not None


def test_stdout_is_only_the_result_in_a_process_of_its_own(shell: Shell) -> None:
    ident = asked(shell)

    done = subprocess.run(
        [sys.executable, "-m", "seconder.cli", "reviews", "list", "--json"],
        env={**os.environ, **shell.environ, "SECONDER_LOG": "json"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert [review["id"] for review in json.loads(done.stdout)] == [ident]
    assert done.stderr == ""
