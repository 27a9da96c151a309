"""Gives workloads their status, as their controllers and nodes would after a while.

Of pods that a controller creates there are only those of Jobs, if a test asks for them.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

from kubeio.types import JsonObject
from tests.support.apiserver.storage import Revision, StorageName, key_of
from tests.support.apiserver.types.kinds import (
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    POD,
    REPLICA_SET,
    STATEFUL_SET,
)
from tests.support.apiserver.types.registry import Registry
from tests.support.apiserver.writes.writing import Options, Target, Writer

State = Literal["healthy", "failed", "stuck"]
_OPTIONS = Options(manager="kube-controller-manager", user="system:kube-controller-manager")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of a workload.

    Attributes:
        state: Failed Jobs and Pods stay so; other kinds are waited for.
        seconds: After which it is so.
    """

    state: State = "healthy"
    seconds: float = 1.0


def _never(obj: JsonObject) -> bool:
    del obj
    return False


def _always_healthy(obj: JsonObject) -> Outcome:
    del obj
    return Outcome()


def _condition(kind: str, reason: str = "") -> JsonObject:
    return {"type": kind, "status": "True"} | ({"reason": reason} if reason else {})


def _replicated(obj: JsonObject, state: State) -> JsonObject:
    expected = (obj.get("spec") or {}).get("replicas", 1)
    ready = expected if state == "healthy" else 0
    return {
        "observedGeneration": obj["metadata"]["generation"],
        "replicas": expected,
        "updatedReplicas": expected,
        "readyReplicas": ready,
        "availableReplicas": ready,
    }


def _stateful(obj: JsonObject, state: State) -> JsonObject:
    revision = f"{obj['metadata']['name']}-{obj['metadata']['generation']}"
    return _replicated(obj, state) | {"currentRevision": revision, "updateRevision": revision}


def _on_each_node(obj: JsonObject, state: State) -> JsonObject:
    available = 1 if state == "healthy" else 0
    return {
        "observedGeneration": obj["metadata"]["generation"],
        "desiredNumberScheduled": 1,
        "updatedNumberScheduled": 1,
        "numberAvailable": available,
        "numberReady": available,
    }


def _job(obj: JsonObject, state: State) -> JsonObject:
    del obj
    if state == "healthy":
        return {"succeeded": 1, "conditions": [_condition("Complete")]}
    if state == "failed":
        return {"failed": 1, "conditions": [_condition("Failed", "BackoffLimitExceeded")]}
    return {"active": 1}


def _pod(obj: JsonObject, state: State) -> JsonObject:
    del obj
    if state == "healthy":
        return {"phase": "Running", "conditions": [_condition("Ready")]}
    return {"phase": "Failed" if state == "failed" else "Pending"}


_STATUSES: dict[StorageName, Callable[[JsonObject, State], JsonObject]] = {
    DEPLOYMENT.storage: _replicated,
    REPLICA_SET.storage: _replicated,
    STATEFUL_SET.storage: _stateful,
    DAEMON_SET.storage: _on_each_node,
    JOB.storage: _job,
    POD.storage: _pod,
}


MESSAGE: Final = "kwok.kudo.dev/termination-message"
"""What containers write to their termination log, as for simulated nodes."""


@dataclass(slots=True)
class Workloads:
    """Follows the workloads and writes their status.

    Attributes:
        outcome: Says what becomes of a workload in its present generation.
        progress: Whether a status says at once that a workload is on its way.
        has_pod: Whether a Job has a pod. It runs from the start, and ends before the Job does.
    """

    writer: Writer
    registry: Registry
    outcome: Callable[[JsonObject], Outcome] = _always_healthy
    progress: bool = False
    has_pod: Callable[[JsonObject], bool] = _never
    _begun: dict[str, int] = field(default_factory=dict)
    _all_healthy: bool = False

    def start(self) -> None:
        """Follow the changes from now on."""
        self.writer.storage.listeners.append(self._seen)
        # A generation that a restore undid comes a second time.
        self.writer.storage.restored.append(self._begun.clear)

    def make_healthy(self) -> None:
        """Have every workload become healthy, also those that are stuck; what failed stays so."""
        self.outcome = _always_healthy
        self._all_healthy = True
        for name in _STATUSES:
            for obj in tuple(self.writer.storage.table(name).objects.values()):
                if not (obj.get("status") or {}).get("failed") and not _is_of_job(obj):
                    self._become(name, obj, "healthy")

    def _seen(self, name: StorageName, revision: Revision) -> None:
        if name not in _STATUSES or "deletionTimestamp" in revision.new["metadata"]:
            return
        if name == POD.storage and _is_of_job(revision.new):
            return
        uid, generation = _generation(revision.new)
        if revision.deleted or self._begun.get(uid) == generation:
            return
        self._begun[uid] = generation
        outcome, loop = self.outcome(revision.new), asyncio.get_running_loop()
        if name == JOB.storage and self.has_pod(revision.new):
            loop.call_soon(self._create_pod, revision.new)
        if self.progress:
            loop.call_soon(self._become, name, revision.new, "stuck")
        loop.call_later(outcome.seconds, self._become, name, revision.new, outcome.state)

    def _become(self, name: StorageName, seen: JsonObject, state: State) -> None:
        obj = self.writer.storage.table(name).objects.get(key_of(seen))
        if obj is None or _generation(obj) != _generation(seen):
            return
        if state == "stuck" and self._all_healthy:
            return
        if name == JOB.storage and state != "stuck":
            self._end_pod(obj, state)
        target = Target(self.registry.of(name), *key_of(obj), "status")
        self.writer.replace(target, {**obj, "status": _STATUSES[name](obj, state)}, _OPTIONS)

    def _create_pod(self, seen: JsonObject) -> None:
        job = self.writer.storage.table(JOB.storage).objects.get(key_of(seen))
        if job is None or job["metadata"]["uid"] != seen["metadata"]["uid"] or job.get("status"):
            # It is gone, or was restored after it had its pod.
            return
        metadata, template = job["metadata"], job["spec"]["template"]
        owner = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": metadata["name"],
            "uid": metadata["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        name, namespace = _pod_of(job)
        of_template = template.get("metadata", {})
        labels = {
            **of_template.get("labels", {}),
            "batch.kubernetes.io/job-name": metadata["name"],
            "batch.kubernetes.io/controller-uid": metadata["uid"],
        }
        pod = {
            "metadata": {
                **of_template,
                "labels": labels,
                "generateName": f"{metadata['name']}-",
                "name": name,
                "namespace": namespace,
                "ownerReferences": [owner],
            },
            "spec": template["spec"],
        }
        self.writer.create(Target(POD, namespace, name), pod, _OPTIONS)
        self._set_pod(job, "Running")

    def _end_pod(self, job: JsonObject, state: State) -> None:
        self._set_pod(job, "Failed" if state == "failed" else "Succeeded")

    def _set_pod(self, job: JsonObject, phase: str) -> None:
        name, namespace = _pod_of(job)
        pod = self.writer.storage.table(POD.storage).objects.get((namespace, name))
        if pod is None or not _is_of_job(pod):
            return
        template = job["spec"]["template"]
        container = template["spec"]["containers"][0]["name"]
        ended = {"exitCode": int(phase == "Failed"), "reason": "Error"}
        message = (template["metadata"].get("annotations") or {}).get(MESSAGE)
        if message:
            ended["message"] = message
        states = [{"name": container, "state": {"terminated": ended}}]
        status = {"phase": phase} | ({} if phase == "Running" else {"containerStatuses": states})
        target = Target(POD, namespace, name, "status")
        self.writer.replace(target, {**pod, "status": status}, _OPTIONS)


def _pod_of(job: JsonObject) -> tuple[str, str]:
    """Return name and namespace of the pod of a Job: it is another one if the Job is."""
    metadata = job["metadata"]
    return f"{metadata['name'][:50]}-{metadata['uid'][-6:]}", metadata["namespace"]


def _is_of_job(obj: JsonObject) -> bool:
    """Return whether an object is a pod that ends when its Job does."""
    owners = obj["metadata"].get("ownerReferences") or ()
    return any(owner["kind"] == "Job" for owner in owners)


def _generation(obj: JsonObject) -> tuple[str, int]:
    metadata = obj["metadata"]
    return metadata["uid"], metadata.get("generation", 0)
