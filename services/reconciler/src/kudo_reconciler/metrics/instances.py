"""The Instances as they are, counted when Prometheus asks.

Thread safety: the scrape runs in a thread of its own. It takes the list of Instances, which the
cache makes in one step, and reads objects that nobody changes once they are stored.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kudo.api import JsonObject
from kudo.runs.conditions import READY, RECONCILING, STALLED
from kudo_reconciler.metrics.durations import moment
from kudo_reconciler.metrics.labels import INSTANCE_STATES, PLANS, plan_label

_BY_READY = {"True": "ready", "False": "not_ready"}


class InstanceCollector(Collector):
    """Counts Instances by state, and the runs in progress.

    Args:
        instances: Returns all Instances, without waiting and from any thread.
    """

    def __init__(self, instances: Callable[[], list[JsonObject]]) -> None:
        self._instances = instances

    def describe(self) -> Iterable[Metric]:
        """Return the metrics without samples, so that registering counts nothing."""
        return _families()

    def collect(self) -> Iterable[Metric]:
        states, running, oldest = families = _families()
        instances = self._instances()
        counted = Counter(map(state_of, instances))
        for state in INSTANCE_STATES:
            states.add_metric([state], counted[state])
        began = list(_runs(instances))
        plans = Counter(plan for plan, _ in began)
        for plan in PLANS:
            running.add_metric([plan], plans[plan])
            times = [time for name, time in began if name == plan and time is not None]
            if times:
                oldest.add_metric([plan], min(times).timestamp())
        return families


def _families() -> tuple[GaugeMetricFamily, GaugeMetricFamily, GaugeMetricFamily]:
    return (
        GaugeMetricFamily(
            "kudo_instances", "Instances in the cluster, by state.", labels=["state"]
        ),
        GaugeMetricFamily(
            "kudo_plan_runs_in_progress", "Plan executions scheduled or running.", labels=["plan"]
        ),
        GaugeMetricFamily(
            "kudo_plan_run_oldest_start_timestamp_seconds",
            "When the longest running plan execution began; no series while none runs.",
            labels=["plan"],
        ),
    )


def state_of(instance: JsonObject) -> str:
    """Return how an Instance is, in one of six words.

    What is going on comes before how its resources are: being deleted, stopped by a failure that
    only somebody's change can end, a plan that runs. A failure from before the last change of the
    spec counts no more once a plan is scheduled.
    """
    if instance["metadata"].get("deletionTimestamp"):
        return "deleting"
    conditions = _conditions(instance)
    scheduled = bool(_scheduled_plan(instance))
    if conditions.get(STALLED) == "True" and (_is_current(instance) or not scheduled):
        return "failed"
    if scheduled or conditions.get(RECONCILING) == "True":
        return "progressing"
    return _BY_READY.get(conditions.get(READY, ""), "unknown")


def _is_current(instance: JsonObject) -> bool:
    """Whether the status speaks of the spec as it is."""
    observed = (instance.get("status") or {}).get("observedGeneration")
    return bool(observed == instance["metadata"].get("generation"))


def _conditions(instance: JsonObject) -> dict[str, str]:
    found = (instance.get("status") or {}).get("conditions") or ()
    return {one.get("type", ""): one.get("status", "") for one in found}


def _scheduled_plan(instance: JsonObject) -> str:
    spec = instance.get("spec") or {}
    return (spec.get("planExecution") or {}).get("planName") or ""


def _runs(instances: Iterable[JsonObject]) -> Iterator[tuple[str, datetime | None]]:
    """Yield the plan of each run, and when it began if its status says so already."""
    for instance in instances:
        name = _scheduled_plan(instance)
        if name:
            entries = (instance.get("status") or {}).get("planStatus") or {}
            entry = entries.get(name) or {}
            ours = entry.get("uid") == instance["spec"]["planExecution"].get("uid")
            yield plan_label(name), moment(entry.get("startedAt")) if ours else None
