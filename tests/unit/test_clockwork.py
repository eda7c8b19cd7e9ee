"""The clock runs jobs, survives their errors, and notices when the wall clock jumps."""

import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from seconder.clockwork import Clocks, Clockwork, sweep
from seconder.desk import climb, look
from seconder.desk.desk import Desk
from seconder.review import Status
from tests.support.desk import a_desk, push_clock, refund, submitted

SOON = 5.0  # seconds
OFTEN = timedelta(milliseconds=50)
SELDOM = timedelta(hours=1)


def counted(times: int) -> tuple[Callable[[], None], threading.Event]:
    """A job, and the event of its having run so many times."""
    left, done = [times], threading.Event()

    def job() -> None:
        left[0] -= 1
        if left[0] <= 0:
            done.set()

    return job, done


def test_jobs_run_at_once_and_then_at_their_intervals(tmp_path: Path) -> None:
    often, ran_often = counted(3)
    seldom, ran_once = counted(1)
    with a_desk(f"sqlite:///{tmp_path / 'a.db'}") as desk:
        clock = Clockwork(desk, jobs={"often": (OFTEN, often), "seldom": (SELDOM, seldom)})
        clock.start()

        assert ran_once.wait(SOON)
        assert ran_often.wait(SOON)
        clock.stop()


def test_a_job_that_fails_is_logged_and_runs_again(tmp_path: Path) -> None:
    job, ran = counted(3)

    def fails() -> None:
        job()
        raise OSError("the network is down")

    with a_desk(f"sqlite:///{tmp_path / 'a.db'}") as desk, capture_logs() as logs:
        clock = Clockwork(desk, jobs={"people": (OFTEN, fails)})
        clock.start()

        assert ran.wait(SOON)
        clock.stop()
        assert {(entry["event"], entry["job"]) for entry in logs} == {("clock.job_failed", "people")}


def test_nothing_runs_after_stop(tmp_path: Path) -> None:
    ran: list[int] = []
    with a_desk(f"sqlite:///{tmp_path / 'a.db'}") as desk:
        clock = Clockwork(desk, jobs={"often": (OFTEN, lambda: ran.append(1))})
        clock.start()
        clock.stop()
        before = len(ran)
        threading.Event().wait(3 * OFTEN.total_seconds())

        assert len(ran) == before


def test_what_became_due_while_nothing_ran_is_done_at_the_start(database_url: str) -> None:
    with a_desk(database_url) as desk:
        review = submitted(desk, refund())
        push_clock(desk, timedelta(hours=5))
        clock = Clockwork(desk, jobs={})
        clock.start()
        seen, waited = desk.store.changes.count, 0
        while look.review(desk, review.id).status is Status.PENDING and waited < SOON:
            seen, waited = desk.store.changes.wait(seen, 1.0), waited + 1
        clock.stop()

        assert look.review(desk, review.id).status is Status.DECIDED


def test_one_review_that_cannot_be_climbed_does_not_hold_up_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    climbs = climb.climb
    with a_desk(f"sqlite:///{tmp_path / 'a.db'}") as desk:
        broken, *others = [submitted(desk, refund(call_id=f"call_{n}")) for n in range(4)]

        def climb_or_fail(at: Desk, review_id: str) -> str | None:
            if review_id == broken.id:
                raise OSError("this row cannot be read")
            return climbs(at, review_id)

        monkeypatch.setattr(climb, "climb", climb_or_fail)
        push_clock(desk, timedelta(hours=5))
        with capture_logs() as logs:
            swept = sweep(desk)

        assert swept == len(others)
        assert [(entry["event"], entry["review"]) for entry in logs] == [("clock.climb_failed", broken.id)]
        assert [look.review(desk, review.id).status for review in others] == [Status.DECIDED] * 3


@pytest.mark.parametrize("jump", [-3600, 3600])
def test_after_the_wall_clock_jumped_it_is_said_and_the_jobs_go_on(tmp_path: Path, jump: int) -> None:
    off = [0.0]
    with a_desk(f"sqlite:///{tmp_path / 'a.db'}") as desk, capture_logs() as logs:
        real = Clocks()
        job, again = counted(2)
        clocks = Clocks(wall=lambda: real.wall() + off[0])
        clock = Clockwork(desk, jobs={"seldom": (SELDOM, job)}, clocks=clocks)
        clock.start()
        off[0] = jump

        assert again.wait(SOON)
        clock.stop()
        said = [entry["seconds"] for entry in logs if entry["event"] == "clock.jumped"]
        assert said == [pytest.approx(jump, abs=2)]
