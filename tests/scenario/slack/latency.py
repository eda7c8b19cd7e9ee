"""How long Slack waits for the answer to each kind of press, one after the other, over signed HTTP.

`python -m tests.scenario.slack.latency --presses 200` says so for SQLite on a disk that is written through.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import structlog

from seconder.bot import forms, ids
from seconder.review import Review
from seconder.sandbox import entries
from seconder.store.messages import Message
from tests.support.bot import Bot, a_bot, button, submission
from tests.support.desk import ALICE, OLGA, post_card, refund

ACK_SECONDS = 3.0

Payload = Callable[[Review, Message], dict[str, Any]]


def _edit(review: Review, card: Message) -> dict[str, Any]:
    view = forms.edit_form(review, card.token or "")
    values = entries.state(view["blocks"], None)
    amount = next(block["block_id"] for block in view["blocks"] if block["type"] == "input")
    values[amount][ids.VALUE]["value"] = "120"
    return submission(ALICE, view, values)


def _reject(review: Review, card: Message) -> dict[str, Any]:
    view = forms.reject_form(review, card.token or "")
    return submission(ALICE, view, {ids.REASON: {ids.VALUE: {"type": "plain_text_input", "value": "no"}}})


PRESSES: dict[str, Payload] = {
    "approve": lambda _, card: button(ALICE, card, ids.APPROVE),
    "refused": lambda _, card: button(OLGA, card, ids.APPROVE),
    "open the edit form": lambda _, card: button(ALICE, card, ids.EDIT),
    "open the reject form": lambda _, card: button(ALICE, card, ids.REJECT),
    "view all": lambda _, card: button(ALICE, card, ids.VIEW_ALL),
    "send the edit form": _edit,
    "send the reject form": _reject,
}


def measured(bot: Bot, number: int) -> dict[str, list[float]]:
    """Seconds to the answer, by kind of press; each press is on a card of its own, facts are fresh."""
    took: dict[str, list[float]] = {name: [] for name in PRESSES}
    for index in range(number):
        for name, payload in PRESSES.items():
            review = bot.submit(refund(call_id=f"{name}-{index}"))
            post_card(bot.desk, review.id)
            [card] = bot.messages(review)
            body = payload(review, card)
            begun = time.monotonic()
            answer = bot.send(body)
            took[name].append(time.monotonic() - begun)
            assert answer.status_code == 200
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--presses", type=int, default=200)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    with tempfile.TemporaryDirectory(prefix="seconder-latency-", dir=".") as folder:
        url = f"sqlite:///{Path(folder).resolve() / 'seconder.db'}"
        with a_bot(url, Path(folder), over="http", dispatching=False) as bot:
            for name, waits in measured(bot, parser.parse_args().presses).items():
                cuts = statistics.quantiles(waits, n=100)
                p50, p99, most = (round(seconds * 1000, 1) for seconds in (cuts[49], cuts[98], max(waits)))
                print(f"{name:22} p50 {p50:6} ms   p99 {p99:6} ms   at most {most:6} ms")  # noqa: T201


if __name__ == "__main__":
    main()
