"""The three forms: arguments to edit, a reason to reject, an answer to a question; and what was filled in."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from seconder.action import Json
from seconder.bot import ids
from seconder.bot.card_blocks import Block, Element, bold, bullets, line, plain, quote, rich, words
from seconder.bot.card_request import field_label
from seconder.bot.diff import ABSENT, same
from seconder.bot.form_fields import field_of, plan
from seconder.bot.form_inputs import MAX_TEXT, Input, Unreadable, choice_of, text_of
from seconder.bot.form_options import MAX_OPTIONS, options
from seconder.bot.look_alikes import flagged
from seconder.bot.masks import masker_of
from seconder.bot.schemas import violations
from seconder.bot.subject import Subject, subject_of
from seconder.bot.text import shorten, size
from seconder.bot.values import brief, count
from seconder.review import Question, Review

MAX_RADIO = 10  # Slack's limit for radio buttons
MAX_MESSAGE = 150  # of an error under a field
MAX_ERRORS = 20  # fields that are told; the last one says how many more
PROMPT = 2500
KEPT = 200  # one line about a field that stays
KEPT_ALL = 2500

_ANSWER = "answer"
_OPTION_VALUE = 150  # Slack's limit


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments to run; equal to the old ones if nothing was changed."""

    new: dict[str, Json]


@dataclass(frozen=True, slots=True)
class FieldErrors:
    """What is wrong, by block_id, as Slack shows it under the fields."""

    errors: dict[str, str]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question: text, one of the options, or what the answer schema accepts."""

    value: Json


FormResult: TypeAlias = Arguments | FieldErrors


def edit_form(review: Review, token: str) -> dict[str, Any]:
    """The modal with every argument that can be edited, prefilled, and a list of those that stay as they are."""
    planned = _edit_plan(review, subject_of(review))
    blocks = [item.block for item in planned if item.element is not None]
    notes = _kept(planned, review)
    if not blocks:
        return _view(
            ids.EDIT_FORM, "Edit", token, [rich("nothing", line(words("Nothing can be edited here."))), *notes]
        )
    return _view(ids.EDIT_FORM, "Edit", token, [*blocks, *notes], submit="Approve with edits")


def read_edit_form(review: Review, view_state_values: Mapping[str, Any]) -> FormResult:
    """The arguments after the edit, checked against the action's schema, or what is wrong with them."""
    subject = subject_of(review)
    planned = _edit_plan(review, subject)
    fields, errors = _read(planned, view_state_values)
    if not errors:
        changed = {item.name for item in planned if not _unchanged(item, fields)}
        found = violations(fields, subject.schema, before=subject.fields, changed=changed) if changed else []
        errors = _named(planned, found)
    return FieldErrors(_limited(errors)) if errors else Arguments(subject.arguments(fields))


def reject_form(review: Review, token: str) -> dict[str, Any]:
    """The modal that asks for a reason; the rule's named reasons can stand for it or beside it."""
    named = [reason for reason in review.verdict.reject_reasons if reason.strip()][:MAX_OPTIONS]
    box: Element = {"type": "plain_text_input", "multiline": True, "max_length": MAX_TEXT}
    blocks = [_input(ids.REASON, "Reason", box, optional=bool(named))]
    if named:
        choices = [
            {**option, "value": shorten(reason, _OPTION_VALUE)}
            for option, reason in zip(options(named), named, strict=True)
        ]
        blocks.insert(
            0, _input(ids.NAMED_REASON, "Named reason", {"type": "static_select", "options": choices}, optional=True)
        )
    return _view(ids.REJECT_FORM, "Reject", token, blocks, submit="Reject")


def read_reject(values: Mapping[str, Any]) -> str | FieldErrors:
    """The reason: the named one, the written one, or "named: written"."""
    named = choice_of(_held(values, ids.NAMED_REASON)) or ""
    written = (text_of(_held(values, ids.REASON)) or "").strip()
    reason = ": ".join(part for part in (named, written) if part)
    return reason or FieldErrors({ids.REASON: "Say why: the agent acts on it."})


def answer_form(review: Review, token: str) -> dict[str, Any]:
    """The modal with the question and fields for its kind of answer."""
    question = _question(review)
    asked = shorten(masker_of(review).text(question.prompt), PROMPT, ": View all", lines=True)
    blocks = [rich("prompt", quote(flagged(asked) or "(no question)"))]
    planned = _answer_plan(review, question)
    blocks += [item.block for item in planned if item.element is not None] if planned else [_answer_input(question)]
    return _view(ids.ANSWER_FORM, "Answer", token, blocks, submit="Send answer")


def read_answer(review: Review, values: Mapping[str, Any]) -> Answer | FieldErrors:
    """The answer, checked against the options or the answer schema, or what is wrong with it."""
    question = _question(review)
    planned = _answer_plan(review, question)
    if not planned:
        return _read_plain(question, values)
    fields, errors = _read(planned, values)
    if not errors:
        errors = _named(planned, violations(fields, _answer_schema(question), before=None, changed=set(fields)))
    if errors:
        return FieldErrors(_limited(errors))
    return Answer(fields if _is_object(question) else fields.get(_ANSWER))


def _edit_plan(review: Review, subject: Subject) -> list[Input]:
    return plan(subject.fields, subject.schema, review.verdict.fields, masker_of(review))


def _read(planned: Sequence[Input], values: Mapping[str, Any]) -> tuple[dict[str, Json], dict[str, str]]:
    fields: dict[str, Json] = {}
    errors: dict[str, str] = {}
    for item in planned:
        try:
            value = field_of(values, item)
        except Unreadable as error:
            errors[item.block_id] = str(error)
            continue
        if value is not ABSENT:
            fields[item.name] = value
    return fields, errors


def _unchanged(item: Input, fields: Mapping[str, Json]) -> bool:
    return same(item.value, fields.get(item.name, ABSENT))


def _named(planned: Sequence[Input], found: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Sentences by block_id; what belongs to no input stands under the first one, with its name."""
    blocks = {item.name: item.block_id for item in planned if item.element is not None}
    first = next(iter(blocks.values()), ids.REASON)
    errors: dict[str, str] = {}
    for name, sentence in found:
        told = sentence if name in blocks else f"{field_label(name)}: {sentence}" if name else sentence
        errors.setdefault(blocks.get(name, first), told)
    return errors


def _limited(errors: dict[str, str]) -> dict[str, str]:
    told = {block_id: shorten(sentence, MAX_MESSAGE - 40) for block_id, sentence in list(errors.items())[:MAX_ERRORS]}
    if len(errors) > MAX_ERRORS:
        last = next(reversed(told))
        told[last] += f" And {len(errors) - MAX_ERRORS:,} more fields are wrong."
    return told


def _kept(planned: Sequence[Input], review: Review) -> list[Block]:
    masker, room = masker_of(review), KEPT_ALL
    staying = [item for item in planned if item.element is None]
    lines: list[Element] = []
    for item in staying:
        shown = "" if item.value is ABSENT else f" ({brief(masker.value(item.value, item.name), KEPT // 2).text})"
        lines.append(line(bold(item.label), words(f" {item.kept}{shown}")))
        room -= sum(size(part["text"]) for part in lines[-1]["elements"])
        if room < 0 and len(lines) < len(staying):
            rest = count(len(staying) - len(lines) + 1, "more argument")
            lines[-1] = line(words(f"and {rest}, unchanged", "italic"))
            break
    return [rich("kept", line(bold("Not in this form")), bullets(lines))] if lines else []


def _question(review: Review) -> Question:
    return review.interrupt.question or Question(prompt="")


def _is_object(question: Question) -> bool:
    schema = question.answer_schema or {}
    return schema.get("type") == "object" and bool(schema.get("properties"))


def _answer_schema(question: Question) -> Mapping[str, Json]:
    schema = question.answer_schema or {}
    if _is_object(question):
        return schema
    definitions = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    return {"properties": {_ANSWER: schema}, "required": [_ANSWER], **definitions}


def _answer_plan(review: Review, question: Question) -> list[Input]:
    if not question.answer_schema or question.options:
        return []
    rules = review.verdict.fields
    return plan({}, _answer_schema(question), rules, masker_of(review), ask_required=True)


def _answer_input(question: Question) -> Block:
    box: Element = {"type": "plain_text_input", "multiline": not question.options, "max_length": MAX_TEXT}
    if not question.options:
        return _input(ids.VALUE, "Answer", box)
    if len(question.options) > MAX_OPTIONS:
        hint = f"Write one of the {len(question.options):,} answers exactly; that many cannot be listed here."
        return {**_input(ids.VALUE, "Answer", box), "hint": plain(hint)}
    kind = "radio_buttons" if len(question.options) <= MAX_RADIO else "static_select"
    return _input(ids.VALUE, "Answer", {"type": kind, "options": options(list(question.options))})


def _read_plain(question: Question, values: Mapping[str, Any]) -> Answer | FieldErrors:
    held = _held(values, ids.VALUE)
    typed, chosen = text_of(held) or "", choice_of(held) or ""
    if not question.options:
        return Answer(typed) if typed.strip() else FieldErrors({ids.VALUE: "Write an answer."})
    if chosen.isdecimal() and int(chosen) < len(question.options):
        return Answer(question.options[int(chosen)])
    if typed in question.options:
        return Answer(typed)
    return FieldErrors({ids.VALUE: "Choose one of the answers."})


def _held(values: Any, block_id: str) -> Mapping[str, Any]:
    block = values.get(block_id) if isinstance(values, Mapping) else None
    held = block.get(ids.VALUE) if isinstance(block, Mapping) else None
    return held if isinstance(held, Mapping) else {}


def _input(block_id: str, label: str, element: Element, *, optional: bool = False) -> Block:
    element = {**element, "action_id": ids.VALUE}
    return {"type": "input", "block_id": block_id, "label": plain(label), "element": element, "optional": optional}


def _view(callback: str, title: str, token: str, blocks: list[Block], submit: str | None = None) -> dict[str, Any]:
    view: dict[str, Any] = {
        "type": "modal",
        "callback_id": callback,
        "title": plain(title),
        "close": plain("Cancel"),
        "private_metadata": json.dumps({"token": token, "page": 1}),
        "blocks": blocks,
    }
    return {**view, "submit": plain(submit)} if submit else view
