"""`db`, `keys` and `tokens`, on both kinds of database where that matters."""

import base64
import sqlite3
import stat
from contextlib import closing

import pytest

from tests.support.cli import KEY, OTHER_KEY, Shell
from tests.support.desk import refund, submitted


def test_upgrade_makes_a_database_once(bare: Shell, database_url: str) -> None:
    bare.environ = {"SECONDER_DATABASE_URL": database_url}

    assert bare.run("db", "check").code == 1
    assert bare.fine("db", "upgrade", "--json").json["applied"] != []
    assert bare.fine("db", "upgrade", "--json").json["applied"] == []
    assert bare.fine("db", "check", "--json").json["ok"] is True


def test_check_names_the_command_that_helps_and_makes_no_file(bare: Shell) -> None:
    said = bare.run("db", "check")

    assert (said.code, said.out) == (1, "")
    assert "run `seconder db upgrade`" in said.err
    assert [*bare.folder.iterdir()] == []
    assert bare.run("db", "check", "--json").json["ok"] is False


def test_check_finds_a_damaged_file(shell: Shell) -> None:
    for number in range(20):
        shell.fine("tokens", "create", "--agent", f"agent-{number}")
    with closing(sqlite3.connect(shell.folder / "seconder.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute("UPDATE sqlite_schema SET rootpage = 2 WHERE name = 'tokens'")
        connection.commit()

    said = shell.run("db", "check", "--json")

    assert said.code == 1
    assert said.json["broken"] != []


def test_a_backup_can_be_used_at_once_and_only_its_owner_reads_it(shell: Shell) -> None:
    made = shell.fine("tokens", "create", "--agent", "shop", "--json").json
    said = shell.fine("db", "backup", "copy.db", "--json").json

    copy = shell.folder / "copy.db"
    assert said == {"path": "copy.db", "bytes": copy.stat().st_size}
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    [token] = shell.fine("tokens", "list", "--json", SECONDER_DATABASE_URL=f"sqlite:///{copy}").json
    assert token["agent"] == made["agent"] == "shop"
    assert [file.name for file in shell.folder.iterdir() if "part" in file.name] == []


@pytest.mark.parametrize(
    ("target", "why"), [("seconder.db", "is there already"), ("nowhere/copy.db", "there is no folder")]
)
def test_a_backup_replaces_nothing(shell: Shell, target: str, why: str) -> None:
    said = shell.run("db", "backup", target)

    assert (said.code, said.out) == (2, "")
    assert why in said.err


def test_a_backup_of_postgresql_names_pg_dump(shell: Shell) -> None:
    said = shell.run("db", "backup", "copy.db", SECONDER_DATABASE_URL="postgresql://127.0.0.1:1/seconder")

    assert (said.code, said.out) == (2, "")
    assert "pg_dump" in said.err


def test_a_new_key_is_32_random_bytes(bare: Shell) -> None:
    printed = {bare.fine("keys", "new").out.strip(), bare.fine("keys", "new", "--json").json["key"]}

    assert len(printed) == 2
    assert {len(base64.b64decode(key, validate=True)) for key in printed} == {32}


def test_after_a_rotation_the_old_key_is_not_needed(shell: Shell, database_url: str) -> None:
    shell.environ["SECONDER_DATABASE_URL"] = database_url
    shell.fine("db", "upgrade")
    shell.fine("tokens", "create", "--agent", "shop")
    with shell.desk() as desk:
        review = submitted(desk, refund())
    only_new = {"SECONDER_KEYS": OTHER_KEY}
    assert shell.run("reviews", "show", review.id, **only_new).code == 1

    said = shell.fine("keys", "rotate", "--json", SECONDER_KEYS=f"{OTHER_KEY},{KEY}")

    assert said.json["rows"] > 0
    assert shell.fine("reviews", "show", review.id, "--json", **only_new).json["action"]["arguments"]["amount"] == 240
    shell.fine("audit", "verify", **only_new)
    assert "keys_rotated" in shell.fine("audit", "export", **only_new).out
    assert shell.fine("keys", "rotate", "--json", **only_new).json == {"rows": 0}


def test_a_rotation_without_the_old_key_changes_nothing_and_says_which_key_is_missing(shell: Shell) -> None:
    shell.fine("tokens", "create", "--agent", "shop")

    said = shell.run("keys", "rotate", SECONDER_KEYS=OTHER_KEY)

    assert (said.code, said.out) == (1, "")
    assert "which SECONDER_KEYS does not hold" in said.err
    shell.fine("audit", "verify")


def test_a_token_is_printed_once_and_listed_without_its_secrets(shell: Shell) -> None:
    made = shell.fine("tokens", "create", "--agent", "shop", "--json")

    assert made.json.keys() == {"token", "webhook_secret", "agent"}
    assert made.json["token"].startswith("sdr_")
    assert made.json["webhook_secret"].startswith("whsec_")
    assert made.err == ""
    for said in (shell.fine("tokens", "list"), shell.fine("tokens", "list", "--json")):
        assert "sdr_" not in said.out
        assert "whsec_" not in said.out


def test_a_token_is_revoked_once(shell: Shell) -> None:
    shell.fine("tokens", "create", "--agent", "shop")
    [token] = shell.fine("tokens", "list", "--json").json

    assert shell.fine("tokens", "revoke", token["id"], "--json").json == {"id": token["id"], "revoked": True}

    assert shell.run("tokens", "revoke", token["id"]).code == 1
    [token] = shell.fine("tokens", "list", "--json").json
    assert token["revoked_at"] is not None


def test_a_token_for_nobody_is_refused(shell: Shell) -> None:
    said = shell.run("tokens", "create", "--agent", " ")

    assert (said.code, said.out) == (2, "")
