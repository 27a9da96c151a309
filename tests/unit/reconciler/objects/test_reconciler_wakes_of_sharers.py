"""Which sharers of a cluster-scoped object a change wakes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from kubeio.cache.reflector import Timing
from kubeio.client import Client
from kubeio.resource import Resource
from kudo.api import Json, JsonObject
from kudo.api.names import ANNOTATION_SHARED_BY
from kudo_reconciler.common.keys import Key
from kudo_reconciler.objects.observer import Observer
from tests.support.apiserver.cluster import MemoryCluster

WIDGETS = Resource("example.dev", "v1", "Widget", "widgets", namespaced=False)
DEFINITION: JsonObject = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.dev"},
    "spec": {
        "group": "example.dev",
        "names": {"kind": "Widget", "plural": "widgets"},
        "scope": "Cluster",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
                "subresources": {"status": {}},
            }
        ],
    },
}
A, B, C = (Key("ns", name) for name in "abc")


@dataclass
class Bench:
    """An observed object that a and b share."""

    client: Client
    woken: asyncio.Queue[Key]

    async def change(self, change: JsonObject, subresource: str | None = None) -> None:
        await self.client.merge_patch(WIDGETS, "w", change, subresource=subresource)

    async def share(self, *names: str, **labels: str) -> None:
        sharing = ",".join(f"ns/{name}/{name}" for name in names)
        metadata: Json = {"annotations": {ANNOTATION_SHARED_BY: sharing}, "labels": labels}
        await self.change({"metadata": metadata})

    async def next(self, count: int) -> set[Key]:
        async with asyncio.timeout(5):
            return {await self.woken.get() for _ in range(count)}


@asynccontextmanager
async def bench() -> AsyncIterator[Bench]:
    cluster = MemoryCluster.start(crds=[DEFINITION])
    client, _ = cluster.client()
    woken: asyncio.Queue[Key] = asyncio.Queue()
    annotations = {ANNOTATION_SHARED_BY: "ns/a/a,ns/b/b"}
    metadata = {"name": "w", "labels": {"heritage": "kudo"}, "annotations": annotations}
    body = {"apiVersion": "example.dev/v1", "kind": "Widget", "metadata": metadata, "spec": {}}
    await client.create(WIDGETS, body)
    async with asyncio.TaskGroup() as group:
        observer = Observer(client, group, woken.put_nowait, Timing())
        assert await observer.watch(WIDGETS)
        found = Bench(client, woken)
        assert await found.next(2) == {A, B}
        yield found
        observer.close()


async def test_who_comes_or_goes_wakes_itself_and_nobody_else() -> None:
    async with bench() as found:
        await found.share("a", "b", "c")
        assert await found.next(1) == {C}
        await found.share("b", "c")
        assert await found.next(1) == {A}
        assert found.woken.empty()


async def test_who_applied_it_last_wakes_nobody() -> None:
    async with bench() as found:
        labels = {"kudo.dev/instance": "c", "kudo.dev/operator": "other"}
        await found.share("a", "b", "c", **labels)
        assert await found.next(1) == {C}
        assert found.woken.empty()


@pytest.mark.parametrize(
    ("change", "subresource"),
    [
        ({"spec": {"size": 2}}, None),
        ({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, "status"),
        ({"metadata": {"annotations": {"kudo.dev/delete-with-instance": "true"}}}, None),
        ({"metadata": {"finalizers": ["example.dev/waits"]}}, None),
    ],
)
async def test_what_changes_more_wakes_all(change: JsonObject, subresource: str | None) -> None:
    async with bench() as found:
        await found.change(change, subresource)
        assert await found.next(2) == {A, B}


async def test_a_deletion_wakes_all() -> None:
    async with bench() as found:
        await found.client.delete(WIDGETS, "w")
        assert await found.next(2) == {A, B}
