"""A pause is claimed with a lease and a fence, and finished only by `id AND fence AND state`."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from threading import Barrier

import pytest

from seconder.errors import LeaseLost, NotFound
from seconder.review import Pause, PauseOutcome, PauseState
from seconder.store.database import Store
from seconder.store.pauses import PauseOrigin
from seconder.store.tx import Tx
from tests.support.store import LEASE, NOON, SECOND, add_pause, pause

MINE = ("support",)


def get(store: Store, ident: str = "ps1", *, with_state: bool = False) -> Pause:
    return store.read(lambda tx: tx.pauses.get(ident, (), with_state=with_state))


def claim(store: Store, at: datetime = NOON, *, agents: tuple[str, ...] = MINE) -> tuple[str, int] | None:
    return store.write(lambda tx: tx.pauses.claim(agents, worker="w", now=at, lease=LEASE))


def finish(store: Store, fence: int, ident: str = "ps1") -> None:
    done = {"final_output": 1, "error": None}
    store.write(lambda tx: tx.pauses.finish(ident, fence=fence, outcome=PauseOutcome.FINISHED, result=done))


def test_a_pause_comes_back_as_it_was_stored(store: Store) -> None:
    stored = add_pause(store, pause(run_state=bytes(range(256))))

    assert get(store, with_state=True) == stored
    assert get(store) == replace(stored, run_state=None)


def test_a_run_state_of_eight_mebibytes_comes_back_whole(store: Store) -> None:
    stored = add_pause(store, pause(run_state=b"\x00\xff{}" * (2 * 1024 * 1024)))

    assert get(store, with_state=True) == stored


def test_a_run_has_one_id_by_agent_and_name(store: Store) -> None:
    def run(agent: str, name: str, ident: str) -> str:
        return store.write(lambda tx: tx.pauses.run(agent=agent, name=name, ident=ident, at=NOON))

    assert run("a", "thread-1", "rn1") == "rn1"
    assert run("a", "thread-1", "rn2") == "rn1"
    assert run("b", "thread-1", "rn3") == "rn3"
    assert store.read(lambda tx: tx.pauses.run_name("rn1")) == "thread-1"


def test_a_run_submitted_by_two_at_once_has_one_id(store: Store) -> None:
    barrier = Barrier(2)

    def run(ident: str) -> str:
        barrier.wait()
        return store.write(lambda tx: tx.pauses.run(agent="a", name="t", ident=ident, at=NOON))

    with ThreadPoolExecutor(2) as pool:
        assert len(set(pool.map(run, ["rn1", "rn2"]))) == 1


def test_a_waiting_pause_is_not_claimed(store: Store) -> None:
    add_pause(store, pause())

    assert claim(store) is None


def test_a_ready_pause_is_claimed_once(store: Store) -> None:
    add_pause(store, pause(), ready=True)

    assert store.read(lambda tx: tx.pauses.claimable(MINE, NOON)) == "ps1"
    assert claim(store) == ("ps1", 1)
    assert claim(store) is None
    assert store.read(lambda tx: tx.pauses.claimable(MINE, NOON)) is None
    assert (get(store).state, get(store).fence, get(store).attempts) == (PauseState.LEASED, 1, 1)


def test_many_who_claim_at_once_share_the_pauses_out(store: Store) -> None:
    for number in range(6):
        add_pause(store, pause(f"ps{number}"), ready=True)

    with ThreadPoolExecutor(6) as pool:
        claimed = [taken for taken in pool.map(lambda _: claim(store), range(12)) if taken]

    assert sorted(claimed) == [(f"ps{number}", 1) for number in range(6)]


def test_pauses_of_other_agents_are_left_to_them(store: Store) -> None:
    add_pause(store, pause(), ready=True)

    assert claim(store, agents=("billing",)) is None
    assert claim(store, agents=()) is None
    assert claim(store, agents=("billing", "support")) == ("ps1", 1)


def test_one_pause_can_be_claimed_by_its_id(store: Store) -> None:
    for ident in ("ps1", "ps2"):
        add_pause(store, pause(ident), ready=True)

    def write(tx: Tx) -> tuple[str, int] | None:
        return tx.pauses.claim(MINE, worker="w", now=NOON, lease=LEASE, pause_id="ps2")

    assert store.write(write) == ("ps2", 1)
    assert store.write(write) is None


def test_a_lease_that_is_over_is_claimed_again_with_a_higher_fence(store: Store) -> None:
    add_pause(store, pause(), ready=True)
    claim(store)

    assert claim(store, NOON + LEASE - SECOND) is None
    assert claim(store, NOON + LEASE) == ("ps1", 2)


def test_a_renewed_lease_is_not_claimed_by_another(store: Store) -> None:
    add_pause(store, pause(), ready=True)
    claim(store)
    store.write(lambda tx: tx.pauses.renew("ps1", fence=1, until=NOON + 2 * LEASE))

    assert claim(store, NOON + LEASE) is None


def test_what_a_stale_worker_reports_does_not_count(store: Store) -> None:
    add_pause(store, pause(), ready=True)
    claim(store)
    claim(store, NOON + LEASE)
    before = get(store)

    with pytest.raises(LeaseLost):
        finish(store, fence=1)
    with pytest.raises(LeaseLost):
        store.write(lambda tx: tx.pauses.renew("ps1", fence=1, until=NOON))
    with pytest.raises(LeaseLost):
        store.write(lambda tx: tx.pauses.release("ps1", fence=1, state=PauseState.READY, due_at=NOON))
    with pytest.raises(LeaseLost):
        store.write(lambda tx: tx.pauses.check_lease("ps1", 1))
    assert get(store) == before
    store.write(lambda tx: tx.pauses.check_lease("ps1", 2))


def test_a_pause_is_finished_once(store: Store) -> None:
    add_pause(store, pause(), ready=True)
    claim(store)
    finish(store, fence=1)
    finished = get(store)

    with pytest.raises(LeaseLost):
        finish(store, fence=1)
    assert claim(store, NOON + timedelta(days=1)) is None
    assert get(store) == finished == replace(
        pause(run_state=None), state=PauseState.FINISHED, fence=1, attempts=1,
        outcome=PauseOutcome.FINISHED, final_output=1,
    )  # fmt: skip


def test_a_released_pause_is_claimed_again_when_it_is_due(store: Store) -> None:
    add_pause(store, pause(), ready=True)
    claim(store)
    due = NOON + 5 * SECOND
    store.write(lambda tx: tx.pauses.release("ps1", fence=1, state=PauseState.READY, due_at=due))

    assert claim(store, due - SECOND) is None
    assert claim(store, due) == ("ps1", 2)


def test_a_pause_that_asks_again_waits_until_it_is_ready(store: Store) -> None:
    add_pause(store, pause(), ready=True)
    claim(store)
    store.write(lambda tx: tx.pauses.release("ps1", fence=1, state=PauseState.WAITING, due_at=NOON))

    assert claim(store) is None
    assert store.write(lambda tx: tx.pauses.set_ready("ps1", NOON))
    assert not store.write(lambda tx: tx.pauses.set_ready("ps1", NOON))
    assert claim(store) == ("ps1", 2)


def test_the_same_key_finds_the_same_pause(store: Store) -> None:
    add_pause(store, pause("ps0"))
    origin = PauseOrigin(token_id="tk1", idempotency_key="once", body_digest="sha256:body")
    store.write(lambda tx: tx.pauses.add(pause(), origin))

    assert store.write(lambda tx: tx.pauses.by_idempotency_key("tk1", "once")) == ("ps1", "sha256:body")
    assert store.write(lambda tx: tx.pauses.by_idempotency_key("tk2", "once")) is None


def test_an_unknown_pause_is_not_found(store: Store) -> None:
    for look in (tx_get, tx_lock, tx_check):
        with pytest.raises(NotFound):
            store.write(look)


def tx_get(tx: Tx) -> None:
    tx.pauses.get("nobody", ())


def tx_lock(tx: Tx) -> None:
    tx.pauses.lock("nobody")


def tx_check(tx: Tx) -> None:
    tx.pauses.check_lease("nobody", 1)
