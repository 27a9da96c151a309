"""Inventories on a local cluster, where tests meet the policy of an installation."""

import pytest

from kubeio.errors import Forbidden, NotFound
from kubeio.resource import Resource
from kudo.api import names
from tests.support.build import Json
from tests.support.cluster.clients import client_as
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

pytestmark = pytest.mark.smoke

_INVENTORIES = Resource(*names.INVENTORIES)
_REFUSED = "only KUDO's reconciler writes Inventories"


def inventory(name: str) -> Json:
    entry = {"version": "v1", "kind": "ConfigMap", "name": "some"}
    return {
        "apiVersion": _INVENTORIES.api_version,
        "kind": _INVENTORIES.kind,
        "metadata": {"name": name},
        "objects": [entry],
    }


async def _refused(world: World) -> str:
    async with client_as(world, "admin") as admin:
        try:
            await admin.create(
                _INVENTORIES, inventory("tried"), namespace=world.namespace, dry_run=True
            )
        except Forbidden as error:
            return str(error)
    return ""


async def test_the_reconciler_writes_them_and_an_administrator_does_not(world: World) -> None:
    async def in_force() -> bool:
        return _REFUSED in await _refused(world)

    await wait_until(in_force, lambda: "the policy to be in force")
    async with client_as(world, "reconciler") as ours, client_as(world, "admin") as admin:
        made = await ours.create(_INVENTORIES, inventory("it"), namespace=world.namespace)
        made = await ours.replace(_INVENTORIES, {**made, "complete": True})
        with pytest.raises(Forbidden, match="run kubectl kudo adopt --instance NAME"):
            await admin.replace(_INVENTORIES, {**made, "complete": False})
        await admin.delete(_INVENTORIES, "it", namespace=world.namespace)
        with pytest.raises(NotFound):
            await ours.get(_INVENTORIES, "it", namespace=world.namespace)


async def test_users_read_them_and_that_is_all(world: World) -> None:
    async with client_as(world, "user") as user:
        listed = await user.list(_INVENTORIES, namespace=world.namespace)
        assert listed.items == []
        with pytest.raises(Forbidden, match="cannot create resource"):
            await user.create(_INVENTORIES, inventory("own"), namespace=world.namespace)
        with pytest.raises(Forbidden, match="cannot delete resource"):
            await user.delete(_INVENTORIES, "own", namespace=world.namespace)
