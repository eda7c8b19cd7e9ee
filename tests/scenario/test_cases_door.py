"""What went wrong elsewhere at the HTTP door: links that were only looked at, times taken for others."""

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from seconder.desk.desk import Desk
from seconder.desk.people import now
from seconder.store.tables import metadata
from tests.support.api import a_door, call_of, error_of, pause_of
from tests.support.desk import ALICE, POLICY, a_desk, post_card, press_on

LONG = POLICY.replace("after: 4h", "after: 365d")


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'seconder.db'}"


def everything(desk: Desk) -> dict[str, list[Any]]:
    """Every row of the database."""
    return desk.store.read(
        lambda tx: {
            name: sorted(map(repr, tx.connection.execute(select(table)).all()))
            for name, table in metadata.tables.items()
        }
    )


def test_whatever_is_only_looked_at_changes_nothing(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        review = door.post("/v1/reviews", json=call_of()).json()["id"]
        pause = door.post("/v1/pauses", json=pause_of()).json()["id"]
        post_card(desk, review)
        token = press_on(desk, review, ALICE).token
        paths = [path.format(review_id=review, pause_id=pause) for path in door.get("/openapi.json").json()["paths"]]
        paths += [f"/v1/reviews/{token}", f"/slack/events?token={token}", f"/{token}", "/slack/install"]
        before = everything(desk)

        for path in paths:
            assert door.get(path).status_code < 500
            assert door.head(path).status_code < 500

        assert len(paths) > 10
        assert everything(desk) == before


@pytest.mark.parametrize(
    "deadline", ["2027-01-01", "2027-01-01T10:00:00", "10:00", "tomorrow", "", 1798797600000, 1798797600, True, ["now"]]
)
def test_a_time_that_could_mean_several_is_refused_at_once(sqlite_url: str, deadline: object) -> None:
    with a_desk(sqlite_url) as desk, a_door(desk) as door:
        answer = door.post("/v1/reviews", json=call_of(deadline=deadline))

        assert error_of(answer) == (422, "invalid")
        assert [fault["path"] for fault in answer.json()["error"]["fields"]] == ["deadline"]


@pytest.mark.parametrize("offset", [timedelta(0), timedelta(hours=5, minutes=30), timedelta(hours=-12)])
def test_a_time_with_its_offset_is_that_moment(sqlite_url: str, offset: timedelta) -> None:
    with a_desk(sqlite_url, LONG) as desk, a_door(desk) as door:
        meant = now(desk).replace(microsecond=0) + timedelta(days=5)
        answer = door.post("/v1/reviews", json=call_of(deadline=meant.astimezone(timezone(offset)).isoformat()))

        assert datetime.fromisoformat(answer.json()["deadline"]) == meant
        assert answer.json()["deadline"].endswith("Z")
