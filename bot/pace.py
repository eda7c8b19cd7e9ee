"""How fast Slack lets us speak: a post a second per channel, about fifty updates a minute per workspace."""

from collections import deque
from collections.abc import Callable

POST_EVERY = 1.0  # seconds between posts in one channel (LIMITS: 1/s per channel)
UPDATES = 45  # in UPDATE_WINDOW; Tier 3 is "50 and more a minute", and others update too
UPDATE_WINDOW = 60.0  # seconds


class Pace:
    """Says how long to wait before a call; a call that was made is told with `posted` or `updated`."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._posts: dict[str, float] = {}
        self._updates: deque[float] = deque()
        self._blocked: dict[str, float] = {}

    def before_post(self, channel_id: str) -> float:
        """Seconds until a post in this channel is due; 0 for now."""
        last = self._posts.get(channel_id)
        free = 0.0 if last is None else last + POST_EVERY
        return self._until(max(free, self._blocked.get(channel_id, 0.0)))

    def posted(self, channel_id: str) -> None:
        self._posts[channel_id] = self._monotonic()

    def before_update(self) -> float:
        """Seconds until an update is due; 0 for now."""
        now = self._monotonic()
        while self._updates and self._updates[0] <= now - UPDATE_WINDOW:
            self._updates.popleft()
        free = self._updates[0] + UPDATE_WINDOW if len(self._updates) >= UPDATES else 0.0
        return self._until(max(free, self._blocked.get("update", 0.0)))

    def updated(self) -> None:
        self._updates.append(self._monotonic())

    def blocked(self, what: str, seconds: float) -> None:
        """Slack said to wait: `what` is a channel id for posts, or `update`."""
        self._blocked[what] = self._monotonic() + seconds

    def _until(self, at: float) -> float:
        return max(0.0, at - self._monotonic())
