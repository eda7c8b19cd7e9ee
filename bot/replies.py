"""Every error in one sentence for the person who pressed; mrkdwn, with whatever is not ours escaped."""

import re
from datetime import datetime

from seconder.bot.card_blocks import utc
from seconder.bot.card_result import state_words
from seconder.bot.text import escape, one_line, shorten
from seconder.bot.values import duration
from seconder.decision import Source
from seconder.errors import (
    AlreadyVoted,
    DeadlinePassed,
    IllegalTransition,
    InvalidInput,
    KeyMissing,
    MustOpen,
    NotEligible,
    NotFound,
    SeconderError,
    StaleFacts,
    Superseded,
    TooLarge,
    UnboundCard,
    Unreachable,
)
from seconder.review import Review, Status

_SENTENCE = 1000
_USER = re.compile(r"[UW][A-Z0-9]{1,40}")


_SENTENCES: tuple[tuple[type[SeconderError], str], ...] = (
    (Superseded, "This card is out of date: a newer card shows what is asked now. Please decide there."),
    (MustOpen, "Please press *View all* first: this rule wants everything read before Approve works."),
    (StaleFacts, "Slack did not say in time who may decide. Nothing was decided; please press again."),
    (UnboundCard, "This button belongs to no open request here. Nothing was decided; please use the newest card."),
    (NotFound, "This button belongs to no open request here. Nothing was decided; please use the newest card."),
    (KeyMissing, "What is asked cannot be read: a key is missing. Nothing was decided; please tell an admin."),
    (Unreachable, "The server did not answer. Please look at the card before you press again."),
)


def reply(error: SeconderError, *, review: Review | None, now: datetime) -> str:
    """What to tell, in private, somebody whose press did nothing."""
    match error:
        case IllegalTransition() | DeadlinePassed() if review is not None and review.status is not Status.PENDING:
            said = lost_race(review, now)
        case DeadlinePassed():
            said = f"Too late: the deadline passed {duration(now - error.deadline)} ago. Your press decided nothing."
        case IllegalTransition():
            said = f"This is {_ours(error.status)} already. Your press changed nothing."
        case NotEligible():
            said = f"{_ours(error.reason)}{_who_can(error.reason, review)}"
        case AlreadyVoted():
            said = f"Your approval is counted already. {_missing(review)}"
        case InvalidInput() | TooLarge():
            said = f"Not accepted: {_ours(str(error))}"
        case _:
            other = f"Nothing was decided: {_ours(str(error) or 'please press again')}"
            said = next((sentence for kind, sentence in _SENTENCES if isinstance(error, kind)), other)
    return said


def lost_race(review: Review, now: datetime) -> str:
    """Who decided before, what, and how long ago."""
    decision = review.decision
    if review.status is Status.EXPIRED:
        return f"Too late: this expired at {utc(review.deadline)} and was not run. Your press changed nothing."
    if review.status is Status.PENDING:
        return "This is still open. Please press again."
    if decision is None:
        return f"This is {review.status.value} already. Your press changed nothing."
    ago = duration(now - (review.decided_at or decision.at))
    by = {
        Source.PERSON: " and ".join(_who(user) for user in decision.by),
        Source.CLOCK: "the clock",
        Source.POLICY: "the policy",
    }
    what = state_words(review).lower()
    return f"Already decided: {what} by {by[decision.source] or 'somebody'} {ago} ago. Your press changed nothing."


def _who(user: str) -> str:
    return f"<@{user}>" if _USER.fullmatch(user) else _ours(user)


def _who_can(reason: str, review: Review | None) -> str:
    roles = review.verdict.route.roles if review and review.verdict.route else ()
    if not roles or any(role in reason for role in roles):
        return ""
    return f" Those in {_ours(' or '.join(roles))} can decide."


def _missing(review: Review | None) -> str:
    if review is None or review.verdict.route is None:
        return "Others still have to approve."
    voted = len({vote.person for vote in review.votes if vote.digest == review.digest})
    return f"{voted} of {review.verdict.route.approvals} approvals so far; others still have to approve."


def _ours(text: str) -> str:
    return escape(shorten(one_line(text), _SENTENCE))
