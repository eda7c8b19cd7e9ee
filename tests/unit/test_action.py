"""An action's digest: the same for equal actions, different for different ones, on every machine."""

import hashlib
import json
import struct
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seconder.action import (
    MAX_ARGUMENTS,
    MAX_DEPTH,
    MAX_INTEGER_DIGITS,
    MAX_SAFE_INTEGER,
    Action,
    action_from_canonical,
    canonical,
    digest_of,
    from_canonical,
    parse_json,
)
from seconder.errors import NotCanonical, TooLarge

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
KEYS = TEXT.filter(lambda key: key != "$int")
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


def action(**arguments: Any) -> Action:
    return Action(tool="t", arguments=arguments)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def double(bits: str) -> float:
    value: float = struct.unpack(">d", bytes.fromhex(bits))[0]
    return value


# --- RFC 8785 ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("ffefffffffffffff", "-1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("c340000000000000", "-9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("44b52d02c7e14af7", "1.0000000000000001e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef4f", "999999999999999900000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("41b3de4355555554", "333333333.33333325"),
        ("41b3de4355555555", "333333333.3333333"),
        ("41b3de4355555556", "333333333.3333334"),
        ("41b3de4355555557", "333333333.33333343"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ],
)
def test_numbers_are_written_as_rfc_8785_appendix_b_says(bits: str, text: str) -> None:
    assert canonical(double(bits)) == text.encode()


def test_the_example_of_rfc_8785_section_3_2_2() -> None:
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
        "literals": [None, True, False],
    }

    assert canonical(value) == (
        b'{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        b'"string":"\xe2\x82\xac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_keys_are_sorted_by_utf_16_as_rfc_8785_section_3_2_3_says() -> None:
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]

    assert list(from_canonical(canonical(dict.fromkeys(keys, 0)))) == [
        "\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33",
    ]  # fmt: skip


# --- the digest -------------------------------------------------------------------------------------


def test_the_digest_is_sha256_over_tool_and_arguments() -> None:
    data = b'{"arguments":{"amount":240,"order_id":"O-991"},"tool":"issue_refund"}'
    refund = Action(tool="issue_refund", arguments={"order_id": "O-991", "amount": 240}, schema={"a": 1}, summary="s")

    assert refund.canonical == data
    assert refund.digest == digest_of(data) == "sha256:" + hashlib.sha256(data).hexdigest()
    assert refund.with_arguments({"amount": 120}) == Action(
        tool="issue_refund", arguments={"amount": 120}, schema={"a": 1}, summary="s"
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 2**53 - 1}, {"a": 2**53}),
        ({"a": 2**53}, {"a": 2**53 + 1}),
        ({"a": 10**30}, {"a": 10**30 + 1}),
        ({"a": 10**30}, {"a": str(10**30)}),
        ({"a": 1}, {"a": True}),
        ({"a": 0}, {"a": None}),
        ({"a": None}, {}),
        ({"a": "1"}, {"a": 1}),
        ({"a": "é"}, {"a": "e\u0301"}),
        ({"a": [1, 2]}, {"a": [2, 1]}),
        ({"a": {"b": 1}}, {"a": [{"b": 1}]}),
    ],
)
def test_different_arguments_have_different_digests(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert action(**one).digest != action(**other).digest


@pytest.mark.parametrize(
    ("one", "other"),
    [({"a": 1, "b": 2}, {"b": 2, "a": 1}), ({"a": 1}, {"a": 1.0}), ({"a": -0.0}, {"a": 0}), ({"a": (1,)}, {"a": [1]})],
)
def test_the_same_arguments_written_otherwise_have_the_same_digest(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert action(**one).digest == action(**other).digest


@given(st.dictionaries(KEYS, JSON, max_size=4), TEXT)
def test_what_was_stored_is_what_runs(arguments: dict[str, Any], tool: str) -> None:
    stored = Action(tool=tool, arguments=arguments, schema={"s": 1}, summary="s")
    read = action_from_canonical(stored.canonical, schema={"s": 1}, summary="s")

    assert read == stored
    assert read.digest == stored.digest


@given(JSON, JSON)
def test_only_equal_values_have_equal_bytes(one: Any, other: Any) -> None:
    assert (canonical(one) == canonical(other)) == (exact(one) == exact(other))


def exact(value: Any) -> Any:
    """The value with its types, where 1 and 1.0 are the same number and true is none."""
    match value:
        case bool() | None:
            return ("word", value)
        case dict():
            return {key: exact(item) for key, item in value.items()}
        case list():
            return [exact(item) for item in value]
        case float() if value.is_integer() and abs(value) <= MAX_SAFE_INTEGER:
            return ("number", int(value))
        case float():
            return ("float", value)
        case _:
            return (type(value).__name__, value) if isinstance(value, str) else ("number", value)


def test_a_mapping_that_is_no_dict_is_an_object() -> None:
    assert canonical(MappingProxyType({"a": MappingProxyType({})})) == b'{"a":{}}'


@pytest.mark.parametrize("sign", [1, -1])
def test_integers_of_any_size_are_exact(sign: int) -> None:
    for value in (MAX_SAFE_INTEGER, MAX_SAFE_INTEGER + 1, 2**63, 10**100, 10**MAX_INTEGER_DIGITS - 1):
        assert from_canonical(canonical({"n": sign * value})) == {"n": sign * value}
    assert canonical(sign * 2**53) == f'{{"$int":"{sign * 2**53}"}}'.encode()


@pytest.mark.parametrize("value", [2.0**53, 4.90643370136725e16, -1e20, 1e21, 1e300])
def test_a_large_float_stays_the_float_that_was_shown(value: float) -> None:
    read = from_canonical(canonical({"n": value}))

    assert read == {"n": value}
    assert type(read["n"]) is float


# --- what is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (float("nan"), "nan has no JSON form"),
        (float("inf"), "inf has no JSON form"),
        (-float("inf"), "-inf has no JSON form"),
        ("\ud800", "half of a character"),
        ("ok \udc00 ok", "half of a character"),
        ({"\ud800": 1}, "half of a character"),
        ({"$int": "5"}, "reserved"),
        ({"$int": 5, "more": 1}, "reserved"),
        ({1: 2}, "the key 1 is not text"),
        (b"bytes", "a bytes has no JSON form"),
        ({1}, "a set has no JSON form"),
        (10**MAX_INTEGER_DIGITS, "more than 4000 digits"),
        (nested(MAX_DEPTH + 1), "nested deeper than 64"),
        (nested(100_000), "nested deeper than 64"),
    ],
    ids=range(14),
)
def test_what_has_no_canonical_form_is_refused_with_the_field_and_a_sentence(value: Any, says: str) -> None:
    with pytest.raises(NotCanonical, match=says) as refusal:
        canonical({"a": [0, value]})

    [fault] = refusal.value.faults
    assert fault.path.startswith("action.a[1]")
    assert refusal.value.code == "not_canonical"


def test_nesting_is_allowed_up_to_the_limit() -> None:
    assert from_canonical(canonical(nested(MAX_DEPTH))) == nested(MAX_DEPTH)


def test_arguments_over_the_limit_are_too_large() -> None:
    assert len(canonical("x" * (MAX_ARGUMENTS - 2))) == MAX_ARGUMENTS
    with pytest.raises(TooLarge) as refusal:
        canonical("x" * (MAX_ARGUMENTS - 1), path="arguments")

    assert (refusal.value.part, refusal.value.limit) == ("arguments", MAX_ARGUMENTS)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"amount": 50, "amount": 5000}', "'amount' stands twice"),
        ('[{"a": {"b": 1, "\\u0062": 2}}]', "'b' stands twice"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": -Infinity}', "-Infinity is not JSON"),
        ("{", "not JSON"),
        ("", "not JSON"),
        (b"\xff", "not JSON"),
        ("[" * 100_000, "nested deeper"),
        ("1" * 4001, "more than 4000 digits"),
    ],
    ids=range(9),
)
def test_a_body_that_is_not_one_json_value_is_refused(text: str | bytes, says: str) -> None:
    with pytest.raises(NotCanonical, match=says):
        parse_json(text)


@given(st.dictionaries(TEXT, JSON, max_size=4))
def test_a_body_is_read_with_its_integers_exact(value: dict[str, Any]) -> None:
    assert exact(parse_json(json.dumps(value))) == exact(value)


def test_a_number_too_large_for_a_double_is_refused_in_the_end() -> None:
    with pytest.raises(NotCanonical):
        canonical(parse_json('{"a": 1e999}'))
