"""Objects of the chart, as tests look at them."""

import copy
import functools
import json

from tests.chart.value_sets import VALUE_SETS
from tools.chart.helm import Json, render


def of_set(name: str) -> list[Json]:
    """Return the objects that a set of values renders."""
    return copy.deepcopy(_of_set(name))


@functools.cache
def _of_set(name: str) -> list[Json]:
    return render(VALUE_SETS[name])


def pods(objects: list[Json]) -> list[tuple[str, Json]]:
    pods = [(obj["metadata"]["name"], obj["spec"]) for obj in objects if obj["kind"] == "Pod"]
    return pods + [
        (obj["metadata"]["name"], obj["spec"]["template"]["spec"])
        for obj in objects
        if obj["kind"] in {"Deployment", "Job"}
    ]


def pod_and_container(deployment: Json) -> tuple[Json, Json]:
    pod: Json = deployment["spec"]["template"]["spec"]
    [container] = pod["containers"]
    return pod, container


def named(objects: list[Json], kind: str, name: str) -> Json:
    [found] = [obj for obj in objects if (obj["kind"], obj["metadata"]["name"]) == (kind, name)]
    return found


def webhooks(objects: list[Json]) -> Json:
    """Return what the replicas register, as `mutating` and `validating`."""
    found: Json = json.loads(named(objects, "ConfigMap", "kudo-webhook")["data"]["webhooks.json"])
    return found
