"""The reconciler's writes against a state that has moved on: each finds out, none undoes it."""

from collections.abc import AsyncIterator

import pytest

from kubeio.cache.informer import Informer
from kudo.api import Instance, InstanceStatus, JsonObject
from kudo_reconciler.common.errors import Outdated
from kudo_reconciler.common.keys import Key, key_of
from kudo_reconciler.store.freshness import OwnWrites
from kudo_reconciler.store.instances import InstanceStore
from tests.support import build, instances
from tests.support.cluster.changes import edit, label
from tests.support.cluster.interface import World
from tests.support.cluster.resources import INSTANCES


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
    await world.reconciler.stop()
    async with world.client_as("reconciler") as client:
        own = OwnWrites[Key](lambda _, change: news.append(change.object))
        store = InstanceStore(client, Informer(client, INSTANCES), own)
        store.informer.add_handler(store.changed)
        yield store


async def read(world: World) -> Instance:
    return Instance.from_wire(await world.instance("i"))


async def running(world: World, plan_name: str = "deploy") -> Instance:
    await world.patch("i", {"planExecution": {"planName": plan_name}})
    return await read(world)


async def test_the_clear_leaves_a_newer_run_alone(world: World, store: InstanceStore) -> None:
    before = await running(world)
    newer = await world.patch("i", {"planExecution": {"uid": "another"}})
    assert instances.scheduled(newer)["uid"] != before.scheduled.uid

    with pytest.raises(Outdated):
        await store.clear_run(before, before.scheduled.uid or "")

    assert instances.scheduled(await world.instance("i")) == instances.scheduled(newer)


async def test_the_clear_passes_over_a_change_of_labels(world: World, store: InstanceStore) -> None:
    before = await running(world)
    await label(world, team="a")

    cleared = await store.clear_run(before, before.scheduled.uid or "")

    assert not cleared.scheduled.plan_name
    assert instances.scheduled(await world.instance("i")) == {}


async def ended(world: World, store: InstanceStore) -> Instance:
    """Return an Instance whose terminal status has just been written."""
    live = await store.live(key_of(await running(world)))
    assert live is not None
    kept = await store.set_finalizers(live, ["kudo.dev.instance.cleanup"])
    assert kept is not None
    return await store.write_status(kept, InstanceStatus(observed_generation=99))


async def let_go(world: World) -> None:
    free: JsonObject = {"metadata": {"finalizers": []}}
    await edit(world, "i", free)


async def test_what_we_wrote_ourselves_is_no_news(
    world: World, store: InstanceStore, news: list[JsonObject]
) -> None:
    written = await ended(world, store)
    cleared = await store.clear_run(written, written.scheduled.uid or "")
    await store.schedule(cleared, "other", "some-uid")

    # The first read was news; nothing that followed was.
    assert len(news) == 1
    await let_go(world)


@pytest.mark.parametrize("change", ["deleted", "labelled", "cancelled"])
async def test_a_clear_that_brings_the_change_of_somebody_else_is_news(
    world: World, store: InstanceStore, news: list[JsonObject], change: str
) -> None:
    """The watch is behind: nothing but the answer to the clear will tell of the change."""
    written = await ended(world, store)
    news.clear()
    if change == "deleted":
        await world.client.delete(INSTANCES, "i", namespace=world.namespace)
    elif change == "labelled":
        await label(world, team="a")
    else:
        await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})

    cleared = await store.clear_run(written, written.scheduled.uid or "")

    [told] = news
    assert told["metadata"]["resourceVersion"] == cleared.metadata.resource_version
    assert cleared.metadata.deleting == (change == "deleted")
    await let_go(world)


async def test_a_status_is_not_written_over_a_newer_object(
    world: World, store: InstanceStore
) -> None:
    before = await read(world)
    await label(world, team="a")

    with pytest.raises(Outdated):
        await store.write_status(before, InstanceStatus(observed_generation=99))

    assert (await read(world)).status == before.status


async def test_a_run_is_not_scheduled_over_a_newer_object(
    world: World, store: InstanceStore
) -> None:
    before = await read(world)
    newer = await world.patch("i", {"planExecution": {"planName": "other"}})

    with pytest.raises(Outdated):
        await store.schedule(before, "deploy", "some-uid")

    assert instances.scheduled(await world.instance("i")) == instances.scheduled(newer)


async def test_finalizers_of_others_are_not_lost(world: World, store: InstanceStore) -> None:
    before = await read(world)
    patch = {"metadata": {"finalizers": ["example.org/theirs"]}}
    await edit(world, "i", patch)

    with pytest.raises(Outdated):
        await store.set_finalizers(before, ["kudo.dev.instance.cleanup"])

    finalizers = (await world.instance("i"))["metadata"]["finalizers"]
    assert finalizers == ["example.org/theirs"]
    clear: JsonObject = {"metadata": {"finalizers": []}}
    await edit(world, "i", clear)


async def test_a_deleted_instance_is_not_written(world: World, store: InstanceStore) -> None:
    before = await read(world)
    await world.client.delete(INSTANCES, "i", namespace=world.namespace)
    await world.until_gone(INSTANCES, "i")

    with pytest.raises(Outdated):
        await store.write_status(before, InstanceStatus(observed_generation=99))
    with pytest.raises(Outdated):
        await store.schedule(before, "deploy", "some-uid")
