"""How fast Slack lets us speak."""

import pytest

from seconder.bot.pace import POST_EVERY, UPDATE_WINDOW, UPDATES, Pace


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pace(clock: Clock) -> Pace:
    return Pace(clock)


def test_the_first_post_in_a_channel_is_due_at_once(pace: Pace) -> None:
    assert pace.before_post("C1") == 0


def test_the_next_post_in_the_channel_waits_a_second_and_other_channels_do_not(pace: Pace, clock: Clock) -> None:
    pace.posted("C1")
    clock.now += 0.25

    assert pace.before_post("C1") == POST_EVERY - 0.25
    assert pace.before_post("C2") == 0
    clock.now += 0.75
    assert pace.before_post("C1") == 0


def test_a_channel_that_slack_limits_is_left_alone_for_as_long_as_slack_said(pace: Pace, clock: Clock) -> None:
    pace.blocked("C1", 30)

    assert pace.before_post("C1") == 30
    assert (pace.before_post("C2"), pace.before_update()) == (0, 0)
    clock.now += 30
    assert pace.before_post("C1") == 0


def test_updates_keep_within_the_budget_of_a_minute(pace: Pace, clock: Clock) -> None:
    for _ in range(UPDATES):
        assert pace.before_update() == 0
        pace.updated()
        clock.now += 1

    assert pace.before_update() == UPDATE_WINDOW - UPDATES
    clock.now += UPDATE_WINDOW - UPDATES
    assert pace.before_update() == 0


def test_updates_that_slack_limits_wait_whatever_the_budget_says(pace: Pace, clock: Clock) -> None:
    pace.blocked("update", 7)

    assert pace.before_update() == 7
    assert pace.before_post("C1") == 0
