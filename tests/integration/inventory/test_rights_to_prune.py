"""What the reconciler may not read or delete is not pruned."""

import pytest

from kubeio.client import Client
from kubeio.resource import Resource
from tests.support import build
from tests.support.cluster.events import until_event
from tests.support.cluster.resources import NAMESPACES
from tests.support.cluster.world import World
from tests.support.world.records import (
    config,
    install,
    uid_of,
    until_told,
    upgrade,
    version,
)

PRUNED, NOT_PRUNED = "ObjectsPruned", "ObjectsNotPruned"


ONE = {"task": [config("a")]}


CRDS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)


@pytest.mark.usefixtures("granted")
async def test_a_namespace_and_a_definition_stay(world: World, admin: Client, unique: str) -> None:
    group = f"{unique}.example.org"
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "Thing", "plural": "things"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }
            ],
        },
    }
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": unique}}
    objects = [config("a"), build.template(namespace), build.template(definition)]
    await install(world, version("v1", {"task": objects}, prune=True))

    await upgrade(world, version("v2", ONE, prune=True))

    told = (f"Namespace {unique}", f"CustomResourceDefinition things.{group}")
    text = str((await until_event(world, NOT_PRUNED))["message"])
    await until_told(world, *told)
    assert all(f"{one}: its kind holds data" in text for one in told)
    found = await admin.get(NAMESPACES, unique)
    assert "deletionTimestamp" not in found["metadata"]
    assert await uid_of(admin, CRDS, f"things.{group}")
    await admin.delete(CRDS, f"things.{group}")
    await admin.delete(NAMESPACES, unique)
