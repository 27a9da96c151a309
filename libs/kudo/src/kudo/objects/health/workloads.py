"""Health of Deployments, StatefulSets, DaemonSets and ReplicaSets: whether a rollout has ended.

The rules and sentences are those of `kubectl rollout status`. None of these kinds ever fails
terminally: their controllers keep retrying, whatever they report.
"""

from kudo.api import JsonObject
from kudo.objects.health.reading import (
    condition,
    count,
    generation,
    is_true,
    mapping,
    name,
    number,
    own_message,
    spec,
    status,
    text,
)
from kudo.objects.health.result import HEALTHY, Health, waiting

_ROLLOUT = "Waiting for rollout to finish: "


def deployment(obj: JsonObject) -> Health:
    """Healthy if every replica has the new template and is available, and no old one is left.

    One that exceeded its progress deadline is still waited for, where kstatus calls it failed: the
    controller goes on after the deadline, and slow pulls, quotas and missing nodes often end by
    themselves. Ending the plan there would leave a database half changed.
    """
    if not _observed(obj):
        return _waiting(obj, "deployment", "Waiting for deployment spec update to be observed...")
    # While it is paused nothing rolls out, whatever the pods do.
    paused = " (it is paused: spec.paused is true)" if spec(obj).get("paused") is True else ""
    progressing = condition(obj, "Progressing")
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        detail = text(progressing.get("message")) or "exceeded its progress deadline"
        return _waiting(obj, "deployment", detail + paused)
    desired, total = _replicas(obj), _counted(obj, "replicas")
    updated, available = _counted(obj, "updatedReplicas"), _counted(obj, "availableReplicas")
    if updated < desired:
        why = f"{updated} out of {desired} new replicas have been updated..."
    elif total > updated:
        why = _surplus(total - updated)
    elif available < updated:
        why = f"{available} of {updated} updated replicas are available..."
    else:
        return HEALTHY
    detail = f"{_ROLLOUT}{why}{paused}{_replica_failure(obj)}"
    return _waiting(obj, "deployment", detail)


def stateful_set(obj: JsonObject) -> Health:
    """Healthy if its pods are ready, none is surplus, and the update has finished.

    With OnDelete no update is waited for, since pods are updated when somebody deletes them; with a
    partition, the pods from the partition on must be updated; else all pods.
    """
    desired, ready = _replicas(obj), _counted(obj, "readyReplicas")
    surplus = _counted(obj, "replicas") - desired
    if not _observed(obj):
        return _waiting(obj, "statefulset", "Waiting for statefulset spec update to be observed...")
    if ready < desired:
        return _waiting(obj, "statefulset", f"Waiting for {desired - ready} pods to be ready...")
    if surplus > 0:
        return _waiting(obj, "statefulset", _ROLLOUT + _surplus(surplus))
    if _strategy(obj).get("type") == "OnDelete":
        return HEALTHY
    updated = _counted(obj, "updatedReplicas")
    partition = count(mapping(_strategy(obj).get("rollingUpdate")).get("partition"))
    if partition:
        if updated >= desired - partition:
            return HEALTHY
        what = f"{updated} out of {desired - partition} new pods have been updated..."
        return _waiting(obj, "statefulset", f"Waiting for partitioned roll out to finish: {what}")
    # The controller makes the update revision the current one once all pods have it.
    revision = status(obj).get("updateRevision")
    if revision == status(obj).get("currentRevision"):
        return HEALTHY
    what = f"{updated} pods at revision {revision}..."
    return _waiting(
        obj, "statefulset", f"Waiting for statefulset rolling update to complete {what}"
    )


def daemon_set(obj: JsonObject) -> Health:
    """Healthy if each selected node has an available pod of the new template.

    With OnDelete the pods may be old ones.
    """
    desired = _counted(obj, "desiredNumberScheduled")
    updated, available = _counted(obj, "updatedNumberScheduled"), _counted(obj, "numberAvailable")
    if not _observed(obj):
        return _waiting(obj, "daemonset", "Waiting for daemon set spec update to be observed...")
    if updated < desired and _strategy(obj).get("type") != "OnDelete":
        what = f"{updated} out of {desired} new pods have been updated..."
        return _waiting(obj, "daemonset", _ROLLOUT + what)
    if available < desired:
        what = f"{available} of {desired} updated pods are available..."
        return _waiting(obj, "daemonset", _ROLLOUT + what)
    return HEALTHY


def replica_set(obj: JsonObject) -> Health:
    """Healthy if its pods are ready and none is surplus."""
    desired, ready = _replicas(obj), _counted(obj, "readyReplicas")
    surplus = _counted(obj, "replicas") - desired
    if not _observed(obj):
        return _waiting(obj, "replicaset", "Waiting for replica set spec update to be observed...")
    if ready < desired:
        what = f"Waiting for {desired - ready} pods to be ready...{_replica_failure(obj)}"
        return _waiting(obj, "replicaset", what)
    if surplus > 0:
        return _waiting(obj, "replicaset", _ROLLOUT + _surplus(surplus))
    return HEALTHY


def _observed(obj: JsonObject) -> bool:
    """Whether the controller has observed the current generation; these controllers always tell."""
    seen = _counted(obj, "observedGeneration")
    return seen != 0 and seen >= generation(obj)


def _replicas(obj: JsonObject) -> int:
    desired = number(spec(obj).get("replicas"))
    return 1 if desired is None else desired


def _counted(obj: JsonObject, field: str) -> int:
    return count(status(obj).get(field))


def _strategy(obj: JsonObject) -> JsonObject:
    return mapping(spec(obj).get("updateStrategy"))


def _surplus(pods: int) -> str:
    return f"{pods} old replicas are pending termination..."


def _replica_failure(obj: JsonObject) -> str:
    """Say why pods cannot be created or deleted, such as for a quota."""
    failure = condition(obj, "ReplicaFailure")
    return f" ({own_message(failure)})" if is_true(failure) else ""


def _waiting(obj: JsonObject, kind: str, what: str) -> Health:
    return waiting(f'{kind} "{name(obj)}" is not healthy: {what}')
