"""The bounds in the CRDs: what is refused, and that what is stored can be worked with."""

import asyncio
import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from goyaml import load
from kubeio.client import Client
from kubeio.errors import Invalid
from kubeio.resource import Resource
from kudo.api import bounds
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.changes import edit
from tests.support.cluster.clients import client_as
from tests.support.cluster.resources import INSTANCES, VERSIONS
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.webhooks import without_webhooks
from tests.support.cluster.world import World

CRDS = Path(__file__).parents[3] / "crds"
KINDS = {INSTANCES.plural: INSTANCES, VERSIONS.plural: VERSIONS}
_BOUNDS = ("maxItems", "maxProperties", "maxLength", "pattern")
ODD = {"name": "../x", "namespace": "a/b"}


@pytest.fixture
async def unguarded(world: World) -> AsyncIterator[World]:
    """Yield a namespace where neither webhooks nor a reconciler do anything."""
    world.installation.reconciler.stop()
    async with without_webhooks(world):
        yield world


def version(name: str = "v", **spec: Any) -> Json:
    return {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "OperatorVersion",
        "metadata": {"name": name},
        "spec": {"operator": {"name": "o"}, "version": "1", **spec},
    }


def instance(parameters: int) -> Json:
    found = build.instance("i", "any")
    found["spec"]["parameters"] = {f"P{n}": "1" for n in range(parameters)}
    return found


def refers_to(**reference: str) -> Json:
    found = build.instance("odd", "any")
    found["spec"]["operatorVersion"] = reference
    return found


def job(**fields: Any) -> Json:
    return {"name": "t", "kind": "Job", "spec": {"job": {"image": "i", **fields}}}


def parameters(many: int) -> list[Json]:
    return [{"name": f"P{n}"} for n in range(many)]


TOO_LARGE: list[tuple[Resource, Json, str]] = [
    (VERSIONS, version(parameters=[{}] * 450_000), "spec.parameters"),
    (VERSIONS, version(parameters=parameters(bounds.PARAMETERS + 1)), "spec.parameters"),
    (VERSIONS, version(templates={str(n): "" for n in range(1001)}), "spec.templates"),
    (VERSIONS, version(tasks=[{"name": "t"}] * 1001), "spec.tasks"),
    (VERSIONS, version(tasks=[job(env=[{}] * 201)]), "spec.tasks[0].spec.job.env"),
    (VERSIONS, version(tasks=[job(args=["a"] * 101)]), "spec.tasks[0].spec.job.args"),
    (VERSIONS, version(tasks=[job(outputs=["a"] * 51)]), "spec.tasks[0].spec.job.outputs"),
    (VERSIONS, version(plans={str(n): {} for n in range(201)}), "spec.plans"),
    (VERSIONS, version(parameters=[{"name": "x" * 254}]), "spec.parameters[0].name"),
    (INSTANCES, instance(bounds.PARAMETERS + 1), "spec.parameters"),
]


NOWHERE: list[tuple[Json, str]] = [
    (refers_to(name=".."), "name"),
    (refers_to(name="a/b"), "name"),
    (refers_to(name="a%2fb"), "name"),
    (refers_to(name="x" * 254), "name"),
    (refers_to(name="v", namespace="../x"), "namespace"),
    (refers_to(name="v", namespace="x" * 64), "namespace"),
]
"""References that no object can have."""


async def test_what_exceeds_a_bound_is_refused(unguarded: World, subtests: pytest.Subtests) -> None:
    refused = [(resource, obj, f"{field}: Too ") for resource, obj, field in TOO_LARGE]
    refused += [(INSTANCES, obj, f"spec.operatorVersion.{field}: ") for obj, field in NOWHERE]
    for number, (resource, obj, text) in enumerate(refused):
        with subtests.test(text, number=number):
            with pytest.raises(Invalid) as caught:
                await create(unguarded, resource, obj, dry_run=True)
            assert text in caught.value.message


async def test_what_is_as_large_as_it_may_be_is_taken(unguarded: World) -> None:
    steps = [{"name": f"s{n}", "tasks": ["t"]} for n in range(bounds.STEPS)]
    whole = version(
        parameters=parameters(bounds.PARAMETERS),
        templates={f"t{n}.yaml": "a: b" for n in range(bounds.TEMPLATES)},
        tasks=[{"name": f"t{n}", "kind": "Dummy"} for n in range(bounds.TASKS)],
        plans={"deploy": {"phases": [{"name": "p", "steps": steps}]}},
    )
    await create(unguarded, VERSIONS, whole, dry_run=True)
    await create(unguarded, INSTANCES, instance(bounds.PARAMETERS), dry_run=True)


async def test_the_fields_of_a_job_are_stored_as_they_are(unguarded: World) -> None:
    task = job(
        command=["x"],
        env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
        volumes=[{"name": "v", "csi": {"driver": "d", "volumeAttributes": {"a": "b"}}}],
        mounts=[{"name": "v", "mountPath": "/v", "readOnly": True}],
        resources={"limits": {"example.com/gpu": 1}},
        backoffLimit=0,
    )
    stored = await create(unguarded, VERSIONS, version(tasks=[task]), dry_run=True)
    assert stored["spec"]["tasks"] == [task]


async def create(world: World, resource: Resource, obj: Json, *, dry_run: bool = False) -> Json:
    return await world.client.create(resource, obj, namespace=world.namespace, dry_run=dry_run)


# What is already stored


@asynccontextmanager
async def without_bounds(world: World) -> AsyncIterator[None]:
    """Serve the kinds without bounds, as KUDO 0.19 did, and put them back whatever happens."""
    bounded = {p: load((CRDS / f"{p}.yaml").read_text(encoding="utf-8")) for p in KINDS}
    async with client_as(world, "admin") as admin:
        for crd in bounded.values():
            await _serve(world, admin, _unbounded(crd), refuses=False)
        try:
            yield
        finally:
            for crd in bounded.values():
                await _serve(world, admin, crd, refuses=True)


def _unbounded(value: Any) -> Any:
    value = copy.deepcopy(value)
    schema = value["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"] = _without(schema["properties"]["spec"])
    return value


def _without(value: Any) -> Any:
    if isinstance(value, list):
        return [_without(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _without(below) for key, below in value.items() if key not in _BOUNDS}


async def _serve(world: World, admin: Client, crd: Any, *, refuses: bool) -> None:
    plural = crd["spec"]["names"]["plural"]
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.kudo.dev"
    stored = await admin.raw("GET", path)
    metadata = {**crd["metadata"], "resourceVersion": stored["metadata"]["resourceVersion"]}
    await admin.raw("PUT", path, body={**crd, "metadata": metadata})
    probe = instance(2001) if plural == INSTANCES.plural else version("probe", tasks=[{}] * 1001)
    probe["metadata"]["name"] = "probe"

    async def noticed() -> bool:
        try:
            await create(world, KINDS[plural], probe, dry_run=True)
        except Invalid:
            return refuses
        return not refuses

    await wait_until(noticed, lambda: f"the API server to serve the other schema of {plural}")


@pytest.fixture
async def stored(unguarded: World) -> World:
    """Return a namespace with objects over the bounds: Instances `i` and `odd`, a version `v`."""
    async with without_bounds(unguarded):
        await create(unguarded, INSTANCES, instance(2100))
        await create(unguarded, INSTANCES, refers_to(**ODD))
        await create(unguarded, VERSIONS, version(parameters=parameters(2100)))
    return unguarded


async def test_stored_objects_over_a_bound_can_be_worked_with(stored: World) -> None:
    for kind, name in ((INSTANCES, "i"), (VERSIONS, "v")):
        labels = {"metadata": {"labels": {"team": "a"}}}
        await stored.client.merge_patch(kind, name, labels, namespace=stored.namespace)
    await stored.patch("i", {"operatorVersion": {"name": "other"}})
    async with client_as(stored, "reconciler") as reconciler:
        await reconciler.merge_patch(
            INSTANCES,
            "i",
            {"metadata": {"finalizers": ["example.org/a"]}},
            namespace=stored.namespace,
        )
        seen = await reconciler.get(INSTANCES, "i", namespace=stored.namespace)
        written = await reconciler.replace(
            INSTANCES, {**seen, "status": {"observedGeneration": 1}}, subresource="status"
        )
    await stored.client.delete(INSTANCES, "i", namespace=stored.namespace)
    await stored.client.merge_patch(
        INSTANCES, "i", {"metadata": {"finalizers": None}}, namespace=stored.namespace
    )
    await stored.client.delete(VERSIONS, "v", namespace=stored.namespace)

    assert written["status"]["observedGeneration"] == 1
    await stored.until_gone(INSTANCES, "i")
    await stored.until_gone(VERSIONS, "v")


def is_invalid(instance: Json) -> bool:
    conditions = instance.get("status", {}).get("conditions", [])
    return [one["reason"] for one in conditions] == ["InvalidOperatorVersion"] * 2


async def test_a_stored_reference_that_no_object_can_have_can_be_worked_with(
    stored: World,
) -> None:
    await edit(stored, "odd", {"metadata": {"labels": {"team": "a"}}})
    await asyncio.to_thread(stored.installation.reconciler.start)
    await stored.until("odd", is_invalid, "the reconciler to name the reference")
    await stored.client.merge_patch(
        INSTANCES,
        "odd",
        {"metadata": {"finalizers": ["kudo.dev.instance.cleanup"]}},
        namespace=stored.namespace,
    )
    await stored.client.delete(INSTANCES, "odd", namespace=stored.namespace)
    await stored.until_gone(INSTANCES, "odd")


async def test_stored_objects_over_a_bound_can_be_mended_and_not_broken_again(
    stored: World,
) -> None:
    with pytest.raises(Invalid):
        await stored.patch("i", {"parameters": {"another": "1"}})

    await stored.patch("i", {"parameters": {f"P{n}": None for n in range(200)}})

    with pytest.raises(Invalid):
        await stored.patch("i", {"parameters": {f"P{n}": "1" for n in range(200)}})
