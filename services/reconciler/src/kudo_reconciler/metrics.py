"""What Prometheus can learn of the reconciler. No label takes a value that a tenant chooses."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_RUN_SECONDS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 4 * 3600.0)


class Metrics:
    """All series of the reconciler, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self.passes = Counter(
            "kudo_reconcile_total",
            "Passes over an Instance, by outcome.",
            ["outcome"],
            registry=self.registry,
        )
        self.pass_seconds = Histogram(
            "kudo_reconcile_duration_seconds",
            "Duration of a pass over an Instance.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.queue_length = Gauge(
            "kudo_queue_length", "Instances that wait for a worker.", registry=self.registry
        )
        self.runs_started = Counter(
            "kudo_plan_runs_started_total", "Plan executions begun.", registry=self.registry
        )
        self.runs_finished = Counter(
            "kudo_plan_runs_finished_total",
            "Plan executions ended, by status and, for failed ones, reason.",
            ["status", "reason"],
            registry=self.registry,
        )
        self.leader = Gauge(
            "kudo_leader", "1 while this replica is the one that works.", registry=self.registry
        )
        self.instances = Gauge(
            "kudo_instances", "Instances in the cluster.", registry=self.registry
        )
        self.applied = Counter(
            "kudo_objects_applied_total",
            "Objects sent by server-side apply, by outcome.",
            ["outcome"],
            registry=self.registry,
        )
        self.lost_events = Counter(
            "kudo_events_lost_total", "Events that could not be written.", registry=self.registry
        )
