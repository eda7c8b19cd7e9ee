"""One transaction: the database's clock, sealing, and the tables by their nouns."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cached_property

from sqlalchemy import Connection, insert, select, text, update

from seconder.keyring import Keyring
from seconder.store import tables
from seconder.store.effects import Effects
from seconder.store.messages import Messages
from seconder.store.pauses import Pauses
from seconder.store.people import People
from seconder.store.queue import Queue
from seconder.store.reservations import Reservations
from seconder.store.reviews import Reviews
from seconder.store.row import Sealer, from_millis
from seconder.store.tokens import Tokens
from seconder.store.trail import Trail

NOW = {
    "sqlite": "SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)",
    "postgresql": "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
}


class Tx:
    """Handed to `fn` by `Store.write` and `Store.read`; ends with it."""

    def __init__(self, connection: Connection, keyring: Keyring, random: Callable[[int], bytes]) -> None:
        self.connection = connection
        self.random = random
        self.sealer = Sealer(keyring)
        self._now: datetime | None = None

    def now(self) -> datetime:
        """The database's time, aware UTC, read at the first call: call it after the row is locked.

        The offset that sandbox and tests may set is added.
        """
        if self._now is None:
            millis = self.connection.execute(text(NOW[self.connection.dialect.name])).scalar_one()
            self._now = from_millis(millis) + self.offset()
        return self._now

    def offset(self) -> timedelta:
        """How far the clock was pushed; zero outside sandbox and tests."""
        millis = self.connection.execute(select(tables.clock.c.offset_ms)).scalar()
        return timedelta(milliseconds=millis or 0)

    def push_clock(self, by: timedelta) -> None:
        """From the next transaction on it is `by` later. Only for sandbox and tests."""
        millis = int((self.offset() + by) / timedelta(milliseconds=1))
        changed = self.connection.execute(update(tables.clock).values(offset_ms=millis))
        if changed.rowcount == 0:
            self.connection.execute(insert(tables.clock).values(id=1, offset_ms=millis))

    @cached_property
    def reviews(self) -> Reviews:
        return Reviews(self.connection, self.sealer)

    @cached_property
    def pauses(self) -> Pauses:
        return Pauses(self.connection, self.sealer)

    @cached_property
    def effects(self) -> Effects:
        return Effects(self.connection, self.sealer)

    @cached_property
    def queue(self) -> Queue:
        return Queue(self.connection, self.sealer)

    @cached_property
    def messages(self) -> Messages:
        return Messages(self.connection, self.sealer)

    @cached_property
    def people(self) -> People:
        return People(self.connection)

    @cached_property
    def tokens(self) -> Tokens:
        return Tokens(self.connection, self.sealer)

    @cached_property
    def reservations(self) -> Reservations:
        return Reservations(self.connection)

    @cached_property
    def trail(self) -> Trail:
        return Trail(self.connection, self.sealer, self.random)
