"""A form changes what was touched and nothing else, and always opens."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from seconder.action import Json
from seconder.bot.forms import (
    Answer,
    Arguments,
    FieldErrors,
    answer_form,
    edit_form,
    read_answer,
    read_edit_form,
    read_reject,
    reject_form,
)
from seconder.decision import FieldRule
from seconder.review import Kind, Review
from tests.support import hostile
from tests.support.blockkit import mrkdwn, said, view_faults
from tests.support.form_state import field, inputs, typed, untouched
from tests.support.reviews import TOKEN, a_call, a_question, a_review, a_state_edit, a_verdict, refund

PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
MANY = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
STRING = {"type": "string"}


def call(arguments: dict[str, Any], **properties: Any) -> Review:
    """A call whose schema has these properties, all of them required."""
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return a_call(arguments, schema=schema if properties else None)


def edited(review: Review, **by_label: Any) -> Any:
    """The new arguments after these changes, or the errors."""
    form = edit_form(review, TOKEN)
    result = read_edit_form(review, typed(form, **by_label))
    return result.new if isinstance(result, Arguments) else result.errors


def exact(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


# --- any arguments --------------------------------------------------------------------------------


@MANY
@given(st.data())
def test_every_form_opens_and_untouched_it_changes_nothing(data: st.DataObject) -> None:
    review = data.draw(hostile.reviews().filter(lambda review: review.action is not None))
    form = edit_form(review, TOKEN)

    assert view_faults(form) == []
    assert mrkdwn(form) == []
    assert review.action is not None
    for state in (untouched(form), {}):
        result = read_edit_form(review, state)
        assert isinstance(result, Arguments)
        assert exact(result.new) == exact(dict(review.action.arguments))


@MANY
@given(st.data())
def test_every_question_opens(data: st.DataObject) -> None:
    review = data.draw(hostile.reviews().filter(lambda review: review.interrupt.kind is Kind.QUESTION))

    assert view_faults(answer_form(review, TOKEN)) == []
    assert view_faults(reject_form(review, TOKEN)) == []


@pytest.mark.parametrize(
    "arguments",
    [
        {
            "fee": -0.0,
            "rate": 1.1,
            "share": 0.30000000000000004,
            "id": 2512292042121000001,
            "units": 10**20,
            "whole": 2.0,
        },
        {"bio": "", "nick": "   ", "motto": "\n\n", "tags": [], "links": {}, "age": 0, "score": None, "active": False},
        {"half": "cut \ud83d", "raw": "\x07bell \x7f\x85", "line": "a\r\nb\u2028c\ufeff"},
        {"text": "&amp;lt;b&amp;gt; and &lt; and &", "code": "if a < b && b > c: pass"},
        {"größe": "süß", "ключ": "значение", "name": "山田 太郎　🎉 👩🏽‍🚀"},
        {"deep": {"a": [{"b": [1, 2.50, {"c": None}]}]}, "items": [{"x": 1}, {"x": 2}]},
        {"nbsp": "5\u00a0000\u00a0€", "zwnj": "می\u200cخواهم"},
    ],
)
def test_untouched_arguments_come_back_exactly(arguments: dict[str, Any]) -> None:
    assert exact(edited(a_call(arguments))) == exact(arguments)


@pytest.mark.parametrize(
    "state", [None, [], "x", {"field_0": None}, {"field_0": {"value": []}}, {"field_0": {"value": {"value": 7}}}]
)
def test_a_state_that_is_none_of_slacks_changes_nothing(state: Any) -> None:
    result = read_edit_form(a_review(), state)

    assert result == Arguments(dict(refund().arguments))


# --- one field ------------------------------------------------------------------------------------


def test_an_edited_amount_is_the_only_change() -> None:
    assert edited(a_review(), amount="120") == {**refund().arguments, "amount": 120}


@pytest.mark.parametrize(
    ("typed_text", "number"),
    [("9007199254740993", 9007199254740993), ("-5", -5), (str(10**30), 10**30)],
)
def test_integers_are_read_exactly(typed_text: str, number: int) -> None:
    assert edited(call({"n": 1}, n={"type": "integer"}), n=typed_text) == {"n": number}


def test_an_integer_beyond_doubles_is_a_text_input_and_a_small_one_is_not() -> None:
    form = edit_form(call({"big": 2**60, "small": 5}, big={"type": "integer"}, small={"type": "integer"}), TOKEN)

    assert field(form, "big")["element"]["type"] == "plain_text_input"
    assert field(form, "small")["element"]["type"] == "number_input"


@pytest.mark.parametrize("typed_text", ["1.5", "12a", "1_000", "١٢", "--1"])
def test_what_is_no_integer_is_refused(typed_text: str) -> None:
    assert edited(call({"n": 1}, n={"type": "integer"}), n=typed_text) == {
        "field_0": "Write a whole number, digits only."
    }


@pytest.mark.parametrize(("typed_text", "number"), [("0.1", 0.1), ("120", 120), ("1e3", 1000.0), ("-2.50", -2.5)])
def test_decimals_are_read_as_written(typed_text: str, number: float) -> None:
    assert exact(edited(call({"n": 1.5}, n={"type": "number"}), n=typed_text)) == exact({"n": number})


@pytest.mark.parametrize("typed_text", ["0.1234567890123456789", "NaN", "Infinity", "1,5", "1e999", "1e99999999", "x"])
def test_a_number_that_would_be_rounded_or_is_none_is_refused(typed_text: str) -> None:
    assert list(edited(call({"n": 1.5}, n={"type": "number"}), n=typed_text)) == ["field_0"]


def test_absent_null_and_empty_stay_apart() -> None:
    schema = {
        "properties": {"a": STRING, "b": {"type": ["string", "null"]}, "c": STRING, "d": {"type": ["integer", "null"]}}
    }
    review = a_call({"b": None, "c": "", "d": None}, schema=schema)

    assert exact(edited(review)) == exact({"b": None, "c": "", "d": None})
    assert exact(edited(review, a="x", d="4")) == exact({"b": None, "c": "", "d": 4, "a": "x"})


def test_an_emptied_field_is_empty_text_null_absent_or_refused() -> None:
    kinds = {"t": STRING, "n": {"type": ["integer", "null"]}, "o": {"type": "integer"}, "r": {"type": "integer"}}
    review = a_call({"t": "x", "n": 1, "o": 2, "r": 3}, schema={"properties": kinds, "required": ["t", "n", "r"]})

    assert edited(review, t=None, n=None, o=None) == {"t": "", "n": None, "r": 3}
    assert edited(review, r=None) == {"field_3": "Write a number."}


def test_a_boolean_is_a_choice() -> None:
    review = call({"b": True}, b={"type": "boolean"})

    assert edited(review, b="No (false)") == {"b": False}
    assert field(edit_form(review, TOKEN), "b")["element"]["initial_option"]["text"]["text"] == "Yes (true)"


def test_an_enum_keeps_its_types() -> None:
    review = call({"e": "a"}, e={"enum": ["a", 1, True, None]})

    assert exact(edited(review, e="1")) == exact({"e": 1})
    assert exact(edited(review, e="true")) == exact({"e": True})
    assert exact(edited(review, e="null")) == exact({"e": None})


def test_long_labels_stay_different_and_the_full_value_is_saved() -> None:
    values = [
        f"Region North – warehouse group A – refrigerated goods – overnight delivery before eight – {c}"
        for c in ("red", "blue", "amber")
    ]
    review = call({"e": values[2]}, e={"enum": values})
    labels = [option["text"]["text"] for option in field(edit_form(review, TOKEN), "e")["element"]["options"]]

    assert len(set(labels)) == 3
    assert all(len(label) <= 75 for label in labels)
    assert edited(review, e=labels[1]) == {"e": values[1]}


def test_more_than_a_hundred_values_are_typed_and_checked() -> None:
    review = call({"e": "v512"}, e={"enum": [f"v{n}" for n in range(650)]})

    assert field(edit_form(review, TOKEN), "e")["element"]["initial_value"] == "v512"
    assert edited(review, e="v649") == {"e": "v649"}
    assert edited(review, e="v650") == {"field_0": "This is none of the 650 allowed values; write one exactly."}


def test_a_list_of_allowed_values_is_chosen_from_in_a_stable_order() -> None:
    allowed = ["CH", "DE", "AT", "FR", "IT", "ES", "PT", "NL", "BE", "LU", "DK", "SE", "NO", "FI"]
    review = call({"c": ["DE", "CH", "AT"]}, c={"type": "array", "items": {"enum": allowed}})

    assert edited(review, c=["FI", "CH", "DE"]) == {"c": ["DE", "CH", "FI"]}
    assert edited(review, c=["AT", "CH", "DE"]) == {"c": ["DE", "CH", "AT"]}
    assert edited(review, c=[]) == {"c": []}


def test_everything_else_is_json() -> None:
    review = call({"tags": ["a"]}, tags={"type": "array", "items": STRING})

    assert edited(review, tags='["b", 12345678901234567890]') == {"field_0": "At [1]: must be of type string."}
    assert edited(review, tags='["b"]') == {"tags": ["b"]}
    assert list(edited(review, tags='{"a": 1, "a": 2}')) == ["field_0"]
    assert list(edited(review, tags="[NaN]")) == ["field_0"]
    assert edited(review, tags=None) == {"field_0": "Write JSON here; null for nothing."}


def test_an_optional_of_pydantic_and_a_local_reference_are_understood() -> None:
    schema = {
        "properties": {"n": {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "e": {"$ref": "#/$defs/Speed"}},
        "$defs": {"Speed": {"enum": ["slow", "fast"]}},
    }
    review = a_call({"n": 3, "e": "slow"}, schema=schema)

    assert edited(review, n=None, e="fast") == {"n": None, "e": "fast"}


# --- what stays -----------------------------------------------------------------------------------


def test_a_text_too_long_for_slack_is_kept_byte_for_byte_beside_an_edit() -> None:
    review = call({"body": "<é>" * 3200, "n": 1}, body=STRING, n={"type": "integer"})

    assert "body stays as it is: 9,600 characters are too long to edit in Slack" in said(
        edit_form(review, TOKEN)["blocks"]
    )
    assert edited(review, n="2") == {"body": "<é>" * 3200, "n": 2}


def test_fields_that_must_not_be_edited_are_shown_and_secret_ones_are_masked() -> None:
    rules = {"order_id": FieldRule(edit=False), "card": FieldRule(secret=True), "why": FieldRule(label="Reason")}
    review = a_call({"order_id": "O-991", "card": "4111111111111111", "why": "late"}, fields=rules)
    form = edit_form(review, TOKEN)

    assert [block["label"]["text"] for block in inputs(form)] == ["Reason"]
    assert "order_id cannot be changed here (O-991)" in said(form["blocks"])
    assert "card is hidden and stays as it is (•••••• (hidden, 16 characters))" in said(form["blocks"])
    assert "4111" not in json.dumps(form)
    assert edited(review, Reason="lost")["card"] == "4111111111111111"


def test_a_hidden_value_inside_json_survives_an_edit_beside_it_and_cannot_be_moved() -> None:
    review = call({"headers": {"Authorization": "Bearer 123456789", "X": "1"}}, headers={"type": "object"})
    shown = field(edit_form(review, TOKEN), "headers")["element"]["initial_value"]

    assert "123456789" not in shown
    assert edited(review, headers=shown.replace('"1"', '"2"')) == {
        "headers": {"Authorization": "Bearer 123456789", "X": "2"}
    }
    assert list(edited(review, headers=shown.replace("Authorization", "Note"))) == ["field_0"]
    assert edited(review, headers='{"Authorization": "new"}') == {"headers": {"Authorization": "new"}}


def test_a_form_of_sixty_fields_edits_forty_and_says_that_the_rest_stay() -> None:
    review = a_call({f"f{n}": f"value {n}" for n in range(60)})
    form = edit_form(review, TOKEN)

    assert len(inputs(form)) == 40
    assert "f45 stays as it is: the form is full (value 45)" in said(form["blocks"])
    assert edited(review, f3="new")["f59"] == "value 59"


def test_a_form_with_nothing_to_edit_says_so_and_cannot_be_sent() -> None:
    form = edit_form(a_call({}), TOKEN)

    assert "submit" not in form
    assert said(form["blocks"]) == "Nothing can be edited here."


# --- the schema -----------------------------------------------------------------------------------


def test_what_the_schema_refuses_is_told_under_its_field() -> None:
    schema = {
        "properties": {"n": {"type": "integer", "minimum": 5}, "t": {"type": "string", "pattern": "^pi_"}},
        "additionalProperties": False,
    }
    review = a_call({"n": 7, "t": "pi_1"}, schema=schema)

    assert edited(review, n="4", t="x<&>") == {
        "field_0": "Must be at least 5.",
        "field_1": "Must have the pattern ^pi_.",
    }


def test_a_fault_that_was_there_before_does_not_stop_an_edit_elsewhere() -> None:
    review = a_call({"n": 1, "t": "x"}, schema={"properties": {"n": {"minimum": 5}, "t": STRING}, "required": ["gone"]})

    assert edited(review, t="y") == {"n": 1, "t": "y"}


def test_a_schema_that_points_elsewhere_is_refused_and_nothing_is_fetched() -> None:
    review = a_call({"n": "x"}, schema={"properties": {"n": {"$ref": "http://127.0.0.1:9/schema.json"}}})

    assert edited(review, n='"y"') == {
        "field_0": "The agent's schema cannot be used, so nothing can be edited. Approve or reject."
    }


def test_many_wrong_fields_are_told_in_short_messages() -> None:
    names = [f"field_{n}" for n in range(40)]
    review = call(
        dict.fromkeys(names, "ok"),
        **{name: {"type": "string", "maxLength": 3, "pattern": "^" + "<&>" * 100} for name in names},
    )
    errors = edited(review, **dict.fromkeys(names, "far too long"))

    assert len(errors) == 20
    assert all(len(message) <= 150 for message in errors.values())
    assert errors["field_19"].endswith("And 20 more fields are wrong.")


def test_a_state_is_edited_field_by_field() -> None:
    review = a_state_edit({"plan": "send", "n": 1}, {"type": "object", "properties": {"plan": STRING}})

    assert edited(review, plan="wait") == {"state": {"plan": "wait", "n": 1}}
    assert edited(a_state_edit("draft one", STRING), state="draft two") == {"state": "draft two"}


# --- the frame ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "callback", "submit"),
    [
        (edit_form(a_review(), TOKEN), "edit_form", "Approve with edits"),
        (reject_form(a_review(), TOKEN), "reject_form", "Reject"),
        (answer_form(a_question(), TOKEN), "answer_form", "Send answer"),
    ],
)
def test_a_form_carries_the_token_only_in_its_metadata(form: dict[str, Any], callback: str, submit: str) -> None:
    assert form["callback_id"] == callback
    assert form["submit"]["text"] == submit
    assert json.loads(form["private_metadata"]) == {"token": TOKEN, "page": 1}
    assert TOKEN not in json.dumps(form["blocks"])


# --- reject ---------------------------------------------------------------------------------------


def test_a_rejection_needs_a_reason() -> None:
    form = reject_form(a_review(), TOKEN)

    assert [(block["label"]["text"], block["optional"]) for block in inputs(form)] == [("Reason", False)]
    assert read_reject(typed(form, Reason=" too much \n")) == "too much"
    assert isinstance(read_reject(typed(form, Reason="  ")), FieldErrors)
    assert isinstance(read_reject({}), FieldErrors)


def test_a_named_reason_can_stand_for_a_written_one_or_before_it() -> None:
    form = reject_form(a_review(verdict=a_verdict(reject_reasons=("Over budget", "Duplicate"))), TOKEN)

    assert read_reject(typed(form, **{"Named reason": "Duplicate"})) == "Duplicate"
    assert read_reject(typed(form, **{"Named reason": "Duplicate", "Reason": "of O-990"})) == "Duplicate: of O-990"
    assert read_reject(typed(form, Reason="other")) == "other"


# --- answer ---------------------------------------------------------------------------------------


def answered(review: Review, **by_label: Any) -> Any:
    result = read_answer(review, typed(answer_form(review, TOKEN), **by_label))
    return result.value if isinstance(result, Answer) else result.errors


def test_a_free_answer_is_passed_on_as_written() -> None:
    assert answered(a_question(), Answer=" use the north-east node\n") == " use the north-east node\n"
    assert answered(a_question(), Answer=" ") == {"value": "Write an answer."}


@pytest.mark.parametrize(
    ("many", "kind"), [(10, "radio_buttons"), (11, "static_select"), (100, "static_select"), (101, "plain_text_input")]
)
def test_options_are_chosen_as_slack_allows(many: int, kind: str) -> None:
    review = a_question(options=[f"option {n}" for n in range(many)])
    form = answer_form(review, TOKEN)

    assert field(form, "Answer")["element"]["type"] == kind
    assert answered(review, Answer="option 7") == "option 7"
    assert view_faults(form) == []


def test_an_answer_that_is_no_option_is_refused() -> None:
    many = a_question(options=[f"option {n}" for n in range(101)])

    assert answered(many, Answer="option 101") == {"value": "Choose one of the answers."}
    assert answered(a_question(options=["A", "B"])) == {"value": "Choose one of the answers."}


def test_a_typed_answer_is_a_form_checked_against_its_schema() -> None:
    properties = {"days": {"type": "integer", "minimum": 1}, "note": STRING}
    review = a_question(schema={"type": "object", "properties": properties, "required": ["days"]})
    form = answer_form(review, TOKEN)

    assert [block["optional"] for block in inputs(form)] == [False, True]
    assert answered(review, days="3") == {"days": 3}
    assert answered(review, days="0") == {"field_0": "Must be at least 1."}
    assert answered(review) == {"field_0": "Cannot be left out."}


def test_a_typed_answer_can_be_one_value() -> None:
    assert answered(a_question(schema={"type": "number"}), answer="0.5") == 0.5
