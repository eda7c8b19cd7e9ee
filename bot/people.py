"""People, groups and the workspace are looked at in Slack and remembered by the desk.

`as_of` is the database's time from before Slack was asked, so that a slow answer never looks fresh.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

import structlog
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from seconder.bot.looks import Looks
from seconder.bot.slack import hurried, trouble
from seconder.desk import people
from seconder.desk.desk import Desk
from seconder.desk.people import Seen
from seconder.errors import ConfigurationError

BUDGET = 1.5  # seconds a press may wait for fresh facts; Slack wants its answer within three
AT_ONCE = 16
IN_BACKGROUND = 2  # of which nobody waits; presses never queue behind them
PEOPLE_AT_A_TIME = 20  # Slack answers a hundred a minute, and presses ask as well

log = structlog.get_logger("seconder.people")


class Refresher:
    """Looks at Slack and tells the desk."""

    def __init__(self, desk: Desk, client: WebClient) -> None:
        self._desk, self._client, self._hurried = desk, client, hurried(client)
        self._looks, self._background = Looks(AT_ONCE, "people"), Looks(IN_BACKGROUND, "people-background")
        self._turn = 0

    def refresh_workspace(self) -> None:
        """The workspace of the bot token is known. Raises: ConfigurationError where Slack does not say."""
        now = people.now(self._desk)
        try:
            said = self._client.auth_test()
        except (SlackApiError, OSError) as error:
            message = f"Slack does not accept SLACK_BOT_TOKEN ({trouble(error).error}): run `seconder doctor`"
            raise ConfigurationError(message) from error
        workspace = people.Workspace(
            team_id=said["team_id"],
            enterprise_id=said.get("enterprise_id"),
            bot_id=said.get("bot_id"),
            bot_user_id=said["user_id"],
            name=said.get("team") or said["team_id"],
            url=said.get("url"),
            as_of=now,
        )
        people.remember(self._desk, Seen(workspace=workspace))

    def refresh(self, users: Iterable[str], groups: Iterable[str], *, within: float = BUDGET) -> None:
        """What Slack said of them within so many seconds is remembered; what it did not say stays as old as it was."""
        self._looks.take(self._wanted(users, groups), within=within)

    def refresh_known(self) -> None:
        """Every group that the policy's roles name is looked at again, and so many of the people, by turns."""
        users, groups = self._named()
        waiting = sorted(users)
        if self._turn >= len(waiting):
            self._turn = 0
        now_due = waiting[self._turn : self._turn + PEOPLE_AT_A_TIME]
        self._turn += PEOPLE_AT_A_TIME
        wanted = self._wanted(now_due, ())
        if groups:
            wanted["groups"] = lambda: self._groups(groups)
        self._background.take(wanted, within=30)

    def refresh_changed(self, users: Iterable[str], groups: Iterable[str]) -> None:
        """Slack told that these changed: those that matter here are looked at again.

        In a large workspace somebody changes their status every few seconds; most of them decide nothing here.
        """
        named_users, named_groups = self._named()
        people_here = {*named_users, *people.names(self._desk, users)}
        wanted = self._wanted(people_here.intersection(users), named_groups.intersection(groups))
        self._background.take(wanted, within=30, anew=True)

    def by_email(self, email: str) -> list[str]:
        """The people with this address: none or one, as Slack keeps it unique. Raises: SlackApiError, OSError."""
        now = people.now(self._desk)
        try:
            user = self._client.users_lookupByEmail(email=email)["user"]
        except SlackApiError as error:
            if trouble(error).error == "users_not_found":
                return []
            raise
        self._remember(user, now)
        return [user["id"]]

    def close(self) -> None:
        """Looks under way are not waited for."""
        self._looks.close()
        self._background.close()

    def _named(self) -> tuple[set[str], set[str]]:
        roles = self._desk.roles.values()
        users = {user for role in roles for user in role.users}
        return users, {group for role in roles for group in role.user_groups}

    def _wanted(self, users: Iterable[str], groups: Iterable[str]) -> dict[str, Callable[[], None]]:
        looks: dict[str, Callable[[], None]] = {user: partial(self._person, user) for user in users}
        return looks | {group: partial(self._group, group) for group in groups}

    def _person(self, user_id: str) -> None:
        now = people.now(self._desk)
        self._remember(self._hurried.users_info(user=user_id)["user"], now)

    def _group(self, group_id: str) -> None:
        now = people.now(self._desk)
        members = self._hurried.usergroups_users_list(usergroup=group_id)["users"]
        people.remember(self._desk, Seen(groups=(self._seen_group(group_id, members, now),)))

    def _groups(self, wanted: set[str]) -> None:
        """All in one call: Slack answers twenty a minute, and a policy may name more."""
        now = people.now(self._desk)
        listed = self._client.usergroups_list(include_users=True)["usergroups"]
        seen = [self._seen_group(one["id"], one.get("users", ()), now) for one in listed if one["id"] in wanted]
        people.remember(self._desk, Seen(groups=tuple(seen)))

    def _seen_group(self, group_id: str, members: Iterable[str], now: datetime) -> people.Group:
        return people.Group(team_id=self._team(), group_id=group_id, members=frozenset(members), as_of=now)

    def _remember(self, user: Mapping[str, Any], now: datetime) -> None:
        people.remember(self._desk, Seen(people=(person_of(user, self._team(), now),)))

    def _team(self) -> str:
        workspace = people.workspace(self._desk)
        return "" if workspace is None else workspace.team_id


def person_of(user: Mapping[str, Any], home: str, as_of: datetime) -> people.Person:
    """What Slack says of a person, as the desk keeps it; `home` is the workspace of the app."""
    profile = user.get("profile") or {}
    team = user.get("team_id") or home
    names = (profile.get("display_name"), profile.get("real_name"), user.get("real_name"), user.get("name"))
    return people.Person(
        team_id=team,
        user_id=user["id"],
        name=next((name for name in names if name), user["id"]),
        email=profile.get("email"),
        deleted=bool(user.get("deleted")),
        is_bot=bool(user.get("is_bot")),
        is_guest=bool(user.get("is_restricted") or user.get("is_ultra_restricted")),
        is_external=bool(user.get("is_stranger")) or team != home,
        as_of=as_of,
    )
