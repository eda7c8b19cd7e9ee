"""From a press in Slack to the review it means: the token's row is compared with where it was pressed."""

from dataclasses import dataclass

from seconder.action import Json
from seconder.desk.desk import subject_of
from seconder.errors import Superseded, UnboundCard
from seconder.review import Delivery, Review, Status
from seconder.store.messages import Message
from seconder.store.tx import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Press:
    """Who pressed what where; `channel_id` and `ts` are None for a submitted form, which has no message."""

    token: str
    team_id: str
    enterprise_id: str | None
    user_id: str
    channel_id: str | None = None
    ts: str | None = None


def pressed_review(tx: Tx, press: Press, *, lock: bool = True) -> tuple[Review, Message]:
    """The review of the press and its card; with `lock` both stay as they are until the transaction ends.

    The first press on a card whose place is not known yet binds it there.
    Raises: UnboundCard.
    """
    card = tx.messages.by_token(press.token)
    if card is None:
        raise UnboundCard("This button belongs to no request that is known here.")
    unlocked = tx.reviews.get(card.review_id)
    if lock and unlocked.pause_id is not None:
        tx.pauses.lock(unlocked.pause_id)
    review = tx.reviews.get(card.review_id, lock=lock)
    card = tx.messages.by_token(press.token, lock=lock) or card
    _check_place(tx, card, press)
    return review, card


def check_revision(review: Review, card: Message) -> None:
    """Raises: Superseded where a pending review is beyond what this card shows."""
    if review.status is Status.PENDING and (card.revision != review.revision or card.digest != review.digest):
        raise Superseded(review.id, review.revision)


def record_stray(tx: Tx, press: Press, pressed: str, refusal: UnboundCard) -> UnboundCard:
    """The refusal; a press with a known token at another place, or of another workspace, is in its review's trail."""
    card = tx.messages.by_token(press.token)
    if card is not None:
        place: dict[str, Json] = {"team": press.team_id, "enterprise": press.enterprise_id, "channel": press.channel_id}
        record: Json = {"by": press.user_id, **place, "pressed": pressed, "why": str(refusal)}
        tx.trail.append(subject_of(card.review_id), "refused", record, at=tx.now())
    return refusal


def _check_place(tx: Tx, card: Message, press: Press) -> None:
    workspace = tx.people.workspace()
    if workspace is None or press.team_id != workspace.team_id or press.enterprise_id != workspace.enterprise_id:
        raise UnboundCard("This card belongs to another workspace.")
    if press.channel_id is None or press.ts is None:
        if card.ts is None:
            raise UnboundCard("This form belongs to a card that is not posted.")
        return
    if card.channel_id != press.channel_id:
        raise UnboundCard("This card was posted in another channel.")
    if card.ts is None:
        _bind(tx, card, press, press.channel_id, press.ts)
    elif card.ts != press.ts:
        raise UnboundCard("This is a copy of the card; use the original.")


def _bind(tx: Tx, card: Message, press: Press, channel_id: str, ts: str) -> None:
    """The card is posted here: Slack's answer to the post is not there yet, or was lost."""
    tx.messages.place(card.id, team_id=press.team_id, channel_id=channel_id, ts=ts)
    tx.reviews.set_delivery(card.review_id, Delivery.POSTED)
    record: Json = {"channel": channel_id, "ts": ts, "revision": card.revision, "digest": card.digest}
    tx.trail.append(subject_of(card.review_id), "posted", record, at=tx.now())
