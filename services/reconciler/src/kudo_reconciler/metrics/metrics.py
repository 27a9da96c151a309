"""What Prometheus can learn of the reconciler. No label takes a value that a tenant chooses.

The values that labels can take stand in `labels`; docs/metrics.md lists the series.
"""

from collections.abc import Callable, Sequence
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from kubeio.connection.requests import RequestSeen
from kudo.api import ExecutionStatus, JsonObject, PlanStatus
from kudo_reconciler.metrics.durations import run_seconds
from kudo_reconciler.metrics.instances import InstanceCollector
from kudo_reconciler.metrics.labels import (
    APPLY_OUTCOMES,
    NO_REASON,
    PASS_OUTCOMES,
    PLANS,
    RUN_STATUSES,
    STOPPED,
    SUPERSEDED,
    code_label,
    pass_label,
    plan_label,
    reason_label,
    verb_label,
)
from kudo_reconciler.metrics.queue import QueueMetrics
from kudo_reconciler.metrics.watches import WatchCollector, Watched, WatchRestarts

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_RENDER_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_RUN_SECONDS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 4 * 3600.0)
_FAILED = str(ExecutionStatus.FATAL_ERROR)


class Metrics:
    """All series of the reconciler, in a registry of their own.

    Attributes:
        queue: What the work queue reports to.
        watches: What informers report to.
    """

    def __init__(self) -> None:
        # They would add a series to each counter and histogram, and nobody asks for them.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self.queue = QueueMetrics(self.registry)
        self.watches = WatchRestarts(self.registry)
        self._add_passes()
        self._add_runs()
        self._add_requests()
        self._leader = Gauge(
            "kudo_leader", "1 while this replica is the one that works.", registry=self.registry
        )
        self._terms = Counter(
            "kudo_leader_transitions_total",
            "Times that this replica became the one that works.",
            registry=self.registry,
        )

    def _add_passes(self) -> None:
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
            "kudo_events_lost_total", "Events that could not be written.", registry=self.registry
        )
        self.task_faults = Counter(
            "kudo_task_faults_total",
            "Attempts at a task that a fault of ours ended; they are made again.",
            registry=self.registry,
        )
        self.events_waiting = Gauge(
            "kudo_events_waiting",
            "Events that wait to be written, those on their way among them.",
            registry=self.registry,
        )
        for outcome in PASS_OUTCOMES:
            self.passes.labels(outcome)
        for outcome in APPLY_OUTCOMES:
            self.applied.labels(outcome)

    def _add_runs(self) -> None:
        self._runs_started = Counter(
            "kudo_plan_runs_started_total",
            "Plan executions begun, by plan.",
            ["plan"],
            registry=self.registry,
        )
        self._runs_finished = Counter(
            "kudo_plan_runs_finished_total",
            "Plan executions ended, by plan, status and, for failed ones, reason.",
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
            "Time from the first try of a step to its end.",
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
            "Time from a request to the Kubernetes API to the end of its answer, of a watch to "
            "its beginning.",
            ["verb"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        # Looking up children of a metric costs more than counting, and there are some ten of them.
        self._requests_of = cache(self._requests.labels)
        self._request_seconds_of = cache(self._request_seconds.labels)

    def add_instances(self, instances: Callable[[], list[JsonObject]]) -> None:
        """Count Instances from now on; `instances` is called in the thread of the scrape."""
        self.registry.register(InstanceCollector(instances))

    def add_watches(self, watched: Callable[[], Sequence[Watched]]) -> None:
        """Tell of watches from now on; `watched` is called in the thread of the scrape."""
        self.registry.register(WatchCollector(watched))

    def pass_ended(self, outcome: str, seconds: float) -> None:
        self.passes.labels(pass_label(outcome)).inc()
        self.pass_seconds.observe(seconds)

    def run_started(self, plan: str) -> None:
        self._runs_started.labels(plan_label(plan)).inc()

    def run_finished(self, entry: PlanStatus, reason: str) -> None:
        """Count a run whose terminal status has been stored."""
        plan, status = plan_label(entry.name), entry.status
        self._runs_finished.labels(plan, status, reason_label(reason)).inc()
        seconds = run_seconds(entry)
        if seconds is not None:
            self._run_seconds.labels(plan, status).observe(seconds)

    def run_superseded(self, plan: str) -> None:
        """Count a run in whose place another one came."""
        self._runs_finished.labels(plan_label(plan), _FAILED, SUPERSEDED).inc()

    def run_stopped(self, plan: str) -> None:
        """Count a run that was taken away before it ended."""
        self._runs_finished.labels(plan_label(plan), _FAILED, STOPPED).inc()

    def step_ended(self, status: ExecutionStatus, seconds: float) -> None:
        self._step_seconds.labels(str(status)).observe(seconds)

    def request_seen(self, request: RequestSeen) -> None:
        """Count a request; made for `Client.on_request`."""
        verb = verb_label(request.verb)
        # Labels are of few values, so what is cached is bounded.
        self._requests_of(verb, code_label(request.status), _outcome(request)).inc()
        self._request_seconds_of(verb).observe(request.seconds)

    def leading(self, leading: bool) -> None:
        """Note that a term of leadership begins or ends."""
        self._leader.set(leading)
        if leading:
            self._terms.inc()


def _outcome(request: RequestSeen) -> str:
    if request.ending != "answered":
        return request.ending
    if request.status >= 500:
        return "failed"
    return "refused" if request.status >= 400 else "ok"
