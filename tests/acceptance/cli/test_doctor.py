"""`seconder doctor` against a local workspace: each thing that is wrong is found, with a fix."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from seconder.desk import delivery
from tests.support.cli import OTHER_KEY, POLICY, Shell
from tests.support.desk import refund, submitted
from tests.support.sandbox import Hand, running


@pytest.fixture
def hand(shell: Shell) -> Iterator[Hand]:
    with running(shell.folder / "workspace.db") as (sandbox, hand):
        shell.environ |= {
            "SLACK_BOT_TOKEN": "xoxb-sandbox",
            "SLACK_APP_TOKEN": "xapp-sandbox",
            "SECONDER_SLACK_API_URL": sandbox.api_url,
        }
        yield hand


def found(shell: Shell, *, code: int = 1, **environ: str) -> dict[str, dict[str, Any]]:
    """The checks by their names."""
    said = shell.run("doctor", "--json", **environ)
    assert said.code == code, said.out
    assert said.json["ok"] is (code == 0)
    return {check["check"]: check for check in said.json["checks"]}


def test_when_all_is_well_everything_is_ticked(shell: Shell, hand: Hand) -> None:
    shell.fine("tokens", "create", "--agent", "shop")

    said = shell.fine("doctor")

    assert {line.split(" ")[0] for line in said.lines} == {"✓"}
    names = {check["check"]: check["ok"] for check in found(shell, code=0).values()}
    assert names == dict.fromkeys(
        (
            "Database", "Keys", "Policy", "Slack bot token", "Slack scopes", "Clock", "Slack app token",
            "Channel #agents", "Channel #refunds", "User group S0FINANCE", "Person U02ALICE",
        ),
        True,
    )  # fmt: skip


def test_what_is_wrong_is_crossed_with_a_fix(bare: Shell) -> None:
    said = bare.run("doctor")

    assert said.code == 1
    assert [line[0] for line in said.lines] == ["✗", " "] * 3
    assert "→ run `seconder db upgrade`" in said.out
    assert "SECONDER_POLICY is not set" in said.out
    assert "SLACK_BOT_TOKEN is not set" in said.out
    assert [*bare.folder.iterdir()] == []


def test_a_wrong_setting_is_found(bare: Shell) -> None:
    checks = found(bare, SECONDER_PORT="x", SECONDER_POLCY="policy.yaml")

    assert checks["Settings"]["ok"] is False
    assert checks["SECONDER_POLCY"]["ok"] is None


def test_a_ring_without_the_right_key_is_found(shell: Shell, hand: Hand) -> None:
    shell.fine("tokens", "create", "--agent", "shop")

    assert found(shell, SECONDER_KEYS=OTHER_KEY)["Keys"]["ok"] is False
    both = found(shell, code=0, SECONDER_KEYS=f"{OTHER_KEY},{shell.environ['SECONDER_KEYS']}")
    assert (both["Keys"]["ok"], "keys rotate" in both["Keys"]["fix"]) == (None, True)


def test_a_pushed_clock_is_found(shell: Shell, hand: Hand) -> None:
    with shell.desk() as desk:
        desk.store.write(lambda tx: tx.push_clock(timedelta(minutes=30)))

    assert found(shell)["Database clock"]["ok"] is False


def test_work_that_was_given_up_is_found(shell: Shell, hand: Hand) -> None:
    with shell.desk() as desk:
        submitted(desk, refund())
        while True:
            [item] = delivery.claim(desk, worker="test")
            if delivery.failed(desk, item, error="x", wait=-desk.lease) == "dead":
                break

    assert found(shell, code=0)["Queue"]["ok"] is None


def test_a_policy_with_a_fault_is_found(shell: Shell, hand: Hand) -> None:
    shell.write("policy.yaml", POLICY.replace("when:", "wenn:"))

    check = found(shell)["Policy"]
    assert check["ok"] is False
    assert "policy.yaml:9" in check["says"]


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ('"#refunds"', '"#nowhere"', "Channel #nowhere"),
        ('"#refunds"', '"C0NOWHERE"', "Channel C0NOWHERE"),
        ('"#refunds"', '"@U0NOBODY"', "Person U0NOBODY"),
        ("S0FINANCE", "S0NOBODY", "User group S0NOBODY"),
        ("U02ALICE", "U0NOBODY", "Person U0NOBODY"),
    ],
)
def test_what_the_policy_names_and_slack_does_not_have_is_found(
    shell: Shell, hand: Hand, old: str, new: str, name: str
) -> None:
    shell.write("policy.yaml", POLICY.replace(old, new))

    assert found(shell)[name]["ok"] is False


def test_tokens_that_slack_does_not_know_are_found(shell: Shell, hand: Hand) -> None:
    assert found(shell, SLACK_APP_TOKEN="xapp-wrong")["Slack app token"]["ok"] is False
    bot = found(shell, SLACK_BOT_TOKEN="xoxb-wrong")["Slack bot token"]
    assert (bot["ok"], "invalid_auth" in bot["says"]) == (False, True)
    assert found(shell, SLACK_APP_TOKEN="")["Slack presses"]["ok"] is False


def test_a_slack_that_does_not_answer_is_found(shell: Shell) -> None:
    checks = found(shell, SLACK_BOT_TOKEN="xoxb-1", SECONDER_SLACK_API_URL="http://127.0.0.1:1/api/")

    assert "cannot be reached" in checks["Slack bot token"]["says"]


def test_a_call_that_slack_refuses_for_now_is_found_and_the_rest_is_looked_at(shell: Shell, hand: Hand) -> None:
    hand.do("faults", method="conversations.list", kind="429", retry_after=3)

    checks = found(shell)
    assert checks["Channels"]["ok"] is False
    assert checks["User group S0FINANCE"]["ok"] is True
