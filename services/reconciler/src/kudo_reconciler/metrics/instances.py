"""Counts the Instances by state at each scrape, names those that are suspended, times their runs.

Only the `MOST_NAMED` that have been suspended for longest are named: whoever may create Instances
could otherwise create any number of series. Their labels are not `namespace` and `instance`:
Prometheus gives these two to the target that it scrapes, and renames those that the target sends.

Durations come from the times in statuses, so that a restart loses nothing.

Thread safety: the scrape runs in a thread of its own. It reads a list of Instances that the cache
creates in one step, and objects that do not change once they are stored.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kudo.api import JsonObject, PlanStatus
from kudo.plans.execution import StepRef
from kudo.plans.runs.conditions import READY, RECONCILING, STALLED
from kudo_reconciler.metrics.labels import INSTANCE_STATES, PLANS, plan_label


def moment(timestamp: str | None) -> datetime | None:
    """Parse an RFC 3339 time; None if there is none, or the value is not a time."""
    try:
        read = datetime.fromisoformat(timestamp or "")
    except ValueError:
        return None
    # Times of the API are in UTC; a text without a zone was written by somebody else.
    return read if read.tzinfo is not None else read.replace(tzinfo=UTC)


def run_seconds(entry: PlanStatus) -> float | None:
    """Return the duration of a run in whole seconds; None if its status lacks a time.

    KUDO 0.19 did not record when a run began.
    """
    began, ended = moment(entry.started_at), moment(entry.finished_at)
    if began is None or ended is None:
        return None
    # Statuses have whole seconds of the API server's clock, which may be set back.
    return max(0.0, (ended - began).total_seconds())


@dataclass(slots=True)
class StepTimes:
    """Start times of the steps of one run. Each step ends once, however often it is reconciled."""

    _began: dict[StepRef, datetime] = field(default_factory=dict)
    _ended: set[StepRef] = field(default_factory=set)

    def begin(self, ref: StepRef, entry: PlanStatus, now: datetime) -> None:
        """Record that a step is reconciled; it began now, or at the time in its status."""
        if ref not in self._began:
            # A leader that takes over goes on with the times of the status.
            self._began[ref] = min(_recorded(entry, ref), default=now)

    def end(self, ref: StepRef, now: datetime) -> float | None:
        """Return the seconds since a step began; None if its end was recorded before."""
        # A step that ended is looked at again until its status is stored.
        if ref in self._ended:
            return None
        self._ended.add(ref)
        return max(0.0, (now - self._began[ref]).total_seconds())


def _recorded(entry: PlanStatus, ref: StepRef) -> Iterable[datetime]:
    steps = (entry.phases or ())[ref.phase_index].steps or ()
    times = (moment(task.started_at) for task in steps[ref.step_index].tasks or ())
    return (time for time in times if time is not None)


MOST_NAMED: Final = 100


def suspended_families() -> tuple[GaugeMetricFamily, GaugeMetricFamily]:
    """Return the number of suspended Instances and the seconds of each, without samples."""
    return (
        GaugeMetricFamily("kudo_instances_suspended", "Instances that are suspended."),
        GaugeMetricFamily(
            "kudo_instance_suspended_seconds",
            f"Time for which an Instance has been suspended; the {MOST_NAMED} longest.",
            labels=["instance_namespace", "instance_name"],
        ),
    )


def suspended(
    instances: Iterable[JsonObject], now: datetime
) -> tuple[GaugeMetricFamily, GaugeMetricFamily]:
    """Return the families with the Instances that have `status.suspendedAt`.

    One whose time cannot be read counts, and is not named.
    """
    number, seconds = families = suspended_families()
    paused = [
        (since, instance["metadata"])
        for instance in instances
        if (since := (instance.get("status") or {}).get("suspendedAt") or "")
    ]
    number.add_metric([], len(paused))
    times = ((moment(since), metadata["namespace"], metadata["name"]) for since, metadata in paused)
    readable = ((began, *key) for began, *key in times if began is not None)
    # The longest come first: those are the forgotten ones.
    for began, namespace, name in heapq.nsmallest(MOST_NAMED, readable):
        seconds.add_metric([namespace, name], max(0.0, (now - began).total_seconds()))
    return families


_BY_READY = {"True": "ready", "False": "not_ready"}


class InstanceCollector(Collector):
    """Counts Instances by state, the runs in progress, and the Instances that are suspended.

    Args:
        instances: Returns all Instances, without waiting and from any thread.
        now: Returns the time as statuses have it, from any thread.
    """

    def __init__(
        self, instances: Callable[[], list[JsonObject]], now: Callable[[], datetime]
    ) -> None:
        self._instances = instances
        self._now = now

    def describe(self) -> Iterable[Metric]:
        """Return the metrics without samples, so that registering counts nothing."""
        return [*_families(), *suspended_families()]

    def collect(self) -> Iterable[Metric]:
        states, running, oldest = families = _families()
        instances = self._instances()
        counted = Counter(map(state_of, instances))
        # Each state has a sample, also of 0: alerts compare with it.
        for state in INSTANCE_STATES:
            states.add_metric([state], counted[state])
        began = list(_runs(instances))
        plans = Counter(plan for plan, _ in began)
        for plan in PLANS:
            running.add_metric([plan], plans[plan])
            times = [time for name, time in began if name == plan and time is not None]
            if times:
                oldest.add_metric([plan], min(times).timestamp())
        return [*families, *suspended(instances, self._now())]


def _families() -> tuple[GaugeMetricFamily, GaugeMetricFamily, GaugeMetricFamily]:
    return (
        GaugeMetricFamily(
            "kudo_instances", "Instances in the cluster, by state.", labels=["state"]
        ),
        GaugeMetricFamily(
            "kudo_plan_runs_in_progress",
            "Plan executions that are scheduled or running.",
            labels=["plan"],
        ),
        GaugeMetricFamily(
            "kudo_plan_run_oldest_start_timestamp_seconds",
            "Start time of the longest-running plan execution; no series while none is running.",
            labels=["plan"],
        ),
    )


def state_of(instance: JsonObject) -> str:
    """Return the state of an Instance, one of `INSTANCE_STATES`.

    Deletion, a failure that only a change by a user can end, and a running plan come before the
    health of its resources. A failure from before the last change of the spec no longer counts once
    a plan is scheduled.
    """
    if instance["metadata"].get("deletionTimestamp"):
        return "deleting"
    conditions = _conditions(instance)
    scheduled = bool(_scheduled_plan(instance))
    # A condition of an older generation says nothing of the plan that a change has scheduled.
    if conditions.get(STALLED) == "True" and (_is_current(instance) or not scheduled):
        return "failed"
    if scheduled or conditions.get(RECONCILING) == "True":
        return "progressing"
    return _BY_READY.get(conditions.get(READY, ""), "unknown")


def _is_current(instance: JsonObject) -> bool:
    """Whether the status is that of the current spec."""
    observed = (instance.get("status") or {}).get("observedGeneration")
    return bool(observed == instance["metadata"].get("generation"))


def _conditions(instance: JsonObject) -> dict[str, str]:
    conditions = (instance.get("status") or {}).get("conditions") or ()
    return {condition.get("type", ""): condition.get("status", "") for condition in conditions}


def _scheduled_plan(instance: JsonObject) -> str:
    spec = instance.get("spec") or {}
    return (spec.get("planExecution") or {}).get("planName") or ""


def _runs(instances: Iterable[JsonObject]) -> Iterator[tuple[str, datetime | None]]:
    """Yield the plan of each run, and its start time if its status has one already."""
    for instance in instances:
        name = _scheduled_plan(instance)
        if name:
            entries = (instance.get("status") or {}).get("planStatus") or {}
            entry = entries.get(name) or {}
            # The entry of the plan may still be that of its run before.
            ours = entry.get("uid") == instance["spec"]["planExecution"].get("uid")
            yield plan_label(name), moment(entry.get("startedAt")) if ours else None
