"""Informers against a real API server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from kubeio.cache.informer import Informer
from kubeio.cache.informers import Informers
from kubeio.cache.reflector import Timing
from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.errors import Forbidden, NotFound
from kubeio.resource import Resource
from kubeio.types import JsonObject, resource_version
from kudo_cluster import Cluster
from tests.integration.kubeio.conftest import CONFIG_MAP, until
from tests.support.informers import reached

pytestmark = pytest.mark.smoke

SECRET = Resource("", "v1", "Secret", "secrets", namespaced=True)
LABELS = {"heritage": "kudo"}


def config_map(namespace: str, name: str, **data: str) -> JsonObject:
    metadata = {"name": name, "namespace": namespace, "labels": LABELS}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@asynccontextmanager
async def running(client: Client, **options: Any) -> AsyncIterator[Informer]:
    options.setdefault("label_selector", "heritage=kudo")
    informer = Informer(client, CONFIG_MAP, **options)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(informer.run())
        await informer.wait_synced(10)
        yield informer
        task.cancel()


async def test_adds_updates_and_deletes_are_seen(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAP, config_map(namespace, "before"))
    async with running(client, namespace=namespace) as informer:
        told: list[tuple[str, str]] = []
        informer.add_handler(lambda c: told.append((c.kind, c.object["metadata"]["name"])))
        await client.create(CONFIG_MAP, config_map(namespace, "a"))
        await client.merge_patch(CONFIG_MAP, "a", {"data": {"x": "1"}}, namespace=namespace)
        await client.delete(CONFIG_MAP, "a", namespace=namespace)
        await until(lambda: len(told) == 4)
        kept = informer.get(namespace, "before")
    assert told == [("added", "before"), ("added", "a"), ("updated", "a"), ("deleted", "a")]
    assert kept is not None
    assert (kept["apiVersion"], kept["kind"]) == ("v1", "ConfigMap")
    assert "managedFields" not in kept["metadata"]


async def test_an_object_that_leaves_the_selector_is_deleted(
    client: Client, namespace: str
) -> None:
    async with running(client, namespace=namespace) as informer:
        await client.create(CONFIG_MAP, config_map(namespace, "a"))
        await until(lambda: len(informer) == 1)
        patch = {"metadata": {"labels": {"heritage": None}}}
        await client.merge_patch(CONFIG_MAP, "a", patch, namespace=namespace)
        await until(lambda: len(informer) == 0)


async def test_own_writes_are_read_back_at_once(client: Client, namespace: str) -> None:
    async with running(client, namespace=namespace) as informer:
        versions: list[int] = []
        informer.add_handler(lambda c: versions.append(resource_version(c.object) or 0))
        for number in range(50):
            obj = config_map(namespace, "mine", number=str(number))
            answer = await client.apply(CONFIG_MAP, obj, field_manager="kudo")
            informer.observe(answer)
            cached = informer.get(namespace, "mine")
            assert cached is not None
            assert (resource_version(cached) or 0) >= (resource_version(answer) or 0)
        await until(lambda: reached(informer) >= (resource_version(answer) or 0))
        assert versions == sorted(set(versions))
        assert len(versions) == 50
        last = await client.delete(CONFIG_MAP, "mine", namespace=namespace)
        assert last["status"] == "Success"
        informer.observe_gone(namespace, "mine")
        assert informer.get(namespace, "mine") is None


async def test_it_goes_on_when_the_server_ends_the_watch(client: Client, namespace: str) -> None:
    phases: list[str] = []
    options: dict[str, Any] = {
        "timing": Timing(watch=(1, 1)),
        "on_status": lambda status: phases.append(status.phase),
    }
    async with running(client, namespace=namespace, **options) as informer:
        await until(lambda: phases.count("watching") >= 3)
        await client.create(CONFIG_MAP, config_map(namespace, "late"))
        await until(lambda: len(informer) == 1)
    assert phases.count("listing") == 1


async def test_metadata_is_enough_where_only_metadata_is_wanted(
    client: Client, namespace: str
) -> None:
    async with running(client, namespace=namespace, metadata_only=True) as informer:
        await client.create(CONFIG_MAP, config_map(namespace, "a", big="x"))
        await until(lambda: len(informer) == 1)
        found = informer.get(namespace, "a")
    assert found is not None
    assert found.keys() == {"apiVersion", "kind", "metadata"}
    assert found["kind"] == "ConfigMap"


async def test_many_objects_come_in_pages(client: Client, namespace: str) -> None:
    for start in range(0, 120, 20):
        objects = [config_map(namespace, f"m{start + n:03}") for n in range(20)]
        await asyncio.gather(*(client.create(CONFIG_MAP, one) for one in objects))
    indexers = {"name": lambda obj: [obj["metadata"]["name"]]}
    async with running(client, namespace=namespace, page_size=50, indexers=indexers) as informer:
        assert len(informer) == 120
        [found] = informer.by_index("name", "m077")
        assert found["metadata"]["namespace"] == namespace


async def test_a_kind_that_may_not_be_listed_is_refused_quickly(
    cluster: Cluster, client: Client
) -> None:
    config = load_config(cluster.kubeconfig("admin"))
    limited = replace(config, headers=(("Impersonate-User", "nobody-in-particular"),))
    async with Client(limited) as nobody, asyncio.TaskGroup() as group:
        informers = Informers(nobody, group)
        async with asyncio.timeout(5):
            with pytest.raises(Forbidden):
                await informers.get(SECRET)
            with pytest.raises(NotFound):
                await Informers(client, group).get(replace(SECRET, plural="secretz"))


async def test_informers_are_started_on_demand(client: Client, namespace: str) -> None:
    async with asyncio.TaskGroup() as group:
        informers = Informers(client, group)
        secrets, again = await asyncio.gather(informers.get(SECRET), informers.get(SECRET))
        assert secrets is again
        await client.create(SECRET, {"metadata": {"name": "s", "namespace": namespace}})
        await until(lambda: secrets.get(namespace, "s"))
        informers.stop(SECRET)
