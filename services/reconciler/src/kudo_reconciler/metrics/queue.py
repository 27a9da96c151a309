"""Metrics of the work queue; client-go's workqueue metrics under our names."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class QueueMetrics:
    """Counts the keys that are added, taken and retried."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._depth = Gauge(
            "kudo_queue_depth", "Instances waiting for a worker.", registry=registry
        )
        self._longest = Gauge(
            "kudo_queue_longest_running_seconds",
            "Age of the longest reconcile in progress; 0 while there is none.",
            registry=registry,
        )
        self._adds = Counter(
            "kudo_queue_adds_total", "Instances added to the queue.", registry=registry
        )
        self._retries = Counter(
            "kudo_queue_retries_total",
            "Instances requeued with backoff, after a failure or a conflict.",
            registry=registry,
        )
        self._wait = Histogram(
            "kudo_queue_wait_seconds",
            "Time that Instances waited for a worker, without backoff and other delays.",
            buckets=_SECONDS,
            registry=registry,
        )

    def follow(self, depth: Callable[[], int], longest_running: Callable[[], float]) -> None:
        """Call these two at each scrape, in its thread."""
        self._depth.set_function(depth)
        self._longest.set_function(longest_running)

    def added(self) -> None:
        self._adds.inc()

    def retried(self) -> None:
        self._retries.inc()

    def waited(self, seconds: float) -> None:
        self._wait.observe(seconds)
