"""Invariant 1, through the whole way in: many press at once, one decides, everybody else is told who."""

from pathlib import Path

from tests.scenario.slack.race import PEOPLE, Tally, one_round
from tests.support.bot import a_bot


def test_twenty_presses_at_once_give_one_decision_and_the_others_are_told_who_won(
    database_url: str, tmp_path: Path
) -> None:
    tally = Tally()
    with a_bot(database_url, tmp_path, over="http") as bot:
        for number in range(3):
            one_round(bot, number, tally)

    assert sum(tally.decisions.values()) == 3
    assert tally.told == 3 * (PEOPLE - 1)
