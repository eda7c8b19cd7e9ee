"""Values in words, on one line."""

from datetime import timedelta
from typing import Any

import pytest

from seconder.action import Action
from seconder.bot.diff import ABSENT, Change, changes, same, shown
from seconder.bot.masks import Masker
from seconder.bot.text import size
from seconder.bot.values import amount, brief, duration, headline, tool_words
from tests.support.reviews import refund


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("", "empty text"),
        ("   \n", "only white space (4 characters)"),
        (None, "nothing (null)"),
        ([], "empty list"),
        ({}, "empty object"),
    ],
)
def test_what_would_show_as_nothing_is_said_in_words(value: Any, words: str) -> None:
    line = brief(value, 100)

    assert (line.text, line.words) == (words, True)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (False, "false"),
        (2512292042121000001, "2512292042121000001"),
        (0.30000000000000004, "0.30000000000000004"),
        (["a", "b"], "a, b"),
        (["a, b", "c"], '["a, b", "c"]'),
        (["a", "b", "c", "d"], "4 items: a, b, c, d"),
        ({"a": None}, '{"a": null}'),
        ("x86_64 *args* `ls` C:\\new", "x86_64 *args* `ls` C:\\new"),
        ("one\ntwo", "one⏎two"),
    ],
)
def test_a_value_is_shown_exactly_on_one_line(value: Any, text: str) -> None:
    assert brief(value, 100).text == text


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("issue_refund", "Issue refund"),
        ("issueRefund", "Issue refund"),
        ("mcp__docs__update-page", "Mcp docs update page"),
        ("", "Unnamed tool"),
    ],
)
def test_a_tool_is_named_in_plain_words(tool: str, words: str) -> None:
    assert tool_words(tool) == words


def test_the_title_says_amount_with_currency_or_else_the_target() -> None:
    mail = Action(tool="send_email", arguments={"to": ["a@b.test", "c@d.test"], "subject": "Hi"})

    assert headline(refund(), Masker()) == "Issue refund: 240 EUR"
    assert headline(mail, Masker()) == "Send email: a@b.test and 1 more"


def test_an_amount_in_small_units_says_so_and_is_not_converted() -> None:
    schema = {"properties": {"amount": {"type": "integer", "description": "smallest unit of the currency"}}}
    action = Action(tool="pay", arguments={"amount": 18450, "currency": "eur"}, schema=schema)

    assert amount(action, Masker()) == "18,450 EUR (in smallest units)"


def test_a_title_fits_whatever_the_tool_and_target_are_called() -> None:
    action = Action(tool="<&>" * 200, arguments={"to": "<&>" * 200})

    assert size(headline(action, Masker())) <= 150


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (134, "2 min 14 s"),
        (0.2, "less than 1 s"),
        (11100, "3 h 5 min"),
        (187200, "2 d 4 h"),
        (3600, "1 h"),
        (-5, "less than 1 s"),
    ],
)
def test_a_duration_names_its_two_largest_units(seconds: float, words: str) -> None:
    assert duration(timedelta(seconds=seconds)) == words


def test_a_diff_names_every_field_that_differs_and_no_other() -> None:
    old = {"a": 1, "b": {"x": 1, "y": 2}, "c": [1], "gone": None, "same": "s"}
    new = {"a": True, "b": {"x": 1, "y": 3}, "c": [1, 2], "same": "s", "more": ""}

    assert list(changes(old, new)) == [
        Change(path="a", old=1, new=True),
        Change("b.y", 2, 3),
        Change("c", [1], [1, 2]),
        Change("gone", None, ABSENT),
        Change("more", ABSENT, ""),
    ]


def test_true_is_not_one_and_a_whole_float_is_its_integer() -> None:
    assert not same({"a": True}, {"a": 1})
    assert same(1, 1.0)
    assert same({"a": [1]}, {"a": [1.0]})


def test_a_change_late_in_a_long_text_is_what_is_shown() -> None:
    old = "safe line\n" * 500 + "keep"
    new = "safe line\n" * 500 + "rm -rf"
    before, after = shown(Change("script", old, new), Masker(), 200)

    assert before.endswith("keep")
    assert after.endswith("rm -rf")


def test_a_changed_secret_is_not_shown() -> None:
    before, after = shown(Change("pin", "12345678", "87654321"), Masker(frozenset({"pin"})), 200)

    assert (before, after) == ("•••••• (hidden, 8 characters)", "•••••• (hidden, 8 characters)")
