"""Metrics of watches: how often each was restarted, and when the API server last sent something.

opening -> opening     ended by the server after its time
opening -> waiting     lost: gone (410), malformed (an event that cannot be read), silent (nothing
                       came in time), or another error
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kubeio.cache.reflector import Phase, Status
from kubeio.errors import ConnectionLost, Gone, KubeError, Malformed
from kubeio.resource import Resource
from kudo_reconciler.metrics.labels import WATCH_ENDINGS, resource_label


class WatchRestarts:
    """Counts the watches that were opened again, as informers report them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._restarts = Counter(
            "kudo_watch_restarts_total",
            "Watches that ended or could not be opened, by reason.",
            ["reason"],
            registry=registry,
        )
        for reason in WATCH_ENDINGS:
            self._restarts.labels(reason)
        self._watching: set[Resource] = set()

    def seen(self, resource: Resource, status: Status) -> None:
        """Record a change of phase of the informer of a resource."""
        if status.phase is Phase.WATCHING:
            return
        if resource in self._watching and status.phase is not Phase.LISTING:
            self._restarts.labels(_ending(status.error)).inc()
        if status.phase is Phase.OPENING:
            self._watching.add(resource)
        else:
            self._watching.discard(resource)


def _ending(error: KubeError | None) -> str:
    match error:
        case None:
            return "ended"
        case Gone():
            return "gone"
        case Malformed():
            return "malformed"
        case ConnectionLost(timeout=True):
            return "silent"
        case _:
            return "error"


class Watched(Protocol):
    """A kind that is watched, as by an `Informer`."""

    @property
    def resource(self) -> Resource:
        """Return the kind."""

    @property
    def last_contact(self) -> float | None:
        """Return the monotonic seconds when something was last received; None before that."""


class WatchCollector(Collector):
    """Reports the watches at each scrape.

    Args:
        watched: Returns all watched kinds, without waiting and from any thread.
        clock: Returns the monotonic seconds that informers count in.
        now: Returns the seconds since the epoch.
    """

    def __init__(
        self,
        watched: Callable[[], Sequence[Watched]],
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._watched = watched
        self._clock = clock
        self._now = now

    def describe(self) -> Iterable[Metric]:
        """Return the metrics without samples."""
        return _families()

    def collect(self) -> Iterable[Metric]:
        watches, contacts = families = _families()
        counted: dict[str, int] = {}
        oldest: dict[str, float] = {}
        for watch in self._watched():
            label = resource_label(watch.resource)
            counted[label] = counted.get(label, 0) + 1
            # Informers count in monotonic seconds, and Prometheus in those since the epoch.
            silent = None if watch.last_contact is None else self._clock() - watch.last_contact
            contact = 0.0 if silent is None else self._now() - silent
            oldest[label] = min(oldest.get(label, contact), contact)
        for label, number in counted.items():
            watches.add_metric([label], number)
            contacts.add_metric([label], oldest[label])
        return families


def _families() -> tuple[GaugeMetricFamily, GaugeMetricFamily]:
    return (
        GaugeMetricFamily("kudo_watches", "Kinds being watched.", labels=["resource"]),
        GaugeMetricFamily(
            "kudo_watch_last_contact_timestamp_seconds",
            "When the API server last sent something on the watch; the oldest of several, 0 before "
            "the first time.",
            labels=["resource"],
        ),
    )
