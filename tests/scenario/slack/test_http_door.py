"""The door for signed requests: what is not Slack's is 401, what cannot be read is 400, never 500."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from seconder.bot.http import MAX_BODY
from tests.support.bot import Bot, a_bot, signed

FORM = {"content-type": "application/x-www-form-urlencoded"}
JSON = {"content-type": "application/json"}
NONSENSE = (
    b"",
    b"\xff",
    b"\xffpayload=",
    b"payload=%7B",
    b"payload=1",
    b"payload=%5B%5D",
    b"{",
    b"[]",
    b"payload=",
    b"payload=" + b"%5B" * 100_000,
    b'{"type": "event_callback"}',
    b'{"type": "event_callback", "event": 5}',
)


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bot]:
    """One bot for all: nothing that is sent here reaches it."""
    folder: Path = tmp_path_factory.mktemp("door")
    with a_bot(f"sqlite:///{folder / 'seconder.db'}", folder, over="http", dispatching=False) as made:
        yield made


@pytest.mark.parametrize("stamp", ["", "abc", "1" * 400, "-1", "1e9", "0x10", "1.5", "\u0661"])
def test_a_timestamp_that_is_none_is_refused(door: Bot, stamp: str) -> None:
    body = b"payload=%7B%7D"
    headers = {**FORM, **signed(body), "x-slack-request-timestamp": stamp}

    answer = door.http.post(door.url, content=body, headers=encoded(headers))

    assert answer.status_code == 401


@pytest.mark.parametrize("signature", ["", "v0=", "v0=" + "0" * 64, "v1=" + "0" * 64, "v0=" + "é" * 64])
def test_a_signature_that_is_none_is_refused(door: Bot, signature: str) -> None:
    body = b"payload=%7B%7D"
    headers = {**FORM, **signed(body), "x-slack-signature": signature}

    assert door.http.post(door.url, content=body, headers=encoded(headers)).status_code == 401


def test_a_request_of_long_ago_is_refused(door: Bot) -> None:
    body = b'{"type": "url_verification", "challenge": "abc"}'

    old = door.post(body, {**JSON, **signed(body, at=1_000_000_000)})
    new = door.post(body, {**JSON, **signed(body)})

    assert (old.status_code, new.status_code, "abc" in new.text) == (401, 200, True)


@pytest.mark.parametrize("body", NONSENSE)
@pytest.mark.parametrize("kind", [FORM, JSON, {}], ids=["form", "json", "nothing"])
def test_a_signed_body_that_is_nonsense_is_the_senders_fault(door: Bot, body: bytes, kind: dict[str, str]) -> None:
    signature = signed(body)

    answer: httpx.Response = door.post(body, {**kind, **signature})

    assert 400 <= answer.status_code < 500


def test_a_body_beyond_a_mebibyte_is_too_large(door: Bot) -> None:
    body = b"payload=" + b"x" * MAX_BODY

    assert door.post(body, {**FORM, **signed(body)}).status_code == 413


def encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]
