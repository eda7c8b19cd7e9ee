"""Cards and replies: one row before each post, found by token and by place."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy.exc import IntegrityError

from seconder.store.database import Store
from seconder.store.messages import Message
from tests.support.store import NOON, SECOND, add, review

CARD = Message(
    id="ms1", review_id="rv1", kind="card", name="1", revision=1, digest="sha256:a", channel="#refunds", state="new",
    created_at=NOON, token="t" * 32,
)  # fmt: skip


@pytest.fixture(autouse=True)
def _review(store: Store) -> None:
    add(store, review())


def put(store: Store, message: Message) -> bool:
    return store.write(lambda tx: tx.messages.add(message))


def by_token(store: Store, token: str = "t" * 32) -> Message | None:
    return store.write(lambda tx: tx.messages.by_token(token, lock=True))


def test_a_message_comes_back_as_it_was_stored(store: Store) -> None:
    reply = replace(CARD, id="ms2", kind="reply", name="decided", token=None, body={"text": "é \x00"})

    assert put(store, CARD)
    assert put(store, reply)
    assert store.read(lambda tx: tx.messages.of_review("rv1")) == [CARD, reply]
    assert by_token(store) == CARD
    assert by_token(store, "unknown") is None


def test_a_message_of_a_kind_name_and_channel_exists_once(store: Store) -> None:
    assert put(store, CARD)
    assert not put(store, replace(CARD, id="ms2", token="u" * 32))
    assert put(store, replace(CARD, id="ms3", token="v" * 32, channel="#leads"))
    assert [message.id for message in store.read(lambda tx: tx.messages.of_review("rv1"))] == ["ms1", "ms3"]


def test_a_message_added_by_many_at_once_exists_once(store: Store) -> None:
    with ThreadPoolExecutor(4) as pool:
        cards = [replace(CARD, id=f"ms{n}", token=f"{n}") for n in range(8)]
        added = list(pool.map(lambda card: put(store, card), cards))

    assert sum(added) == 1


def test_a_token_names_one_card(store: Store) -> None:
    put(store, CARD)

    with pytest.raises(IntegrityError):
        put(store, replace(CARD, id="ms2", name="2"))


def test_a_card_is_bound_to_one_place(store: Store) -> None:
    put(store, CARD)

    def place(ts: str) -> bool:
        return store.write(lambda tx: tx.messages.place("ms1", team_id="T1", channel_id="C1", ts=ts))

    assert place("1.1")
    assert not place("2.2")
    bound = replace(CARD, team_id="T1", channel_id="C1", ts="1.1", state="live")
    assert by_token(store) == bound
    assert store.read(lambda tx: tx.messages.at("C1", "1.1")) == bound
    assert store.read(lambda tx: tx.messages.at("C1", "2.2")) is None


def test_a_change_changes_the_named_columns(store: Store) -> None:
    put(store, CARD)
    at = NOON + SECOND
    store.write(lambda tx: tx.messages.change("ms1", state="undelivered", attempted_at=at, error="no\x00channel"))

    assert by_token(store) == replace(CARD, state="undelivered", attempted_at=at, error="no�channel")
