"""What the webhook counts. No label value comes from a tenant: reasons are our vocabulary."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass(slots=True)
class Outcome:
    """How one request ended; filled in on the way.

    Attributes:
        operation: CREATE, UPDATE, …; empty if the request could not be read.
        outcome: allowed, denied, or error where the fault is not the change's.
        reason: CamelCase reason of a denial or error.
    """

    operation: str = ""
    outcome: str = "error"
    reason: str = ""


class Metrics:
    """The metrics of one webhook process.

    Args:
        routes: Names of the routes, so that their series exist from the start.
        expiry: Returns when the certificate expires, in seconds since the epoch.
    """

    def __init__(self, routes: tuple[str, ...], expiry: Callable[[], float]) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self._requests = Counter(
            "kudo_admission_requests_total",
            "Admission requests by how they ended.",
            ("route", "operation", "outcome", "reason"),
            registry=self.registry,
        )
        duration = Histogram(
            "kudo_admission_duration_seconds",
            "Time from the first byte of a request to its answer.",
            ("route",),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._in_flight = Gauge(
            "kudo_admission_in_flight", "Requests being answered now.", registry=self.registry
        )
        Gauge(
            "kudo_certificate_expiry_timestamp_seconds",
            "When the serving certificate expires; 0 while there is none.",
            registry=self.registry,
        ).set_function(expiry)
        # Looking a child up by its labels costs more than counting, so they are kept.
        self._durations = {route: duration.labels(route) for route in routes}
        self._counters: dict[tuple[str, str, str, str], Counter] = {}

    @contextmanager
    def request(self, route: str) -> Iterator[Outcome]:
        """Measure one request; the block fills in the outcome."""
        outcome, start = Outcome(), time.perf_counter()
        self._in_flight.inc()
        try:
            yield outcome
        finally:
            self._in_flight.dec()
            self._durations[route].observe(time.perf_counter() - start)
            self._counter(route, outcome).inc()

    def _counter(self, route: str, outcome: Outcome) -> Counter:
        key = (route, outcome.operation, outcome.outcome, outcome.reason)
        if key not in self._counters:
            self._counters[key] = self._requests.labels(*key)
        return self._counters[key]
