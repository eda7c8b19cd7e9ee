"""What the bot saw of people, groups and the workspace is remembered with the time of the look."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from seconder.desk.desk import Desk
from seconder.store.people import Group, Person, Workspace
from seconder.store.tx import Tx

__all__ = ["Group", "Person", "Seen", "Workspace", "names", "now", "remember", "workspace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A look at Slack; each value has its own `as_of`, taken from `now` before Slack was asked."""

    people: tuple[Person, ...] = ()
    groups: tuple[Group, ...] = ()
    workspace: Workspace | None = None


def remember(desk: Desk, seen: Seen) -> None:
    """Later looks replace earlier ones, never the other way round."""

    def write(tx: Tx) -> None:
        for person in seen.people:
            tx.people.put_person(person)
        for group in seen.groups:
            tx.people.put_group(group)
        if seen.workspace is not None:
            tx.people.put_workspace(seen.workspace)

    desk.store.write(write)


def now(desk: Desk) -> datetime:
    """The database's time: taken before a look, it is the look's `as_of`."""
    return desk.store.read(lambda tx: tx.now())


def workspace(desk: Desk) -> Workspace | None:
    return desk.store.read(lambda tx: tx.people.workspace())


def names(desk: Desk, user_ids: Iterable[str]) -> dict[str, str]:
    """Display names of those who are known."""
    wanted = set(user_ids)
    return desk.store.read(lambda tx: tx.people.names(wanted))
