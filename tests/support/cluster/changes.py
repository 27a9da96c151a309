"""Changes of Instances and other objects, by their user and with all rights."""

import base64

from kubeio.resource import Resource
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.interface import World
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.world import World as RealWorld

FINALIZER = "kudo.dev.instance.cleanup"
"""The finalizer of an Instance that has a cleanup plan."""


async def delete(world: World, name: str = "i") -> None:
    await world.client.delete(INSTANCES, name, namespace=world.namespace)


async def edit(world: World, name: str, patch: Json) -> Json:
    """Merge-patch the whole Instance as the user."""
    return await world.client.merge_patch(INSTANCES, name, patch, namespace=world.namespace)


async def label(world: World, **labels: str) -> Json:
    """Label the Instance `i` as the user."""
    return await edit(world, "i", {"metadata": {"labels": labels}})


async def write_status(world: World, name: str, status: Json) -> Json:
    """Merge-patch the status with all rights."""
    async with world.client_as("admin") as admin:
        return await admin.merge_patch(
            INSTANCES, name, {"status": status}, namespace=world.namespace, subresource="status"
        )


async def as_admin(world: RealWorld, *arguments: str, text: str | None = None) -> str:
    """Run kubectl with all rights; it has to succeed."""
    admin = world.installation.cluster.kubeconfig("admin")
    done = await world.kubectl(f"--kubeconfig={admin}", *arguments, text=text)
    assert done.code == 0, done.output
    return done.stdout


async def create_theirs(world: World, resource: Resource) -> None:
    """Create the ConfigMap or Secret `theirs` with all rights, as `kubectl create` does."""
    value = "1" if resource.kind == "ConfigMap" else base64.b64encode(b"1").decode()
    theirs = {**build.config_map("theirs", mine=value), "kind": resource.kind}
    async with world.client_as("admin") as admin:
        await admin.create(
            resource, theirs, namespace=world.namespace, field_manager="kubectl-create"
        )
