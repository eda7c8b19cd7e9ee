"""Tokens of agents are made, shown once, listed and revoked; each change is in the admin's trail."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from seconder.desk.desk import Desk
from seconder.errors import Fault, InvalidInput, NotFound
from seconder.store.tokens import Token
from seconder.store.tx import Tx

Caller: TypeAlias = Token  # who calls, as the doors know it

SECRET_BYTES = 32
MAX_NAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """Printed once; only a hash of `secret` is kept."""

    token: Token
    secret: str
    webhook_secret: str


def create(desk: Desk, agent: str, *, random: Callable[[int], bytes]) -> NewToken:
    """A token scoped to this agent. Raises: InvalidInput."""
    if not agent.strip() or len(agent) > MAX_NAME:
        raise InvalidInput([Fault("agent", f"give a name of 1 to {MAX_NAME} characters")])
    secret = "sdr_" + base64.urlsafe_b64encode(random(SECRET_BYTES)).decode().rstrip("=")
    webhook = "whsec_" + base64.b64encode(random(SECRET_BYTES)).decode()

    def write(tx: Tx) -> Token:
        token = Token(id=desk.new_id("at"), agent=agent, created_at=tx.now(), revoked_at=None)
        tx.tokens.add(token, secret=secret, webhook_secret=webhook)
        tx.trail.append("admin", "token_created", {"token": token.id, "agent": agent}, at=tx.now())
        return token

    return NewToken(token=desk.store.write(write), secret=secret, webhook_secret=webhook)


def authenticate(desk: Desk, secret: str) -> Token | None:
    """The valid token with this secret."""
    return desk.store.read(lambda tx: tx.tokens.by_secret(secret))


def listed(desk: Desk) -> list[Token]:
    return desk.store.read(lambda tx: tx.tokens.listed())


def revoke(desk: Desk, token_id: str) -> None:
    """Raises: NotFound where there is no valid token of this id."""

    def write(tx: Tx) -> None:
        if not tx.tokens.revoke(token_id, tx.now()):
            raise NotFound("token", token_id)
        tx.trail.append("admin", "token_revoked", {"token": token_id}, at=tx.now())

    desk.store.write(write)
