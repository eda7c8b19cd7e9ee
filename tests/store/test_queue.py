"""The internal queue: at least once, leased, fenced; one waits and one is worked on per subject."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from seconder.store.database import Store
from seconder.store.queue import LONGEST_BACKOFF, MAX_ATTEMPTS, Item, Priority, backoff
from tests.support.store import LEASE, NOON, SECOND

TOPICS = ("card",)


def put(store: Store, subject: str = "rv1", *, at: datetime = NOON, **options: object) -> None:
    given: dict[str, object] = {"now": at, **options}
    store.write(lambda tx: tx.queue.put("card", subject, **given))  # type: ignore[arg-type]


def claim(store: Store, at: datetime = NOON, limit: int = 1) -> list[Item]:
    return store.write(lambda tx: tx.queue.claim(TOPICS, worker="w", now=at, lease=LEASE, limit=limit))


def fail(store: Store, item: Item, at: datetime = NOON, counts: bool = True) -> str:
    return store.write(lambda tx: tx.queue.fail(item, error="broke", now=at, counts=counts))


def done(store: Store, item: Item) -> bool:
    return store.write(lambda tx: tx.queue.done(item))


def listed(store: Store) -> list[Item]:
    return store.read(lambda tx: tx.queue.listed())


def worn_out(store: Store, work: Callable[[Item], object]) -> Item:
    """An item that was claimed and worked on in this way as often as is allowed."""
    put(store)
    items = []
    for attempt in range(MAX_ATTEMPTS):
        items += claim(store, NOON + timedelta(hours=attempt))
        work(items[-1])
    return items[-1]


def test_an_item_is_worked_on_and_then_gone(store: Store) -> None:
    put(store, payload={"n": 10**30, "text": "é \x00"})

    assert store.read(lambda tx: tx.queue.claimable(TOPICS, NOON))
    [item] = claim(store)
    assert (item.topic, item.subject, item.state, item.attempts, item.fence) == ("card", "rv1", "leased", 1, 1)
    assert item.payload == {"n": 10**30, "text": "é \x00"}
    assert claim(store) == []
    assert done(store, item)
    assert listed(store) == []
    assert not done(store, item)


def test_a_subject_put_many_times_while_it_waits_is_worked_on_once(store: Store) -> None:
    put(store, due_at=NOON + 9 * SECOND, priority=Priority.POST)
    put(store, due_at=NOON + 5 * SECOND, priority=Priority.NOTE)
    put(store, due_at=NOON + 7 * SECOND, priority=Priority.DECISION)

    [item] = listed(store)
    assert item.due_at == NOON + 5 * SECOND
    assert store.read(lambda tx: tx.queue.next_due(TOPICS)) == NOON + 5 * SECOND
    assert claim(store, NOON + 4 * SECOND) == []
    assert len(claim(store, NOON + 5 * SECOND, limit=9)) == 1


def test_a_subject_put_while_it_is_worked_on_is_worked_on_again_afterwards(store: Store) -> None:
    put(store)
    [first] = claim(store)
    put(store)

    assert claim(store) == []
    done(store, first)
    [second] = claim(store)
    assert second.id != first.id


def test_the_most_urgent_comes_first_then_the_longest_due(store: Store) -> None:
    put(store, "note", priority=Priority.NOTE, due_at=NOON - 9 * SECOND)
    put(store, "late", priority=Priority.POST, due_at=NOON - SECOND)
    put(store, "early", priority=Priority.POST, due_at=NOON - 2 * SECOND)
    put(store, "pressed", priority=Priority.DECISION)

    assert [item.subject for item in claim(store, limit=3)] == ["pressed", "early", "late"]
    assert [item.subject for item in claim(store, limit=3)] == ["note"]


def test_other_topics_are_left_alone(store: Store) -> None:
    store.write(lambda tx: tx.queue.put("webhook", "rv1", now=NOON))
    put(store)

    assert [item.topic for item in claim(store, limit=9)] == ["card"]


def test_what_failed_comes_again_later_and_later(store: Store) -> None:
    put(store)
    [item] = claim(store)

    assert fail(store, item) == "queued"
    assert claim(store, NOON + SECOND - timedelta(milliseconds=1)) == []
    [again] = claim(store, NOON + SECOND)
    assert (again.id, again.attempts, again.fence, again.error) == (item.id, 2, 2, "broke")
    assert [backoff(n).total_seconds() for n in (0, 1, 2, 3, 4)] == [1, 1, 2, 4, 8]
    assert backoff(MAX_ATTEMPTS) == LONGEST_BACKOFF


def test_a_wait_that_is_nobodys_fault_gives_the_attempt_back(store: Store) -> None:
    put(store)
    for turn in range(2 * MAX_ATTEMPTS):
        [item] = claim(store, NOON + timedelta(hours=turn))
        assert fail(store, item, NOON + timedelta(hours=turn), counts=False) == "queued"

    [item] = listed(store)
    assert item.attempts == 0


def test_what_fails_too_often_is_dead_and_stops_nothing_else(store: Store) -> None:
    ends = []
    worn_out(store, lambda item: ends.append(fail(store, item)))

    assert ends == ["queued"] * (MAX_ATTEMPTS - 1) + ["dead"]
    assert claim(store, NOON + timedelta(days=9)) == []
    put(store)
    assert len(claim(store)) == 1


def test_what_kills_every_worker_is_dead_in_the_end(store: Store) -> None:
    worn_out(store, list[Item]().append)

    assert claim(store, NOON + timedelta(days=9)) == []
    [item] = listed(store)
    assert (item.state, item.error) == ("dead", f"{MAX_ATTEMPTS} workers took it and never came back")


def test_a_dead_item_is_tried_again_when_somebody_says_so(store: Store) -> None:
    dead = worn_out(store, lambda item: fail(store, item))
    later = NOON + timedelta(days=1)

    assert store.write(lambda tx: tx.queue.retry(dead.id, now=later))
    assert not store.write(lambda tx: tx.queue.retry(dead.id, now=later))
    [item] = claim(store, later)
    assert (item.id, item.attempts) == (dead.id, 1)


def test_a_dead_item_is_dropped_when_somebody_says_so(store: Store) -> None:
    dead = worn_out(store, lambda item: fail(store, item))

    assert store.write(lambda tx: tx.queue.drop(dead.id))
    assert not store.write(lambda tx: tx.queue.drop(dead.id))
    assert listed(store) == []


def test_only_dead_items_are_retried_or_dropped(store: Store) -> None:
    put(store)
    [waiting] = before = listed(store)

    assert not store.write(lambda tx: tx.queue.retry(waiting.id, now=NOON))
    assert not store.write(lambda tx: tx.queue.drop(waiting.id))
    assert listed(store) == before


@pytest.mark.parametrize("end", ["fail", "retry"])
def test_an_item_that_comes_back_joins_the_one_that_waits(store: Store, end: str) -> None:
    if end == "fail":
        put(store)
        [item] = claim(store)
        put(store, due_at=NOON + timedelta(hours=1))
        assert fail(store, item) == "queued"
        due = NOON + backoff(1)
    else:
        item = worn_out(store, lambda item: fail(store, item))
        put(store, due_at=NOON + timedelta(hours=1))
        assert store.write(lambda tx: tx.queue.retry(item.id, now=NOON))
        due = NOON

    [waiting] = listed(store)
    assert waiting.due_at == due


def test_a_lease_that_is_over_is_taken_by_the_next_and_the_stale_one_does_not_count(store: Store) -> None:
    put(store)
    [stale] = claim(store)
    assert claim(store, NOON + LEASE - SECOND) == []
    [fresh] = claim(store, NOON + LEASE)

    assert (fresh.id, fresh.fence, fresh.attempts) == (stale.id, 2, 2)
    assert not done(store, stale)
    assert fail(store, stale) == "lost"
    assert fail(store, replace(stale, attempts=MAX_ATTEMPTS)) == "lost"
    assert not store.write(lambda tx: tx.queue.renew(stale, until=NOON + 9 * LEASE))
    assert store.write(lambda tx: tx.queue.renew(fresh, until=NOON + 9 * LEASE))
    assert claim(store, NOON + 3 * LEASE) == []
    assert done(store, fresh)


def test_while_a_lease_is_over_only_the_leased_item_is_taken(store: Store) -> None:
    put(store)
    [first] = claim(store)
    put(store, priority=Priority.DECISION)

    [again] = claim(store, NOON + LEASE, limit=9)
    assert again.id == first.id


def test_a_fence_never_fits_an_item_that_came_later(store: Store) -> None:
    put(store)
    [stale] = claim(store)
    [fresh] = claim(store, NOON + LEASE)
    done(store, fresh)
    put(store)
    [other] = claim(store)
    assert (other.fence, other.id > stale.id) == (1, True)

    assert not done(store, stale)


def test_errors_are_cleaned_of_what_no_database_holds(store: Store) -> None:
    put(store)
    [item] = claim(store)
    store.write(lambda tx: tx.queue.fail(item, error="a\x00b\ud800" + "x" * 100_000, now=NOON))

    [item] = listed(store)
    assert item.error is not None
    assert item.error.startswith("a�b�xxx")
    assert len(item.error) == 8000
