"""The metrics of the reconciler.

No label takes a value that a tenant chooses, but those of `kudo_instance_suspended_seconds`, which
has a bounded number of series. The values of labels are in `labels`; docs/metrics.md lists all
metrics. Those of the work queue are client-go's under our names.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from kubeio.connection.round_tripper import RequestSeen
from kudo.api import ExecutionStatus, JsonObject, PlanStatus
from kudo_reconciler.metrics.instances import InstanceCollector, run_seconds
from kudo_reconciler.metrics.labels import (
    APPLY_OUTCOMES,
    NO_REASON,
    PLANS,
    RECONCILE_OUTCOMES,
    RUN_STATUSES,
    STOPPED,
    SUPERSEDED,
    code_label,
    plan_label,
    reason_label,
    reconcile_label,
    verb_label,
)
from kudo_reconciler.metrics.watches import WatchCollector, Watched, WatchRestarts

_WAIT_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


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
            buckets=_WAIT_SECONDS,
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


_SLOT_SECONDS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
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
            buckets=_SLOT_SECONDS,
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


_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_RENDER_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
# Plans wait for databases: their runs take from seconds to hours.
_RUN_SECONDS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 4 * 3600.0)
_FAILED = str(ExecutionStatus.FATAL_ERROR)


class Metrics:
    """All metrics of the reconciler, in a registry of their own.

    Attributes:
        queue: What the work queue reports to.
        operations: What operations report to.
        watches: What informers report to.
    """

    def __init__(self) -> None:
        # `_created` would add a series to each counter and histogram, and nobody queries it.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self.queue = QueueMetrics(self.registry)
        self.operations = OperationMetrics(self.registry)
        self.watches = WatchRestarts(self.registry)
        self._add_reconciles()
        self._add_runs()
        self._add_requests()
        self._leader = Gauge(
            "kudo_leader", "1 while this replica is the leader.", registry=self.registry
        )
        self._terms = Counter(
            "kudo_leader_transitions_total",
            "Times that this replica became the leader.",
            registry=self.registry,
        )

    def _add_reconciles(self) -> None:
        self.reconciles = Counter(
            "kudo_reconcile_total",
            "Reconciles of Instances, by outcome.",
            ["outcome"],
            registry=self.registry,
        )
        self.reconcile_seconds = Histogram(
            "kudo_reconcile_duration_seconds",
            "Duration of a reconcile of an Instance.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.render_seconds = Histogram(
            "kudo_render_duration_seconds",
            "Time to render the templates of a task.",
            buckets=_RENDER_SECONDS,
            registry=self.registry,
        )
        self.applied = Counter(
            "kudo_objects_applied_total",
            "Objects sent by server-side apply, by outcome.",
            ["outcome"],
            registry=self.registry,
        )
        self.lost_events = Counter(
            "kudo_events_lost_total",
            "Events dropped because they could not be written.",
            registry=self.registry,
        )
        self.task_faults = Counter(
            "kudo_task_faults_total",
            "Attempts at a task that ended in a bug of the reconciler; they are retried.",
            registry=self.registry,
        )
        self.events_waiting = Gauge(
            "kudo_events_waiting",
            "Events waiting to be written, including those being written.",
            registry=self.registry,
        )
        # Series that begin at 0 have a rate with their first event.
        for outcome in RECONCILE_OUTCOMES:
            self.reconciles.labels(outcome)
        for outcome in APPLY_OUTCOMES:
            self.applied.labels(outcome)

    def _add_runs(self) -> None:
        self._runs_started = Counter(
            "kudo_plan_runs_started_total",
            "Plan executions started, by plan.",
            ["plan"],
            registry=self.registry,
        )
        self._runs_finished = Counter(
            "kudo_plan_runs_finished_total",
            "Plan executions finished, by plan, status and, for failed ones, reason.",
            ["plan", "status", "reason"],
            registry=self.registry,
        )
        self._run_seconds = Histogram(
            "kudo_plan_run_duration_seconds",
            "Time from the start of a plan execution to its end, in whole seconds.",
            ["plan", "status"],
            buckets=_RUN_SECONDS,
            registry=self.registry,
        )
        self._step_seconds = Histogram(
            "kudo_step_duration_seconds",
            "Time from the first attempt at a step to its end.",
            ["status"],
            buckets=_RUN_SECONDS,
            registry=self.registry,
        )
        for plan in PLANS:
            self._runs_started.labels(plan)
            self._runs_finished.labels(plan, str(ExecutionStatus.COMPLETE), NO_REASON)
        for status in RUN_STATUSES:
            self._step_seconds.labels(status)

    def _add_requests(self) -> None:
        self._requests = Counter(
            "kudo_api_requests_total",
            "Requests to the Kubernetes API, by verb, HTTP status and outcome.",
            ["verb", "code", "outcome"],
            registry=self.registry,
        )
        self._request_seconds = Histogram(
            "kudo_api_request_duration_seconds",
            "Time from a request to the Kubernetes API to the end of its response; for a watch, to "
            "its start.",
            ["verb"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        # Looking up the child of a metric costs more than counting; there are about ten children.
        self._requests_of = cache(self._requests.labels)
        self._request_seconds_of = cache(self._request_seconds.labels)

    def add_instances(
        self, instances: Callable[[], list[JsonObject]], now: Callable[[], datetime]
    ) -> None:
        """Count Instances from now on; both are called in the thread of the scrape."""
        self.registry.register(InstanceCollector(instances, now))

    def add_watches(self, watched: Callable[[], Sequence[Watched]]) -> None:
        """Report watches from now on; `watched` is called in the thread of the scrape."""
        self.registry.register(WatchCollector(watched))

    def reconcile_ended(self, outcome: str, seconds: float) -> None:
        # Through `labels`, as each label is: no tenant can make a new series.
        self.reconciles.labels(reconcile_label(outcome)).inc()
        self.reconcile_seconds.observe(seconds)

    def run_started(self, plan: str) -> None:
        self._runs_started.labels(plan_label(plan)).inc()

    def run_finished(self, entry: PlanStatus, reason: str) -> None:
        """Count a run whose terminal status has been stored."""
        plan, status = plan_label(entry.name), entry.status
        self._runs_finished.labels(plan, status, reason_label(reason)).inc()
        # Not for a run that KUDO 0.19 began, whose status lacks the start.
        seconds = run_seconds(entry)
        if seconds is not None:
            self._run_seconds.labels(plan, status).observe(seconds)

    def run_superseded(self, plan: str) -> None:
        """Count a run that another one replaced."""
        self._runs_finished.labels(plan_label(plan), _FAILED, SUPERSEDED).inc()

    def run_stopped(self, plan: str) -> None:
        """Count a run that was removed before it ended."""
        self._runs_finished.labels(plan_label(plan), _FAILED, STOPPED).inc()

    def step_ended(self, status: ExecutionStatus, seconds: float) -> None:
        self._step_seconds.labels(str(status)).observe(seconds)

    def request_seen(self, request: RequestSeen) -> None:
        """Count a request; for `Client.on_request`."""
        verb = verb_label(request.verb)
        # Labels have few values, so the cache is bounded.
        self._requests_of(verb, code_label(request.status), _outcome(request)).inc()
        self._request_seconds_of(verb).observe(request.seconds)

    def leading(self, leading: bool) -> None:
        """Record that a term of leadership begins or ends."""
        self._leader.set(leading)
        if leading:
            self._terms.inc()


def _outcome(request: RequestSeen) -> str:
    if request.ending != "answered":
        return request.ending
    if request.status >= 500:
        return "failed"
    return "refused" if request.status >= 400 else "ok"
