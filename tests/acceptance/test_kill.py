"""Invariant 10: whatever dies wherever, there is one decision, one refund, one live card, and a trail that verifies."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from seconder.demo.people import Card
from seconder.desk import look, tokens
from seconder.desk.desk import Desk
from seconder.desk.effects import HAPPENED, NOT_HAPPENED
from seconder.errors import Unreachable
from seconder.faults import CRASH_POINTS
from seconder.frameworks.openai_agents import run
from seconder.gate import Client, connect
from seconder.keyring import Keyring, parse_keys
from seconder.policies import load
from seconder.review import PauseState, Review, Status
from seconder.store.database import Store
from tests.support.crash_agent import NAME, make_agent
from tests.support.living import Living
from tests.support.postgres import fresh_database

ON_POSTGRESQL = ("dispatcher.posted", "listener.decided", "worker.effect_ran", "worker.before_finish")
CASES = [("sqlite", point) for point in CRASH_POINTS] + [("postgresql", point) for point in ON_POSTGRESQL]
ALICE, BOB, LENA = "U02ALICE", "U03BOB", "U04LENA"


@pytest.fixture
def living(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Living]:
    backend, point = request.param
    escalates = "2s" if point == "desk.escalated" else "30m"
    if backend == "sqlite":
        made = Living(tmp_path, f"sqlite:///{tmp_path / 'seconder.db'}", escalates)
        yield made
        made.stop()
        return
    with fresh_database() as url:
        made = Living(tmp_path, url, escalates)
        yield made
        made.stop()


def desk_of(living: Living) -> Desk:
    """The test's own look into the bot's database."""
    keyring = Keyring(parse_keys(living.keys), random=os.urandom)
    store = Store(living.database_url, keyring, random=os.urandom)
    policy = load(living.folder / "policy.yml")
    return Desk(store=store, policy=lambda: policy, new_id=lambda prefix: f"{prefix}_{os.urandom(16).hex()}")


async def ask(client: Client) -> None:
    try:
        await run(make_agent, "Refund order O-991", client=client, name=NAME, requester="U01RILEY", wait=False)
    finally:
        await client.aclose()


def refund_review(desk: Desk) -> Review | None:
    reviews = look.listed(desk, agent=NAME, status=None, limit=50).reviews
    found = [review for review in reviews if review.action is not None]
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("living", "point"), [((b, p), p) for b, p in CASES], indirect=["living"])
def test_after_a_death_at_this_point_everything_goes_on_once(living: Living, point: str) -> None:
    desk = desk_of(living)
    secret = tokens.create(desk, NAME, random=os.urandom).secret
    living.start(crash_at=point)
    try:
        go_through(living, desk, secret, point)
    finally:
        desk.store.close()


def go_through(living: Living, desk: Desk, secret: str, point: str) -> None:
    channel, person = ("finance-leads", LENA) if point == "desk.escalated" else ("refunds", ALICE)
    try:
        asyncio.run(ask(connect(living.url, secret)))
    except Unreachable:
        assert living.dead()
    revive(living)
    living.eventually("the review is stored", lambda: refund_review(desk))
    living.eventually("a card", lambda: alive_card(living, channel))
    while (review := refund_review(desk)) is not None and review.status is Status.PENDING:
        press(living, channel, person)
        revive(living)
    answered = living.eventually("the run ends", lambda: finished(living, desk, point))
    assert answered

    review = refund_review(desk)
    assert review is not None
    kinds = [entry.kind for entry in look.history(desk, review.id)]
    assert kinds.count("decided") == 1
    assert len(living.refunds) == 1
    assert look.verify(desk)[1] == []
    cards = living.eventually("one card without buttons", lambda: settled_cards(living, channel))
    assert len(cards) == 1
    revive(living)  # one point lies after the end; any other death than the planned one is a failure


def alive_card(living: Living, channel: str) -> Card | None:
    revive(living)
    return living.people.card(channel, "Approve")


def press(living: Living, channel: str, person: str) -> None:
    card = living.people.card(channel, "Approve")
    if card is not None:
        living.people.press(person, card, "Approve")


def revive(living: Living) -> None:
    """The bot is started again where it has died."""
    if living.dead():
        living.start()


def finished(living: Living, desk: Desk, point: str) -> bool:
    revive(living)
    review = refund_review(desk)
    assert review is not None
    pause, _ = look.pause(desk, review.pause_id or "")
    answer_question(living, pause.reviews, HAPPENED if point == "worker.effect_ran" else NOT_HAPPENED)
    return pause.state is PauseState.FINISHED


def answer_question(living: Living, reviews: tuple[Review, ...], answer: str) -> None:
    """A person says what happened to a call that started and never ended."""
    if not any(review.effect_id is not None and review.status is Status.PENDING for review in reviews):
        return
    card = living.people.card("refunds", "Answer…")
    if card is None:
        return
    living.people.press(BOB, card, "Answer…")
    form = living.eventually("the answer's form", lambda: living.people.form(BOB))
    [label] = form.fields
    living.people.submit(BOB, form, {label: answer})


def settled_cards(living: Living, channel: str) -> list[object]:
    """The refund's cards of the channel, once none offers a decision any more."""
    revive(living)
    found = [card for card in living.people.cards(channel) if "refund" in card.text.lower()]
    asking = [card for card in found if "Approve" in card.buttons or "Answer…" in card.buttons]
    return [] if asking else [card for card in found if "Did it happen" not in card.text]
