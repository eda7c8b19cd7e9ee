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
    assert pace.before_post("C1", "m1") == 0


def test_the_next_post_in_the_channel_waits_a_second_and_other_channels_do_not(pace: Pace, clock: Clock) -> None:
    pace.posted("C1", "m0")
    clock.now += 0.25

    assert pace.before_post("C1", "m1") == POST_EVERY - 0.25
    assert pace.before_post("C2", "m1") == 0
    clock.now += 0.75
    assert pace.before_post("C1", "m1") == 0


def test_a_channel_that_slack_limits_is_left_alone_for_as_long_as_slack_said(pace: Pace, clock: Clock) -> None:
    pace.blocked("C1", 30)

    assert pace.before_post("C1", "m1") == 30
    assert (pace.before_post("C2", "m1"), pace.before_update()) == (0, 0)
    clock.now += 30
    assert pace.before_post("C1", "m1") == 0


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
    assert pace.before_post("C1", "m1") == 0


def test_posts_that_wait_have_a_second_each_in_the_order_in_which_they_asked(pace: Pace, clock: Clock) -> None:
    assert pace.before_post("C1", "a") == 0
    pace.posted("C1", "a")

    assert [pace.before_post("C1", name) for name in "bcd"] == [1, 2, 3]
    clock.now += 1
    assert [pace.before_post("C1", name) for name in "edcb"] == [3, 2, 1, 0]
    pace.posted("C1", "b")
    clock.now += 1
    assert [pace.before_post("C1", name) for name in "dec"] == [1, 2, 0]


def test_a_post_that_never_comes_back_holds_up_nobody_for_long(pace: Pace, clock: Clock) -> None:
    pace.posted("C1", "a")
    assert pace.before_post("C1", "lost") == 1

    clock.now += 10

    assert pace.before_post("C1", "b") == 0


def test_after_a_limit_posts_have_a_second_each_again(pace: Pace, clock: Clock) -> None:
    pace.posted("C1", "a")
    assert [pace.before_post("C1", name) for name in "bc"] == [1, 2]

    pace.blocked("C1", 30)

    assert [pace.before_post("C1", name) for name in "cb"] == [30, 31]
