"""Facts about people: a later look replaces an earlier one, never the other way round."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from seconder.store.database import Store
from seconder.store.people import Group, Person, Workspace
from seconder.store.tx import Tx
from tests.support.store import NOON, SECOND

ALICE = Person(
    team_id="T1", user_id="U1", name="Alice", email="alice@example.com", deleted=False, is_bot=False, is_guest=False,
    is_external=False, as_of=NOON,
)  # fmt: skip
FINANCE = Group(team_id="T1", group_id="S1", members=frozenset({"U1", "U2"}), as_of=NOON)
HOME = Workspace(
    team_id="T1", enterprise_id=None, bot_id="B1", bot_user_id="UB", name="Home", url="https://home", as_of=NOON
)

PUT: dict[type[Any], Callable[[Tx, Any], None]] = {
    Person: lambda tx, fact: tx.people.put_person(fact),
    Group: lambda tx, fact: tx.people.put_group(fact),
    Workspace: lambda tx, fact: tx.people.put_workspace(fact),
}
GET: dict[type[Any], Callable[[Tx], Any]] = {
    Person: lambda tx: tx.people.person("T1", "U1"),
    Group: lambda tx: tx.people.group("T1", "S1"),
    Workspace: lambda tx: tx.people.workspace(),
}
LATER = {
    ALICE: replace(ALICE, deleted=True, is_guest=True, name="Al", email=None, as_of=NOON + SECOND),
    FINANCE: replace(FINANCE, members=frozenset(), as_of=NOON + SECOND),
    HOME: replace(HOME, enterprise_id="E1", url=None, as_of=NOON + SECOND),
}


def put(store: Store, *facts: Any) -> None:
    for fact in facts:
        store.write(lambda tx, fact=fact: PUT[type(fact)](tx, fact))  # type: ignore[misc]


@pytest.mark.parametrize("fact", LATER, ids=lambda fact: type(fact).__name__)
def test_a_later_look_counts_whenever_it_is_stored(store: Store, fact: Any) -> None:
    get = GET[type(fact)]
    assert store.read(get) is None

    put(store, fact)
    assert store.read(get) == fact
    put(store, LATER[fact])
    assert store.read(get) == LATER[fact]
    put(store, fact)
    assert store.read(get) == LATER[fact]


@pytest.mark.parametrize("fact", LATER, ids=lambda fact: type(fact).__name__)
def test_looks_stored_at_once_end_with_the_latest(store: Store, fact: Any) -> None:
    looks = [replace(fact, as_of=NOON + SECOND * n) for n in range(8)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda look: put(store, look), looks))

    assert store.read(GET[type(fact)]) == looks[-1]


def test_an_address_finds_everybody_who_has_it_whatever_its_case(store: Store) -> None:
    put(
        store, ALICE, replace(ALICE, user_id="U2", email="Alice@Example.com"), replace(ALICE, user_id="U3", email="b@x")
    )
    found = store.read(lambda tx: tx.people.by_email("T1", "ALICE@example.com"))

    assert {person.user_id for person in found} == {"U1", "U2"}
    assert store.read(lambda tx: tx.people.by_email("T2", "alice@example.com")) == []


def test_names_of_those_who_are_known(store: Store) -> None:
    put(store, replace(ALICE, name="A\x00lice"))

    assert store.read(lambda tx: tx.people.names({"U1", "U9"})) == {"U1": "A�lice"}


def test_two_workspaces_are_none(store: Store) -> None:
    put(store, HOME, replace(HOME, team_id="T2"))

    assert store.read(lambda tx: tx.people.workspace()) is None


def test_a_group_of_ten_thousand_is_kept_whole(store: Store) -> None:
    large = replace(FINANCE, members=frozenset(f"U{n:010}" for n in range(10_000)))
    put(store, large)

    assert store.read(GET[Group]) == large
