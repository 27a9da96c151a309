"""Discovery against a real API server, with a CRD that comes and goes."""

import asyncio

import pytest

from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import UnknownKind
from kubeio.resource import Resource
from kubeio.types import JsonObject
from tests.integration.kubeio.conftest import CONFIG_MAP, CRD, DEPLOYMENT

pytestmark = pytest.mark.smoke


def gadget_crd() -> JsonObject:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.kubeio.example.dev"},
        "spec": {
            "group": "kubeio.example.dev",
            "scope": "Cluster",
            "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
            "versions": [version],
        },
    }


def place(resource: Resource) -> tuple[str, str, str, bool]:
    return resource.api_version, resource.kind, resource.plural, resource.namespaced


async def test_built_in_kinds_are_found(client: Client) -> None:
    discovery = Discovery(client)
    assert place(await discovery.resolve("v1", "ConfigMap")) == place(CONFIG_MAP)
    found = await discovery.resolve("apps/v1", "Deployment")
    assert place(found) == place(DEPLOYMENT)
    assert {"status", "scale"} <= found.subresources
    assert {"watch", "list", "patch"} <= found.verbs
    assert place(await discovery.for_object({"apiVersion": CRD.api_version, "kind": CRD.kind})) == (
        place(CRD)
    )


async def test_removed_versions_are_unknown(client: Client) -> None:
    with pytest.raises(UnknownKind):
        await Discovery(client).resolve("extensions/v1beta1", "Ingress")


async def test_everything_is_found_in_two_ways_alike(client: Client) -> None:
    discovery = Discovery(client)
    everything = await discovery.all_resources()
    assert len({one.api_version for one in everything}) > 15
    for api_version in ("v1", "apps/v1", "batch/v1"):
        bulk = {one for one in everything if one.api_version == api_version}
        assert bulk == set(await discovery.resources(api_version))


async def test_the_preferred_version_comes_first(client: Client) -> None:
    versions = await Discovery(client).versions("autoscaling", "HorizontalPodAutoscaler")
    assert [one.version for one in versions][:1] == ["v2"]


async def test_a_crd_made_on_the_fly_is_found_soon(client: Client) -> None:
    discovery = Discovery(client)
    with pytest.raises(UnknownKind):
        await discovery.resolve("kubeio.example.dev/v1", "Gadget")
    await client.apply(CRD, gadget_crd(), field_manager="kubeio-test")
    try:
        found = await eventually(discovery)
        assert place(found) == ("kubeio.example.dev/v1", "Gadget", "gadgets", False)
        assert found.subresources == {"status"}
        made = await client.apply(
            found,
            {
                "apiVersion": "kubeio.example.dev/v1",
                "kind": "Gadget",
                "metadata": {"name": "g"},
                "spec": {"any": 1},
            },
            field_manager="kubeio-test",
        )
        assert made["spec"] == {"any": 1}
    finally:
        await client.delete(CRD, gadget_crd()["metadata"]["name"])


async def eventually(discovery: Discovery) -> Resource:
    async with asyncio.timeout(15):
        while True:
            try:
                return await discovery.resolve("kubeio.example.dev/v1", "Gadget")
            except UnknownKind:
                await asyncio.sleep(0.1)
