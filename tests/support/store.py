"""A store on a migrated database, and values to put into it."""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from seconder.action import Action
from seconder.decision import Approved, Decision, Edited, Route, Source, Verdict, VerdictKind
from seconder.keyring import Keyring
from seconder.review import Agent, Delivery, Interrupt, Kind, Pause, PauseState, Review, Status
from seconder.store import schema
from seconder.store.database import Store
from seconder.store.pauses import PauseOrigin
from seconder.store.reviews import Submitted
from seconder.store.tx import Tx

KEYS = (b"k" * 32,)
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
LEASE = timedelta(seconds=10)
SECOND = timedelta(seconds=1)

REFUND = Action(tool="issue_refund", arguments={"order_id": "O-991", "amount": 240}, schema={"type": "object"})
ASK = Verdict(
    kind=VerdictKind.ASK,
    rule="refunds",
    because="Refunds of 50 or more need a person.",
    source="policy.yaml:7",
    route=Route(channel="#refunds", roles=("finance",)),
)


def open_store(url: str) -> Store:
    """A store on a database that is migrated already."""
    return Store(url, Keyring(KEYS, random=os.urandom), random=os.urandom)


@contextmanager
def opened(url: str) -> Iterator[Store]:
    """A store on a database that is migrated first."""
    schema.upgrade(url)
    store = open_store(url)
    try:
        yield store
    finally:
        store.close()


def review(ident: str = "rv1", **changes: Any) -> Review:
    """A pending review of a refund, created at noon, with these fields."""
    pending = Review(
        id=ident,
        status=Status.PENDING,
        revision=1,
        interrupt=Interrupt(kind=Kind.TOOL_CALL, agent=Agent(name="support"), action=REFUND),
        verdict=ASK,
        digest=REFUND.digest,
        created_at=NOON,
        deadline=NOON + timedelta(hours=24),
        deadline_default="expire",
        rung=0,
        delivery=Delivery.QUEUED,
        agent_token="tk1",
    )
    return replace(pending, **changes)


def add(store: Store, value: Review, submitted: Submitted | None = None) -> Review:
    """The review is stored; due at its deadline while it is pending."""
    due = value.deadline if value.status is Status.PENDING else None
    store.write(lambda tx: tx.reviews.add(value, submitted or Submitted(), due_at=due))
    return value


def pause(ident: str = "ps1", **changes: Any) -> Pause:
    """A waiting pause of run `rn1`, created at noon, with these fields."""
    waiting = Pause(
        id=ident,
        run_id="rn1",
        agent=Agent(name="support"),
        framework="openai",
        framework_version="0.17",
        state=PauseState.WAITING,
        created_at=NOON,
        reviews=(),
        run_state=b"the state",
    )
    return replace(waiting, **changes)


def add_pause(store: Store, value: Pause, *, ready: bool = False) -> Pause:
    """The pause and its run are stored; ready at noon if so wanted."""

    def write(tx: Tx) -> None:
        run_id = tx.pauses.run(agent=value.agent.name, name="thread-1", ident=value.run_id, at=NOON)
        tx.pauses.add(replace(value, run_id=run_id), PauseOrigin(token_id="tk1"))
        if ready:
            tx.pauses.set_ready(value.id, NOON)

    store.write(write)
    return value


def approved(by: str = "U1", at: datetime = NOON) -> Decision:
    return Approved(by=(by,), source=Source.PERSON, at=at)


def edited(by: str = "U1", at: datetime = NOON, **arguments: Any) -> Decision:
    action = REFUND.with_arguments({**REFUND.arguments, **arguments})
    return Edited(by=(by,), source=Source.PERSON, at=at, action=action)


def seeded(seed: int) -> Callable[[int], bytes]:
    """Chance that comes again."""
    return random.Random(seed).randbytes  # noqa: S311 - a test's chance
