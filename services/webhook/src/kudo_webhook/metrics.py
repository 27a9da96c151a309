"""The metrics of the webhook. Values of labels are constants of the code, never a tenant's."""

import time
from collections.abc import Callable
from typing import Self, get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)

from kudo_webhook.certificates.rotation import Write
from serving.connections import Connections, Reason

MUTATE, VALIDATE, OPERATOR_VERSION = "mutate", "validate", "operatorversion"
"""The admission routes, as they are counted and logged."""

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Outcome:
    """How one request ended; set inside the `with` block, counted once by `end` or at its end.

    Attributes:
        route: The admission route; a request without one is not counted.
        operation: CREATE, UPDATE, …; empty if the request could not be read.
        outcome: allowed, denied, limited (something was too large, or too many requests wait), or
            error (the webhook is at fault).
        reason: CamelCase reason of a denial or error.
    """

    __slots__ = ("_ended", "_metrics", "_start", "operation", "outcome", "reason", "route")

    def __init__(self, metrics: "Metrics", route: str) -> None:
        self._metrics, self.route = metrics, route
        self.operation, self.outcome, self.reason = "", "error", ""
        self._ended = False

    def __enter__(self) -> Self:
        self._metrics.in_flight += 1
        self._start = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Count the request now that its answer is known."""
        if self._ended:
            return
        self._ended = True
        self._metrics.in_flight -= 1
        if self.route:
            self._metrics.ended(self, time.perf_counter() - self._start)


class Metrics:
    """The metrics of one webhook process.

    Args:
        routes: Names of the routes, so that their series exist from the start.
        expiry: Returns when the certificate expires, in seconds since the epoch.

    Attributes:
        in_flight: Requests being answered now.
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
        self.in_flight = 0
        Gauge(
            "kudo_admission_in_flight", "Requests being answered now.", registry=self.registry
        ).set_function(lambda: self.in_flight)
        closed = Counter(
            "kudo_admission_connections_closed_total",
            "Connections to the admission port that were closed before their request was answered.",
            ("reason",),
            registry=self.registry,
        )
        self._closed = {reason: closed.labels(reason) for reason in get_args(Reason)}
        Gauge(
            "kudo_certificate_expiry_timestamp_seconds",
            "When the serving certificate expires; 0 while there is none.",
            registry=self.registry,
        ).set_function(expiry)
        written = Counter(
            "kudo_certificate_writes_total",
            "Writes of this replica to renew its built-in certificates.",
            ("object",),
            registry=self.registry,
        )
        self._certificate_failures = Counter(
            "kudo_certificate_failures_total",
            "Failed attempts to renew the built-in certificates.",
            registry=self.registry,
        )
        self._certificate_writes = {what: written.labels(what) for what in get_args(Write)}
        # Looking a child up by its labels costs more than counting, so they are kept.
        self._durations = {route: duration.labels(route) for route in routes}
        self._counters: dict[tuple[str, str, str, str], Counter] = {}

    def request(self, route: str = "") -> Outcome:
        """Return a context manager that measures one request."""
        return Outcome(self, route)

    def ended(self, outcome: Outcome, seconds: float) -> None:
        """Count a request."""
        key = (outcome.route, outcome.operation, outcome.outcome, outcome.reason)
        counter = self._counters.get(key)
        if counter is None:
            counter = self._counters[key] = self._requests.labels(*key)
        counter.inc()
        self._durations[outcome.route].observe(seconds)

    def follow(self, connections: Connections) -> None:
        """Show how many connections to the admission port there are, and what they hold."""
        Gauge(
            "kudo_admission_connections",
            "Open connections to the admission port.",
            registry=self.registry,
        ).set_function(connections.__len__)
        Gauge(
            "kudo_admission_body_bytes",
            "Bytes of the bodies of requests that are not answered yet.",
            registry=self.registry,
        ).set_function(lambda: connections.held)

    def connection_closed(self, reason: Reason) -> None:
        """Count a connection to the admission port that was closed by its limits."""
        self._closed[reason].inc()

    def certificate_written(self, what: Write) -> None:
        """Count a write of the built-in certificates."""
        self._certificate_writes[what].inc()

    def certificate_failed(self) -> None:
        """Count a failed pass over the built-in certificates."""
        self._certificate_failures.inc()
