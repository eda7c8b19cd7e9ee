"""The full view shows every argument exactly, over as many pages as it takes."""

import json
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from seconder.bot.full_view import full_view, page_count
from seconder.bot.text import visible
from seconder.decision import FieldRule
from seconder.review import ContextItem, Review
from tests.support import hostile
from tests.support.blockkit import mrkdwn, said, view_faults
from tests.support.reviews import TOKEN, a_call, a_question, a_review

PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
MANY = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)


def pages(review: Review) -> list[dict[str, Any]]:
    return [full_view(review, TOKEN, page) for page in range(1, page_count(review) + 1)]


def in_full(review: Review, number: int) -> str:
    """The joined preformatted text of the nth thing shown."""
    blocks = [block for page in pages(review) for block in page["blocks"]]
    parts = [block["elements"][1] for block in blocks if block["block_id"].split("_")[1:2] == [str(number)]]
    return said(parts)


@MANY
@given(st.data())
def test_every_page_opens(data: st.DataObject) -> None:
    for page in pages(data.draw(hostile.reviews())):
        assert view_faults(page) == []
        assert mrkdwn(page) == []


def test_the_joined_parts_are_the_exact_text() -> None:
    script = "import os\n# & <b> \u202e 👩‍🚀\n" * 1500 + "rm -rf /\n"
    review = a_call({"script": script})

    assert in_full(review, 0) == visible(script)
    assert page_count(review) > 1


def test_a_line_without_a_break_is_joined_exactly_too() -> None:
    text = "&" * 9000 + "\u200b" * 500 + "e\u0301" * 3000

    assert in_full(a_call({"text": text}), 0) == visible(text)


def test_other_values_are_indented_json_with_exact_numbers() -> None:
    value = {"id": 2512292042121000001, "rate": 0.30000000000000004, "name": "Zoë"}

    assert json.loads(in_full(a_call({"value": value}), 0)) == value


def test_blank_values_are_said_in_words() -> None:
    assert "command: empty text" in said(full_view(a_call({"command": ""}), TOKEN, 1)["blocks"])
    assert "Arguments: no arguments" in said(full_view(a_call({}), TOKEN, 1)["blocks"])


def test_secrets_are_masked_in_full_view_too() -> None:
    review = a_call({"pin": "tulip-4711", "url": "https://u:hunter22@a.test"}, fields={"pin": FieldRule(secret=True)})
    view = json.dumps(full_view(review, TOKEN, 1))

    assert "tulip" not in view
    assert "hunter22" not in view


def test_it_says_the_digest_and_the_page() -> None:
    review = a_call({f"f{n}": "x" * 2000 for n in range(40)})
    view = full_view(review, TOKEN, 2)

    assert f"Page 2 of {page_count(review)}. What is decided on has the digest {review.digest}" in said(view["blocks"])
    assert json.loads(view["private_metadata"]) == {"token": TOKEN, "page": 2}


def test_pages_are_turned_only_where_there_are_some() -> None:
    review = a_call({f"f{n}": "x" * 2000 for n in range(40)})
    turning = [
        [b["action_id"] for block in page["blocks"] if block["type"] == "actions" for b in block["elements"]]
        for page in pages(review)
    ]

    assert turning[0] == ["page_next"]
    assert turning[1] == ["page_previous", "page_next"]
    assert turning[-1] == ["page_previous"]
    assert full_view(review, TOKEN, 99) == full_view(review, TOKEN, page_count(review))
    assert full_view(review, TOKEN, -1) == full_view(review, TOKEN, 1)


def test_a_view_of_one_page_has_no_buttons() -> None:
    assert [block["type"] for block in full_view(a_review(), TOKEN, 1)["blocks"] if block["type"] == "actions"] == []


def test_reason_context_and_question_are_there_in_full() -> None:
    review = a_call({}, reason="why " * 900, context=(ContextItem(label="Mail", text="hi " * 900, url="javascript:x"),))
    text = said([page["blocks"] for page in pages(review)])

    assert "why " * 900 in text.replace("The agent's reason (unverified) (part 2 of 2)", "")
    assert "javascript:x" in text
    assert "The agent asksWhich supplier?" in said(full_view(a_question(), TOKEN, 1)["blocks"])
