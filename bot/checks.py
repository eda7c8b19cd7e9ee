"""What can be wrong between us and Slack, looked at one thing after the other, for `seconder doctor`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web import SlackResponse

SCOPES = frozenset(
    {
        "channels:history",
        "channels:read",
        "chat:write",
        "groups:history",
        "groups:read",
        "im:write",
        "usergroups:read",
        "users:read",
        "users:read.email",
    }
)  # as in manifest.yml
SKEW = timedelta(seconds=60)  # Slack refuses signatures that are five minutes off
SECONDS = 10  # for one answer
PAGE = 1000

TROUBLES = (SlackApiError, SlackClientError, OSError)
NOT_THERE = {"channel_not_found", "user_not_found", "user_not_visible"}
MEANINGS = {
    "invalid_auth": "Slack does not know this token",
    "account_inactive": "the app was removed from the workspace, or its installer's account closed",
    "token_revoked": "the token was revoked",
    "not_allowed_token_type": "the token is of the other kind",
    "missing_scope": "the token lacks a scope",
    "ratelimited": "Slack says that there were too many calls; wait a minute",
    "socket_mode_not_enabled": "Socket Mode is off in the app's settings",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing looked at: `good` None is a warning; `fix` is there where something is to be done."""

    name: str
    good: bool | None
    says: str
    fix: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the policy expects to find in the workspace."""

    channels: tuple[str, ...]  #: `#name`, an id, or `@USERID`
    groups: tuple[str, ...]
    users: tuple[str, ...]


def check_slack(bot_token: str, app_token: str | None, api_url: str, wanted: Wanted, now: datetime) -> Iterator[Check]:
    """Each check as it is made; where the bot's token does not work the rest is left out."""
    client = WebClient(token=bot_token, base_url=api_url, retry_handlers=[], timeout=SECONDS)
    try:
        who = client.auth_test()
    except TROUBLES as error:
        fix = "install the app from manifest.yml and set SLACK_BOT_TOKEN to its bot token"
        yield Check(name="Slack bot token", good=False, says=_why(error, api_url), fix=fix)
        return
    yield Check(
        name="Slack bot token", good=True, says=f"{who.get('user')} in {who.get('team')} ({who.get('team_id')})"
    )
    headers = {name.lower(): _header(value) for name, value in who.headers.items()}
    yield _scopes(headers.get("x-oauth-scopes"))
    yield _clock(headers.get("date"), now)
    if app_token is not None:
        yield _app_token(client, app_token, api_url)
    for name, look in (("Channels", _channels), ("User groups", _groups), ("People", _users)):
        try:
            yield from look(client, wanted)
        except TROUBLES as error:
            yield Check(name=name, good=False, says=_why(error, api_url), fix="see to this first, then look again")


def _scopes(header: str | None) -> Check:
    if header is None:
        return Check(name="Slack scopes", good=True, says="not told here (a local workspace has none)")
    missing = sorted(SCOPES - {scope.strip() for scope in header.split(",")})
    if not missing:
        return Check(name="Slack scopes", good=True, says=f"all {len(SCOPES)} of manifest.yml")
    fix = "add them under OAuth & Permissions, or paste manifest.yml, then install the app again"
    return Check(name="Slack scopes", good=False, says=f"missing: {', '.join(missing)}", fix=fix)


def _clock(header: str | None, now: datetime) -> Check:
    try:
        there = parsedate_to_datetime(header or "")
    except ValueError:
        return Check(
            name="Clock", good=None, says="Slack did not say what time it is", fix="check this machine's clock"
        )
    off = (now - there).total_seconds()
    if abs(off) <= SKEW.total_seconds():
        return Check(name="Clock", good=True, says=f"within {max(1, round(abs(off)))} s of Slack's")
    way = "ahead of" if off > 0 else "behind"
    fix = "set it by NTP: Slack's signatures and our deadlines depend on it"
    return Check(name="Clock", good=None, says=f"this machine is {abs(off):,.0f} s {way} Slack", fix=fix)


def _app_token(client: WebClient, app_token: str, api_url: str) -> Check:
    try:
        client.apps_connections_open(app_token=app_token)
    except TROUBLES as error:
        fix = "make an app-level token with connections:write and set SLACK_APP_TOKEN to it; turn Socket Mode on"
        return Check(name="Slack app token", good=False, says=_why(error, api_url), fix=fix)
    return Check(name="Slack app token", good=True, says="Socket Mode can connect")


def _channels(client: WebClient, wanted: Wanted) -> Iterator[Check]:
    named = any(channel.startswith("#") for channel in wanted.channels)
    known = {f"#{channel['name']}": channel for channel in _all_channels(client)} if named else {}
    for channel in wanted.channels:
        if channel.startswith("@"):
            yield _person(client, channel.removeprefix("@"))
        elif channel.startswith("#"):
            yield _channel(channel, known.get(channel))
        else:
            yield _channel(channel, _found(partial(client.conversations_info, channel=channel), "channel"))


def _all_channels(client: WebClient) -> Iterator[Mapping[str, Any]]:
    cursor = ""
    while True:
        page = client.conversations_list(types="public_channel,private_channel", limit=PAGE, cursor=cursor or None)
        yield from page["channels"]
        cursor = (page.get("response_metadata") or {}).get("next_cursor") or ""
        if not cursor:
            return


def _channel(name: str, found: Mapping[str, Any] | None) -> Check:
    title = f"Channel {name}"
    if found is None:
        fix = "make it, or name another in the policy; a private one must invite the bot first"
        return Check(name=title, good=False, says="there is no such channel, or the bot cannot see it", fix=fix)
    if found.get("is_archived"):
        return Check(name=title, good=False, says="it is archived", fix="restore it, or name another in the policy")
    if not found.get("is_member"):
        return Check(name=title, good=False, says="the bot is not in it", fix="write `/invite @Seconder` there")
    return Check(name=title, good=True, says=f"the bot is in it ({found.get('id')})")


def _groups(client: WebClient, wanted: Wanted) -> Iterator[Check]:
    if not wanted.groups:
        return
    listed = client.usergroups_list(include_disabled=True, include_count=True)["usergroups"]
    known = {group["id"]: group for group in listed}
    for ident in wanted.groups:
        found = known.get(ident)
        title = f"User group {ident}"
        if found is None:
            fix = "put the id of a user group (S…) into the role; Slack shows it under “Copy group ID”"
            yield Check(name=title, good=False, says="there is no such user group", fix=fix)
        elif found.get("date_delete"):
            yield Check(name=title, good=False, says=f"@{found.get('handle')} is disabled", fix="enable it in Slack")
        elif str(found.get("user_count", "")) == "0":
            yield Check(name=title, good=None, says=f"nobody is in @{found.get('handle')}", fix="add people to it")
        else:
            yield Check(name=title, good=True, says=f"@{found.get('handle')}")


def _users(client: WebClient, wanted: Wanted) -> Iterator[Check]:
    for ident in wanted.users:
        yield _person(client, ident)


def _person(client: WebClient, ident: str) -> Check:
    title = f"Person {ident}"
    found = _found(partial(client.users_info, user=ident), "user")
    if found is None:
        return Check(name=title, good=False, says="there is no such person", fix="correct the id (U…) in the policy")
    name = found.get("real_name") or found.get("name")
    if found.get("deleted"):
        return Check(name=title, good=False, says=f"{name} is deactivated", fix="take the id out of the policy")
    if found.get("is_bot"):
        return Check(name=title, good=False, says=f"{name} is a bot and can press nothing", fix="name a person instead")
    return Check(name=title, good=True, says=str(name))


def _found(ask: Callable[[], SlackResponse], part: str) -> Mapping[str, Any] | None:
    try:
        found: Mapping[str, Any] = ask()[part]
    except SlackApiError as error:
        if str(error.response.get("error")) in NOT_THERE:
            return None
        raise
    return found


def _header(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _why(error: Exception, api_url: str) -> str:
    if isinstance(error, SlackApiError):
        code = str(error.response.get("error"))
        return f"{MEANINGS[code]} ({code})" if code in MEANINGS else f"Slack says {code}"
    if isinstance(error, OSError):
        return f"{api_url} cannot be reached: {getattr(error, 'reason', error)}"
    return f"{api_url} did not answer as Slack does"
