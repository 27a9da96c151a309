"""Acting as a service account on a real API server: its rights count, and not ours."""

import asyncio
from contextlib import aclosing

import pytest

from kubeio import errors
from kubeio.client import Client
from kubeio.connection.auth import Identity
from kubeio.connection.config import load_config
from kubeio.resource import Resource
from kubeio.types import JsonObject
from kudo_cluster import Cluster
from tests.integration.kubeio.conftest import CONFIG_MAP

pytestmark = pytest.mark.smoke

ACCOUNT = Resource("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True)
POD = Resource("", "v1", "Pod", "pods", namespaced=True)
SECRET = Resource("", "v1", "Secret", "secrets", namespaced=True)
_RBAC = ("rbac.authorization.k8s.io", "v1")
ROLE = Resource(*_RBAC, "Role", "roles", namespaced=True)
BINDING = Resource(*_RBAC, "RoleBinding", "rolebindings", namespaced=True)
REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def obj(kind: Resource, namespace: str, name: str = "builder", **more: object) -> JsonObject:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **more}


@pytest.fixture
async def builder(client: Client, namespace: str) -> Client:
    """Acts as a service account of the namespace that may do everything with ConfigMaps."""
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]
    subject = {"kind": "ServiceAccount", "name": "builder", "namespace": namespace}
    role = {"apiGroup": ROLE.group, "kind": "Role", "name": "builder"}
    await client.create(ACCOUNT, obj(ACCOUNT, namespace))
    await client.create(ROLE, obj(ROLE, namespace, rules=rules))
    await client.create(BINDING, obj(BINDING, namespace, subjects=[subject], roleRef=role))
    return client.acting(Identity.service_account(namespace, "builder"))


def refused(namespace: str, verb: str) -> str:
    return f'"system:serviceaccount:{namespace}:builder" cannot {verb} resource'


async def test_the_server_takes_us_for_the_account_and_its_groups(
    client: Client, builder: Client, namespace: str
) -> None:
    review: JsonObject = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    user = (await builder.raw("POST", REVIEW, body=review))["status"]["userInfo"]
    assert user["username"] == f"system:serviceaccount:{namespace}:builder"
    assert sorted(user["groups"]) == [
        "system:authenticated",
        "system:serviceaccounts",
        f"system:serviceaccounts:{namespace}",
    ]
    ours = (await client.raw("POST", REVIEW, body=review))["status"]["userInfo"]
    assert "system:masters" in ours["groups"]


async def test_what_the_account_may_do_is_done(builder: Client, namespace: str) -> None:
    config_map = obj(CONFIG_MAP, namespace, data={"x": "1"})
    made = await builder.apply(CONFIG_MAP, config_map, field_manager="kudo")
    assert await builder.get(CONFIG_MAP, "builder", namespace=namespace) == made
    found = await builder.list(CONFIG_MAP, namespace=namespace)
    assert made["metadata"]["uid"] in [one["metadata"]["uid"] for one in found.items]

    watch = builder.watch(CONFIG_MAP, namespace=namespace, resource_version=found.resource_version)
    async with asyncio.timeout(30), aclosing(watch):
        await builder.delete(CONFIG_MAP, "builder", namespace=namespace)
        async for event in watch:
            if event.type == "DELETED":
                assert event.object["metadata"]["uid"] == made["metadata"]["uid"]
                break


async def test_what_it_may_not_do_is_refused_and_names_it(
    client: Client, builder: Client, namespace: str
) -> None:
    secret = obj(SECRET, namespace, stringData={"x": "1"})
    await client.create(SECRET, secret)
    pod = obj(POD, namespace, spec={"containers": [{"name": "c", "image": "busybox"}]})
    await client.create(POD, pod)

    with pytest.raises(errors.Forbidden, match=refused(namespace, "patch")):
        await builder.apply(SECRET, secret, field_manager="kudo")
    with pytest.raises(errors.Forbidden, match=refused(namespace, "patch")):
        await builder.apply(SECRET, secret, field_manager="kudo", dry_run=True)
    with pytest.raises(errors.Forbidden, match=refused(namespace, "get")):
        await builder.get(SECRET, "builder", namespace=namespace)
    with pytest.raises(errors.Forbidden, match=refused(namespace, "list")):
        await builder.list(SECRET, namespace=namespace)
    with pytest.raises(errors.Forbidden, match=refused(namespace, "watch")):
        async with aclosing(
            builder.watch(SECRET, namespace=namespace, resource_version="0")
        ) as watch:
            await anext(watch)
    with pytest.raises(errors.Forbidden, match=refused(namespace, "delete")):
        await builder.delete(SECRET, "builder", namespace=namespace)
    # An exec over a websocket is a GET, which Kubernetes counts as get or as create.
    opening = rf'{refused(namespace, "(get|create)")} "pods/exec"'
    with pytest.raises(errors.Forbidden, match=opening):
        await builder.exec("builder", "c", ("true",), namespace=namespace, limit=10)

    assert await client.get(SECRET, "builder", namespace=namespace)
    await client.delete(SECRET, "builder", namespace=namespace)
    await client.delete(POD, "builder", namespace=namespace, grace_period_seconds=0)


async def test_it_has_no_rights_in_another_namespace(builder: Client, namespace: str) -> None:
    with pytest.raises(errors.Forbidden, match=refused(namespace, "list")):
        await builder.list(CONFIG_MAP, namespace="default")


async def test_who_may_not_impersonate_is_refused(cluster: Cluster, namespace: str) -> None:
    async with Client(load_config(cluster.kubeconfig("user"))) as user:
        await user.list(CONFIG_MAP, namespace=namespace)
        nosy = user.acting(Identity.service_account(namespace, "builder"))
        with pytest.raises(errors.Forbidden, match="cannot impersonate"):
            await nosy.list(CONFIG_MAP, namespace=namespace)
