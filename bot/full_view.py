"""Everything a card may have cut, in full and paged, in a modal; joined parts are exactly the visible text."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from seconder.action import Json
from seconder.bot import ids
from seconder.bot.card_blocks import Block, Element, bold, button, line, note, plain, preformatted, rich, words
from seconder.bot.card_request import field_label, title
from seconder.bot.look_alikes import LOOK_ALIKE, look_alike
from seconder.bot.masks import Masker, masker_of
from seconder.bot.subject import subject_of
from seconder.bot.text import chunks, visible
from seconder.bot.values import in_full, in_words
from seconder.review import Review

CHUNK = 2800  # of one preformatted part, below Slack's 3,000 for a text
PAGE_TEXT = 30_000  # characters of a page; escaped and in JSON this stays below Slack's 250 kB for a view
PAGE_BLOCKS = 60  # of 100


@dataclass(frozen=True, slots=True)
class _Part:
    block: Block
    size: int


def full_view(review: Review, token: str, page: int) -> dict[str, Any]:
    """The modal's `page` (from 1; a page that is not there becomes the nearest), with the digest of what is shown."""
    pages = _pages(review)
    page = min(max(page, 1), len(pages))
    where = f"Page {page} of {len(pages)}. " if len(pages) > 1 else ""
    top = [
        rich("title", line(bold(title(review)))),
        note("digest", f"{where}What is decided on has the digest {review.digest}"),
    ]
    blocks = [*top, *(part.block for part in pages[page - 1]), *_turning(page, len(pages))]
    return {
        "type": "modal",
        "callback_id": ids.FULL_VIEW,
        "title": plain("Everything"),
        "close": plain("Close"),
        "private_metadata": json.dumps({"token": token, "page": page}),
        "blocks": blocks,
    }


def page_count(review: Review) -> int:
    """How many pages the full view has."""
    return len(_pages(review))


def _pages(review: Review) -> list[list[_Part]]:
    pages: list[list[_Part]] = [[]]
    room = PAGE_TEXT
    for part in _parts(review):
        if pages[-1] and (part.size > room or len(pages[-1]) == PAGE_BLOCKS):
            pages.append([])
            room = PAGE_TEXT
        pages[-1].append(part)
        room -= part.size
    return pages


def _parts(review: Review) -> Iterator[_Part]:
    for number, (group, label, value) in enumerate(_everything(review, masker_of(review))):
        for index, block in enumerate(_blocks(label, value, f"{group}_{number}")):
            named = {**block, "block_id": f"{group}_{number}_{index}"}
            yield _Part(named, len(json.dumps(named, ensure_ascii=False)))


def _everything(review: Review, masker: Masker) -> Iterator[tuple[str, str, Json]]:
    """(group, label, value) of all that the interrupt says, arguments first; secrets are hidden."""
    interrupt, fields = review.interrupt, subject_of(review).fields
    if interrupt.question is not None:
        yield "question", "The agent asks", masker.text(interrupt.question.prompt)
        for index, option in enumerate(interrupt.question.options, 1):
            yield "option", f"Answer {index}", masker.text(option)
    elif not fields:
        yield "none", "Arguments", {}
    for name, value in fields.items():
        rule = review.verdict.fields.get(name)
        named = f"{rule.label} ({name})" if rule and rule.label and rule.label != name else name
        yield "argument", named, masker.value(value, name)
    for label, said in (("summary", review.action.summary if review.action else None), ("reason", interrupt.reason)):
        if said and said.strip():
            yield label, f"The agent's {label} (unverified)", masker.text(said)
    for item in interrupt.context:
        yield "context", f"Context: {item.label}", masker.text(item.text)
        if item.url:
            yield "link", f"Link: {item.label}", masker.text(item.url)


def _blocks(label: str, value: Json, block_id: str) -> Iterator[Block]:
    heading: list[Element] = [bold(field_label(label))]
    said = in_words(value) if block_id != "none_0" else "no arguments"
    if said is not None:
        yield rich(block_id, line(*heading, words(": "), words(said, "italic")))
        return
    text = in_full(value)
    if look_alike(text):
        heading.append(words(f" ({LOOK_ALIKE})"))
    parts = list(chunks(visible(text), CHUNK))
    for index, part in enumerate(parts, 1):
        more = [words(f" (part {index} of {len(parts)})", "italic")] if len(parts) > 1 else []
        yield rich(block_id, line(*heading, *more), preformatted(part))


def _turning(page: int, pages: int) -> list[Block]:
    row = [
        button(ids.PAGE_PREVIOUS, "Previous page", str(page - 1)) if page > 1 else None,
        button(ids.PAGE_NEXT, "Next page", str(page + 1)) if page < pages else None,
    ]
    turning = [element for element in row if element is not None]
    return [{"type": "actions", "block_id": "turning", "elements": turning}] if turning else []
