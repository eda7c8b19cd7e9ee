"""What the sender of webhooks asks and tells."""

from dataclasses import dataclass
from typing import TypeAlias

from seconder.action import Json
from seconder.desk import said
from seconder.desk.announce import WEBHOOK
from seconder.desk.desk import Desk
from seconder.errors import NotFound
from seconder.store.queue import Item
from seconder.store.tx import Tx

Work: TypeAlias = Item
TOPICS = (WEBHOOK,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """How a review ended, for whoever listens at `url`; `ident` is the same at every attempt."""

    ident: str
    url: str
    secret: str
    kind: str
    review: dict[str, Json]


def claim(desk: Desk, *, worker: str, limit: int) -> list[Work]:
    """Work that is leased to this sender from now on."""
    if not desk.store.read(lambda tx: tx.queue.claimable(TOPICS, tx.now())):
        return []
    return desk.store.write(
        lambda tx: tx.queue.claim(TOPICS, worker=worker, now=tx.now(), lease=desk.lease, limit=limit)
    )


def notice(desk: Desk, review_id: str) -> Notice | None:
    """What is to be sent; None where there is nobody to tell, or nothing to sign with."""

    def read(tx: Tx) -> Notice | None:
        try:
            review = tx.reviews.get(review_id)
        except NotFound:
            return None
        url, secret = review.interrupt.callback_url, tx.tokens.webhook_secret(review.agent_token)
        if url is None or secret is None:
            return None
        run = None if review.run_id is None else tx.pauses.run_name(review.run_id)
        status = review.status.value
        spoken = said.review_json(review, run)
        return Notice(ident=f"{review.id}_{status}", url=url, secret=secret, kind=f"review.{status}", review=spoken)

    return desk.store.read(read)


def done(desk: Desk, item: Work) -> None:
    """Nothing more is to be sent."""
    desk.store.write(lambda tx: tx.queue.done(item))


def failed(desk: Desk, item: Work, *, error: str) -> str:
    """`queued` again after a backoff, or `dead`."""
    return desk.store.write(lambda tx: tx.queue.fail(item, error=error, now=tx.now()))
