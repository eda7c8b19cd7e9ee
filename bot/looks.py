"""Looks at Slack that are under way: whoever wants the same look waits for the same one.

Thirty people who press at once would else ask thirty times who is in the group, where Slack answers twenty a minute.
"""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait

import structlog

log = structlog.get_logger("seconder.people")


class Looks:
    """At most so many at once; a look that nobody waits for any more is still finished and remembered."""

    def __init__(self, threads: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._running: dict[str, Future[None]] = {}
        self._lock = threading.Lock()

    def take(self, wanted: Mapping[str, Callable[[], None]], *, within: float, anew: bool = False) -> None:
        """Each of them was made, or so many seconds passed; those that failed are logged.

        With `anew` none is shared that began before: it may not have seen what changed.
        """
        done, _ = wait(self._begun(wanted, anew), timeout=within)
        for look in done:
            if not look.cancelled() and (error := look.exception()) is not None:
                log.warning("people.not_seen", error=str(error))

    def close(self) -> None:
        """Looks under way are not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _begun(self, wanted: Mapping[str, Callable[[], None]], anew: bool) -> list[Future[None]]:
        with self._lock:
            self._running = {name: look for name, look in self._running.items() if not look.done()}
            for name, do in wanted.items():
                if anew or name not in self._running:
                    self._running[name] = self._pool.submit(do)
            return [self._running[name] for name in wanted]
