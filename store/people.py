"""What is known of people, user groups and workspaces in Slack, each with the time of the look."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Table, select

from seconder.store.row import from_millis, insert_into, to_millis
from seconder.store.tables import groups, people, workspaces


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    team_id: str
    user_id: str
    name: str
    email: str | None
    deleted: bool
    is_bot: bool
    is_guest: bool  #: restricted or ultra-restricted
    is_external: bool  #: of another workspace, through Slack Connect
    as_of: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    team_id: str
    group_id: str
    members: frozenset[str]
    as_of: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """The workspace that the app is installed in."""

    team_id: str
    enterprise_id: str | None
    bot_id: str | None
    bot_user_id: str
    name: str
    url: str | None
    as_of: datetime


class People:
    """Facts about people, in one transaction; a later look replaces an earlier one, never the other way round."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def put_person(self, person: Person) -> None:
        key = {"team_id": person.team_id, "user_id": person.user_id}
        values = {
            "name": person.name,
            "email": None if person.email is None else person.email.casefold(),
            "deleted": person.deleted,
            "is_bot": person.is_bot,
            "is_guest": person.is_guest,
            "is_external": person.is_external,
        }
        self._put(people, key, values, person.as_of)

    def put_group(self, group: Group) -> None:
        key = {"team_id": group.team_id, "group_id": group.group_id}
        self._put(groups, key, {"members": " ".join(sorted(group.members))}, group.as_of)

    def put_workspace(self, workspace: Workspace) -> None:
        values = {
            "enterprise_id": workspace.enterprise_id,
            "bot_id": workspace.bot_id,
            "bot_user_id": workspace.bot_user_id,
            "name": workspace.name,
            "url": workspace.url,
        }
        self._put(workspaces, {"team_id": workspace.team_id}, values, workspace.as_of)

    def person(self, team_id: str, user_id: str) -> Person | None:
        query = select(people).where(people.c.team_id == team_id, people.c.user_id == user_id)
        row = self._db.execute(query).mappings().first()
        return None if row is None else Person(**{**row, "as_of": from_millis(row["as_of"])})

    def by_email(self, team_id: str, email: str) -> list[Person]:
        """Everybody of the workspace with this address, whatever their state."""
        query = select(people).where(people.c.team_id == team_id, people.c.email == email.casefold())
        rows = self._db.execute(query).mappings()
        return [Person(**{**row, "as_of": from_millis(row["as_of"])}) for row in rows]

    def names(self, user_ids: set[str]) -> dict[str, str]:
        """Display names of those who are known."""
        query = select(people.c.user_id, people.c.name).where(people.c.user_id.in_(user_ids))
        return {row.user_id: row.name for row in self._db.execute(query)}

    def group(self, team_id: str, group_id: str) -> Group | None:
        query = select(groups).where(groups.c.team_id == team_id, groups.c.group_id == group_id)
        row = self._db.execute(query).mappings().first()
        if row is None:
            return None
        members = frozenset(row["members"].split())
        return Group(team_id=team_id, group_id=group_id, members=members, as_of=from_millis(row["as_of"]))

    def workspace(self) -> Workspace | None:
        """The one workspace; None before the first look, or where there are several."""
        rows = self._db.execute(select(workspaces)).mappings().all()
        if len(rows) != 1:
            return None
        return Workspace(**{**rows[0], "as_of": from_millis(rows[0]["as_of"])})

    def _put(self, table: Table, key: dict[str, str], values: Mapping[str, object], as_of: datetime) -> None:
        seen = {**values, "as_of": to_millis(as_of)}
        new = insert_into(self._db, table).values(**key, **seen)
        later = table.c.as_of <= new.excluded.as_of
        self._db.execute(new.on_conflict_do_update(index_elements=[*key], set_=seen, where=later))
