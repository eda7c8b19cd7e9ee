"""Errors are one sentence on stderr that says what to do, with the right exit code, and stdout stays empty."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from seconder.cli import program
from tests.support.cli import KEY, Shell

COMMANDS = ("reviews", "queue", "audit", "policy", "db", "keys", "tokens")


def test_an_unmigrated_database_names_the_command_that_helps_and_no_file_is_made(bare: Shell) -> None:
    said = bare.run("reviews", "list", SECONDER_KEYS=KEY)

    assert (said.code, said.out) == (2, "")
    assert "seconder db upgrade" in said.err
    assert [*bare.folder.iterdir()] == []


def test_missing_keys_name_the_command_that_makes_one(shell: Shell) -> None:
    said = shell.run("tokens", "list", SECONDER_KEYS="")

    assert (said.code, said.out) == (2, "")
    assert "seconder keys new" in said.err


def test_a_wrong_key_says_which_key_is_missing(shell: Shell) -> None:
    shell.fine("tokens", "create", "--agent", "shop")

    said = shell.run("audit", "export", SECONDER_KEYS=shell.fine("keys", "new").out)

    assert (said.code, said.out) == (1, "")
    assert "which SECONDER_KEYS does not hold" in said.err


def test_every_wrong_setting_is_named_at_once(shell: Shell) -> None:
    said = shell.run("reviews", "list", SECONDER_PORT="x", SECONDER_LOG="y")

    assert (said.code, said.out) == (2, "")
    assert [line.split(" is ")[0] for line in said.err.splitlines()] == [
        "seconder: SECONDER_PORT",
        "seconder: SECONDER_LOG",
    ]


def test_a_file_that_is_no_database_is_said_as_such(shell: Shell) -> None:
    file = shell.write("note.txt", "not a database at all, " * 100)

    said = shell.run("reviews", "list", SECONDER_DATABASE_URL=f"sqlite:///{file}")

    assert (said.code, said.out) == (2, "")
    assert "is not a SQLite database" in said.err


def test_a_database_that_does_not_answer_is_said_without_its_password(shell: Shell) -> None:
    said = shell.run("db", "check", SECONDER_DATABASE_URL="postgresql://me:hidden@127.0.0.1:1/seconder")

    assert (said.code, said.out) == (2, "")
    assert "postgresql+psycopg://me@127.0.0.1:1/seconder cannot be used" in said.err
    assert "hidden" not in said.err


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["reviews", "nonsense"],
        ["reviews", "show"],
        ["tokens", "create"],
        ["queue", "retry", "seven"],
        ["queue", "list", "--state", "lost"],
        ["reviews", "list", "--status", "maybe"],
        ["reviews", "list", "--limit", "0"],
        ["policy", "explain", "--tool", "t", "--wrong"],
        ["worker"],
    ],
)
def test_using_a_command_wrongly_is_exit_code_2_and_names_the_help(shell: Shell, words: list[str]) -> None:
    said = shell.run(*words)

    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("seconder: ")
    assert said.err.rstrip().endswith("--help`")
    assert len(said.err.splitlines()) == 1


def test_what_is_not_there_names_the_command_that_lists_what_is(shell: Shell) -> None:
    for words in (["reviews", "show", "rv_1"], ["reviews", "cancel", "rv_1"], ["reviews", "watch", "rv_1"]):
        said = shell.run(*words)

        assert (said.code, said.out) == (1, "")
        assert said.err == "seconder: there is no review rv_1: `seconder reviews list` shows those there are\n"


def test_a_bug_is_a_sentence_and_its_traceback_is_kept(bare: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    assert program._failed(ZeroDivisionError("division by zero")) == 1

    said = capsys.readouterr()
    kept = Path(said.err.rsplit(" ", 1)[1].strip())
    assert "Traceback" not in said.err
    assert "ZeroDivisionError: division by zero" in kept.read_text()
    kept.unlink()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_group_alone_shows_its_commands(bare: Shell, command: str) -> None:
    said = bare.run(command)

    assert said.code == 2
    assert f"Usage: seconder {command}" in said.out + said.err


def test_the_program_alone_shows_its_commands(bare: Shell) -> None:
    said = bare.fine()

    assert all(f" {command} " in said.out for command in (*COMMANDS, "demo", "up", "worker", "sandbox", "doctor"))
    assert bare.fine("--version").out.count(".") == 2


def test_what_does_not_exist_is_not_listed(bare: Shell) -> None:
    for command in ("purge", "hook", "mcp", "report"):
        assert bare.run(command).code == 2
    assert bare.run("reviews", "decide").code == bare.run("policy", "suggest").code == bare.run("db", "copy").code == 2


def test_help_loads_neither_database_nor_slack() -> None:
    heavy = ("sqlalchemy", "slack_sdk", "slack_bolt", "fastapi", "structlog", "pydantic", "cryptography", "agents")
    code = (
        "import sys; from seconder.cli import main; main(['--help']); "
        f"sys.exit(sum(name in sys.modules for name in {heavy}))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)

    assert done.returncode == 0


def test_a_closed_pipe_ends_quietly(shell: Shell) -> None:
    shell.fine("tokens", "create", "--agent", "shop")
    script = f"{{ '{sys.executable}' -m seconder.cli audit export; echo $? > code; }} | true"

    done = subprocess.run(
        ["sh", "-c", script], env={**os.environ, **shell.environ}, capture_output=True, text=True, check=True
    )

    assert (done.stdout, done.stderr, (shell.folder / "code").read_text()) == ("", "", "1\n")
