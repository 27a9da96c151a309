"""HorizontalPodAutoscalers of v2beta1: a metric and its target became mappings of their own.

v2beta2 differs in nothing from v2.
"""

from typing import Final

from kudo.api import Json, JsonObject
from kudo.objects.removed_apis.shapes import mapping_at, mappings_at

_TARGETS: Final = {
    "targetAverageUtilization": ("Utilization", "averageUtilization"),
    "targetValue": ("Value", "value"),
    "targetAverageValue": ("AverageValue", "averageValue"),
    "averageValue": ("AverageValue", "averageValue"),
}
"""Fields that say what is aimed at: the type of the target, and its field in v2."""
_OF_SOURCE: Final = {
    "resource": ("targetAverageUtilization", "targetAverageValue"),
    "containerResource": ("targetAverageUtilization", "targetAverageValue"),
    "pods": ("targetAverageValue",),
    # The average counts where both are given; targetValue had to be there in any case.
    "object": ("averageValue", "targetValue"),
    "external": ("targetValue", "targetAverageValue"),
}
"""Kinds of metric sources, and their fields of that sort, the first one that is set counts."""
_NAMES: Final = {"metricName": "name", "selector": "selector", "metricSelector": "selector"}


def upgrade_v2beta1(autoscaler: JsonObject) -> None:
    spec = mapping_at(autoscaler, "spec")
    for metric in mappings_at(spec or {}, "metrics"):
        for kind, fields in _OF_SOURCE.items():
            source = mapping_at(metric, kind)
            if source is not None:
                metric[kind] = _source(source, fields)


def _source(old: JsonObject, fields: tuple[str, ...]) -> JsonObject:
    target = _target(old, fields)
    if target is None:
        return old
    new: JsonObject = {}
    for key, value in old.items():
        if key in _NAMES and value is not None:
            new.setdefault("metric", {})[_NAMES[key]] = value
        elif key == "target":
            new["describedObject"] = value
        elif key not in fields and key not in _NAMES:
            new[key] = value
    return {**new, "target": target}


def _target(source: JsonObject, fields: tuple[str, ...]) -> dict[str, Json] | None:
    for field in fields:
        if source.get(field) is not None:
            kind, name = _TARGETS[field]
            return {"type": kind, name: source[field]}
    return None
