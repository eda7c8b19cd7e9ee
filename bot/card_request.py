"""The upper half of a card: who asks for what, why it was stopped, what the agent says, with which arguments."""

import re
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from seconder.action import Json
from seconder.bot.card_blocks import (
    Block,
    Element,
    bold,
    bullets,
    line,
    link,
    mention,
    note,
    person,
    quote,
    rich,
    words,
)
from seconder.bot.card_view import CardView
from seconder.bot.look_alikes import flagged
from seconder.bot.masks import Masker, masker_of
from seconder.bot.subject import subject_of
from seconder.bot.text import one_line, shorten, size
from seconder.bot.values import brief, count, headline, hidden_names
from seconder.decision import Edited, FieldRule
from seconder.review import ContextItem, Kind, Review

# Escaped characters. Together with the lower half of a card they stay under 10,000: Slack refuses a message
# somewhere above 11,000 characters over all blocks, and publishes no number.
NAME = 120  # an agent, a tool, a person, an environment
BECAUSE = 600
SAYS = 900
SAYS_AFTER = 400  # once decided, room is for the decision

LABEL = 80
ARGUMENT = 240
ARGUMENTS = 2600
ARGUMENTS_AFTER = 1200
PROMPT = 1500
CONTEXT_TEXT = 160
LINK = 300
CONTEXT = 1300
CONTEXT_AFTER = 500
MENTIONS = 15
WARNING = 300
UNDECIDABLE = 300

_LINE_SHARE = 8  # list marker, separators
_LINK = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:[/?#][!-~]*)?")
_NOT_IN_LINK = frozenset('\\<>|"`^{}')


def title(review: Review) -> str:
    """The header's text: at most 150."""
    action = review.decision.action if isinstance(review.decision, Edited) else review.action
    if review.interrupt.kind is Kind.QUESTION or action is None:
        return f"Question from {name(review.interrupt.agent.name)}"
    if review.interrupt.kind is Kind.STATE_EDIT:
        return f"Check the state of {name(review.interrupt.agent.name)}"
    return headline(action, masker_of(review))


def who(view: CardView) -> Block:
    """Who asks, for whom, where; and, where known, who can decide."""
    interrupt = view.review.interrupt
    version = f" {name(interrupt.agent.version)}" if interrupt.agent.version else ""
    asks: list[Element] = [bold(name(interrupt.agent.name)), words(f"{version} {_verb(view.review)}")]
    if view.review.action is not None and interrupt.kind is not Kind.STATE_EDIT:
        asks += [words(" "), words(name(view.review.action.tool), "code")]
    asks += [words(" for "), *_requester(view.review)]
    if interrupt.environment:
        asks += [words(" in "), bold(name(interrupt.environment))]
    lines = [line(*asks)]
    if view.review.editor:
        lines.append(line(words("Edited by "), person(view.review.editor), words(": somebody else decides.")))
    if view.live and view.eligible_text_mentions:
        lines.append(line(words("Can decide: "), *_eligible(view.eligible_text_mentions)))
    return rich("who", *lines)


def why(review: Review) -> Block:
    """The rule's sentence, then its name and place, then the agent's own numbers."""
    verdict = review.verdict
    elements = [
        bold("Why it was stopped: "),
        words(shorten(verdict.because, BECAUSE) or "no sentence given"),
        words(f"\nRule {name(verdict.rule)} ({name(verdict.source)})", "italic"),
    ]
    numbers = [(review.interrupt.risk, "risk"), (review.interrupt.confidence, "confidence")]
    said = ", ".join(f"{what} {value:g}" for value, what in numbers if value is not None)
    if said:
        elements.append(words(f"\nThe agent's own numbers: {said}", "italic"))
    return rich("why", line(*elements))


def says(view: CardView) -> Block:
    """The agent's summary and reason, marked as nobody's but the agent's."""
    review, masker = view.review, masker_of(view.review)
    summary = review.action.summary if review.action else None
    parts = [part for part in (summary, review.interrupt.reason) if part and part.strip()]
    if not parts:
        return rich("says", line(words("The agent gives no reason.", "italic")))
    text = shorten(masker.text("\n".join(parts)), SAYS if view.live else SAYS_AFTER, view.more, lines=True)
    return rich("says", line(bold("The agent says (unverified):")), quote(flagged(text)))


def prompt(view: CardView) -> Block:
    """A question's words, and its options."""
    question, masker = view.review.interrupt.question, masker_of(view.review)
    text = masker.text(question.prompt) if question else ""
    parts = [line(bold("The agent asks:")), quote(shorten(text, PROMPT, view.more, lines=True) or "(no question)")]
    if question and question.options:
        options = (line(words(brief(masker.text(option), ARGUMENT, view.more).text)) for option in question.options)
        parts += [line(bold("Answers to choose from")), _list_of(options, len(question.options), "answer", view)]
    return rich("prompt", *parts)


def arguments(view: CardView) -> list[Block]:
    """Every argument on a line of its own, as `subject_of` orders them, and a warning of characters not to be seen."""
    review, masker = view.review, masker_of(view.review)
    fields = subject_of(review).fields
    label = "State" if review.interrupt.kind is Kind.STATE_EDIT else "Arguments"
    label += " before the edit" if isinstance(review.decision, Edited) else ""
    if not fields:
        return [rich("arguments", line(bold(f"{label}: "), words("no arguments", "italic")))]
    rules = review.verdict.fields
    lines = (_argument(key, value, rules.get(key), masker, view.more) for key, value in fields.items())
    blocks = [rich("arguments", line(bold(label)), _list_of(lines, len(fields), "argument", view))]
    unseen = hidden_names(fields)
    if unseen:
        names = shorten(", ".join(unseen), WARNING // 2)
        blocks.append(note("unseen", f"⚠ Characters that cannot be seen are written out as ⟨U+…⟩ in: {names}"))
    return blocks


def context(view: CardView) -> list[Block]:
    """Facts, messages and links that came with the interrupt."""
    items = view.review.interrupt.context
    if not items:
        return []
    masker = masker_of(view.review)
    lines = (line(*_context_item(item, masker, view.more)) for item in items)
    return [
        rich(
            "context",
            line(bold("Context")),
            _list_of(lines, len(items), "fact", view, CONTEXT if view.live else CONTEXT_AFTER),
        )
    ]


def undecidable(review: Review) -> list[Block]:
    """The sentence why nobody can approve it, if so."""
    if not review.undecidable:
        return []
    sentence = shorten(review.undecidable, UNDECIDABLE)
    return [rich("undecidable", line(bold("⚠ Nobody can approve this: "), words(sentence)))]


def name(text: str) -> str:
    """A short name on one line, in words where it is blank."""
    return flagged(shorten(text, NAME - len(" (⚠ look-alike letters)"))) if text.strip() else "(no name)"


def safe_link(url: str) -> str | None:
    """The host that `url` leads to, if it can be shown as a link at all."""
    if not _LINK.fullmatch(url) or _NOT_IN_LINK & set(url) or size(url) > LINK:
        return None
    return urlsplit(url).hostname or None


def context_line(item: ContextItem, masker: Masker, limit: int, more: str) -> tuple[str, str, str | None]:
    """Label, text and, where the link is none that can be pressed, the link as text."""
    unsafe = item.url if item.url and safe_link(item.url) is None else ""
    text = " ".join(part for part in (masker.text(item.text), masker.text(unsafe)) if part.strip())
    shown = flagged(shorten(text, limit, more)) if text.strip() else ""
    return name(item.label), shown, item.url if item.url and safe_link(item.url) else None


def _context_item(item: ContextItem, masker: Masker, more: str) -> list[Element]:
    label, text, url = context_line(item, masker, CONTEXT_TEXT, more)
    elements = [bold(label), words(": "), words(text)] if text else [bold(label), words(": ")]
    if url and (host := safe_link(url)):
        elements += [words(" "), link(url, flagged(one_line(host)))]
    return elements if len(elements) > 2 else [*elements, words("empty text", "italic")]  # noqa: PLR2004


def _argument(key: str, value: Json, rule: FieldRule | None, masker: Masker, more: str) -> Element:
    label = rule.label if rule and rule.label else key
    shown = brief(masker.value(value, key), ARGUMENT, more)
    text = words(shown.text, "italic") if shown.words else words(shown.text)
    return line(bold(field_label(label)), words(": "), text)


def field_label(label: str) -> str:
    """An argument's label on one line."""
    return flagged(shorten(label, LABEL)) if label.strip() else "(no name)"


def _list_of(lines: Iterable[Element], total: int, noun: str, view: CardView, room: int | None = None) -> Element:
    budget = room or (ARGUMENTS if view.live else ARGUMENTS_AFTER)
    shown: list[Element] = []
    for item in lines:
        budget -= _size_of(item)
        if budget < 0 and shown:
            shown.append(line(words(f"and {count(total - len(shown), f'more {noun}')}{view.more}", "italic")))
            break
        shown.append(item)
    return bullets(shown)


def _size_of(item: Element) -> int:
    return _LINE_SHARE + sum(size(part.get("text", "")) + size(part.get("url", "")) for part in item["elements"])


def _verb(review: Review) -> str:
    match review.interrupt.kind:
        case Kind.TOOL_CALL:
            return "asks to run"
        case Kind.APPROVAL:
            return "asks for approval of"
        case Kind.STATE_EDIT:
            return "asks for its state to be checked"
        case Kind.QUESTION:
            return "has a question"


def _requester(review: Review) -> list[Element]:
    if review.requester_user:
        return [person(review.requester_user)]
    requester = review.interrupt.requester
    said = (requester.name or requester.email or requester.slack_user) if requester else None
    return [words(f"{name(said)} (not verified)")] if said else [words("nobody in particular")]


def _eligible(idents: tuple[str, ...]) -> Iterator[Element]:
    for index, ident in enumerate(idents[:MENTIONS]):
        if index:
            yield words(", ")
        yield mention(ident)
    if len(idents) > MENTIONS:
        yield words(f" and {len(idents) - MENTIONS:,} more")
