"""Deployments, DaemonSets, ReplicaSets and StatefulSets of the groups extensions and apps.

What the old versions defaulted otherwise than apps/v1 is written out; apps/v1beta2 differs in
nothing.
"""

from typing import Final

from kudo.api import JsonObject
from kudo.objects.removed_apis.shapes import child, copied, mapping_at, set_default

_UNLIMITED: Final = 2**31 - 1
"""What the API server keeps for a limit that was left out in extensions/v1beta1."""


def default_selector(workload: JsonObject) -> None:
    """Select the pods by all labels of their template, as these versions did by default."""
    spec = mapping_at(workload, "spec")
    labels = mapping_at(spec, "template", "metadata", "labels")
    if spec is not None and labels:
        set_default(spec, "selector", {"matchLabels": copied(labels)})


def upgrade_extensions_deployment(deployment: JsonObject) -> None:
    default_selector(deployment)
    spec = mapping_at(deployment, "spec")
    if spec is None:
        return
    spec.pop("rollbackTo", None)
    set_default(spec, "revisionHistoryLimit", _UNLIMITED)
    set_default(spec, "progressDeadlineSeconds", _UNLIMITED)
    strategy = child(spec, "strategy")
    if strategy is not None and strategy.get("type") in (None, "", "RollingUpdate"):
        rolling = child(strategy, "rollingUpdate")
        if rolling is not None:
            set_default(rolling, "maxUnavailable", 1)
            set_default(rolling, "maxSurge", 1)


def upgrade_apps_deployment(deployment: JsonObject) -> None:
    default_selector(deployment)
    spec = mapping_at(deployment, "spec")
    if spec is not None:
        spec.pop("rollbackTo", None)
        set_default(spec, "revisionHistoryLimit", 2)


def upgrade_extensions_daemon_set(daemon_set: JsonObject) -> None:
    default_selector(daemon_set)
    spec = mapping_at(daemon_set, "spec")
    if spec is not None:
        spec.pop("templateGeneration", None)
        _update_on_delete(spec)


def upgrade_apps_stateful_set(stateful_set: JsonObject) -> None:
    default_selector(stateful_set)
    spec = mapping_at(stateful_set, "spec")
    if spec is not None:
        _update_on_delete(spec)


def _update_on_delete(spec: JsonObject) -> None:
    strategy = child(spec, "updateStrategy")
    if strategy is not None and strategy.get("type") in (None, ""):
        strategy["type"] = "OnDelete"
