"""Secrets are hidden wherever they turn up, and only secrets are."""

import pytest

from seconder.bot.masks import Masker, hidden, masker_of
from seconder.decision import FieldRule
from tests.support.reviews import a_call

KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    "secret",
    [
        "sk-abcdefghijklmnopqrstuvwx",
        "xoxb-123456789-abcdefghij",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_" + "a" * 36,
        "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2ln",
        KEY,
    ],
)
def test_a_text_of_a_well_known_shape_is_hidden_inside_other_text(secret: str) -> None:
    assert Masker().text(f"use {secret} now") == f"use {hidden(len(secret))} now"


def test_passwords_in_links_are_hidden_and_the_rest_stays() -> None:
    assert (
        Masker().text("postgres://svc:hunter22@db:5432/x") == "postgres://svc:•••••• (hidden, 8 characters)@db:5432/x"
    )
    assert (
        Masker().text("https://a.test/?api_key=K1&page=2")
        == "https://a.test/?api_key=•••••• (hidden, 2 characters)&page=2"
    )


@pytest.mark.parametrize(
    "text", ["task-list-of-everything-we-do", "risk-management-plan", "https://a.test/x?page=2", "Bearer of news"]
)
def test_ordinary_text_stays(text: str) -> None:
    assert Masker().text(text) == text


def test_names_that_say_secret_hide_their_text_at_any_depth() -> None:
    value = {
        "headers": {"Authorization": "Bearer x"},
        "items": [{"client_secret": "abc"}],
        "token_count": 7,
        "password": "",
    }

    assert Masker().value(value) == {
        "headers": {"Authorization": hidden(8)},
        "items": [{"client_secret": hidden(3)}],
        "token_count": 7,
        "password": "",
    }


def test_a_declared_field_hides_whatever_it_holds() -> None:
    masker = Masker(frozenset({"card_number", "body.pin"}))
    value = {"card_number": 4111111111111111, "body": {"pin": [1, 2], "x": 1}, "pin": 3}

    assert masker.value(value) == {"card_number": hidden(16), "body": {"pin": hidden(6), "x": 1}, "pin": 3}


def test_a_declared_secret_is_hidden_in_other_text_too() -> None:
    review = a_call({"code": "tulip-4711", "note": "say tulip-4711"}, fields={"code": FieldRule(secret=True)})

    assert masker_of(review).text("the code is tulip-4711.") == f"the code is {hidden(10)}."


def test_hiding_twice_changes_nothing_more() -> None:
    once = Masker().text("Bearer abcdefghijkl and postgres://u:passw0rd@h")

    assert Masker().text(once) == once
