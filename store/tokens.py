"""Tokens of agents: the secret is printed once; only its hash is kept."""

import hashlib
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, RowMapping, insert, select, update

from seconder.store.row import Sealer, from_millis, to_millis
from seconder.store.tables import tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    id: str
    agent: str
    created_at: datetime
    revoked_at: datetime | None


class Tokens:
    """Who may call the HTTP door, in one transaction."""

    def __init__(self, connection: Connection, sealer: Sealer) -> None:
        self._db, self._sealer = connection, sealer

    def add(self, token: Token, *, secret: str, webhook_secret: str) -> None:
        sealed = self._sealer.seal(webhook_secret.encode(), table="tokens", column="webhook_secret", row=token.id)
        self._db.execute(
            insert(tokens).values(
                id=token.id,
                agent=token.agent,
                secret_hash=_hash(secret),
                webhook_secret=sealed,
                created_at=to_millis(token.created_at),
            )
        )

    def by_secret(self, secret: str) -> Token | None:
        """The token with this secret, unless revoked."""
        query = select(tokens).where(tokens.c.secret_hash == _hash(secret), tokens.c.revoked_at.is_(None))
        row = self._db.execute(query).mappings().first()
        return None if row is None else _read(row)

    def webhook_secret(self, token_id: str) -> str | None:
        """What outgoing webhooks of this token's reviews are signed with."""
        sealed = self._db.execute(select(tokens.c.webhook_secret).where(tokens.c.id == token_id)).scalar()
        if sealed is None:
            return None
        return self._sealer.open(sealed, table="tokens", column="webhook_secret", row=token_id).decode()

    def listed(self) -> list[Token]:
        """Oldest first, revoked ones too."""
        query = select(tokens).order_by(tokens.c.created_at, tokens.c.id)
        return [_read(row) for row in self._db.execute(query).mappings()]

    def revoke(self, token_id: str, at: datetime) -> bool:
        """Whether it was valid until now."""
        query = update(tokens).where(tokens.c.id == token_id, tokens.c.revoked_at.is_(None))
        return self._db.execute(query.values(revoked_at=to_millis(at))).rowcount == 1


def _hash(secret: str) -> str:
    """A fast hash is enough: secrets are 256 random bits."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _read(row: RowMapping) -> Token:
    return Token(
        id=row["id"],
        agent=row["agent"],
        created_at=from_millis(row["created_at"]),
        revoked_at=from_millis(row["revoked_at"]),
    )
