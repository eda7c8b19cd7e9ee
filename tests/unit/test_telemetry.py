import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from seconder import telemetry


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = [*root.handlers], root.level
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.getLogger("seconder").setLevel(logging.NOTSET)


def logged(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    said = capsys.readouterr()
    assert said.out == ""
    return [json.loads(line) for line in said.err.splitlines()]


def test_logs_are_one_json_object_to_a_line_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry.configure("json")
    telemetry.logger("seconder.test").info("card.posted", review="rv_1")

    [line] = logged(capsys)
    assert (line["event"], line["review"], line["level"], line["logger"]) == (
        "card.posted", "rv_1", "info", "seconder.test",
    )  # fmt: skip
    assert str(line["timestamp"]).endswith("Z")


def test_other_libraries_log_into_the_same_stream_from_warnings_on(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry.configure("json")
    logging.getLogger("slack_bolt").info("chatter")
    logging.getLogger("slack_bolt").warning("lost %s", "connection")

    [line] = logged(capsys)
    assert (line["event"], line["logger"]) == ("lost connection", "slack_bolt")


def test_configuring_twice_does_not_log_twice(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry.configure("json")
    telemetry.configure("json")
    telemetry.logger("seconder.test").info("once")

    assert len(logged(capsys)) == 1


def test_values_under_secret_names_are_masked_at_any_depth(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry.configure("json")
    secret = {"token": "a", "Authorization": "b", "arguments": {"c": 1}, "bot_token": "d", "state": "e", "key": None}
    telemetry.logger("seconder.test").info("event", request=secret, deep=[{"response_url": "f"}], signing_secret="g")

    [line] = logged(capsys)
    masked = dict.fromkeys(("token", "Authorization", "arguments", "bot_token", "state"), "***")
    assert line["request"] == {**masked, "key": None}
    assert line["deep"] == [{"response_url": "***"}]
    assert line["signing_secret"] == "***"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("xoxb-123-abc failed", "xoxb-*** failed"),
        ("with xapp-1-A1-2-ff", "with xapp-***"),
        ("sdr_AbC-_9x", "sdr_***"),
        ("whsec_AbC+/9x=", "whsec_***"),
        ("postgresql://me:pass@db/x", "postgresql://me:***@db/x"),
        ("https://hooks.slack.com/actions/T0/1/x", "https://hooks.slack.com/***"),
        ("Incorrect API key provided: sk-proj-AbC123AbC123", "Incorrect API key provided: sk-***"),
        ("clone with ghp_AbC123AbC123AbC1", "clone with ghp_***"),
        ("Authorization: Bearer AbC.123-x", "Authorization: Bearer ***"),
        (
            "GET https://api.example.test/sync?page=2&api_key=AbC123",
            "GET https://api.example.test/sync?page=2&api_key=***",
        ),
        ("the risk-assessment of a task-force", "the risk-assessment of a task-force"),
        ("a plain sentence: rv_1 at 10:30", "a plain sentence: rv_1 at 10:30"),
    ],
)
def test_what_looks_like_a_secret_is_masked_in_any_text(text: str, shown: str) -> None:
    assert telemetry.hide(text) == shown


@pytest.mark.parametrize("kind", ["json", "console"])
def test_a_secret_in_a_traceback_is_masked(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    telemetry.configure("json" if kind == "json" else "console")
    try:
        int("xoxb-123-hidden")
    except ValueError:
        telemetry.logger("seconder.test").exception("failed")
        logging.getLogger("other").exception("failed")

    said = capsys.readouterr().err
    assert said.count("'xoxb-***'") == 2
    assert "hidden" not in said
