"""The services beside a CRD of an earlier release, which drops the fields of runs under control."""

import copy
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import pytest

from goyaml import load
from kubeio.client import Client
from kubeio.errors import Gone, TooManyRequests
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES
from tests.support.cluster.waiting import wait_until
from tests.support.world.operators import failed, installed, trigger, unblock

CRD = Path(__file__).parents[3] / "crds" / "instances.yaml"
_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/instances.kudo.dev"
_NEW = {
    "cause",
    "configuration",
    "failures",
    "from",
    "history",
    "historyLimit",
    "nextAttemptAt",
    "planTimeout",
    "previousOperatorVersion",
    "progress",
    "progressedAt",
    "requestedBy",
    "retried",
    "retryOf",
    "suspend",
    "suspendedAt",
    "suspendedSeconds",
}
"""Fields that an earlier release does not have; `lastRun.version` and some times as well."""


def older(schema: Any) -> Any:
    """Return a schema without the fields that are new, and without rules that read them."""
    if isinstance(schema, list):
        return [older(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: older(value) for key, value in schema.items()}
    if "retryOf" in schema.get("properties", {}):
        found.pop("x-kubernetes-validations", None)
    for field in _NEW & found.get("properties", {}).keys():
        del found["properties"][field]
    return found


async def serve(world: World, admin: Client, crd: Json, *, drops: bool) -> None:
    stored = await admin.raw("GET", _PATH)
    metadata = {**crd["metadata"], "resourceVersion": stored["metadata"]["resourceVersion"]}
    await admin.raw("PUT", _PATH, body={**crd, "metadata": metadata})
    probe = build.instance("probe", "control-1")
    probe["spec"]["suspend"] = True

    async def noticed() -> bool:
        try:
            created = await admin.create(INSTANCES, probe, namespace=world.namespace, dry_run=True)
            stored = await admin.get(INSTANCES, "i", namespace=world.namespace)
            watch = admin.watch(
                INSTANCES,
                namespace=world.namespace,
                resource_version=stored["metadata"]["resourceVersion"],
                timeout_seconds=1,
            )
            # What was read is older than the cache.
            with suppress(Gone):
                async with aclosing(watch) as events:
                    async for _ in events:
                        break
        except TooManyRequests:
            # The API server starts its cache of Instances anew.
            return False
        return ("suspend" not in created["spec"]) is drops

    await wait_until(noticed, lambda: "the API server to serve the other schema")


@pytest.fixture
async def old_world(world: World, admin: Client) -> AsyncIterator[World]:
    """Yield a namespace with an idle Instance `i`, on a CRD without the new fields."""
    await installed(world)
    present: Any = load(CRD.read_text(encoding="utf-8"))
    before: Any = copy.deepcopy(present)
    version = before["spec"]["versions"][0]
    version["schema"]["openAPIV3Schema"] = older(version["schema"]["openAPIV3Schema"])
    await serve(world, admin, before, drops=True)
    try:
        yield world
    finally:
        await serve(world, admin, present, drops=False)


async def test_plans_run_as_ever_and_nothing_is_paused(old_world: World, admin: Client) -> None:
    await old_world.patch("i", {"suspend": True, "parameters": {"A": "2"}})
    await old_world.until_complete("i")
    assert (await old_world.get(CONFIG_MAPS, "i-first"))["data"] == {"a": "2"}

    await failed(old_world, admin)
    await unblock(old_world, admin)
    await trigger(old_world, "guarded", retryOf="a-run-that-the-schema-drops")
    ended = await old_world.until_complete("i", "guarded")

    assert "suspend" not in ended["spec"]
    assert _NEW & ended["status"]["lastRun"].keys() == set()
    assert instances.reason_of(ended) == ("True", "ResourcesReady")
