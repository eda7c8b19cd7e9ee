"""The lower half of a card: until when and how far while it is open; what was decided, and what came of it, after."""

from seconder.action import Json
from seconder.bot import ids
from seconder.bot.card_blocks import (
    Block,
    Element,
    actions,
    bold,
    bullets,
    button,
    line,
    moment,
    note,
    people,
    quote,
    rich,
    words,
)
from seconder.bot.card_request import field_label, name
from seconder.bot.card_view import CardView
from seconder.bot.diff import Change, changes, shown
from seconder.bot.masks import Masker, masker_of
from seconder.bot.subject import subject_of
from seconder.bot.text import shorten, size
from seconder.bot.values import brief, count, duration, turns
from seconder.decision import (
    Answered,
    Approved,
    Decision,
    Edited,
    Edits,
    Escalate,
    Rejected,
    Rung,
    Source,
    TakenOver,
)
from seconder.review import Kind, Outcome, OutcomeStatus, Pause, PauseOutcome, PauseState, Review, Status

REASON = 700
RESULT = 500
CHANGE = 200  # old, and again new
CHANGES = 1400
VOTERS = 10

_DEFAULTS = {
    "reject": "After that it is rejected.",
    "expire": "After that it expires and does not run.",
    "allow": "After that it is approved without anybody.",
}
_MARKS = {
    Approved: "✅ Approved",
    Edited: "✅ Approved with edits",
    Rejected: "⛔ Rejected",
    Answered: "💬 Answered",
    TakenOver: "✋ Done by hand",
}
_SAME_WORD = {"approved": "approve", "edited": "edit", "rejected": "reject", "answered": "answer"}


def waiting(view: CardView) -> Block:
    """The deadline and what happens then, the next place it goes to, and the approvals so far."""
    review = view.review
    elements = [bold("Decide by "), moment(review.deadline), words(f". {_DEFAULTS.get(review.deadline_default, '')}")]
    rung = next_escalation(review)
    if rung is not None and isinstance(rung.step, Escalate):
        elements += [words("\nUnanswered, it goes to "), words(name(rung.step.route.channel)), words(": ")]
        elements += [moment(review.created_at + rung.after), words(".")]
    voters = sorted({vote.person for vote in review.votes if vote.digest == review.digest})
    needed = review.verdict.route.approvals if review.verdict.route else 1
    if needed > 1 or voters:
        elements += [words("\n"), bold(f"{len(voters)} of {count(needed, 'approval')}")]
        elements += [words(" ("), *people(voters[:VOTERS]), words(")")] if voters else []
    return rich("waiting", line(*elements))


def next_escalation(review: Review) -> Rung | None:
    """The next rung that reposts the review elsewhere before its deadline, if there is one."""
    ahead = review.verdict.ladder[review.rung :]
    due = [rung for rung in ahead if isinstance(rung.step, Escalate)]
    return due[0] if due and review.created_at + due[0].after < review.deadline else None


def stop(view: CardView) -> list[Block]:
    """Which call of the same stop this is."""
    total = len(view.siblings) + 1
    if total == 1:
        return []
    order = [review.id for review in view.pause.reviews] if view.pause else []
    which = f"Call {order.index(view.review.id) + 1}" if view.review.id in order else "One"
    still = sum(review.status is Status.PENDING for review in view.siblings)
    others = (
        f"{still} of the others {'is' if still == 1 else 'are'} still open." if still else "All others are settled."
    )
    return [note("stop", f"{which} of {total} calls in this stop; the run goes on when all are settled. {others}")]


def buttons(view: CardView) -> list[Block]:
    """The buttons that the kind and the interrupt allow, and what Approve waits for."""
    review, token = view.review, view.token
    question = review.interrupt.kind is Kind.QUESTION
    row = [
        button(ids.APPROVE, "Approve", token, "primary") if not question and allows(review, "approve") else None,
        button(ids.ANSWER, "Answer…", token, "primary") if question and allows(review, "answer") else None,
        button(ids.EDIT, "Edit…", token) if can_edit(review) else None,
        button(ids.REJECT, "Reject…", token, "danger") if allows(review, "reject") else None,
        button(ids.VIEW_ALL, "View all", token),
    ]
    blocks = [actions(*(element for element in row if element is not None))]
    if review.verdict.must_open and not question:
        blocks.append(note("must_open", "Approve works after you have opened View all."))
    return blocks


def allows(review: Review, decision: str) -> bool:
    """True if the interrupt allows `decision`: approve, edit, reject or answer; without a list all are allowed."""
    said = {word.lower() for word in review.interrupt.allowed_decisions}
    return not said or decision in {_SAME_WORD.get(word, word) for word in said}


def can_edit(review: Review) -> bool:
    """True if the arguments may be edited at all."""
    if review.action is None or review.interrupt.kind is Kind.QUESTION:
        return False
    return review.verdict.edits is not Edits.FORBIDDEN and allows(review, "edit")


def settled(view: CardView) -> list[Block]:
    """What became of the review: the verdict first, then edits, reason, the call, the run."""
    review, masker = view.review, masker_of(view.review)
    if view.moved_to is not None and review.status is Status.PENDING:
        where = shorten(view.moved_to, 100)
        return [rich("moved", line(bold(f"➡ Moved to {where}"), words(": nobody decided here in time. Decide there.")))]
    blocks = [rich("verdict", line(*_verdict(review)), *_said(review.decision, masker))]
    if isinstance(review.decision, Edited):
        blocks.append(_diff(review, review.decision, masker))
    if review.outcome is not None:
        blocks.append(rich("outcome", *_outcome(review.outcome, masker)))
    after = _run(view.pause, masker) if view.pause else _fetched(review)
    return [*blocks, rich("run", *after)] if after else blocks


def state_words(review: Review) -> str:
    """The state in two or three words: "Approved", "Expired", "Waiting for a decision"."""
    match review.status:
        case Status.DECIDED if review.decision is not None:
            return _MARKS[type(review.decision)].split(" ", 1)[1]
        case Status.PENDING:
            return "Waiting for a decision"
        case other:
            return other.value.capitalize()


def _verdict(review: Review) -> list[Element]:
    decision = review.decision
    match review.status:
        case Status.EXPIRED:
            return [bold("⌛ Expired"), words(": nobody decided before "), moment(review.deadline), words(". Not run.")]
        case Status.CANCELLED:
            return [bold("✖ Cancelled"), words(": taken back before anybody decided. Not run.")]
        case Status.ALLOWED:
            return [bold("✅ Allowed"), words(" by the policy.")]
        case Status.DENIED:
            return [bold("⛔ Denied"), words(" by the policy. Not run.")]
        case Status.PENDING | Status.DECIDED if decision is None:
            return [bold(state_words(review))]
        case Status.PENDING | Status.DECIDED:
            return _decided(review, decision)


def _decided(review: Review, decision: Decision) -> list[Element]:
    if decision.source is Source.CLOCK:
        return [bold(_MARKS[type(decision)]), words(" by the clock: nobody decided before the deadline.")]
    if decision.source is Source.POLICY or not decision.by:
        return [bold(_MARKS[type(decision)]), words(" by the policy.")]
    span = duration((review.decided_at or decision.at) - review.created_at)
    return [bold(_MARKS[type(decision)]), words(" by "), *people(decision.by[:VOTERS]), words(f" after {span}")]


def _said(decision: Decision | None, masker: Masker) -> list[Element]:
    match decision:
        case Rejected(reason=text) if text.strip():
            return [line(bold("Reason")), quote(shorten(masker.text(text), REASON, lines=True))]
        case Answered(answer=answer):
            return [line(bold("Answer")), quote(_excerpt(answer, masker))]
        case TakenOver(result=text) if text.strip():
            return [line(bold("Result")), quote(shorten(masker.text(text), REASON, lines=True))]
        case _:
            return []


def _diff(review: Review, decision: Edited, masker: Masker) -> Block:
    subject = subject_of(review)
    found = list(changes(subject.fields, subject.of(decision.action)))
    if not found:
        return rich("changes", line(words("Nothing was changed.", "italic")))
    lines: list[Element] = []
    room = CHANGES
    for change in found:
        lines.append(_change(change, review, masker))
        room -= sum(size(part["text"]) for part in lines[-1]["elements"])
        if room < 0 and len(lines) < len(found):
            lines[-1] = line(words(f"and {count(len(found) - len(lines) + 1, 'more change')}", "italic"))
            break
    return rich("changes", line(bold("Changed")), bullets(lines))


def _change(change: Change, review: Review, masker: Masker) -> Element:
    rule = review.verdict.fields.get(change.path)
    label = bold(field_label(rule.label if rule and rule.label else change.path))
    old, new = shown(change, masker, CHANGE)
    if turns(old, new):  # on one line the two would stand in the other order
        return line(label, words(":\nwas "), words(old), words("\nnow "), words(new))
    return line(label, words(": "), words(old), words(" → "), words(new, "bold"))


def _outcome(outcome: Outcome, masker: Masker) -> list[Element]:
    match outcome.status:
        case OutcomeStatus.SUCCEEDED:
            return _with_excerpt("The call succeeded", outcome.result, masker)
        case OutcomeStatus.FAILED:
            return _with_excerpt("⚠ The call failed", outcome.error, masker)
        case OutcomeStatus.UNCERTAIN:
            return [line(bold("⚠ Nobody knows whether the call ran: "), words("it began and never reported its end."))]


def _run(pause: Pause, masker: Masker) -> list[Element]:
    match pause.outcome:
        case PauseOutcome.FINISHED:
            return _with_excerpt("The run finished", pause.final_output, masker)
        case PauseOutcome.PAUSED_AGAIN:
            return [line(bold("The run went on and paused again."))]
        case PauseOutcome.FAILED:
            return _with_excerpt("⚠ The run failed", pause.error, masker)
        case None:
            return _resuming(pause)


def _resuming(pause: Pause) -> list[Element]:
    match pause.state:
        case PauseState.WAITING:
            return [line(words("The run waits for the other calls of this stop.", "italic"))]
        case PauseState.READY | PauseState.LEASED:
            return [line(words("The run goes on now.", "italic"))]
        case PauseState.FINISHED:
            return []


def _fetched(review: Review) -> list[Element]:
    if review.outcome is not None or not isinstance(review.decision, Approved | Edited):
        return []
    return [
        line(words("The agent runs it now." if review.consumed else "The agent has not picked it up yet.", "italic"))
    ]


def _with_excerpt(sentence: str, value: Json, masker: Masker) -> list[Element]:
    if value is None:
        return [line(bold(f"{sentence}."))]
    return [line(bold(f"{sentence}:")), quote(_excerpt(value, masker))]


def _excerpt(value: Json, masker: Masker) -> str:
    masked = masker.value(value)
    if isinstance(masked, str) and masked.strip():
        return shorten(masked, RESULT, lines=True)
    return brief(masked, RESULT).text
