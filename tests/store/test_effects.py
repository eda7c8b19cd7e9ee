"""The ledger: one row per review, and every end counts once."""

from dataclasses import replace

import pytest
from sqlalchemy.exc import IntegrityError

from seconder.store.database import Store
from seconder.store.effects import Effect, EffectState
from tests.support.store import NOON, SECOND, add, review

STARTED = Effect(
    id="ef1", review_id="rv1", pause_id="ps1", fence=1, digest="sha256:a", key="sdr_1", state=EffectState.STARTED,
    started_at=NOON,
)  # fmt: skip
END = NOON + SECOND


def get(store: Store) -> Effect | None:
    return store.read(lambda tx: tx.effects.get("ef1"))


def start(store: Store) -> Effect:
    add(store, review())
    store.write(lambda tx: tx.effects.add(STARTED))
    return STARTED


def end(store: Store, effect: Effect, state: EffectState, of: EffectState = EffectState.STARTED) -> bool:
    return store.write(lambda tx: tx.effects.end(effect, state, of=of, at=END, result={"n": 10**30}))


def test_an_effect_comes_back_as_it_was_recorded(store: Store) -> None:
    effect = start(store)

    assert get(store) == effect
    assert store.read(lambda tx: tx.effects.of_review("rv1")) == effect
    assert store.read(lambda tx: tx.effects.of_review("rv2")) is None


def test_a_review_has_one_effect(store: Store) -> None:
    effect = start(store)

    with pytest.raises(IntegrityError):
        store.write(lambda tx: tx.effects.add(replace(effect, id="ef2")))


def test_an_effect_ends_once(store: Store) -> None:
    effect = start(store)

    assert end(store, effect, EffectState.SUCCEEDED)
    assert not end(store, effect, EffectState.FAILED)
    assert get(store) == replace(effect, state=EffectState.SUCCEEDED, ended_at=END, result={"n": 10**30})


def test_the_end_that_a_stale_worker_reports_does_not_count(store: Store) -> None:
    effect = start(store)

    assert not end(store, replace(effect, fence=0), EffectState.SUCCEEDED)
    assert get(store) == effect


def test_an_effect_of_an_earlier_lease_without_an_end_is_found(store: Store) -> None:
    effect = start(store)

    assert store.read(lambda tx: tx.effects.unfinished("ps1", before_fence=2)) == [effect]
    assert store.read(lambda tx: tx.effects.unfinished("ps1", before_fence=1)) == []
    assert store.read(lambda tx: tx.effects.unfinished("ps2", before_fence=9)) == []
    end(store, effect, EffectState.FAILED)
    assert store.read(lambda tx: tx.effects.unfinished("ps1", before_fence=2)) == []


def test_only_an_effect_that_a_person_cleared_starts_again(store: Store) -> None:
    effect = start(store)

    def restart() -> bool:
        return store.write(lambda tx: tx.effects.restart(effect, fence=2, at=END))

    assert not restart()
    end(store, effect, EffectState.UNCERTAIN)
    assert not restart()
    end(store, effect, EffectState.CLEARED, of=EffectState.UNCERTAIN)
    assert restart()
    assert not restart()
    restarted = get(store)
    assert restarted is not None
    assert (restarted.state, restarted.fence, restarted.started_at, restarted.ended_at) == ("started", 2, END, None)
