"""The reconciler's OperatorVersions: parsed once, and never those that are too large."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from kubeio.cache.informer import Informer
from kubeio.client import Client
from kudo.api import JsonObject
from kudo.api.bounds import TOO_LARGE
from kudo.api.task_kinds import FatalTaskError
from kudo_reconciler.common.keys import OPERATOR_VERSIONS
from kudo_reconciler.store.versions import (
    ChildVersions,
    VersionStore,
    VersionTooLarge,
    kept_version,
)
from tests.unit.kubeio.fake_api import FakeApi, fake_api


def version(name: str, parameters: int, **metadata: Any) -> JsonObject:
    return {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "OperatorVersion",
        "metadata": {"name": name, "namespace": "ns", "resourceVersion": "5", **metadata},
        "spec": {"parameters": [{"name": f"P{n}"} for n in range(parameters)]},
    }


@asynccontextmanager
async def store(*live: JsonObject) -> AsyncIterator[tuple[FakeApi, VersionStore]]:
    """Yield a store whose cache is empty, over an API server that has these."""
    async with fake_api() as api, Client(api.config) as client:
        for one in live:
            path = OPERATOR_VERSIONS.path("ns", one["metadata"]["name"])
            api.handlers[path] = _answering(one)
        yield (
            api,
            VersionStore(client, Informer(client, OPERATOR_VERSIONS, transform=kept_version)),
        )


def _answering(obj: JsonObject) -> Any:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response(obj)

    return answer


async def test_a_version_is_parsed_once_for_each_resource_version() -> None:
    async with store(version("a", 3)) as (api, versions):
        first = await versions.get(("ns", "a"))
        assert await versions.get(("ns", "a")) is first
        assert first is not None
        assert len(first.parameters) == 3
        assert len(api.seen) == 1


async def test_a_version_that_is_too_large_is_not_parsed_and_not_kept() -> None:
    async with store(version("a", 2001)) as (api, versions):
        for _ in range(2):
            with pytest.raises(
                VersionTooLarge, match=r"ns/a is not read: spec\.parameters has 2001"
            ):
                await versions.get(("ns", "a"))
        cached = versions.informer.get("ns", "a")
        assert len(api.seen) == 1
    assert cached is not None
    assert cached["spec"] == {}
    assert TOO_LARGE in cached


async def test_a_child_whose_version_is_too_large_fails_its_plan() -> None:
    async with store(version("a", 2001)) as (_, versions):
        with pytest.raises(FatalTaskError, match="has 2001 entries") as failed:
            await ChildVersions(versions).find(("ns", "a"))
    assert failed.value.reason == "InvalidOperatorVersion"


def test_annotations_are_not_kept() -> None:
    whole = version("a", 1, annotations={"kubectl.kubernetes.io/last-applied-configuration": "{}"})
    assert kept_version(whole) == version("a", 1)
    assert "annotations" in whole["metadata"]
