"""Cluster-scoped objects, which have no owner, are taken over and changed exactly, too."""

import uuid
from collections.abc import AsyncIterator

import pytest

from kubeio.client import Client
from kubeio.resource import Resource
from tests.integration.takeover.operator_of_old import version_of_old
from tests.integration.takeover.original import (
    CLUSTER_ROLES,
    INSTANCE,
    LABELS,
    LAST_APPLIED,
)
from tests.integration.takeover.watching import (
    original_in_charge,
    run_to_end,
    settled,
)
from tests.support.build import Json
from tests.support.cluster.changes import as_admin, delete
from tests.support.cluster.events import reasons
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.world import World

BINDINGS = Resource(
    "rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)
_ROLE = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: reader-{{ .Namespace }}
  labels:
    kept: "yes"
{{- if eq .Params.EXTRA "yes" }}
    dropped: "yes"
{{- end }}
rules:
- apiGroups: [""]
  resources: [pods]
  verbs: [get]
{{- if eq .Params.EXTRA "yes" }}
- apiGroups: [""]
  resources: [nodes]
  verbs: [get]
{{- end }}
"""
VERSION = version_of_old(templates={"role.yaml": _ROLE}, deploy=["role.yaml"])
PODS_ONLY = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]


@pytest.fixture
async def rights(world: World, admin: Client) -> AsyncIterator[None]:
    """Let the reconciler write ClusterRoles, as an administrator does who needs that."""
    name = f"takeover-{uuid.uuid4().hex[:8]}"
    rules = [
        {
            "apiGroups": ["rbac.authorization.k8s.io"],
            "resources": ["clusterroles"],
            "verbs": [
                *("get", "list", "watch", "create", "update", "patch", "delete", "escalate"),
            ],
        }
    ]
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": rules,
    }
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": name,
        },
        "subjects": [
            {"kind": "User", "name": "kudo-reconciler", "apiGroup": "rbac.authorization.k8s.io"}
        ],
    }
    await admin.create(CLUSTER_ROLES, role)
    await admin.create(BINDINGS, binding)
    yield
    await admin.delete(BINDINGS, name)
    await admin.delete(CLUSTER_ROLES, name)
    await as_admin(
        world, "delete", "clusterrole", f"reader-{world.namespace}", "--ignore-not-found"
    )


async def role(world: World, admin: Client) -> Json:
    return await admin.get(CLUSTER_ROLES, f"reader-{world.namespace}")


@pytest.mark.usefixtures("rights")
async def test_a_cluster_role_is_changed_exactly_and_names_its_instance(
    world: World, admin: Client
) -> None:
    async with original_in_charge(world, admin) as original:
        await original.install(VERSION)
        await as_admin(world, "annotate", "clusterrole", f"reader-{world.namespace}", "mine=a")
        before = await role(world, admin)
    await settled(world)

    await run_to_end(world, admin, {"parameters": {"EXTRA": "no"}})

    now = await role(world, admin)
    assert now["metadata"]["uid"] == before["metadata"]["uid"]
    assert now["rules"] == PODS_ONLY
    assert now["metadata"]["labels"] == {"kept": "yes", **LABELS}
    annotations = now["metadata"]["annotations"]
    assert annotations["mine"] == "a"
    assert LAST_APPLIED not in annotations
    assert annotations["kudo.dev/shared-by"] == f"{world.namespace}/{INSTANCE}/{original.uid}"
    assert "ownerReferences" not in now["metadata"]
    assert set(await reasons(world)) == {"PlanStarted", "PlanFinished"}


@pytest.mark.usefixtures("rights")
async def test_a_cluster_role_stays_when_the_instance_goes(world: World, admin: Client) -> None:
    async with original_in_charge(world, admin) as original:
        await original.install(VERSION)
    await settled(world)
    await run_to_end(world, admin, {"parameters": {"EXTRA": "no"}})

    await delete(world, INSTANCE)
    await world.until_gone(INSTANCES, INSTANCE)

    assert (await role(world, admin))["rules"] == PODS_ONLY


@pytest.mark.usefixtures("rights")
async def test_a_cluster_role_that_the_instance_has_not_touched_since_stays_too(
    world: World, admin: Client
) -> None:
    async with original_in_charge(world, admin) as original:
        await original.install(VERSION)
        before = await role(world, admin)
    await settled(world)

    await delete(world, INSTANCE)
    await world.until_gone(INSTANCES, INSTANCE)

    assert await role(world, admin) == before
