"""Metrics of operations: how many have a slot, how many wait for one, and for how long."""

from collections.abc import Callable, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, Histogram

_SECONDS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_GAUGES: Final = {
    "operations_running": "Operations, such as applying the objects of a task, that have a slot.",
    "operations_waiting": "Operations that wait for a slot.",
    "long_operations_running": "Operations that mostly wait, such as copying files, with a slot.",
    "long_operations_waiting": "Operations that mostly wait, without a slot.",
}


class OperationMetrics:
    """Tells whether slots are short."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._gauges = {
            name: Gauge(f"kudo_{name}", meaning, registry=registry)
            for name, meaning in _GAUGES.items()
        }
        self._wait = Histogram(
            "kudo_operation_wait_seconds",
            "Time that operations waited for a slot.",
            buckets=_SECONDS,
            registry=registry,
        )

    def follow(self, counts: Mapping[str, Callable[[], int]]) -> None:
        """Call these at each scrape, in its thread.

        Args:
            counts: By the name of a gauge, without `kudo_`; all of them.
        """
        for name, gauge in self._gauges.items():
            gauge.set_function(counts[name])

    def waited(self, seconds: float) -> None:
        """Record how long an operation waited for its slot."""
        self._wait.observe(seconds)
