"""Rights on cluster-scoped kinds, and names and namespaces for tests that need more of them."""

import uuid
from collections.abc import AsyncIterator

import pytest

from kubeio.client import Client
from kubeio.resource import Resource
from tests.support.build import Json
from tests.support.cluster.interface import World
from tests.support.cluster.waiting import wait_until

_RBAC = "rbac.authorization.k8s.io"
_ROLE = "test-inventory"
_VERBS = ["get", "list", "watch", "create", "patch", "delete"]
_RULES = [
    {"apiGroups": ["scheduling.k8s.io"], "resources": ["priorityclasses"], "verbs": _VERBS},
    {"apiGroups": [""], "resources": ["namespaces", "persistentvolumes"], "verbs": _VERBS},
    {
        "apiGroups": ["apiextensions.k8s.io"],
        "resources": ["customresourcedefinitions"],
        "verbs": _VERBS,
    },
]


@pytest.fixture
async def granted(admin: Client) -> None:
    """Let the reconciler write the cluster-scoped kinds that these tests use."""
    objects: list[Json] = [
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": _ROLE},
            "rules": _RULES,
        },
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": _ROLE},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": _ROLE},
            "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": "kudo-reconciler"}],
        },
    ]
    for obj in objects:
        resource = Resource(_RBAC, "v1", obj["kind"], f"{obj['kind'].lower()}s", namespaced=False)
        await admin.apply(resource, obj, field_manager="kubectl", force=True)


@pytest.fixture
async def applies_unseen(world: World, admin: Client) -> AsyncIterator[str]:
    """Let the reconciler create objects of a kind that it may not list; yield the kind."""
    role, binding = (
        Resource(_RBAC, "v1", kind, f"{kind.lower()}s", namespaced=False)
        for kind in ("ClusterRole", "ClusterRoleBinding")
    )
    name, group, plural = f"{_ROLE}-{world.namespace}", "node.k8s.io", "runtimeclasses"
    rules = [{"apiGroups": [group], "resources": [plural], "verbs": ["create"]}]
    await admin.create(role, {"metadata": {"name": name}, "rules": rules})
    of = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name}
    subject = {"apiGroup": _RBAC, "kind": "User", "name": "kudo-reconciler"}
    await admin.create(binding, {"metadata": {"name": name}, "roleRef": of, "subjects": [subject]})
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": "kudo-reconciler",
            "resourceAttributes": {"group": group, "resource": plural, "verb": "create"},
        },
    }

    async def may() -> bool:
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        return bool((await admin.raw("POST", path, body=review))["status"]["allowed"])

    await wait_until(may, lambda: f"the reconciler to create {plural}")
    try:
        yield f"{plural}.{group}"
    finally:
        await admin.delete(binding, name)
        await admin.delete(role, name)


@pytest.fixture
def unique() -> str:
    """Return a name that no other test uses, for objects that have no namespace."""
    return f"test-{uuid.uuid4().hex[:8]}"


@pytest.fixture
async def elsewhere(world: World) -> World:
    """Return a second namespace with the same user."""
    return await world.elsewhere()


@pytest.fixture
async def forger(world: World) -> AsyncIterator[Client]:
    """Yield a client that may write Inventories: the policy admits the reconciler's user alone.

    It is not the process that the tests run, which takes its writes for somebody else's.
    """
    async with world.client_as("reconciler") as client:
        yield client
