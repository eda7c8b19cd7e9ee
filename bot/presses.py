"""From Slack's payloads to a Press: who, in which workspace, on which card."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seconder.bot.shapes import is_id
from seconder.desk.press import Press

Body = Mapping[str, Any]

NOWHERE = ""  # unlike None, which a form has, it is compared with the card's place and differs


def pressed(body: Body) -> Press:
    """A press of a button on a card."""
    channel_id, ts = _place(body)
    return Press(
        token=_token(body["actions"][0].get("value")),
        team_id=_team(body),
        enterprise_id=_enterprise(body),
        user_id=body["user"]["id"],
        channel_id=channel_id,
        ts=ts,
    )


def sent(body: Body) -> Press:
    """A submitted form, or a press inside a modal; it has no message."""
    return Press(
        token=kept(body).token,
        team_id=_team(body),
        enterprise_id=_enterprise(body),
        user_id=body["user"]["id"],
    )


@dataclass(frozen=True, slots=True)
class Kept:
    """What a modal keeps of itself."""

    token: str
    page: int


def kept(body: Body) -> Kept:
    """The card's token and the page; a view that is not ours has an empty token."""
    try:
        held = json.loads(body["view"]["private_metadata"])
    except (KeyError, TypeError, ValueError, RecursionError):
        held = None
    if not isinstance(held, dict):
        return Kept("", 0)
    page = held.get("page", 0)
    return Kept(_token(held.get("token")), page if isinstance(page, int) else 0)


def _place(body: Body) -> tuple[str, str]:
    """Channel and message; where one of them is missing, a place where no card is."""
    container = body.get("container") or {}
    channel_id = (body.get("channel") or {}).get("id") or container.get("channel_id")
    ts = (body.get("message") or {}).get("ts") or container.get("message_ts")
    return (channel_id, ts) if channel_id and ts else (NOWHERE, NOWHERE)


def _token(value: object) -> str:
    return value if isinstance(value, str) and is_id(value) else ""


def _team(body: Body) -> str:
    """The workspace of the person, which in a shared channel is not the workspace of the app."""
    user = body["user"]
    return str(user.get("team_id") or (body.get("team") or {}).get("id") or "")


def _enterprise(body: Body) -> str | None:
    enterprise = (body.get("enterprise") or {}).get("id")
    return None if enterprise is None else str(enterprise)
