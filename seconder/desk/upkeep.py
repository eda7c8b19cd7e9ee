"""The database as its owner looks after it: brought up to date, checked, copied. Needs no keys, but for `sealed`."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from seconder.desk.desk import Desk
from seconder.settings import Settings
from seconder.store import backup as copies
from seconder.store import rotate, schema
from seconder.store.reach import reachable


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What `check` found: revisions still to be applied, and what is broken, as sentences."""

    pending: tuple[str, ...]
    broken: tuple[str, ...]

    @property
    def good(self) -> bool:
        return not self.pending and not self.broken


@contextmanager
def reached(settings: Settings) -> Iterator[None]:
    """Troubles of the database inside the block are a ConfigurationError."""
    with reachable(settings.database):
        yield


def upgrade(settings: Settings) -> list[str]:
    """The revisions that were applied, oldest first. Raises: ConfigurationError."""
    with reachable(settings.database):
        return schema.upgrade(settings.database_url)


def check(settings: Settings) -> Condition:
    """Nothing is changed, no file is made. Raises: ConfigurationError."""
    with reachable(settings.database):
        pending = tuple(schema.pending(settings.database_url))
        broken = () if pending else tuple(copies.faults(settings.database_url))
    return Condition(pending=pending, broken=broken)


def backup(settings: Settings, target: Path) -> int:
    """The size in bytes of the copy. Raises: ConfigurationError."""
    with reachable(settings.database):
        return copies.backup(settings.database_url, target)


def offset(desk: Desk) -> timedelta:
    """How far the database's clock was pushed: nothing, unless a sandbox or a test did it."""
    return desk.store.read(lambda tx: tx.offset())


def sealed(desk: Desk) -> tuple[int, int]:
    """In how many tables a sealed value was opened, and how many rows have older keys. Raises: KeyMissing."""
    opened = desk.store.read(rotate.sample)
    stale = desk.store.read(lambda tx: sum(len(rotate.stale(tx, name)) for name in rotate.TABLES))
    return opened, stale
