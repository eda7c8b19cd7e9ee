"""A review in words, for the command line."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from seconder.action import Json
from seconder.bot.masks import masker_of
from seconder.cli.show import ago, when
from seconder.decision import Edited, kind_of
from seconder.review import Review, Status

DEFAULTS = {"expire": "expires", "reject": "is rejected", "allow": "is allowed"}  # what happens at the deadline
# what is told of the trail's payloads
TOLD = ("kind", "status", "outcome", "by", "people", "why", "reason", "channel", "worker", "error")
NAMING = {"by": "by", "people": "of"}  # what of it names people, and the word before the names


def row(review: Review, names: dict[str, str], now: datetime) -> tuple[object, ...]:
    """Id, status, what, agent, when it was asked, and what became of it."""
    return (
        review.id,
        review.status.value,
        what(review),
        review.interrupt.agent.name,
        when(review.created_at, now),
        since(review, names, now),
    )


def what(review: Review) -> str:
    """The tool, or the beginning of the question."""
    if review.interrupt.question is not None:
        return f"asks: {review.interrupt.question.prompt[:60]}"
    return "" if review.action is None else review.action.tool


def since(review: Review, names: dict[str, str], now: datetime) -> str:
    """What became of it, or what is awaited."""
    route = review.verdict.route
    match review.status:
        case Status.PENDING if review.undecidable:
            return "nobody can approve it"
        case Status.PENDING:
            votes = sum(vote.digest == review.digest for vote in review.votes)
            needed = "" if route is None or route.approvals == 1 else f"{votes} of {route.approvals} approvals, "
            channel = "" if route is None else f"asked in {route.channel}, "
            delivery = "not delivered, " if review.delivery.value == "undelivered" else ""
            return f"{delivery}{channel}{needed}{_default(review)} {ago(review.deadline, now)}"
        case Status.DECIDED if review.decision is not None:
            by = ", ".join(names.get(person, person) for person in review.decision.by)
            outcome = "" if review.outcome is None else f", {review.outcome.status.value}"
            return f"{kind_of(review.decision).replace('_', ' ')} by {by or review.decision.source.value}{outcome}"
        case Status.ALLOWED | Status.DENIED:
            outcome = "" if review.outcome is None else f", {review.outcome.status.value}"
            return f"rule “{review.verdict.rule}”{outcome}"
        case _:
            return ""


def described(review: Review, names: dict[str, str], now: datetime) -> Iterator[tuple[str, object]]:
    """Labels and values of what stands before the arguments."""
    yield "review", review.id
    yield "status", f"{review.status.value}: {since(review, names, now)}".rstrip(": ")
    yield "agent", review.interrupt.agent.name
    yield "what", what(review)


def details(review: Review, now: datetime) -> Iterator[tuple[str, object]]:
    """Labels and values of what stands behind the arguments."""
    hide, interrupt = masker_of(review), review.interrupt
    yield "why stopped", f"{review.verdict.because} (rule “{review.verdict.rule}”, {review.verdict.source})"
    yield "agent's reason", hide.text(interrupt.reason or "")
    yield "asked", when(review.created_at, now)
    if review.status is Status.PENDING:
        yield "deadline", f"{when(review.deadline, now)}, then it {_default(review)}"
    yield "decided", when(review.decided_at, now)
    yield "session", interrupt.session
    yield "environment", interrupt.environment
    yield "digest", review.digest
    yield "pause", review.pause_id


def arguments(review: Review) -> Iterator[tuple[str, object]]:
    """The arguments by their names, with what they were edited to; secrets are masked as on the card."""
    if review.action is None:
        return
    hide, shown = masker_of(review), review.action.arguments
    edited = review.decision.action.arguments if isinstance(review.decision, Edited) else shown
    for name in {**shown, **edited}:
        before, after = hide.value(shown.get(name), name), hide.value(edited.get(name), name)
        yield name, before if shown.get(name) == edited.get(name) else f"{before} → {after}"


def happened(review: Review, payload: Json, names: dict[str, str]) -> str:
    """What an entry of the trail says beside its kind; secrets are masked."""
    if not isinstance(payload, dict):
        return "its content was purged"
    hide, said = masker_of(review), []
    for name in TOLD:
        value = payload.get(name)
        if name in NAMING and value:
            people = value if isinstance(value, list) else [value]
            said.append(f"{NAMING[name]} {', '.join(names.get(person, str(person)) for person in people)}")
        elif value:
            said.append(hide.text(str(value)))
    return ", ".join(said)


def actors(payloads: Iterable[Json]) -> set[str]:
    """Slack ids of everybody whom these entries of the trail name."""
    found: set[str] = set()
    for payload in payloads:
        for name in NAMING:
            people = payload.get(name) if isinstance(payload, dict) else None
            found |= {people} if isinstance(people, str) else {*(people or ())}
    return found


def deciders(reviews: Iterable[Review]) -> set[str]:
    """Slack ids of everybody who took part in these decisions."""
    return {person for review in reviews if review.decision is not None for person in review.decision.by}


def _default(review: Review) -> str:
    return DEFAULTS.get(review.deadline_default, review.deadline_default)
