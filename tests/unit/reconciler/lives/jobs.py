"""What the scenes of Job tasks share: OperatorVersions, Jobs and pods; no tests of its own."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kubeio.resource import JOBS, PODS
from kubeio.types import JsonObject
from kudo.api.names import ANNOTATION_PLAN_UID, LABEL_JOB_OF
from tests.support import build
from tests.support.apiserver.controllers.workloads import Outcome
from tests.support.apiserver.network.faults import UNHARMED, Fate
from tests.support.apiserver.server import Request
from tests.unit.reconciler.lives.life import Life
from tests.unit.reconciler.lives.network import RandomNetwork

BACKUP: Final[JsonObject] = {"image": "busybox", "command": ["backup"]}
LONG: Final = 60.0
"""Seconds in which anything happens that is to happen."""


def job_task(name: str = "backup", **fields: Any) -> JsonObject:
    return build.task(name, "Job", job={**BACKUP, **fields})


def version(*tasks: JsonObject, **plans: JsonObject) -> JsonObject:
    """Return a version with these tasks beside Dummies; by default `deploy` runs a backup."""
    return build.stored_version(
        tasks=[
            *(tasks or [job_task()]),
            build.dummy("done", done=True),
            build.dummy("fails", wantErr=True, fatal=True),
            build.dummy("waits", done=False),
        ],
        templates={},
        plans=plans or {"deploy": build.serial(["backup"])},
    )


async def install(life: Life, *tasks: JsonObject, **plans: JsonObject) -> None:
    """Create the Instance, and wait a while; no Job has a pod or ends by itself."""
    await create(life, *tasks, **plans)
    await asyncio.sleep(10)


async def create(life: Life, *tasks: JsonObject, **plans: JsonObject) -> None:
    life.network.calm = True
    life.cluster.workloads.outcome = lambda _: Outcome("stuck", 1e6)
    life.cluster.workloads.has_pod = lambda _: False
    await life.put_version(version(*tasks, **plans))
    await life.user.create("i", {})


@dataclass
class Answering(RandomNetwork):
    """Has the API server refuse requests, or take long for them."""

    fate_of: Callable[[Request], Fate | None] = lambda _: None

    def fate(self, request: Request) -> Fate:
        return self.fate_of(request) or UNHARMED

    def event_delay(self, plural: str) -> float:
        return self.late.get(plural, 0.0)


def answer(
    life: Life, fate_of: Callable[[Request], Fate | None] = lambda _: None, **late: float
) -> None:
    """Decide on the requests of the reconciler that lives now.

    Args:
        life: The life.
        fate_of: What happens to a request; None for nothing.
        late: Seconds that events of a kind take, by plural name.
    """
    for replica in life.replicas:
        network = Answering(life.rng, 0.0, fate_of=fate_of, late=dict(late))
        replica.process.transports[0].network = network


def entry(life: Life, plan: str = "deploy") -> Any:
    stored = life.observed.instance("i")
    assert stored is not None
    return stored["status"]["planStatus"][plan]


def row(life: Life, plan: str = "deploy", step: int = 0, task: int = 0) -> Any:
    """Return what is stored of a task."""
    return entry(life, plan)["phases"][0]["steps"][step]["tasks"][task]


def jobs(life: Life) -> list[JsonObject]:
    """Return the Jobs of Job tasks that exist, by the time of their creation."""
    objects = life.cluster.server.storage.table(("batch", "jobs")).objects.values()
    ours = [obj for obj in objects if LABEL_JOB_OF in (obj["metadata"].get("labels") or {})]
    return sorted(ours, key=lambda obj: obj["metadata"]["creationTimestamp"])


def run_of(job: JsonObject) -> Any:
    return job["metadata"]["annotations"][ANNOTATION_PLAN_UID]


async def end(
    life: Life, job: JsonObject, kind: str = "Complete", after: float = 5.0, **said: str
) -> None:
    """Have a Job end, as its controller does, and wait for so many seconds."""
    condition = {"type": kind, "status": "True", **said}
    await life.user.client.merge_patch(
        JOBS,
        job["metadata"]["name"],
        {"status": {"conditions": [condition]}},
        namespace="ns",
        subresource="status",
    )
    await asyncio.sleep(after)


async def pod_of(
    life: Life, job: JsonObject, status: JsonObject, name: str = "pod", **metadata: Any
) -> JsonObject:
    """Create a pod of a Job, as its controller does, with this status."""
    template = job["spec"]["template"]
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": job["metadata"]["name"],
        "uid": job["metadata"]["uid"],
        "controller": True,
    }
    pod: JsonObject = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "ns",
            "labels": template["metadata"]["labels"],
            "ownerReferences": [owner],
            **metadata,
        },
        "spec": template["spec"],
    }
    await life.user.client.create(PODS, pod)
    return await set_pod(life, name, status)


async def set_pod(life: Life, name: str, status: JsonObject) -> JsonObject:
    return await life.user.client.merge_patch(
        PODS, name, {"status": status}, namespace="ns", subresource="status"
    )


def ended(code: int, message: str = "", reason: str = "Error", name: str = "main") -> JsonObject:
    """Return the status of a failed pod whose container has ended."""
    state = {"exitCode": code, "reason": reason, **({"message": message} if message else {})}
    statuses = [{"name": name, "state": {"terminated": state}}]
    return {"phase": "Failed", "containerStatuses": statuses}


async def until(condition: Callable[[], bool], seconds: float = LONG) -> None:
    """Wait until a condition holds.

    Raises:
        AssertionError: it does not within these seconds.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while not condition():
        assert loop.time() < deadline, "the condition does not come true"
        await asyncio.sleep(0.05)


async def run_again(life: Life, plan: str = "deploy", uid: str = "again") -> None:
    await life.user.change("i", {"run": {"planName": plan, "uid": uid}})
    await asyncio.sleep(10)
