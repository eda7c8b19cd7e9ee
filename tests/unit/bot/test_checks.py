from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from seconder.bot import checks

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
HEADER = "Mon, 30 Nov 2026 12:00:00 GMT"


def test_the_scopes_looked_for_are_those_of_the_manifest() -> None:
    manifest = yaml.safe_load((Path(__file__).parents[3] / "manifest.yml").read_text())

    assert sorted(checks.SCOPES) == manifest["oauth_config"]["scopes"]["bot"]


def test_missing_scopes_are_named() -> None:
    some = ",".join(sorted(checks.SCOPES - {"users:read", "im:write"}))

    assert checks._scopes(some).says == "missing: im:write, users:read"
    assert checks._scopes(", ".join(checks.SCOPES)).good is True


@pytest.mark.parametrize(("off", "good"), [(0, True), (60, True), (-60, True), (61, None), (-61, None)])
def test_a_clock_more_than_a_minute_off_is_a_warning(off: int, good: bool | None) -> None:
    assert checks._clock(HEADER, NOON + timedelta(seconds=off)).good is good


@pytest.mark.parametrize("header", [None, "yesterday"])
def test_a_slack_without_a_clock_is_a_warning(header: str | None) -> None:
    assert checks._clock(header, NOON).good is None


@pytest.mark.parametrize(
    ("found", "good"),
    [
        (None, False),
        ({"id": "C1", "is_member": True, "is_archived": True}, False),
        ({"id": "C1", "is_member": False}, False),
        ({"id": "C1", "is_member": True}, True),
    ],
)
def test_a_channel_must_be_there_with_the_bot_in_it(found: dict[str, object] | None, good: bool) -> None:
    assert checks._channel("#refunds", found).good is good
