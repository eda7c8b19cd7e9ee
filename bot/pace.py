"""How fast Slack lets us speak: a post a second per channel, about fifty updates a minute per workspace."""

from collections import deque
from collections.abc import Callable

POST_EVERY = 1.0  # seconds between posts in one channel (LIMITS: 1/s per channel)
UPDATES = 45  # in UPDATE_WINDOW; Tier 3 is "50 and more a minute", and others update too
UPDATE_WINDOW = 60.0  # seconds
GONE = 5.0  # seconds after its turn a post that did not come holds up nobody


class Pace:
    """Says how long to wait before a call; a call that was made is told with `posted` or `updated`.

    Posts that have to wait are given a second each, in the order in which they asked, so that a hundred of
    them do not all come again after the first second.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._posts: dict[str, float] = {}
        self._turns: dict[str, dict[str, float]] = {}
        self._updates: deque[float] = deque()
        self._blocked: dict[str, float] = {}

    def before_post(self, channel_id: str, message_id: str) -> float:
        """Seconds until this post in this channel is due; 0 for now."""
        now = self._monotonic()
        turns = {other: turn for other, turn in self._turns.get(channel_id, {}).items() if turn > now - GONE}
        free = max(self._posts.get(channel_id, -POST_EVERY) + POST_EVERY, self._blocked.get(channel_id, 0.0), now)
        if message_id in turns:
            turn = max(free, turns[message_id])
        else:
            turn = max(free, max(turns.values(), default=-POST_EVERY) + POST_EVERY)
        if turn > now:
            turns[message_id] = turn
        self._turns[channel_id] = turns
        return turn - now

    def posted(self, channel_id: str, message_id: str) -> None:
        """The post was made: its turn is over."""
        self._posts[channel_id] = self._monotonic()
        self._turns.get(channel_id, {}).pop(message_id, None)

    def before_update(self) -> float:
        """Seconds until an update is due; 0 for now."""
        now = self._monotonic()
        while self._updates and self._updates[0] <= now - UPDATE_WINDOW:
            self._updates.popleft()
        free = self._updates[0] + UPDATE_WINDOW if len(self._updates) >= UPDATES else 0.0
        return max(0.0, max(free, self._blocked.get("update", 0.0)) - now)

    def updated(self) -> None:
        self._updates.append(self._monotonic())

    def blocked(self, what: str, seconds: float) -> None:
        """Slack said to wait: `what` is a channel id for posts, or `update`."""
        self._blocked[what] = self._monotonic() + seconds
        self._turns.pop(what, None)
