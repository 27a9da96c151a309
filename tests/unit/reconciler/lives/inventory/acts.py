"""What users do to the objects and records of Instances, drawn beforehand; no tests of its own."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from kubeio.client import Client
from kubeio.errors import ApiError
from kubeio.resource import Resource
from kubeio.types import JsonObject
from kudo.api import names
from kudo_reconciler.common.keys import INSTANCES, INVENTORIES
from tests.unit.reconciler.lives.inventory.operators import (
    PLACES,
    PLANS,
    SHARED,
    operator_version,
    values,
)

NAMES: Final = ("i", "j")
_RESOURCES: Final = {
    "ConfigMap": Resource("", "v1", "ConfigMap", "configmaps", namespaced=True),
    "Secret": Resource("", "v1", "Secret", "secrets", namespaced=True),
    "PersistentVolumeClaim": Resource(
        "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", namespaced=True
    ),
    "ClusterRole": Resource(
        "rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False
    ),
}
Drawn = tuple[Any, ...]
"""What is done, and to what."""


def acts(rng: Random) -> Iterator[tuple[float, Drawn]]:
    """Draw what happens in a life and how many seconds after what came before, without an end."""
    for version in ("v1", "v2"):
        yield 0.0, ("put_version", operator_version(rng, version))
    yield 0.0, ("create", NAMES[0], {}, {})
    while True:
        after = rng.choice((0.0, 0.3, 1.0, 5.0, 30.0, 30.0)) * rng.random()
        yield after, _drawn(rng)


def _drawn(rng: Random) -> Drawn:
    name = rng.choice((NAMES[0], NAMES[0], NAMES[1]))
    roll = rng.randrange(100)
    if roll < 30:
        return ("change", name, _edit(rng))
    if roll < 40:
        return ("put_version", operator_version(rng, rng.choice(("v1", "v2"))))
    if roll < 64:
        return _by_a_user(rng, roll - 40, name)
    if roll < 74:
        return _by_hand(rng, name)
    return _to_the_reconciler(rng, roll)


def _edit(rng: Random) -> JsonObject:
    """Draw parameters, the version to use, and the plan to run; one of them."""
    roll = rng.randrange(3)
    if roll == 0:
        return {"of": rng.choice(("v1", "v2"))}
    if roll == 1:
        return {"parameters": values(rng)}
    return {"run": {"planName": rng.choice(PLANS[:-1])}}


def _by_a_user(rng: Random, roll: int, name: str) -> Drawn:
    if roll < 5:
        return ("set", name, {"prune": rng.choice((True, True, False, None))})
    if roll < 9:
        return ("ask", name, names.ANNOTATION_PRUNE_REQUESTED, f"t{rng.randrange(9)}")
    if roll < 11:
        return ("ask", name, names.ANNOTATION_ADOPT_REQUESTED, f"t{rng.randrange(9)}")
    if roll < 14:
        return ("delete", name)
    if roll < 16:
        return ("leave_objects", name)
    if roll < 22:
        return ("create", name, {}, {"prune": rng.choice((None, None, True, False))})
    drawn = {"of": "failed", "at": 0, "from": None, "kept": False, "suspend": False, "uid": False}
    return ("retry", name, drawn)


def _by_hand(rng: Random, name: str) -> Drawn:
    kind, of = rng.choice((*PLACES, *SHARED))
    of = of.replace("{{ .PlanName }}", rng.choice(PLANS[:2])).replace("{{ .Params.SIZE }}", "1")
    full = of if (kind, of) in SHARED else f"{name}-{of}"
    roll = rng.randrange(10)
    if roll < 5:
        return ("delete_object", kind, full)
    if roll < 8:
        return ("create_object", kind, full)
    return ("spoil_record", name, rng.choice(("delete", "empty", "forge")))


def _to_the_reconciler(rng: Random, roll: int) -> Drawn:
    if roll < 86:
        return ("crash", rng.randrange(200))
    if roll < 89:
        return ("hand_over", 5.0 + rng.random() * 10)
    if roll < 95:
        kind = rng.choice(("instances", "inventories", "inventories", "configmaps", "clusterroles"))
        return ("delay_events", kind, rng.choice((0.02, 1.0, 10.0)))
    return ("cut_watches",) if roll < 98 else ("compact",)


@dataclass
class Hands:
    """Does by hand what plans, or only the reconciler, should do."""

    client: Client

    async def ask(self, name: str, annotation: str, value: str) -> None:
        """Ask the reconciler to prune or adopt, as the commands do."""
        change = {"metadata": {"annotations": {annotation: value}}}
        try:
            await self.client.merge_patch(INSTANCES, name, change, namespace="ns")
        except ApiError:
            return

    async def leave_objects(self, name: str) -> None:
        """Delete an Instance, and have the garbage collector leave what it owned."""
        try:
            await self.client.delete(INSTANCES, name, namespace="ns", propagation="Orphan")
        except ApiError:
            return

    async def delete_object(self, kind: str, name: str) -> None:
        resource = _RESOURCES[kind]
        namespace = "ns" if resource.namespaced else None
        try:
            await self.client.delete(resource, name, namespace=namespace)
        except ApiError:
            return

    async def create_object(self, kind: str, name: str) -> None:
        resource = _RESOURCES[kind]
        namespace = {"namespace": "ns"} if resource.namespaced else {}
        body = {"metadata": {"name": name, **namespace}}
        try:
            await self.client.create(resource, body)
        except ApiError:
            return

    async def spoil_record(self, name: str, how: str) -> None:
        """Delete the Inventories of an Instance, empty them, or write into them what is not so."""
        try:
            found = await self.client.list(INVENTORIES, namespace="ns")
            ours = [obj for obj in found.items if obj["metadata"]["name"].startswith(f"{name}.")]
            for obj in ours:
                if how == "delete":
                    await self.client.delete(INVENTORIES, obj["metadata"]["name"], namespace="ns")
                else:
                    objects = [] if how == "empty" else [*_FORGED, *obj.get("objects", ())][:500]
                    await self.client.replace(INVENTORIES, {**obj, "objects": objects})
        except ApiError:
            return


_FORGED: Final[list[JsonObject]] = [
    {
        "version": "v1",
        "kind": "ConfigMap",
        "resource": "configmaps",
        "namespace": "ns",
        "name": "foreign",
        "plan": "deploy",
        "task": "one",
        "orphanedBy": "forged",
    },
    {
        "version": "v1",
        "kind": "Secret",
        "resource": "secrets",
        "namespace": "kube-system",
        "name": "admin",
        "plan": "deploy",
        "task": "one",
        "orphanedBy": "forged",
    },
]
"""Objects of others, and of another namespace, as orphans."""
