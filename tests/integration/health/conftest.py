"""The rights that operators of these tests need beyond what every operator may do."""

import pytest

from kubeio.client import Client
from kubeio.resource import Resource
from tests.integration.health.objects import group_of, made
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

_RBAC = "rbac.authorization.k8s.io"
_ROLES = Resource(_RBAC, "v1", "ClusterRole", "clusterroles", namespaced=False)
_BINDINGS = Resource(_RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False)
_USER = "kudo-reconciler"
_VERBS = ["get", "list", "watch", "create", "update", "patch", "delete"]


@pytest.fixture
async def trusted(world: World, admin: Client) -> None:
    """Let operators bring the kinds of this test, API services and namespaces.

    The rights stay, as do the kinds: the reconciler goes on watching what it once watched, and
    would notice late that it may do so again.
    """
    name = f"health-{world.namespace}"
    await admin.create(_ROLES, made(f"{_RBAC}/v1", "ClusterRole", name, rules=_rules(world)))
    binding = made(
        f"{_RBAC}/v1",
        "ClusterRoleBinding",
        name,
        roleRef={"apiGroup": _RBAC, "kind": "ClusterRole", "name": name},
        subjects=[{"apiGroup": _RBAC, "kind": "User", "name": _USER}],
    )
    await admin.create(_BINDINGS, binding)
    await wait_until(lambda: _may(world, admin), lambda: f"{_USER} to have more rights")


def _rules(world: World) -> list[dict[str, list[str]]]:
    return [
        {"apiGroups": [group], "resources": [resource], "verbs": _VERBS}
        for group, resource in [
            (group_of(world), "*"),
            ("apiextensions.k8s.io", "customresourcedefinitions"),
            ("apiregistration.k8s.io", "apiservices"),
            ("", "namespaces"),
        ]
    ]


async def _may(world: World, admin: Client) -> bool:
    desired = {"group": group_of(world), "resource": "things", "verb": "create"}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": _USER, "resourceAttributes": desired},
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return bool((await admin.raw("POST", path, body=review))["status"]["allowed"])
