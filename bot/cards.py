"""A review as a Slack message: with buttons while somebody is asked, with what happened afterwards.

All text of a card together stays under 10,000 characters and 50 blocks, whatever the agent sends.
Text that is not ours goes into rich_text and plain_text only, where Slack reads no markup.
"""

from seconder.bot import card_request as request
from seconder.bot import card_result as result
from seconder.bot.card_blocks import bold, header, line, mention, moment, rich, utc, words
from seconder.bot.card_view import CardView, Message
from seconder.bot.text import escape, shorten
from seconder.review import Kind

__all__ = ["CardView", "Message", "card", "escalated_note", "minimal_card", "reminder"]

FALLBACK_NAME = 100


def card(view: CardView) -> Message:
    """The whole card; live (with buttons) exactly when the review is pending and was not moved."""
    review = view.review
    top = [header(request.title(review))]
    asked = [request.why(review), request.says(view)]
    if review.interrupt.kind is Kind.QUESTION:
        body = [request.who(view), request.prompt(view), *asked, *request.context(view)]
    else:
        body = [request.who(view), *asked, *request.arguments(view), *request.context(view)]
    if not view.live:
        return Message(_fallback(view), [*top, *result.settled(view), *body])
    end = [result.waiting(view), *result.stop(view), *result.buttons(view)]
    return Message(_fallback(view), [*top, *request.undecidable(review), *body, *end])


def minimal_card(view: CardView) -> Message:
    """The card for when Slack refuses the whole one: the title, the state and the same buttons."""
    said = words("Slack refused the whole card. " + ("Open View all before you decide." if view.live else ""))
    end = [result.waiting(view), *result.buttons(view)] if view.live else result.settled(view)[:1]
    return Message(_fallback(view), [header(request.title(view.review)), rich("minimal", line(said)), *end])


def reminder(view: CardView) -> Message:
    """The reply in the card's thread that calls the people again."""
    title = request.title(view.review)
    called = [
        part for ident in view.eligible_text_mentions[: request.MENTIONS] for part in (mention(ident), words(" "))
    ]
    asks = [*called, words("This still waits for a decision: "), bold(title), words(". Decide by ")]
    text = f"Still waiting: {title}. Decide by {utc(view.review.deadline)}."
    return Message(escape(text), [rich("reminder", line(*asks, moment(view.review.deadline), words(".")))])


def escalated_note(view: CardView) -> Message:
    """The reply in the old card's thread that says where the review went."""
    where = shorten(view.moved_to or "another channel", FALLBACK_NAME)
    text = f"Nobody decided here in time. {request.title(view.review)} moved to {where}."
    asks = [words("Nobody decided here in time. This moved to "), bold(where), words("; decide there.")]
    return Message(escape(text), [rich("escalated", line(*asks))])


def _fallback(view: CardView) -> str:
    review = view.review
    if view.live:
        state = f"decide by {utc(review.deadline)}"
    elif view.moved_to is not None:
        state = f"moved to {shorten(view.moved_to, FALLBACK_NAME)}"
    else:
        state = result.state_words(review).lower()
    by = review.decision.by if review.decision else ()
    names = ", ".join(shorten(view.names.get(user, user), FALLBACK_NAME) for user in by[:5])
    agent = request.name(review.interrupt.agent.name)
    return escape(f"{request.title(review)} ({agent}): {state}{f' by {names}' if names else ''}")
