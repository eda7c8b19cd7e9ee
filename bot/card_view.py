"""What a card is made from, and the message it becomes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from seconder.bot.card_blocks import Block
from seconder.review import Pause, Review, Status


@dataclass(frozen=True, kw_only=True)
class CardView:
    """One review as one read saw it, and what Slack needs beside it.

    `token` goes into the buttons' values and nowhere else. `names` (user id to display name) is only for
    notification text. `moved_to` is the channel that an escalation took the review to: this card is dead then.
    `siblings` are the other reviews of the same pause.
    """

    review: Review
    pause: Pause | None
    token: str
    channel: str
    now: datetime
    eligible_text_mentions: tuple[str, ...]
    names: Mapping[str, str] = field(default_factory=dict)
    moved_to: str | None = None
    siblings: tuple[Review, ...] = ()

    @property
    def live(self) -> bool:
        """True if the card has buttons."""
        return self.review.status is Status.PENDING and self.moved_to is None

    @property
    def more(self) -> str:
        """What stands behind a count of hidden characters: where to read them."""
        return ": View all" if self.live else ""


@dataclass(frozen=True)
class Message:
    """`text` is the notification (mrkdwn, escaped, at most 3,000); `blocks` is the card."""

    text: str
    blocks: list[Block]
