"""Every stored secret is sealed with the newest key; the older keys of the ring are then no longer needed."""

from collections.abc import Callable

from seconder.desk.desk import Desk
from seconder.store import rotate as sealed
from seconder.store.tx import Tx


def rotate(desk: Desk, told: Callable[[int, int], None]) -> int:
    """How many rows were sealed again; `told(done, all)` hears of the progress. May be repeated and interrupted.

    Processes that still have an older ring go on sealing with its newest key: restart them first.

    Raises: KeyMissing where a value was sealed with a key that the ring does not have.
    """
    stale = [(name, desk.store.read(lambda tx, name=name: sealed.stale(tx, name))) for name in sealed.TABLES]  # type: ignore[misc]
    total, looked, changed = sum(len(keys) for _, keys in stale), 0, 0
    told(looked, total)
    for name, keys in stale:
        for start in range(0, len(keys), sealed.BATCH):
            batch = keys[start : start + sealed.BATCH]
            changed += desk.store.write(lambda tx, name=name, batch=batch: sealed.reseal(tx, name, batch))  # type: ignore[misc]
            looked += len(batch)
            told(looked, total)
    if changed:
        desk.store.write(lambda tx: _record(tx, changed))
    return changed


def _record(tx: Tx, changed: int) -> None:
    tx.trail.append("admin", "keys_rotated", {"rows": changed}, at=tx.now())
