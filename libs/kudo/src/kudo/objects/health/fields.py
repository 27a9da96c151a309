"""The fields that the rules read, so that a cache can drop all others.

Invariant: `health_of` returns the same for an object and for what `read_fields` returns of it; a
test compares the two for every rule. A rule that reads another field needs it here.
"""

from collections.abc import Callable, Mapping
from typing import Final

from kudo.api import ExecutionStatus, Json, JsonObject
from kudo.api.names import GROUP
from kudo.objects.health.pods import may_be_log, shows_message
from kudo.objects.health.reading import LONGEST_TEXT, group_of, text

Keep = Callable[[Json], Json]
"""Returns what is kept of a value, None if nothing is."""

_WORDS: Final = (
    *("True", "False", "Unknown", "Ready", "ContainersNotReady", "Progressing", "Available"),
    *("Pending", "Running", "Succeeded", "Failed", "Bound", "Active", "Terminating", "ClusterIP"),
    *("PodScheduled", "ReplicaFailure", "Complete", "RollingUpdate", "CrashLoopBackOff"),
    *("MinimumReplicasAvailable", "NewReplicaSetAvailable", "PodCompleted", "Unschedulable"),
)
_SHARED: Final = {word: word for word in _WORDS}
"""Texts that thousands of objects share; texts that tenants choose are not added."""


def scalar(value: Json) -> Json:
    """Keep a scalar; a text is cut to what rules read."""
    if isinstance(value, str):
        return _SHARED.get(value) or value[:LONGEST_TEXT]
    return value if isinstance(value, int | float) else None


def _is_set(value: Json) -> Json:
    """Keep whether the field is set."""
    return True if value else None


def fields(kept: Mapping[str, Keep]) -> Keep:
    """Return what keeps some fields of an object."""

    def keep(value: Json) -> Json:
        if not isinstance(value, dict):
            return None
        # None and not an empty mapping: objects without such fields then take no memory for them.
        below = {name: keep_field(value.get(name)) for name, keep_field in kept.items()}
        return {name: part for name, part in below.items() if part is not None} or None

    return keep


def each(keep: Keep) -> Keep:
    """Return what keeps something of each item of a list."""

    def kept(value: Json) -> Json:
        if not isinstance(value, list):
            return None
        return [below for item in value if (below := keep(item)) is not None] or None

    return kept


def _values(keep: Keep) -> Keep:
    """Return what keeps something of each value of an object, whatever their names are."""

    def kept(value: Json) -> Json:
        if not isinstance(value, dict):
            return None
        below = {name: keep(item) for name, item in value.items()}
        return {name: part for name, part in below.items() if part is not None} or None

    return kept


_SAID: Final = {"reason": scalar, "message": scalar}
_CONDITION: Final = fields(
    {"type": scalar, "status": scalar, "observedGeneration": scalar} | _SAID,
)


def _conditions(*types: str) -> Keep:
    """Return what keeps the first condition of each of these types."""

    def keep(value: Json) -> Json:
        kept: dict[str, Json] = {}
        for item in value if isinstance(value, list) else ():
            kind = item.get("type") if isinstance(item, dict) else None
            if isinstance(kind, str) and kind in types and kind not in kept:
                kept[kind] = _CONDITION(item)
        return [*kept.values()] or None

    return keep


def _parts(
    *,
    spec: Mapping[str, Keep] | None = None,
    status: Mapping[str, Keep] | None = None,
    conditions: tuple[str, ...] = (),
) -> Keep:
    of_status = {"conditions": _conditions(*conditions)} if conditions else {}
    return fields({"spec": fields(spec or {}), "status": fields(of_status | dict(status or {}))})


def _scalars(*names: str) -> dict[str, Keep]:
    return dict.fromkeys(names, scalar)


_OBSERVED: Final = _scalars("observedGeneration")
_BY_CONDITIONS: Final = _parts(status=_OBSERVED, conditions=("Reconciling", "Stalled", "Ready"))

_ENDED: Final = fields({"exitCode": scalar} | _SAID)
_CONTAINER: Final = fields(
    {
        "name": scalar,
        "image": scalar,
        "ready": scalar,
        "restartCount": scalar,
        "state": fields({"waiting": fields(_SAID), "terminated": _ENDED}),
        "lastState": fields({"terminated": _ENDED}),
    }
)


def _container(value: Json) -> Json:
    """Keep a container that is not running, or was restarted."""
    kept = _CONTAINER(value)
    return kept if kept and not kept.keys().isdisjoint({"state", "lastState"}) else None


_POLICY: Final = fields(_scalars("name", "terminationMessagePolicy"))


# Containers whose termination message may be their log.
_LOGGED: Final = each(lambda v: _POLICY(v) if isinstance(v, dict) and may_be_log(v) else None)
_POLICIES: Final = fields({"initContainers": _LOGGED, "containers": _LOGGED})
_POD: Final = _parts(
    status=_scalars("phase", "reason", "message")
    | {"initContainerStatuses": each(_container), "containerStatuses": each(_container)},
    conditions=("PodScheduled", "Ready"),
)


def _pod(value: Json) -> Json:
    """Keep the spec only of a pod that shows its termination message."""
    kept = _POD(value)
    if not isinstance(value, dict) or not shows_message(value):
        return kept
    policies = _POLICIES(value.get("spec"))
    return {**(kept or {}), "spec": policies} if policies else kept


_STEP: Final = fields(_scalars("status", "message"))


def _failed_step(value: Json) -> Json:
    failed = isinstance(value, dict) and value.get("status") == ExecutionStatus.FATAL_ERROR
    return _STEP(value) if failed else None


_RUN: Final = fields(
    _scalars("name", "status", "uid", "message", "lastUpdatedTimestamp")
    | {"phases": each(fields({"steps": each(_failed_step)}))}
)


def _last_run(value: Json) -> Json:
    """Keep that there was a last run, also if it does not say which."""
    if not value or not isinstance(value, dict):
        return None
    return {"plan": scalar(value.get("plan")), "uid": scalar(value.get("uid"))}


_KEPT: Final[dict[tuple[str, str], Keep]] = {
    ("apps", "Deployment"): _parts(
        spec=_scalars("replicas", "paused"),
        status=_OBSERVED | _scalars("replicas", "updatedReplicas", "availableReplicas"),
        conditions=("Progressing", "ReplicaFailure"),
    ),
    ("apps", "StatefulSet"): _parts(
        spec=_scalars("replicas", "podManagementPolicy")
        | {
            "updateStrategy": fields(
                {"type": scalar, "rollingUpdate": fields(_scalars("partition"))}
            )
        },
        status=_OBSERVED
        | _scalars("replicas", "readyReplicas", "updatedReplicas")
        | _scalars("updateRevision", "currentRevision"),
    ),
    ("apps", "DaemonSet"): _parts(
        spec={"updateStrategy": fields(_scalars("type"))},
        status=_OBSERVED
        | _scalars("desiredNumberScheduled", "updatedNumberScheduled", "numberAvailable"),
    ),
    ("apps", "ReplicaSet"): _parts(
        spec=_scalars("replicas"),
        status=_OBSERVED | _scalars("replicas", "readyReplicas"),
        conditions=("ReplicaFailure",),
    ),
    ("batch", "Job"): _parts(conditions=("Complete", "Failed", "FailureTarget", "Suspended")),
    ("batch", "CronJob"): _parts(status=_OBSERVED),
    ("", "Pod"): _pod,
    ("", "PersistentVolumeClaim"): _parts(spec=_scalars("volumeName"), status=_scalars("phase")),
    ("", "Service"): _parts(
        spec={"type": scalar, "clusterIP": _is_set, "externalIPs": _is_set},
        status={"loadBalancer": fields({"ingress": _is_set})},
    ),
    ("", "Namespace"): _parts(status=_scalars("phase")),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _parts(
        # All conditions in their order, since the message of the rule lists them.
        status=_OBSERVED
        | {"conditions": each(lambda v: (_CONDITION(v) or {}) if isinstance(v, dict) else None)}
    ),
    ("apiregistration.k8s.io", "APIService"): _parts(conditions=("Available",)),
    ("policy", "PodDisruptionBudget"): _parts(status=_OBSERVED),
    ("networking.k8s.io", "Ingress"): _parts(status=_OBSERVED),
    ("autoscaling", "HorizontalPodAutoscaler"): _parts(status=_OBSERVED),
    (GROUP, "Instance"): _parts(
        spec={"planExecution": fields(_scalars("planName", "uid", "status"))},
        status=_OBSERVED | {"lastRun": _last_run, "planStatus": _values(_RUN)},
        conditions=("Stalled",),
    ),
}
"""By group and kind; of every other kind, what the conditions of kstatus say."""


def read_fields(obj: JsonObject) -> JsonObject:
    """Return what rules read of an object besides its metadata: parts of `spec` and `status`.

    Texts are cut to what rules read. The argument is not changed.
    """
    group_kind = group_of(text(obj.get("apiVersion"))), text(obj.get("kind"))
    kept: JsonObject | None = _KEPT.get(group_kind, _BY_CONDITIONS)(obj)
    return kept or {}
