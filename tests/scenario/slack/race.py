"""Twenty people press Approve, Reject and Edit at once, through signed HTTP and real Bolt.

`python -m tests.scenario.slack.race --rounds 100` says what came of so many rounds on SQLite, and how long
Slack waited for its answers.
"""

import argparse
import statistics
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seconder.bot import forms, ids
from seconder.decision import kind_of
from seconder.review import Review
from seconder.sandbox import entries
from tests.support.bot import Bot, a_bot, button, submission
from tests.support.desk import ALICE, BOB, refund
from tests.support.sandbox import eventually

PEOPLE = 20
ACK_SECONDS = 3.0


@dataclass
class Tally:
    """What came of the rounds so far."""

    rounds: int = 0
    decisions: Counter[str] = field(default_factory=Counter)
    told: int = 0
    seconds: list[float] = field(default_factory=list)

    def says(self) -> str:
        waits = sorted(self.seconds)
        cuts = statistics.quantiles(waits, n=100)
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.decisions.items()))
        return (
            f"{self.rounds} rounds, {len(waits)} presses: one decision each ({kinds}), {self.told} told who won; "
            f"answered in p50 {cuts[49] * 1000:.0f} ms, p99 {cuts[98] * 1000:.0f} ms, at most {waits[-1] * 1000:.0f} ms"
        )


def one_round(bot: Bot, number: int, tally: Tally) -> None:
    """One review, PEOPLE presses at once. Raises: AssertionError unless exactly one of them counted."""
    review, _ = bot.asked(refund(call_id=f"call_{number}"))
    before = {person: len(bot.whispers(person)) for person in (ALICE, BOB)}
    payloads = [_payload(bot, review, index) for index in range(PEOPLE)]
    start = threading.Barrier(PEOPLE)

    def press(payload: dict[str, Any]) -> tuple[dict[str, Any], Any, float]:
        start.wait()
        begun = time.monotonic()
        answer = bot.send(payload)
        took = time.monotonic() - begun
        assert answer.status_code == 200, answer.status_code
        return payload, answer.json() if answer.content else None, took

    with ThreadPoolExecutor(PEOPLE) as pool:
        answers = list(pool.map(press, payloads))
    tally.rounds += 1
    tally.seconds += [took for _, _, took in answers]
    assert max(took for _, _, took in answers) < ACK_SECONDS
    _check(bot, review, answers, before, tally)


def _payload(bot: Bot, review: Review, index: int) -> dict[str, Any]:
    [card] = bot.messages(review)
    person = (ALICE, BOB)[index % 2]
    if index % 3 == 0:
        return button(person, card, ids.APPROVE)
    if index % 3 == 1:
        view = forms.reject_form(review, card.token or "")
        return submission(person, view, {ids.REASON: {ids.VALUE: {"type": "plain_text_input", "value": f"no {index}"}}})
    view = forms.edit_form(review, card.token or "")
    values = entries.state(view["blocks"], None)
    amount = next(block["block_id"] for block in view["blocks"] if block["type"] == "input")
    values[amount][ids.VALUE]["value"] = str(100 + index)
    return submission(person, view, values)


def _check(bot: Bot, review: Review, answers: list[Any], before: dict[str, int], tally: Tally) -> None:
    trail = bot.trail(review)
    decision = bot.review(review).decision
    assert decision is not None
    assert trail.count("decided") == 1, trail
    assert trail.count("refused") == PEOPLE - 1, trail
    won = f"by <@{decision.by[0]}>"
    views = [body for payload, body, _ in answers if payload["type"] == "view_submission"]
    lost = [body for body in views if body["response_action"] == "update"]
    cleared = [body for body in views if body["response_action"] == "clear"]
    by_button = kind_of(decision) == "approved"
    assert len(cleared) == (0 if by_button else 1)
    assert all("Already decided" in str(body) and won in str(body) for body in lost), lost
    buttons = PEOPLE - len(views) - (1 if by_button else 0)
    whispers = _whispered(bot, before, buttons)
    assert all("Already decided" in said and won in said for said in whispers), whispers
    tally.told += len(lost) + len(whispers)
    tally.decisions[kind_of(decision)] += 1


def _whispered(bot: Bot, before: dict[str, int], wanted: int) -> list[str]:
    def look() -> list[str] | None:
        found = [said for person, known in before.items() for said in bot.whispers(person)[known:]]
        return found if len(found) >= wanted else None

    found: list[str] = eventually(look, 15) if wanted else []
    assert len(found) == wanted
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    rounds = parser.parse_args().rounds
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="seconder-race-") as folder:
        url = f"sqlite:///{Path(folder) / 'seconder.db'}"
        with a_bot(url, Path(folder), over="http") as bot:
            for number in range(rounds):
                one_round(bot, number, tally)
    print(tally.says())  # noqa: T201  what it is for


if __name__ == "__main__":
    main()
