"""What the dispatcher asks and tells while it makes Slack show the reviews as they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from seconder.decision import Role
from seconder.desk.desk import Desk, subject_of
from seconder.desk.shown import CARD, refresh_card
from seconder.review import Delivery, Pause, Review
from seconder.store.messages import Message
from seconder.store.queue import Item
from seconder.store.tx import Tx

__all__ = ["Item", "Message", "Showing"]

TOPICS = (CARD,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """All that cards and replies of a review are drawn from, of one snapshot."""

    review: Review
    pause: Pause | None
    siblings: tuple[Review, ...]
    messages: tuple[Message, ...]
    names: dict[str, str]
    ask: tuple[str, ...]  #: user ids and group ids of the route's roles, sorted: whom the first post mentions
    now: datetime


def claim(desk: Desk, *, worker: str, limit: int = 10) -> list[Item]:
    """Work that is leased to this dispatcher from now on, most urgent first."""
    if not desk.store.read(lambda tx: tx.queue.claimable(TOPICS, tx.now())):
        return []
    return desk.store.write(
        lambda tx: tx.queue.claim(TOPICS, worker=worker, now=tx.now(), lease=desk.lease, limit=limit)
    )


def next_due(desk: Desk) -> timedelta | None:
    """How long until something waiting is due; None where nothing waits."""

    def read(tx: Tx) -> timedelta | None:
        due = tx.queue.next_due(TOPICS)
        return None if due is None else due - tx.now()

    return desk.store.read(read)


def renew(desk: Desk, item: Item) -> bool:
    """Whether the item is still ours; its lease lasts from now."""
    return desk.store.write(lambda tx: tx.queue.renew(item, until=tx.now() + desk.lease))


def showing(desk: Desk, review_id: str) -> Showing:
    """Raises: NotFound."""

    def read(tx: Tx) -> Showing:
        review = tx.reviews.get(review_id)
        siblings = tx.reviews.of_pause(review.pause_id) if review.pause_id else ()
        pause = tx.pauses.get(review.pause_id, siblings) if review.pause_id else None
        return Showing(
            review=review,
            pause=pause,
            siblings=tuple(other for other in siblings if other.id != review.id),
            messages=tuple(tx.messages.of_review(review_id)),
            names=tx.people.names(_people(review)),
            ask=_ask(desk, review),
            now=tx.now(),
        )

    return desk.store.read(read)


def posting(desk: Desk, message_id: str, *, channel_id: str) -> bool:
    """Whether the message is about to be posted there by the caller; False where somebody else is at it, or was.

    What becomes of the attempt is unknown until it is told.
    """
    return desk.store.write(lambda tx: tx.messages.announce(message_id, channel_id=channel_id, at=tx.now()))


def not_posted(desk: Desk, message_id: str, *, error: str) -> None:
    """Slack surely has no such message: the attempt may be made again."""
    desk.store.write(lambda tx: tx.messages.change(message_id, state="new", error=error))


def posted(desk: Desk, message: Message, *, team_id: str, channel_id: str, ts: str, shown: str) -> bool:
    """Whether this is the place of the message from now on; False where a press bound it elsewhere."""

    def write(tx: Tx) -> bool:
        review = tx.reviews.get(message.review_id, lock=True)
        placed = tx.messages.place(message.id, team_id=team_id, channel_id=channel_id, ts=ts)
        if not placed:
            known = next(m for m in tx.messages.of_review(review.id) if m.id == message.id)
            if (known.channel_id, known.ts) != (channel_id, ts):
                return False
        tx.messages.change(message.id, shown=shown)
        if placed and message.kind == "card":
            tx.reviews.set_delivery(review.id, Delivery.POSTED)
            record = {"channel": channel_id, "ts": ts, "revision": message.revision, "digest": message.digest}
            tx.trail.append(subject_of(review.id), "posted", record, at=tx.now())
        return True

    return desk.store.write(write)


def refused(desk: Desk, message: Message, *, error: str) -> None:
    """Slack refuses this card as things stand: the review says so, and the dispatcher tries again later."""

    def write(tx: Tx) -> None:
        review = tx.reviews.get(message.review_id, lock=True)
        tx.messages.change(message.id, state="undelivered", error=error)
        if message.kind == "card" and review.delivery is not Delivery.UNDELIVERED:
            tx.reviews.set_delivery(review.id, Delivery.UNDELIVERED)
            record = {"channel": message.channel, "error": error}
            tx.trail.append(subject_of(review.id), "undelivered", record, at=tx.now())

    desk.store.write(write)


def updated(desk: Desk, message_id: str, *, shown: str, state: str) -> None:
    """Slack shows the message like this now; `live` with buttons, `retired` without, `gone` when deleted."""
    desk.store.write(lambda tx: tx.messages.change(message_id, shown=shown, state=state))


def again(desk: Desk, review_id: str) -> None:
    """Nobody is sure what Slack shows of this review: its messages are drawn anew and compared."""

    def write(tx: Tx) -> None:
        for message in tx.messages.of_review(review_id):
            if message.ts is not None and message.state != "gone":
                tx.messages.change(message.id, shown=None)
        refresh_card(tx, review_id)

    desk.store.write(write)


def done(desk: Desk, item: Item) -> bool:
    """Whether the work was still ours; it is gone."""
    return desk.store.write(lambda tx: tx.queue.done(item))


def failed(desk: Desk, item: Item, *, error: str, wait: timedelta | None = None, counts: bool = True) -> str:
    """What became of it: queued, dead or lost; with `wait` it is due after that long instead of the backoff."""

    def write(tx: Tx) -> str:
        now = tx.now()
        due = None if wait is None else now + wait
        what = tx.queue.fail(item, error=error, now=now, due_at=due, counts=counts)
        if what == "dead":
            _given_up(tx, item.subject, error)
        return what

    return desk.store.write(write)


def retry(desk: Desk, item_id: int) -> bool:
    """Whether a dead item is due again."""

    def write(tx: Tx) -> bool:
        done = tx.queue.retry(item_id, now=tx.now())
        if done:
            tx.trail.append("admin", "queue_retried", {"item": item_id}, at=tx.now())
        return done

    return desk.store.write(write)


def drop(desk: Desk, item_id: int) -> bool:
    """Whether a dead item is gone."""

    def write(tx: Tx) -> bool:
        done = tx.queue.drop(item_id)
        if done:
            tx.trail.append("admin", "queue_dropped", {"item": item_id}, at=tx.now())
        return done

    return desk.store.write(write)


def resolve_requester(desk: Desk, review_id: str, user_ids: Sequence[str]) -> None:
    """The requester's e-mail belongs to these people; only exactly one makes the review decidable."""

    def write(tx: Tx) -> None:
        review = tx.reviews.get(review_id, lock=True)
        if len(user_ids) == 1:
            tx.reviews.set_requester(review_id, user_ids[0], None)
            return
        email = review.interrupt.requester.email if review.interrupt.requester else None
        why = f"{email} is {len(user_ids) or 'nobody'}{' people' if user_ids else ''} in this workspace"
        tx.reviews.set_requester(review_id, None, f"Nobody can approve this: {why}, not exactly one.")

    desk.store.write(write)


def _given_up(tx: Tx, review_id: str, error: str) -> None:
    """A review whose card was never posted says that it is undelivered."""
    review = tx.reviews.get(review_id, lock=True)
    if review.delivery is Delivery.QUEUED:
        tx.reviews.set_delivery(review_id, Delivery.UNDELIVERED)
        tx.trail.append(subject_of(review_id), "undelivered", {"error": error}, at=tx.now())


def _people(review: Review) -> set[str]:
    by = review.decision.by if review.decision is not None else ()
    known = {review.requester_user, review.editor, *by, *(vote.person for vote in review.votes)}
    return {person for person in known if person is not None}


def _ask(desk: Desk, review: Review) -> tuple[str, ...]:
    route, roles = review.verdict.route, desk.roles
    asked: list[Role] = [] if route is None else [roles[name] for name in route.roles if name in roles]
    groups = sorted({group for role in asked for group in role.user_groups})
    return (*groups, *sorted({user for role in asked for user in role.users}))
