"""A refusal of the API server that is not about the Instance's state is told as it is."""

from collections.abc import AsyncIterator

import pytest

from kubeio.cache.informer import Informer
from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.errors import Invalid
from kudo.api import Instance, JsonObject
from kudo_reconciler.keys import Key
from kudo_reconciler.store.instances import InstanceStore
from kudo_reconciler.store.own_writes import OwnWrites
from tests.support import build
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.world import World


@pytest.fixture
def news() -> list[JsonObject]:
    """Return the Instances that were seen to change by others."""
    return []


@pytest.fixture
async def store(world: World, news: list[JsonObject]) -> AsyncIterator[InstanceStore]:
    """Yield the store of a reconciler that is alone with an Instance `i`."""
    version = build.operator_version(
        "stored-1",
        templates={"a.yaml": build.template(build.config_map("a", a="b"))},
        plans={"deploy": build.plan({"a": ["a"]}), "other": build.plan({"a": ["a"]})},
    )
    await world.apply(version, build.instance("i", "stored-1"))
    await world.until_complete("i")
    world.installation.reconciler.stop()
    kubeconfig = world.installation.cluster.kubeconfig("reconciler")
    async with Client(load_config(kubeconfig)) as client:
        own = OwnWrites[Key](lambda _, change: news.append(change.object))
        store = InstanceStore(client, Informer(client, INSTANCES), own)
        store.informer.add_handler(store.changed)
        yield store


async def read(world: World) -> Instance:
    return Instance.from_wire(await world.instance("i"))


async def test_a_refusal_that_is_not_about_the_state_is_told(
    world: World, store: InstanceStore
) -> None:
    now = await read(world)

    with pytest.raises(Invalid):
        await store.set_finalizers(now, ["no such/thing/at all"])
