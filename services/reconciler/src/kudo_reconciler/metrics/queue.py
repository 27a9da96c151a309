"""What the work queue tells Prometheus; client-go's workqueue metrics under our names."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class QueueMetrics:
    """Counts what happens to keys."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._depth = Gauge(
            "kudo_queue_depth", "Instances that wait for a worker.", registry=registry
        )
        self._longest = Gauge(
            "kudo_queue_longest_running_seconds",
            "How long the longest pass in progress has been running; 0 while none is.",
            registry=registry,
        )
        self._adds = Counter(
            "kudo_queue_adds_total", "Instances put into the queue.", registry=registry
        )
        self._retries = Counter(
            "kudo_queue_retries_total",
            "Instances put back with a growing delay, after a failure or a lost race.",
            registry=registry,
        )
        self._wait = Histogram(
            "kudo_queue_wait_seconds",
            "Time that Instances waited in the queue for a worker; delays are not counted.",
            buckets=_SECONDS,
            registry=registry,
        )

    def follow(self, depth: Callable[[], int], longest_running: Callable[[], float]) -> None:
        """Ask these two at each scrape, in its thread."""
        self._depth.set_function(depth)
        self._longest.set_function(longest_running)

    def added(self) -> None:
        self._adds.inc()

    def retried(self) -> None:
        self._retries.inc()

    def waited(self, seconds: float) -> None:
        self._wait.observe(seconds)
