"""Named places where a test lets the process die as by kill -9; inert unless SECONDER_TESTING=1.

SECONDER_CRASH_AT names one of CRASH_POINTS; `NAME:3` dies when it is reached for the third time.
"""

import os
from collections import Counter
from typing import Final

from seconder.errors import ConfigurationError

CRASH_AT: Final = "SECONDER_CRASH_AT"
TESTING: Final = "SECONDER_TESTING"
KILLED: Final = 137  # the exit status of a process that SIGKILL ended

CRASH_POINTS: Final = (
    "desk.submitted",  # review and run state are stored, the agent has no answer yet
    "desk.escalated",  # the next route is stored, its card is not posted
    "dispatcher.claimed",  # a card's work is leased, nothing was done
    "dispatcher.posting",  # the post is announced in the row, Slack was not asked
    "dispatcher.posted",  # Slack has the card, the row does not know where
    "dispatcher.updated",  # Slack shows the new card, the row does not know
    "listener.before_decide",  # the press has arrived, nothing is stored
    "listener.decided",  # the decision is stored, Slack has no answer
    "worker.claimed",  # a pause is leased, nothing was done with it
    "worker.effect_started",  # the call is recorded as started, the tool has not run
    "worker.effect_ran",  # the tool ran, its end is not recorded
    "worker.before_finish",  # the run is resumed, its outcome is not recorded
    "worker.after_finish",  # the outcome is recorded
)

_reached: Counter[str] = Counter()


def crash_point(name: str) -> None:
    """The process ends here, without any tidying up, if the environment of a test says so."""
    wanted = os.environ.get(CRASH_AT)
    if wanted is None or os.environ.get(TESTING) != "1":
        return
    point, times = _parse(wanted)
    if point == name:
        _reached[name] += 1
        if _reached[name] == times:
            os._exit(KILLED)


def check() -> None:
    """Raises: ConfigurationError where a crash point is set outside a test, or does not exist."""
    wanted = os.environ.get(CRASH_AT)
    if wanted is None:
        return
    if os.environ.get(TESTING) != "1":
        raise ConfigurationError(f"{CRASH_AT} is set but {TESTING} is not 1: unset it, it ends the process")
    point, _ = _parse(wanted)
    if point not in CRASH_POINTS:
        raise ConfigurationError(f"{CRASH_AT}: there is no crash point {point!r}; there are {', '.join(CRASH_POINTS)}")


def _parse(wanted: str) -> tuple[str, int]:
    point, colon, times = wanted.partition(":")
    if not colon:
        return point, 1
    if not times.isdigit() or int(times) < 1:
        raise ConfigurationError(f"{CRASH_AT}: {wanted!r} is not NAME or NAME:N with N from 1")
    return point, int(times)
