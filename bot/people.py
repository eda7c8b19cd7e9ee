"""People, groups and the workspace are looked at in Slack and remembered by the desk.

`as_of` is the database's time from before Slack was asked, so that a slow answer never looks fresh.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import datetime
from typing import Any

import structlog
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from seconder.bot.slack import trouble
from seconder.desk import people
from seconder.desk.desk import Desk
from seconder.desk.people import Seen
from seconder.errors import ConfigurationError

BUDGET = 1.5  # seconds a press may wait for fresh facts; Slack wants its answer within three
AT_ONCE = 8
IN_BACKGROUND = 2  # of which nobody waits; presses never queue behind them

log = structlog.get_logger("seconder.people")


class Refresher:
    """Looks at Slack and tells the desk."""

    def __init__(self, desk: Desk, client: WebClient, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._desk, self._client, self._monotonic = desk, client, monotonic
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="people")
        self._background = ThreadPoolExecutor(IN_BACKGROUND, thread_name_prefix="people-background")

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
        self._look(self._pool, users, groups, within)

    def refresh_known(self) -> None:
        """Everybody and every group that the policy's roles name is looked at again."""
        users, groups = self._named()
        self._look(self._background, sorted(users), sorted(groups), 30)

    def refresh_changed(self, users: Iterable[str], groups: Iterable[str]) -> None:
        """Slack told that these changed: those that matter here are looked at again.

        In a large workspace somebody changes their status every few seconds; most of them decide nothing here.
        """
        named_users, named_groups = self._named()
        people_here = {*named_users, *people.names(self._desk, users)}
        self._look(self._background, people_here.intersection(users), named_groups.intersection(groups), 30)

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
        for pool in (self._pool, self._background):
            pool.shutdown(wait=False, cancel_futures=True)

    def _named(self) -> tuple[set[str], set[str]]:
        roles = self._desk.roles.values()
        users = {user for role in roles for user in role.users}
        return users, {group for role in roles for group in role.user_groups}

    def _look(self, pool: ThreadPoolExecutor, users: Iterable[str], groups: Iterable[str], within: float) -> None:
        looks = [pool.submit(self._person, user) for user in dict.fromkeys(users)]
        looks += [pool.submit(self._group, group) for group in dict.fromkeys(groups)]
        _, late = wait(looks, timeout=within)
        for look in late:
            look.cancel()
        for look in looks:
            if look.done() and not look.cancelled() and (error := look.exception()) is not None:
                log.warning("people.not_seen", error=str(error))

    def _person(self, user_id: str) -> None:
        now = people.now(self._desk)
        self._remember(self._client.users_info(user=user_id)["user"], now)

    def _group(self, group_id: str) -> None:
        now = people.now(self._desk)
        members = frozenset(self._client.usergroups_users_list(usergroup=group_id)["users"])
        group = people.Group(team_id=self._team(), group_id=group_id, members=members, as_of=now)
        people.remember(self._desk, Seen(groups=(group,)))

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
