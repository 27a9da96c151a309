"""Names the Instances that are suspended, at each scrape.

Only the `MOST_NAMED` that have been suspended for longest are named: whoever may create Instances
could otherwise create any number of series.

The labels are not `namespace` and `instance`: Prometheus gives these two to the target that it
scrapes, and renames those that the target sends.
"""

import heapq
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from prometheus_client.core import GaugeMetricFamily

from kudo.api import JsonObject
from kudo_reconciler.metrics.durations import moment

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
    paused = [(since, one["metadata"]) for one in instances if (since := _since(one))]
    number.add_metric([], len(paused))
    times = ((moment(since), one["namespace"], one["name"]) for since, one in paused)
    known = ((began, *key) for began, *key in times if began is not None)
    for began, namespace, name in heapq.nsmallest(MOST_NAMED, known):
        seconds.add_metric([namespace, name], max(0.0, (now - began).total_seconds()))
    return families


def _since(instance: JsonObject) -> str:
    return (instance.get("status") or {}).get("suspendedAt") or ""
