"""The clock: APScheduler runs every job at its interval; what is due is read from the rows each time.

* The scheduler remembers nothing: after a restart the next sweep finds whatever is overdue.
* A job that raises is logged and runs again at its next time; a job never runs twice at once.
* The scheduler goes by the wall clock. A guard thread compares that with the monotonic clock: after a
  jump every job runs at once, so that a clock set back by an hour does not stop the ladders for an hour.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog
from apscheduler.schedulers.background import BackgroundScheduler  # type: ignore[import-untyped]

from seconder.desk import climb
from seconder.desk.desk import Desk

SWEEP_EVERY = timedelta(seconds=1)
SWEEP_LIMIT = 1000  # reviews in one sweep; the next one goes on
BATCH = 100
GUARD_EVERY = timedelta(seconds=1)
NUDGE = timedelta(seconds=2)  # beyond this the jobs are set to run at once
JUMP = timedelta(seconds=60)  # beyond this it is said in the log

log = structlog.get_logger("seconder.clockwork")


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """What the guard compares."""

    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic


class Clockwork:
    """Sweeps due reviews every SWEEP_EVERY, and runs the other jobs at their intervals."""

    def __init__(
        self,
        desk: Desk,
        *,
        jobs: Mapping[str, tuple[timedelta, Callable[[], None]]],
        clocks: Clocks | None = None,
    ) -> None:
        self._clocks = clocks or Clocks()
        self._jobs = {"sweep": (SWEEP_EVERY, lambda: sweep(desk)), **jobs}
        self._scheduler = BackgroundScheduler(
            timezone=UTC, job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
        )
        self._stop = threading.Event()
        self._apart = self._clocks.wall() - self._clocks.monotonic()
        self._guard = threading.Thread(target=self._watch, name="clock-guard", daemon=True)

    def start(self) -> None:
        """Every job runs for the first time now."""
        for name, (every, job) in self._jobs.items():
            self._scheduler.add_job(
                _logged(name, job), "interval", seconds=every.total_seconds(), id=name, next_run_time=_now()
            )
        self._scheduler.start()
        self._guard.start()

    def stop(self) -> None:
        """Jobs under way are finished; none starts any more."""
        self._stop.set()
        self._guard.join()
        self._scheduler.shutdown(wait=True)

    def _watch(self) -> None:
        while not self._stop.wait(GUARD_EVERY.total_seconds()):
            jumped = timedelta(seconds=self._clocks.wall() - self._clocks.monotonic() - self._apart)
            if abs(jumped) > NUDGE:
                self._apart += jumped.total_seconds()
                self._jumped(jumped)

    def _jumped(self, by: timedelta) -> None:
        if abs(by) > JUMP:
            log.warning("clock.jumped", seconds=round(by.total_seconds()), note="deadlines go by the database's clock")
        for name in self._jobs:
            self._scheduler.modify_job(name, next_run_time=_now())


def sweep(desk: Desk) -> int:
    """How many rungs and deadlines were done; one review's error does not hold up the others."""
    done, failed = 0, set[str]()
    while done + len(failed) < SWEEP_LIMIT:
        due = [ident for ident in climb.due(desk, limit=BATCH + len(failed)) if ident not in failed]
        if not due:
            break
        for ident in due:
            try:
                climb.climb(desk, ident)
                done += 1
            except Exception:
                log.exception("clock.climb_failed", review=ident)
                failed.add(ident)
    return done


def _logged(name: str, job: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        try:
            job()
        except Exception:
            log.exception("clock.job_failed", job=name)

    return run


def _now() -> datetime:
    """By the clock that the scheduler itself goes by."""
    return datetime.now(tz=UTC)
