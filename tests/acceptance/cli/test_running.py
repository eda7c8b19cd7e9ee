"""`up`, `worker`, `demo` and `sandbox`: what they refuse to start with, and how they end."""

import os
import signal
import socket
import subprocess
import sys

import httpx
import pytest

from tests.support.cli import KEY, Shell


@pytest.mark.parametrize(
    ("without", "named"),
    [
        ("SECONDER_KEYS", "seconder keys new"),
        ("SECONDER_POLICY", "SECONDER_POLICY is not set"),
        ("SLACK_BOT_TOKEN", "SLACK_BOT_TOKEN is not set"),
    ],
)
def test_up_says_what_it_lacks(shell: Shell, without: str, named: str) -> None:
    shell.environ |= {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"}

    said = shell.run("up", **{without: ""})

    assert (said.code, said.out) == (2, "")
    assert named in said.err


def test_up_does_not_use_a_demo_beside_it(shell: Shell) -> None:
    (shell.folder / "seconder-demo").mkdir()
    shell.write("seconder-demo/demo.env", "".join(f"{name}={value}\n" for name, value in shell.environ.items()))
    shell.environ = {}

    said = shell.run("up", SLACK_BOT_TOKEN="xoxb-1", SECONDER_KEYS=KEY)

    assert (said.code, said.out) == (2, "")
    assert "using the demo" not in said.err
    assert "SECONDER_POLICY is not set" in said.err


def test_up_refuses_a_crash_point_outside_a_test(shell: Shell) -> None:
    said = shell.run("up", SLACK_BOT_TOKEN="xoxb-1", SECONDER_CRASH_AT="listener.decided")

    assert (said.code, said.out) == (2, "")
    assert "SECONDER_TESTING" in said.err


def test_agents_that_cannot_be_found_are_said(shell: Shell) -> None:
    shell.write("my_agents_for_test.py", "AGENTS = {}\n")

    for place in ("nowhere_at_all:AGENTS", "nonsense", "my_agents_for_test:AGENTS", "my_agents_for_test:OTHER"):
        said = shell.run("worker", "--agents", place)
        assert (said.code, said.out) == (2, "")
        assert place in said.err


def test_a_worker_without_a_token_says_how_to_get_one(shell: Shell) -> None:
    shell.write("good_agents_for_test.py", "AGENTS = {'shop': dict}\n")

    said = shell.run("worker", "--agents", "good_agents_for_test:AGENTS")

    assert (said.code, said.out) == (2, "")
    assert "seconder tokens create" in said.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_sandbox_prints_its_address_and_ends_quietly(shell: Shell, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "seconder.cli", "sandbox", "--port", "0", "--data", "w.db"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("SECONDER_", "SLACK_"))}
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as sandbox:
        assert sandbox.stdout is not None
        url = sandbox.stdout.readline().strip()
        assert httpx.get(f"{url}/").is_success
        sandbox.send_signal(number)
        out, err = sandbox.communicate(timeout=20)

    assert (sandbox.returncode, out) == (0, "")
    [hint] = err.splitlines()
    assert f"SECONDER_SLACK_API_URL={url}/api/" in hint


def test_a_port_that_is_taken_is_said(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        said = shell.run("sandbox", "--port", str(other.getsockname()[1]))

    assert (said.code, said.out) == (2, "")
    assert "port is taken" in said.err
