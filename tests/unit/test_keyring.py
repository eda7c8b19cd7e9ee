"""What is sealed opens with the right key, at its own place, unchanged; and nothing else does."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seconder.errors import ConfigurationError, KeyMissing
from seconder.keyring import KEY_BYTES, NONCE_BYTES, Keyring, key_id, new_key, parse_keys
from tests.support.store import seeded

OLD, NEW = b"o" * 32, b"n" * 32
PLACE = {"table": "reviews", "column": "body", "row": "rv1"}


def ring(*keys: bytes) -> Keyring:
    return Keyring(keys or (OLD,), random=seeded(1))


@given(st.binary(max_size=300))
def test_what_is_sealed_opens_at_its_place(plain: bytes) -> None:
    sealed = ring().seal(plain, **PLACE)

    assert ring().open(sealed, **PLACE) == plain
    assert len(sealed) == len(plain) + 1 + 8 + NONCE_BYTES + 16


def test_the_same_value_is_sealed_differently_each_time() -> None:
    keys = ring()

    assert keys.seal(b"x", **PLACE) != keys.seal(b"x", **PLACE)


@pytest.mark.parametrize("part", PLACE)
def test_it_does_not_open_at_another_place(part: str) -> None:
    sealed = ring().seal(b"secret", **PLACE)

    with pytest.raises(KeyMissing, match="does not open"):
        ring().open(sealed, **{**PLACE, part: "other"})


def test_a_change_of_any_byte_is_noticed() -> None:
    sealed = ring().seal(b"secret", **PLACE)
    for index in range(len(sealed)):
        changed = sealed[:index] + bytes([sealed[index] ^ 1]) + sealed[index + 1 :]
        with pytest.raises(KeyMissing):
            ring().open(changed, **PLACE)


def test_a_cut_value_does_not_open() -> None:
    sealed = ring().seal(b"secret", **PLACE)
    for length in range(len(sealed)):
        with pytest.raises(KeyMissing, match=r"reviews\.body of rv1"):
            ring().open(sealed[:length], **PLACE)


def test_an_older_key_opens_and_the_newest_seals() -> None:
    old = ring(OLD).seal(b"secret", **PLACE)
    both = ring(NEW, OLD)
    new = both.seal(b"secret", **PLACE)

    assert both.open(old, **PLACE) == both.open(new, **PLACE) == b"secret"
    assert (both.is_newest(old), both.is_newest(new)) == (False, True)
    assert ring(NEW).open(new, **PLACE) == b"secret"


def test_a_missing_key_is_named() -> None:
    sealed = ring(NEW).seal(b"secret", **PLACE)

    with pytest.raises(KeyMissing, match=f"key {key_id(NEW).hex()}, which SECONDER_KEYS does not hold"):
        ring(OLD).open(sealed, **PLACE)


def test_a_new_key_is_what_the_setting_wants() -> None:
    first, second = new_key(seeded(1)), new_key(seeded(2))

    assert parse_keys(f"{first}, {second},") == (seeded(1)(KEY_BYTES), seeded(2)(KEY_BYTES))


@pytest.mark.parametrize(
    "wrong",
    ["x", "é" * 44, base64.b64encode(b"short").decode(), base64.b64encode(b"k" * 33).decode(), "k" * 44 + "\n="],
)
def test_a_wrong_key_is_refused_by_its_number(wrong: str) -> None:
    with pytest.raises(ConfigurationError, match="key 2 is not 32 bytes in base64"):
        parse_keys(f"{new_key(seeded(1))},{wrong}")


def test_an_empty_ring_is_refused_and_says_what_to_do() -> None:
    assert parse_keys(" , ") == ()
    with pytest.raises(ConfigurationError, match="seconder keys new"):
        Keyring((), random=seeded(1))
