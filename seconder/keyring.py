"""Encryption at rest: AES-256-GCM under a ring of keys, newest first.

A sealed value is `b"1" + key id (8 bytes) + nonce (12 bytes) + ciphertext`. Its additional data are
format version, table, column, row id and key id, so that a value copied to another row, column or
table does not open. A key id is the first 8 bytes of the SHA-256 of the key.
"""

import base64
import hashlib
from collections.abc import Callable

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from seconder.errors import ConfigurationError, KeyMissing

VERSION = b"1"
KEY_BYTES = 32
ID_BYTES = 8
NONCE_BYTES = 12  # random; at most 2^32 values per key (NIST SP 800-38D section 8.3)

TAG_BYTES = 16
SHORTEST = len(VERSION) + ID_BYTES + NONCE_BYTES + TAG_BYTES


class Keyring:
    """Seals with the first key, opens with any."""

    def __init__(self, keys: tuple[bytes, ...], *, random: Callable[[int], bytes]) -> None:
        if not keys:
            message = "the key ring is empty: set SECONDER_KEYS (`seconder keys new` prints a key)"
            raise ConfigurationError(message)
        self._ciphers = {key_id(key): AESGCM(key) for key in keys}
        self._newest = key_id(keys[0])
        self._random = random

    def seal(self, plain: bytes, *, table: str, column: str, row: str) -> bytes:
        """`plain`, readable only at this very place."""
        nonce = self._random(NONCE_BYTES)
        sealed = self._ciphers[self._newest].encrypt(nonce, plain, _aad(table, column, row, self._newest))
        return VERSION + self._newest + nonce + sealed

    def open(self, sealed: bytes, *, table: str, column: str, row: str) -> bytes:
        """What was sealed at this place. Raises: KeyMissing."""
        ident, nonce = sealed[1 : 1 + ID_BYTES], sealed[1 + ID_BYTES : 1 + ID_BYTES + NONCE_BYTES]
        cipher = self._ciphers.get(ident)
        if sealed[:1] != VERSION or len(sealed) < SHORTEST:
            raise KeyMissing(f"{table}.{column} of {row} does not open: it is not a sealed value")
        if cipher is None:
            message = f"{table}.{column} of {row} was sealed with key {ident.hex()}, which SECONDER_KEYS does not hold"
            raise KeyMissing(message)
        try:
            return cipher.decrypt(nonce, sealed[1 + ID_BYTES + NONCE_BYTES :], _aad(table, column, row, ident))
        except InvalidTag:
            message = f"{table}.{column} of {row} does not open: it was changed, or moved from another row"
            raise KeyMissing(message) from None

    def is_newest(self, sealed: bytes) -> bool:
        """Whether the value is sealed with the newest key."""
        return sealed[1 : 1 + ID_BYTES] == self._newest


def key_id(key: bytes) -> bytes:
    """The public name of a key."""
    return hashlib.sha256(key).digest()[:ID_BYTES]


def new_key(random: Callable[[int], bytes]) -> str:
    """A fresh key as SECONDER_KEYS wants it."""
    return base64.b64encode(random(KEY_BYTES)).decode()


def parse_keys(text: str) -> tuple[bytes, ...]:
    """The ring in a comma-separated list of base64 keys, newest first. Raises: ConfigurationError."""
    keys = []
    for number, part in enumerate(filter(None, (piece.strip() for piece in text.split(","))), start=1):
        try:
            key = base64.b64decode(part, validate=True)
        except ValueError:
            key = b""
        if len(key) != KEY_BYTES:
            message = f"SECONDER_KEYS: key {number} is not 32 bytes in base64; `seconder keys new` prints one"
            raise ConfigurationError(message)
        keys.append(key)
    return tuple(keys)


def _aad(table: str, column: str, row: str, ident: bytes) -> bytes:
    return b"\x00".join([VERSION, table.encode(), column.encode(), row.encode(), ident])
