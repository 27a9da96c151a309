"""A refusal of the API server that is not about the Instance's state is told as it is."""

import pytest

from kubeio.cache.informer import Informer
from kubeio.errors import Invalid
from kudo.api import Instance
from kudo_reconciler.common.keys import Key
from kudo_reconciler.store.freshness import OwnWrites
from kudo_reconciler.store.instances import InstanceStore
from tests.support import build
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.world import World


async def test_a_refusal_that_is_not_about_the_state_is_told(world: World) -> None:
    world.installation.reconciler.stop()
    version = build.operator_version(
        "stored-1",
        templates={"a.yaml": build.template(build.config_map("a", a="b"))},
        plans={"deploy": build.plan({"a": ["a"]})},
    )
    await world.apply(version, build.instance("i", "stored-1"))
    now = Instance.from_wire(await world.instance("i"))
    async with world.client_as("reconciler") as client:
        own = OwnWrites[Key](lambda *_: None)
        store = InstanceStore(client, Informer(client, INSTANCES), own)

        with pytest.raises(Invalid):
            await store.set_finalizers(now, ["no such/thing/at all"])
