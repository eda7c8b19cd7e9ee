"""What allowed actions have used of the caps: reserved at submit, given back when nothing ran."""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal

from sqlalchemy import Connection, delete, insert, select

from seconder.store.row import lock_name, to_millis
from seconder.store.tables import reservations

RULES = 2  # the kind of name that rules are locked under


class Reservations:
    """Amounts by rule and dimension, in one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def lock(self, rules: Iterable[str]) -> None:
        """Nobody else reserves under these rules before the transaction ends."""
        for rule in sorted(set(rules)):
            lock_name(self._db, rule, RULES)

    def spent(self, *, rule: str, measure: str, per: str, key: str, since: datetime) -> Decimal:
        """What was reserved since then."""
        query = select(reservations.c.amount).where(
            reservations.c.rule == rule,
            reservations.c.measure == measure,
            reservations.c.per == per,
            reservations.c.key == key,
            reservations.c.at > to_millis(since),
        )
        return sum((Decimal(amount) for amount in self._db.execute(query).scalars()), Decimal(0))

    def add(
        self, *, review_id: str, rule: str, measure: str, per: str, key: str, amount: Decimal, at: datetime
    ) -> None:
        values = {"rule": rule, "measure": measure, "per": per, "key": key, "amount": str(amount), "at": to_millis(at)}
        self._db.execute(insert(reservations).values(review_id=review_id, **values))

    def release(self, review_id: str) -> None:
        """Nothing ran: what the review reserved is free again."""
        self._db.execute(delete(reservations).where(reservations.c.review_id == review_id))
