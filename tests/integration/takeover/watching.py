"""The moment of taking over, and what tells that a workload was restarted."""

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from kubeio.client import Client
from kubeio.resource import Resource
from tests.integration.takeover.original import (
    HASH,
    INSTANCE,
    PODS,
    REPLICA_SETS,
    REVISIONS,
    STATEFUL_SETS,
    Original,
)
from tests.support import instances
from tests.support.build import Json
from tests.support.cluster.resources import DEPLOYMENTS, INSTANCES
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.webhooks import without_webhooks
from tests.support.cluster.world import World


@asynccontextmanager
async def original_in_charge(
    world: World, admin: Client, hashes: Mapping[str, str] | None = None
) -> AsyncIterator[Original]:
    """Yield KUDO 0.19 while ours is away; ours takes over when the block ends."""
    world.installation.reconciler.stop()
    async with without_webhooks(world):
        yield Original(admin, world.namespace, hashes or {})
    world.installation.reconciler.start()


@dataclass(frozen=True)
class Workload:
    """What stays the same as long as nothing restarts the pods of a workload.

    Attributes:
        generation: Of the workload; that of a Deployment counts changes of its annotations, too.
        revisions: Names of its ReplicaSets or ControllerRevisions.
        pods: uids of its pods that are there to stay.
        template: The pod template.
    """

    generation: int
    revisions: frozenset[str]
    pods: frozenset[str]
    template: Json

    @property
    def hash(self) -> str:
        annotations = (self.template.get("metadata") or {}).get("annotations") or {}
        return str(annotations.get(HASH, ""))


@dataclass(frozen=True)
class Watcher:
    """Looks at the workloads of a namespace with all rights."""

    admin: Client
    namespace: str

    async def get(self, resource: Resource, name: str) -> Json:
        return await self.admin.get(resource, name, namespace=self.namespace)

    async def all(self, resource: Resource) -> list[Json]:
        return (await self.admin.list(resource, namespace=self.namespace)).items

    async def workloads(self) -> dict[str, Workload]:
        """Return all workloads once all their pods are ready and no old one is left."""
        await wait_until(self._settled, lambda: f"ready workloads in {self.namespace}")
        revisions = [*await self.all(REPLICA_SETS), *await self.all(REVISIONS)]
        pods = await self.all(PODS)
        return {
            one["metadata"]["name"]: Workload(
                one["metadata"]["generation"],
                frozenset(r["metadata"]["name"] for r in revisions if _owner(r) == _uid(one)),
                frozenset(_uid(pod) for pod in pods if _app(pod) == one["metadata"]["name"]),
                one["spec"]["template"],
            )
            for one in await self._workloads()
        }

    async def _workloads(self) -> list[Json]:
        return [*await self.all(DEPLOYMENTS), *await self.all(STATEFUL_SETS)]

    async def _settled(self) -> bool:
        workloads, pods = await self._workloads(), await self.all(PODS)
        desired = {one["metadata"]["name"]: one["spec"]["replicas"] for one in workloads}
        found = Counter(_app(pod) for pod in pods)
        return all(map(_ready, workloads)) and desired == {name: found[name] for name in desired}


def restarted(before: Mapping[str, Workload], after: Mapping[str, Workload]) -> set[str]:
    """Return the workloads of which a pod was replaced or the pod template changed."""
    assert before.keys() == after.keys()
    return {
        name
        for name, workload in before.items()
        if not workload.pods <= after[name].pods
        or (workload.revisions, workload.template) != (after[name].revisions, after[name].template)
    }


async def settled(world: World) -> Json:
    """Wait until ours has looked at the Instance and found it ready."""
    return await world.until(
        INSTANCE,
        lambda i: instances.idle(i) and instances.reason_of(i) == ("True", "ResourcesReady"),
        "a taken over Instance that is ready",
    )


async def run_to_end(world: World, admin: Client, patch: Json, plan: str = "deploy") -> Json:
    """Change the spec, and wait until the plan that this starts is COMPLETE."""
    changed = await admin.merge_patch(
        INSTANCES, INSTANCE, {"spec": patch}, namespace=world.namespace
    )
    uid = instances.scheduled(changed)["uid"]
    await world.until(
        INSTANCE,
        lambda i: instances.idle(i) and instances.entry(i, plan).get("uid") == uid,
        f"the end of {plan}",
    )
    return await world.until_complete(INSTANCE, plan)


def _ready(workload: Json) -> bool:
    status, desired = workload.get("status") or {}, workload["spec"]["replicas"]
    observed = status.get("observedGeneration") == workload["metadata"]["generation"]
    counts = {status.get(key, 0) for key in ("replicas", "readyReplicas", "updatedReplicas")}
    return observed and counts == {desired}


def _uid(obj: Json) -> str:
    return str(obj["metadata"]["uid"])


def _app(pod: Json) -> str:
    return str((pod["metadata"].get("labels") or {}).get("app", ""))


def _owner(obj: Json) -> str:
    owners = obj["metadata"].get("ownerReferences") or [{}]
    return str(owners[0].get("uid", ""))
