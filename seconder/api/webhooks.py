"""Outgoing webhooks: how a review ended, signed by the Standard Webhooks rules, at least once.

    POST callback_url
    webhook-id: the same at every attempt    webhook-timestamp, webhook-signature: of this attempt
    {"type": "review.decided", "timestamp": …, "data": the review as in GET /v1/reviews/{id}}

Any 2xx is an answer; 410 ends it; everything else is tried again by the queue's rules. Redirects are
not followed and answers are not read: the address is the agent's, and so is what stands behind it.
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from http import HTTPStatus

import httpx
import structlog
from standardwebhooks.webhooks import Webhook

from seconder.api.replies import encode
from seconder.desk import notices
from seconder.desk.desk import Desk
from seconder.desk.notices import Notice, Work
from seconder.desk.wire import iso

AT_ONCE = 4
IDLE = 1.0  # seconds; polling alone must be enough
TIMEOUT = httpx.Timeout(3.0)  # for each step; an attempt ends within a lease

log = structlog.get_logger("seconder.webhooks")


def _utc_now() -> datetime:
    return datetime.now(tz=UTC)


class Webhooks:
    """One thread that works the queue's webhooks, AT_ONCE at a time."""

    def __init__(self, desk: Desk, *, worker_name: str, now: Callable[[], datetime] = _utc_now) -> None:
        self._desk, self._name, self._now = desk, worker_name, now
        self._http = httpx.Client(timeout=TIMEOUT, follow_redirects=False, headers={"user-agent": "seconder"})
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="webhook")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="webhooks", daemon=True)

    def start(self) -> None:
        """Works from now on."""
        self._thread.start()

    def stop(self) -> None:
        """What is under way is finished."""
        self._stop.set()
        self._desk.store.changes.bump()
        self._thread.join()
        self._pool.shutdown()
        self._http.close()

    def work_once(self) -> int:
        """How many were worked on; for tests, and the body of the loop."""
        items = notices.claim(self._desk, worker=self._name, limit=AT_ONCE)
        list(self._pool.map(self._work, items))
        return len(items)

    def _run(self) -> None:
        while not self._stop.is_set():
            seen = self._desk.store.changes.count
            try:
                worked = self.work_once()
            except Exception:
                log.exception("webhooks.failed")
                self._stop.wait(IDLE)
                continue
            if not worked:
                self._desk.store.changes.wait(seen, IDLE)

    def _work(self, item: Work) -> None:
        notice = notices.notice(self._desk, item.subject)
        if notice is None:
            log.warning("webhooks.nobody_to_tell", review=item.subject)
            notices.done(self._desk, item)
            return
        trouble = self._send(notice)
        if trouble is None:
            notices.done(self._desk, item)
        elif notices.failed(self._desk, item, error=trouble) == "dead":
            log.warning("webhooks.dead_letter", review=item.subject, error=trouble, note="see `seconder queue list`")

    def _send(self, notice: Notice) -> str | None:
        """What went wrong, as a sentence; None where it was taken, or nobody wants it any more."""
        at = self._now()
        body = encode({"type": notice.kind, "timestamp": iso(at), "data": notice.review})
        signature = Webhook(notice.secret).sign(notice.ident, at, body.decode())
        headers = {
            "content-type": "application/json",
            "webhook-id": notice.ident,
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": signature,
        }
        try:
            with self._http.stream("POST", notice.url, content=body, headers=headers) as answer:
                status = answer.status_code
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return f"{type(error).__name__}: {error}"[:500]
        if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES or status == HTTPStatus.GONE:
            return None
        return f"the callback address answered {status}"
