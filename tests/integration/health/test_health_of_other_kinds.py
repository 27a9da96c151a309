"""Health of claims, namespaces, definitions, API services and kinds that exist or do not."""

import pytest

from kubeio.client import Client
from kudo.objects.health import needs_body
from tests.integration.health import objects
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.resources import CONFIG_MAPS, NAMESPACES
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

AFTER = build.config_map("after", a="b")


# Claims


def claim(**spec: str) -> Json:
    resources = {"requests": {"storage": "1Gi"}}
    return objects.made(
        "v1",
        "PersistentVolumeClaim",
        "data",
        spec={
            "accessModes": ["ReadWriteOnce"],
            "resources": resources,
            "storageClassName": "",
            **spec,
        },
    )


def volume(name: str, world: World) -> Json:
    """Return a volume for the claim of this test and no other."""
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "claimRef": {"namespace": world.namespace, "name": "data"},
        "hostPath": {"path": "/data"},
        "persistentVolumeReclaimPolicy": "Retain",
    }
    return objects.made("v1", "PersistentVolume", name, spec=spec)


async def phase_of_claim(admin: Client, world: World) -> str:
    found = await admin.get(objects.CLAIMS, "data", namespace=world.namespace)
    return str(found["status"]["phase"])


async def until_claim(admin: Client, world: World, phase: str) -> None:
    async def reached() -> bool:
        return await phase_of_claim(admin, world) == phase

    await wait_until(reached, lambda: f"the claim to be {phase}")


async def test_a_claim_that_waits_for_its_first_consumer_holds_no_later_step(
    world: World, admin: Client
) -> None:
    await objects.install(world, claim(), AFTER)

    await world.until_complete("i")

    assert await phase_of_claim(admin, world) == "Pending"


async def test_a_claim_whose_pod_was_scheduled_is_waited_for_until_it_is_bound(
    world: World, admin: Client
) -> None:
    await objects.install(world, claim(), AFTER)
    await world.until_complete("i")
    annotations = {"volume.kubernetes.io/selected-node": "node-7"}
    patch = {"metadata": {"annotations": annotations}}
    await admin.merge_patch(objects.CLAIMS, "data", patch, namespace=world.namespace)
    await objects.deploy_again(world)

    data = f"persistentvolumeclaim {world.namespace}/data"
    text = f"{data} is not bound: its volume is being provisioned"
    await world.until(
        "i", lambda i: text in instances.messages(i, "deploy"), "the claim to be waited for"
    )
    await admin.create(objects.VOLUMES, volume(world.namespace, world))

    await world.until_complete("i")
    assert await phase_of_claim(admin, world) == "Bound"


async def test_a_claim_that_lost_its_volume_ends_the_plan(world: World, admin: Client) -> None:
    await admin.create(objects.VOLUMES, volume(world.namespace, world))
    await objects.install(world, claim())
    await world.until_complete("i")
    await until_claim(admin, world, "Bound")
    await admin.delete(objects.VOLUMES, world.namespace)
    await admin.merge_patch(objects.VOLUMES, world.namespace, {"metadata": {"finalizers": None}})
    await until_claim(admin, world, "Lost")

    await objects.deploy_again(world)

    failed = await world.until_failed("i")
    text = f"persistentvolumeclaim {world.namespace}/data has lost its volume {world.namespace}"
    assert text in instances.messages(failed, "deploy")


# What is being deleted


async def test_what_is_being_deleted_is_waited_for_and_applied_anew(
    world: World, admin: Client
) -> None:
    await objects.install(world, build.config_map("config", a="b"), AFTER)
    await world.until_complete("i")
    before = await world.get(CONFIG_MAPS, "config")
    hold = {"metadata": {"finalizers": ["example.org/hold"]}}
    await admin.merge_patch(CONFIG_MAPS, "config", hold, namespace=world.namespace)
    await admin.delete(CONFIG_MAPS, "config", namespace=world.namespace)
    await objects.deploy_again(world)

    text = (
        f"ConfigMap {world.namespace}/config is being deleted, held by example.org/hold (the "
        "controller of example.org)"
    )
    await world.until("i", lambda i: text in instances.messages(i, "deploy"), "the ConfigMap to go")
    free = {"metadata": {"finalizers": None}}
    await admin.merge_patch(CONFIG_MAPS, "config", free, namespace=world.namespace)

    await world.until_complete("i")
    after = await world.get(CONFIG_MAPS, "config")
    assert after["metadata"]["uid"] != before["metadata"]["uid"]


@pytest.mark.usefixtures("trusted")
async def test_a_namespace_that_terminates_is_waited_for_and_applied_anew(
    world: World, admin: Client
) -> None:
    name = f"{world.namespace}-more"
    await objects.install(world, objects.made("v1", "Namespace", name), AFTER)
    await world.until_complete("i")
    before = await admin.get(NAMESPACES, name)
    held = build.config_map("held")
    held["metadata"]["finalizers"] = ["example.org/hold"]
    await admin.create(CONFIG_MAPS, held, namespace=name)
    await admin.delete(NAMESPACES, name)
    await objects.deploy_again(world)

    text = f"namespace {name} is not active: Terminating"
    await world.until("i", lambda i: text in instances.messages(i, "deploy"), "the Namespace to go")
    free = {"metadata": {"finalizers": None}}
    await admin.merge_patch(CONFIG_MAPS, "held", free, namespace=name)

    await world.until_complete("i")
    after = await admin.get(NAMESPACES, name)
    assert after["metadata"]["uid"] != before["metadata"]["uid"]


# What counts once it exists


async def test_what_promises_nothing_counts_once_it_exists(world: World, admin: Client) -> None:
    scaled = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "comes-later"}
    labels = {"matchLabels": {"app": "comes-later"}}
    backend = {"service": {"name": "comes-later", "port": {"number": 80}}}
    run = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": build.job("x")["spec"]}}
    others = [
        objects.made("batch/v1", "CronJob", "x", spec=run),
        objects.made(
            "policy/v1", "PodDisruptionBudget", "x", spec={"selector": labels, "minAvailable": 1}
        ),
        objects.made("networking.k8s.io/v1", "Ingress", "x", spec={"defaultBackend": backend}),
        objects.made(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            "x",
            spec={"scaleTargetRef": scaled, "maxReplicas": 3},
        ),
    ]
    await objects.install(world, others, objects.workload("Deployment", "comes-later"))

    await world.until_complete("i")

    for kind in (objects.CRON_JOBS, objects.BUDGETS, objects.INGRESSES, objects.AUTOSCALERS):
        assert await admin.get(kind, "x", namespace=world.namespace)


@pytest.mark.usefixtures("trusted")
async def test_an_api_service_is_waited_for_until_its_server_answers(
    world: World, admin: Client
) -> None:
    group = f"{world.namespace}.example.org"
    name = f"v1.{group}"
    behind = {"namespace": world.namespace, "name": "no-such-service"}
    spec = {
        "group": group,
        "version": "v1",
        "groupPriorityMinimum": 100,
        "versionPriority": 10,
        "insecureSkipTLSVerify": True,
        "service": behind,
    }
    await objects.install(
        world, objects.made("apiregistration.k8s.io/v1", "APIService", name, spec=spec), AFTER
    )
    text = f"apiservice {name} is not available: ServiceNotFound: "
    await world.until("i", lambda i: text in instances.messages(i, "deploy"), "the APIService")

    # An API service without a service is one of the API server itself, which answers.
    local = {"service": None, "insecureSkipTLSVerify": None}
    await admin.merge_patch(objects.API_SERVICES, name, {"spec": local})

    await world.until_complete("i")
    await admin.delete(objects.API_SERVICES, name)


# Which kinds have a status


async def test_just_the_built_in_kinds_without_a_status_are_watched_by_their_metadata(
    world: World, admin: Client
) -> None:
    served = await served_kinds(admin)
    assert len(served) > 40

    found = {kind for kind, has_status in served.items() if needs_body(*kind) != has_status}

    assert found == set()


async def served_kinds(admin: Client) -> dict[tuple[str, str], bool]:
    """Return the built-in kinds that can be listed and patched, and which have a status."""
    groups = (await admin.raw("GET", "/apis"))["groups"]
    versions = [v["groupVersion"] for g in groups for v in g["versions"] if is_built_in(g["name"])]
    found = {}
    for version in ("v1", *versions):
        path = "/api/v1" if version == "v1" else f"/apis/{version}"
        resources = (await admin.raw("GET", path))["resources"]
        names = {resource["name"] for resource in resources}
        for resource in resources:
            if {"list", "patch"} <= set(resource["verbs"]) and "/" not in resource["name"]:
                kind = (version, resource["kind"])
                found[kind] = f"{resource['name']}/status" in names
    return found


def is_built_in(group: str) -> bool:
    return "." not in group or group.endswith(".k8s.io")
