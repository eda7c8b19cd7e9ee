"""Caps hold when many submit at once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal

from seconder.store.database import Store
from seconder.store.tx import Tx
from tests.support.store import NOON, SECOND

LIMIT = Decimal(100)


def reserve(tx: Tx, review_id: str, amount: str, key: str = "s1") -> bool:
    """Whether the amount fitted under the limit; reserved if so."""
    tx.reservations.lock(["small refunds"])
    spent = tx.reservations.spent(rule="small refunds", measure="sum", per="session", key=key, since=NOON)
    if spent + Decimal(amount) > LIMIT:
        return False
    tx.reservations.add(
        review_id=review_id, rule="small refunds", measure="sum", per="session", key=key, amount=Decimal(amount),
        at=NOON + SECOND,
    )  # fmt: skip
    return True


def test_a_limit_holds_however_many_reserve_at_once(store: Store) -> None:
    with ThreadPoolExecutor(6) as pool:
        fitted = list(pool.map(lambda n: store.write(lambda tx: reserve(tx, f"rv{n}", "30")), range(12)))

    assert sum(fitted) == 3


def test_amounts_are_exact_and_counted_by_rule_measure_dimension_and_window(store: Store) -> None:
    for review_id, amount in (("rv1", "0.1"), ("rv2", "0.2"), ("rv3", "12345678901234567890.01")):
        assert store.write(lambda tx, r=review_id, a=amount: reserve(tx, r, a)) is (review_id != "rv3")  # type: ignore[misc]
    assert store.write(lambda tx: reserve(tx, "rv4", "50", key="s2"))

    def spent(**changes: object) -> Decimal:
        where = {"rule": "small refunds", "measure": "sum", "per": "session", "key": "s1", "since": NOON, **changes}
        return store.read(lambda tx: tx.reservations.spent(**where))  # type: ignore[arg-type]

    assert spent() == Decimal("0.3")
    assert spent(key="s2") == 50
    assert spent(rule="other") == spent(measure="count") == spent(per="agent") == 0
    assert spent(since=NOON + timedelta(minutes=1)) == 0


def test_what_a_review_reserved_is_free_again_when_nothing_ran(store: Store) -> None:
    assert store.write(lambda tx: reserve(tx, "rv1", "100"))
    assert not store.write(lambda tx: reserve(tx, "rv2", "1"))
    store.write(lambda tx: tx.reservations.release("rv1"))

    assert store.write(lambda tx: reserve(tx, "rv2", "1"))
