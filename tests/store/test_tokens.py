"""Tokens of agents: found by their secret, until revoked."""

from seconder.store.database import Store
from seconder.store.tokens import Token
from tests.support.store import NOON, SECOND

TOKEN = Token(id="tk1", agent="support", created_at=NOON, revoked_at=None)


def add(store: Store, token: Token, secret: str) -> None:
    store.write(lambda tx: tx.tokens.add(token, secret=secret, webhook_secret=f"whsec_{secret}"))


def by_secret(store: Store, secret: str) -> Token | None:
    return store.read(lambda tx: tx.tokens.by_secret(secret))


def test_a_token_is_found_by_its_secret(store: Store) -> None:
    add(store, TOKEN, "s1")

    assert by_secret(store, "s1") == TOKEN
    assert by_secret(store, "s2") is None
    assert by_secret(store, "s1\x00" + "x" * 1000) is None


def test_the_webhook_secret_is_kept_for_signing(store: Store) -> None:
    add(store, TOKEN, "s1")

    assert store.read(lambda tx: tx.tokens.webhook_secret("tk1")) == "whsec_s1"
    assert store.read(lambda tx: tx.tokens.webhook_secret("tk2")) is None


def test_a_revoked_token_is_not_found_any_more(store: Store) -> None:
    add(store, TOKEN, "s1")
    add(store, Token(id="tk0", agent="support", created_at=NOON + SECOND, revoked_at=None), "s2")

    assert store.write(lambda tx: tx.tokens.revoke("tk1", NOON))
    assert not store.write(lambda tx: tx.tokens.revoke("tk1", NOON))
    assert by_secret(store, "s1") is None
    assert by_secret(store, "s2") is not None
    assert [token.id for token in store.read(lambda tx: tx.tokens.listed())] == ["tk1", "tk0"]
