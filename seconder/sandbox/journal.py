"""What happened on the wire, and what should go wrong on it: the log, the rate limits, the planned faults."""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from seconder.sandbox import limits
from seconder.sandbox.storage import Doc

LOG_KEPT = 5_000
FaultKind = Literal["429", "500", "timeout_after", "drop"]


class Journal:
    """The last few thousand Web API calls and deliveries, oldest first."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.entries: deque[Doc] = deque(maxlen=LOG_KEPT)

    def add(self, kind: Literal["api", "delivery"], **facts: object) -> None:
        self.entries.append({"at": self._now(), "kind": kind, **facts})


@dataclass
class _Bucket:
    left: float
    at: float


class Rates:
    """Slack's rate limits as token buckets; `scale` 2 allows twice as much, `enabled` False everything."""

    def __init__(self, clock: Callable[[], float], *, enabled: bool = True, scale: float = 1.0) -> None:
        self.enabled = enabled
        self.scale = scale
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    def wait(self, method: str, channel: str | None) -> int:
        """0 where the call may pass, else the whole seconds for Retry-After."""
        if not self.enabled:
            return 0
        asked = [(method, limits.TIERS.get(method, 100) / 60, limits.TIERS.get(method, 100))]
        if method == "chat.postMessage" and channel:
            asked.append((f"{method} {channel}", limits.POSTS_PER_SECOND_IN_A_CHANNEL, limits.POST_BURST))
        short = max(self._short(name, rate * self.scale, size * self.scale) for name, rate, size in asked)
        if short > 0:
            return max(1, math.ceil(short))
        for name, _, _ in asked:
            self._buckets[name].left -= 1
        return 0

    def _short(self, name: str, rate: float, size: float) -> float:
        now = self._clock()
        bucket = self._buckets.setdefault(name, _Bucket(size, now))
        bucket.left = min(size, bucket.left + max(0.0, now - bucket.at) * rate)
        bucket.at = now
        return (1 - bucket.left) / rate if bucket.left < 1 else 0.0


@dataclass
class Fault:
    """One planned fault; `method` is a Web API method or `*`."""

    method: str
    kind: FaultKind
    times: int = 1
    retry_after: int = 1


class Faults:
    """Faults to come, used up in the order in which they were planned."""

    def __init__(self) -> None:
        self._planned: list[Fault] = []

    def plan(self, fault: Fault) -> None:
        self._planned.append(fault)

    def clear(self) -> None:
        self._planned.clear()

    def take(self, method: str) -> Fault | None:
        for fault in self._planned:
            if fault.method in {method, "*"}:
                fault.times -= 1
                if fault.times <= 0:
                    self._planned.remove(fault)
                return fault
        return None
