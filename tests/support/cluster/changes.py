"""Changes of Instances, by their user and with all rights."""

from tests.support.build import Json
from tests.support.cluster.clients import client_as
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.world import World

FINALIZER = "kudo.dev.instance.cleanup"
"""The finalizer of an Instance that has a cleanup plan."""


async def delete(world: World, name: str = "i") -> None:
    await world.client.delete(INSTANCES, name, namespace=world.namespace)


async def edit(world: World, name: str, patch: Json) -> Json:
    """Merge-patch the whole Instance as the user."""
    return await world.client.merge_patch(INSTANCES, name, patch, namespace=world.namespace)


async def write_status(world: World, name: str, status: Json) -> Json:
    """Merge-patch the status with all rights."""
    async with client_as(world, "admin") as admin:
        return await admin.merge_patch(
            INSTANCES, name, {"status": status}, namespace=world.namespace, subresource="status"
        )


async def as_admin(world: World, *arguments: str, text: str | None = None) -> str:
    """Run kubectl with all rights; it has to succeed."""
    admin = world.installation.cluster.kubeconfig("admin")
    done = await world.kubectl(f"--kubeconfig={admin}", *arguments, text=text)
    assert done.code == 0, done.output
    return done.stdout
