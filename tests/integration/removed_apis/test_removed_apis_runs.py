"""A package of yesterday runs on the cluster of today, and every upgrade is told once."""

import json
from collections.abc import AsyncIterator, Sequence

import pytest

from kubeio.client import Client
from kubeio.errors import NotFound
from kubeio.resource import Resource
from tests.integration.removed_apis import yesterday
from tests.support import build, instances
from tests.support.cluster.resources import DEPLOYMENTS
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

_REASON = "RemovedAPIVersion"
_GROUP = "yesterday.example.com"
_ROLES = Resource(yesterday.RBAC, "v1", "ClusterRole", "clusterroles", namespaced=False)
_BINDINGS = Resource(
    yesterday.RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)
_BUDGETS = Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", namespaced=True)
_USER = "kudo-reconciler"
_RULES = [
    {
        "apiGroups": [group],
        "resources": resources,
        "verbs": ["get", "list", "watch", "create", "update", "patch", "delete", "bind"],
    }
    for group, resources in (
        (_GROUP, ["*"]),
        ("apiextensions.k8s.io", ["customresourcedefinitions"]),
        (yesterday.RBAC, ["roles", "rolebindings", "clusterroles"]),
    )
]


@pytest.fixture
async def trusted(world: World, admin: Client) -> AsyncIterator[None]:
    """Let operators bring roles and kinds of their own."""
    name = "removed-apis-tests"
    metadata = {"name": name}
    subject = {"apiGroup": yesterday.RBAC, "kind": "User", "name": _USER}
    reference = {"apiGroup": yesterday.RBAC, "kind": "ClusterRole", "name": name}
    await admin.create(_ROLES, {"metadata": metadata, "rules": _RULES})
    binding = {"metadata": metadata, "roleRef": reference, "subjects": [subject]}
    await admin.create(_BINDINGS, binding)
    try:
        await wait_until(lambda: _may(world), lambda: f"{_USER} to have more rights")
        yield
    finally:
        await admin.delete(_BINDINGS, name)
        await admin.delete(_ROLES, name)


async def _may(world: World) -> bool:
    return "yes" in await _as_admin(world, "auth", "can-i", "create", "roles", f"--as={_USER}")


async def _as_admin(world: World, *arguments: str) -> str:
    admin = world.installation.cluster.kubeconfig("admin")
    return (await world.kubectl(f"--kubeconfig={admin}", *arguments)).stdout


async def _run(world: World, templates: dict[str, Sequence[yesterday.Json]]) -> None:
    """Install a package that applies the objects of each template in a step of its own."""
    texts = {f"{name}.yaml": build.template(*objects) for name, objects in templates.items()}
    plans = {"deploy": build.plan({name: [name] for name in templates})}
    version = build.operator_version("old-1", templates=texts, plans=plans)
    done = await world.apply(version, build.instance("i", "old-1"))
    assert done.code == 0, done.output


async def test_a_package_of_yesterday_is_deployed_and_each_upgrade_is_told_once(
    world: World, trusted: None
) -> None:
    cup = yesterday.old(f"{_GROUP}/v1", "Cup", "mine", spec={"colour": {"name": "red"}})
    await _run(
        world,
        {
            "rights": [
                yesterday.role("v1beta1", "Role"),
                yesterday.binding(
                    "v1beta1", "RoleBinding", {"kind": "ServiceAccount", "name": "default"}
                ),
            ],
            "kinds": [yesterday.definition("cups", "Cup", _GROUP)],
            "cup": [cup],
            "web": [
                yesterday.workload("extensions/v1beta1", "Deployment", replicas=2),
                yesterday.ingress("extensions/v1beta1", "one"),
                yesterday.ingress("networking.k8s.io/v1beta1", "two"),
            ],
            "rest": [
                yesterday.budget("web", minAvailable=1, selector={"matchLabels": {"app": "web"}}),
                yesterday.cron_job("batch/v1beta1", "nightly"),
            ],
        },
    )
    await world.until_complete("i")

    events = await world.events(_REASON)
    assert {event["type"] for event in events} == {"Warning"}
    assert {event.get("count", 1) for event in events} == {1}
    told = sorted(event["message"] for event in events)
    upgrades = [
        ("CronJob nightly", "batch/v1beta1", "batch/v1"),
        (
            f"CustomResourceDefinition cups.{_GROUP}",
            "apiextensions.k8s.io/v1beta1",
            "apiextensions.k8s.io/v1",
        ),
        ("Deployment web", "extensions/v1beta1", "apps/v1"),
        ("Ingress one", "extensions/v1beta1", "networking.k8s.io/v1"),
        ("Ingress two", "networking.k8s.io/v1beta1", "networking.k8s.io/v1"),
        ("PodDisruptionBudget web", "policy/v1beta1", "policy/v1"),
        ("Role old", "rbac.authorization.k8s.io/v1beta1", "rbac.authorization.k8s.io/v1"),
        ("RoleBinding old", "rbac.authorization.k8s.io/v1beta1", "rbac.authorization.k8s.io/v1"),
    ]
    assert len(told) == len(upgrades), told
    for message, (name, before, after) in zip(told, upgrades, strict=True):
        assert f"{name} of template" in message
        assert f" {before}" in message
        assert message.endswith(f" {after}")

    web = await world.get(DEPLOYMENTS, "web")
    assert web["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 1}
    shown = await _as_admin(world, "get", f"cups.{_GROUP}", "mine", "--output=json")
    assert json.loads(shown)["spec"] == cup["spec"]


async def test_a_delete_task_finds_what_was_applied_in_the_version_of_today(
    world: World, admin: Client
) -> None:
    resources = {"resources": ["budget.yaml"]}
    version = build.operator_version(
        "old-1",
        templates={
            "budget.yaml": build.template(yesterday.budget("b", minAvailable=1, selector={}))
        },
        tasks=[
            {"name": "apply", "kind": "Apply", "spec": resources},
            {"name": "delete", "kind": "Delete", "spec": resources},
        ],
        plans={
            "deploy": build.plan({"apply": ["apply"]}),
            "remove": build.plan({"delete": ["delete"]}),
        },
    )
    done = await world.apply(version, build.instance("i", "old-1"))
    assert done.code == 0, done.output
    await world.until_complete("i")
    applied = await admin.get(_BUDGETS, "b", namespace=world.namespace)
    selector = applied["spec"]["selector"]
    assert [e["operator"] for e in selector["matchExpressions"]] == ["Exists"]

    await world.patch("i", {"planExecution": {"planName": "remove"}})
    await world.until_complete("i", "remove")
    with pytest.raises(NotFound):
        await admin.get(_BUDGETS, "b", namespace=world.namespace)


async def test_what_cannot_be_upgraded_ends_the_plan_and_says_what_to_do(world: World) -> None:
    rules = {"rule": "RunAsAny"}
    policy = yesterday.old(
        "policy/v1beta1",
        "PodSecurityPolicy",
        "strict",
        spec={
            "seLinux": rules,
            "runAsUser": rules,
            "fsGroup": rules,
            "supplementalGroups": rules,
            "volumes": ["*"],
        },
    )
    await _run(world, {"policy": [policy]})
    failed = await world.until_failed("i")
    assert (
        "policy/v1beta1 PodSecurityPolicy was removed in Kubernetes 1.25: use Pod Security "
        "admission instead: label the namespace with pod-security.kubernetes.io/enforce"
    ) in instances.messages(failed, "deploy")
    assert await world.events(_REASON) == []


async def test_a_kind_that_was_never_known_is_not_taken_for_a_removed_one(world: World) -> None:
    await _run(world, {"cup": [yesterday.old("nowhere.example.com/v1beta1", "Cup", "mine")]})
    failed = await world.until_failed("i")
    assert "seems to be missing in API resource list" in instances.messages(failed, "deploy")
    assert await world.events(_REASON) == []
