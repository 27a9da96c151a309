"""Lists of large objects from a real API server: in the memory of one object."""

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncIterator

import pytest

from kubeio.cache.informer import Informer
from kubeio.client import Client
from kubeio.errors import NotFound
from kubeio.resource import Resource
from kubeio.types import JsonObject
from tests.integration.kubeio.conftest import CRD, until

GIZMOS = Resource("lists.example.org", "v1", "Gizmo", "gizmos", namespaced=True)
_EMPTY = 150_000
_OBJECTS = 6


def gizmo_crd() -> JsonObject:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": CRD.api_version,
        "kind": CRD.kind,
        "metadata": {"name": "gizmos.lists.example.org"},
        "spec": {
            "group": "lists.example.org",
            "scope": "Namespaced",
            "names": {"plural": "gizmos", "singular": "gizmo", "kind": "Gizmo"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


@pytest.fixture
async def gizmos(client: Client, namespace: str) -> AsyncIterator[str]:
    """Yield a namespace for Gizmos, which may hold anything."""
    await client.apply(CRD, gizmo_crd(), field_manager="kubeio-test")
    async with asyncio.timeout(60):
        while not await _is_served(client, namespace):  # noqa: ASYNC110 - the server's doing
            await asyncio.sleep(0.1)
    yield namespace
    await client.delete(CRD, "gizmos.lists.example.org")


async def _is_served(client: Client, namespace: str) -> bool:
    try:
        await client.list(GIZMOS, namespace=namespace)
    except NotFound:
        return False
    return True


def gizmo(name: str, content: object) -> JsonObject:
    return {
        "apiVersion": GIZMOS.api_version,
        "kind": GIZMOS.kind,
        "metadata": {"name": name},
        "content": content,
    }


def counted(obj: JsonObject) -> JsonObject:
    return {"metadata": obj["metadata"], "many": len(obj["content"])}


async def test_objects_full_of_empty_objects_take_the_memory_of_one(
    client: Client, gizmos: str
) -> None:
    for number in range(_OBJECTS):
        await client.create(GIZMOS, gizmo(f"g{number}", [{}] * _EMPTY), namespace=gizmos)
    # What one of them takes decoded: 64 bytes for each object, 8 for its place in the list.
    one = 72 * _EMPTY
    gc.collect()
    tracemalloc.start()
    try:
        informer = Informer(client, GIZMOS, namespace=gizmos, transform=counted)
        task = asyncio.create_task(informer.run())
        await until(lambda: informer.has_synced)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        task.cancel()
    assert [obj["many"] for obj in informer.list()] == [_EMPTY] * _OBJECTS
    assert peak < 3 * one
    assert peak < one * _OBJECTS / 2
