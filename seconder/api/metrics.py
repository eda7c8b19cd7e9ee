"""What Prometheus scrapes: requests as they were answered, and how things stand in the database."""

from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from seconder.desk import look
from seconder.desk.desk import Desk

METHODS = {"GET", "POST", "DELETE"}
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """One application's numbers, in a registry of its own."""

    def __init__(self, desk: Desk) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "seconder_http_requests",
            "Requests by route and status; 0 where the caller hung up.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "seconder_http_request_seconds",
            "Time to answer, long polls included.",
            ("method", "route"),
            buckets=SECONDS,
            registry=self._registry,
        )
        self._registry.register(_Standing(desk))

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """One more request was answered."""
        known = method if method in METHODS else "other"
        self._requests.labels(known, route, str(status)).inc()
        self._seconds.labels(known, route).observe(seconds)

    def text(self) -> bytes:
        """The exposition; reads the database."""
        return generate_latest(self._registry)


class _Standing(Collector):
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def describe(self) -> Iterator[Metric]:
        """Nothing: registering must not read the database."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        now = look.figures_now(self._desk)
        yield _gauge("reviews", "Reviews by status.", ("status",), {(name,): n for name, n in now.reviews.items()})
        pending = {(): now.reviews.get("pending", 0)}
        yield _gauge("reviews_pending", "Reviews that wait for a person.", (), pending)
        yield _gauge("reviews_undelivered", "Pending reviews whose card Slack refuses.", (), {(): now.undelivered})
        oldest = {(): now.oldest_pending.total_seconds()}
        yield _gauge("oldest_pending_seconds", "Age of the oldest pending review.", (), oldest)
        yield _gauge("decisions", "Decisions by kind and source.", ("kind", "source"), now.decisions)
        yield _gauge("pauses", "Pauses by state.", ("state",), {(name,): n for name, n in now.pauses.items()})
        yield _gauge("queue", "Items of the internal queue by topic and state.", ("topic", "state"), now.queue)
        dead = {(): sum(n for (_, state), n in now.queue.items() if state == "dead")}
        yield _gauge("queue_dead", "Items that were given up: `seconder queue list`.", (), dead)


def _gauge(name: str, help_text: str, labels: tuple[str, ...], values: Mapping[Any, float]) -> Metric:
    family = GaugeMetricFamily(f"seconder_{name}", help_text, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family
