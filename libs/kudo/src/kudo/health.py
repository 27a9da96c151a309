"""Whether an object is healthy: what lets a step end.

One small rule per kind, by what the object itself says in its status. A kind without a rule is
healthy once it exists. Only a failed Job is beyond hope; everything else may still come up.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from kudo.api import JsonObject


class State(Enum):
    HEALTHY = "healthy"
    WAITING = "waiting"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Health:
    """The judgement on one object.

    Attributes:
        state: FAILED means that waiting will not help.
        message: What the object waits for, naming it; empty if healthy.
    """

    state: State
    message: str = ""

    @property
    def healthy(self) -> bool:
        return self.state is State.HEALTHY


HEALTHY = Health(State.HEALTHY)
_ROLLOUT = "Waiting for rollout to finish: "
Rule = Callable[[JsonObject], Health]


def has_rule(api_version: str, kind: str) -> bool:
    """Return whether the health of this kind depends on its status, so that it must be watched."""
    return (_group(api_version), kind) in _RULES


def judge(obj: JsonObject) -> Health:
    """Judge an object as the API server returned it."""
    rule = _RULES.get((_group(str(obj.get("apiVersion", ""))), str(obj.get("kind", ""))))
    return HEALTHY if rule is None else rule(obj)


def _group(api_version: str) -> str:
    group, slash, _ = api_version.partition("/")
    return group if slash else ""


def _waiting(obj: JsonObject, kind: str, what: str) -> Health:
    return Health(State.WAITING, f'{kind} "{_name(obj)}" is not healthy: {what}')


def _name(obj: JsonObject) -> str:
    return str(obj["metadata"]["name"])


def _spec(obj: JsonObject) -> JsonObject:
    return obj.get("spec") or {}


def _status(obj: JsonObject) -> JsonObject:
    return obj.get("status") or {}


def _condition(obj: JsonObject, kind: str) -> JsonObject:
    conditions = _status(obj).get("conditions") or []
    return next((c for c in conditions if c.get("type") == kind), {})


def _observed(obj: JsonObject) -> bool:
    """Whether the controller has seen the object as it is now."""
    seen = _status(obj).get("observedGeneration") or 0
    return seen != 0 and seen >= (obj["metadata"].get("generation") or 0)


def _replicas(obj: JsonObject) -> int:
    wanted = _spec(obj).get("replicas")
    return 1 if wanted is None else int(wanted)


def _deployment(obj: JsonObject) -> Health:
    status, wanted = _status(obj), _replicas(obj)
    updated = status.get("updatedReplicas") or 0
    total = status.get("replicas") or 0
    available = status.get("availableReplicas") or 0
    if not _observed(obj):
        return _waiting(obj, "deployment", "Waiting for deployment spec update to be observed...")
    progressing = _condition(obj, "Progressing")
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        detail = progressing.get("message") or "exceeded its progress deadline"
        return _waiting(obj, "deployment", str(detail))
    if updated < wanted:
        text = f"{updated} out of {wanted} new replicas have been updated..."
        return _waiting(obj, "deployment", _ROLLOUT + text)
    if total > updated:
        text = f"{total - updated} old replicas are pending termination..."
        return _waiting(obj, "deployment", _ROLLOUT + text)
    if available < updated:
        text = f"{available} of {updated} updated replicas are available..."
        return _waiting(obj, "deployment", _ROLLOUT + text)
    return HEALTHY


def _stateful_set(obj: JsonObject) -> Health:
    status, wanted = _status(obj), _replicas(obj)
    strategy = _spec(obj).get("updateStrategy") or {}
    ready, updated = status.get("readyReplicas") or 0, status.get("updatedReplicas") or 0
    if not _observed(obj):
        return _waiting(obj, "statefulset", "Waiting for statefulset spec update to be observed...")
    if ready < wanted:
        return _waiting(obj, "statefulset", f"Waiting for {wanted - ready} pods to be ready...")
    if strategy.get("type") == "OnDelete":
        return HEALTHY
    partition = (strategy.get("rollingUpdate") or {}).get("partition") or 0
    if partition and updated >= wanted - partition:
        return HEALTHY
    if partition:
        text = f"{updated} out of {wanted - partition} new pods have been updated..."
        return _waiting(obj, "statefulset", f"Waiting for partitioned roll out to finish: {text}")
    if status.get("updateRevision") != status.get("currentRevision"):
        text = f"{updated} pods at revision {status.get('updateRevision')}..."
        text = f"Waiting for statefulset rolling update to complete {text}"
        return _waiting(obj, "statefulset", text)
    return HEALTHY


def _daemon_set(obj: JsonObject) -> Health:
    status = _status(obj)
    wanted = status.get("desiredNumberScheduled") or 0
    updated, available = (
        status.get("updatedNumberScheduled") or 0,
        status.get("numberAvailable") or 0,
    )
    if not _observed(obj):
        return _waiting(obj, "daemonset", "Waiting for daemon set spec update to be observed...")
    on_delete = (_spec(obj).get("updateStrategy") or {}).get("type") == "OnDelete"
    if updated < wanted and not on_delete:
        text = f"{updated} out of {wanted} new pods have been updated..."
        return _waiting(obj, "daemonset", _ROLLOUT + text)
    if available < wanted:
        text = (
            f"Waiting for rollout to finish: {available} of {wanted} updated pods are available..."
        )
        return _waiting(obj, "daemonset", text)
    return HEALTHY


def _replica_set(obj: JsonObject) -> Health:
    ready, wanted = _status(obj).get("readyReplicas") or 0, _replicas(obj)
    if not _observed(obj):
        return _waiting(obj, "replicaset", "Waiting for replica set spec update to be observed...")
    if ready < wanted:
        return _waiting(obj, "replicaset", f"Waiting for {wanted - ready} pods to be ready...")
    return HEALTHY


def _job(obj: JsonObject) -> Health:
    failed = _condition(obj, "Failed")
    if failed.get("status") == "True":
        detail = failed.get("message") or failed.get("reason") or "no message"
        return Health(State.FAILED, f'job "{_name(obj)}" has failed terminally: {detail}')
    if _condition(obj, "Complete").get("status") == "True":
        return HEALTHY
    return Health(State.WAITING, f'job "{_name(obj)}" still running or failed')


def _pod(obj: JsonObject) -> Health:
    phase = _status(obj).get("phase") or "Unknown"
    if phase == "Succeeded":
        return HEALTHY
    if phase == "Running" and _condition(obj, "Ready").get("status") == "True":
        return HEALTHY
    where = f"{obj['metadata'].get('namespace')}/{_name(obj)}"
    return Health(State.WAITING, f"pod {where} is not running yet: {phase}{_pod_detail(obj)}")


def _pod_detail(obj: JsonObject) -> str:
    """Say why the first waiting container waits."""
    containers = [
        *(_status(obj).get("initContainerStatuses") or []),
        *(_status(obj).get("containerStatuses") or []),
    ]
    for container in containers:
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("reason"):
            detail = f": {waiting['message']}" if waiting.get("message") else ""
            return f" ({container.get('name')}: {waiting['reason']}{detail})"
    return ""


def _service(obj: JsonObject) -> Health:
    spec = _spec(obj)
    where = f"service {obj['metadata'].get('namespace')}/{_name(obj)}"
    if spec.get("type") == "ExternalName":
        return HEALTHY
    if not spec.get("clusterIP"):
        return Health(State.WAITING, f"{where} does not have cluster IP address")
    if spec.get("type") != "LoadBalancer" or spec.get("externalIPs"):
        return HEALTHY
    if (_status(obj).get("loadBalancer") or {}).get("ingress"):
        return HEALTHY
    return Health(State.WAITING, f"{where} does not have load balancer ingress IP address")


_RULES: dict[tuple[str, str], Rule] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "ReplicaSet"): _replica_set,
    ("batch", "Job"): _job,
    ("", "Pod"): _pod,
    ("", "Service"): _service,
}


def readiness(objects: list[JsonObject]) -> tuple[str, ...]:
    """Return what keeps an idle Instance from being ready, sorted; empty when it is ready.

    Pods of Jobs are not judged: a finished or failed try of a Job says nothing about the Instance.
    """
    judged = (judge(obj) for obj in objects if not _of_a_job(obj))
    return tuple(sorted(health.message for health in judged if not health.healthy))


def _of_a_job(obj: JsonObject) -> bool:
    owners = obj["metadata"].get("ownerReferences") or []
    return any(owner.get("controller") and owner.get("kind") == "Job" for owner in owners)
