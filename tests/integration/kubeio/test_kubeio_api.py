"""The client's verbs and errors against a real API server."""

import asyncio
from typing import Any

import pytest

from kubeio import errors, jsonpatch
from kubeio.client import Client
from kubeio.connection.auth import StaticAuth
from kubeio.connection.config import load_config
from kubeio.connection.tls import Pem, Tls
from kubeio.resource import Resource
from kubeio.types import JsonObject
from kudo_cluster import Cluster
from tests.integration.kubeio.conftest import CONFIG_MAP, DEPLOYMENT, NAMESPACE

pytestmark = pytest.mark.smoke


def config_map(namespace: str, name: str = "a", **data: str) -> JsonObject:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def deployment(namespace: str, **spec: Any) -> JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": namespace},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "d"}},
            "template": {
                "metadata": {"labels": {"app": "d"}},
                "spec": {"containers": [{"name": "c", "image": "busybox"}]},
            },
            **spec,
        },
    }


async def test_objects_are_created_read_changed_and_deleted(client: Client, namespace: str) -> None:
    made = await client.create(CONFIG_MAP, config_map(namespace, x="1"))
    assert await client.get(CONFIG_MAP, "a", namespace=namespace) == made

    patched = await client.merge_patch(
        CONFIG_MAP, "a", {"data": {"x": None, "y": "2"}}, namespace=namespace
    )
    assert patched["data"] == {"y": "2"}

    ops = [jsonpatch.test("/data/y", "2"), jsonpatch.replace("/data/y", "3")]
    assert (await client.json_patch(CONFIG_MAP, "a", ops, namespace=namespace))["data"] == {
        "y": "3"
    }

    current = await client.get(CONFIG_MAP, "a", namespace=namespace)
    replaced = await client.replace(CONFIG_MAP, {**current, "data": {"z": "4"}})
    assert replaced["data"] == {"z": "4"}

    await client.delete(CONFIG_MAP, "a", namespace=namespace)
    with pytest.raises(errors.NotFound, match='configmaps "a" not found') as gone:
        await client.get(CONFIG_MAP, "a", namespace=namespace)
    assert gone.value.details["name"] == "a"


async def test_a_taken_name_and_a_stale_version_are_told_apart(
    client: Client, namespace: str
) -> None:
    made = await client.create(CONFIG_MAP, config_map(namespace))
    with pytest.raises(errors.AlreadyExists):
        await client.create(CONFIG_MAP, config_map(namespace))
    await client.merge_patch(CONFIG_MAP, "a", {"data": {"x": "1"}}, namespace=namespace)
    with pytest.raises(errors.Conflict, match="the object has been modified") as stale:
        await client.replace(CONFIG_MAP, made)
    assert not isinstance(stale.value, errors.AlreadyExists)
    with pytest.raises(errors.Conflict):
        await client.merge_patch(
            CONFIG_MAP,
            "a",
            {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}, "data": {}},
            namespace=namespace,
        )


async def test_a_failed_test_of_a_json_patch_is_invalid(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAP, config_map(namespace, x="1"))
    with pytest.raises(errors.Invalid):
        await client.json_patch(
            CONFIG_MAP, "a", [jsonpatch.test("/data/x", "2")], namespace=namespace
        )


async def test_validation_names_the_fields(client: Client, namespace: str) -> None:
    bad = deployment(namespace, replicas=-1, selector={"matchLabels": {"app": "other"}})
    with pytest.raises(errors.Invalid) as invalid:
        await client.create(DEPLOYMENT, bad)
    fields = {cause.field for cause in invalid.value.causes}
    assert {"spec.replicas", "spec.template.metadata.labels"} <= fields


async def test_an_apply_is_owned_and_a_conflict_names_owner_and_field(
    client: Client, namespace: str
) -> None:
    await client.apply(DEPLOYMENT, deployment(namespace), field_manager="helm")
    mine = deployment(namespace, replicas=3, paused=True)
    with pytest.raises(errors.Conflict) as conflict:
        await client.apply(DEPLOYMENT, mine, field_manager="kudo")
    assert conflict.value.field_managers == {"helm": (".spec.replicas",)}
    taken = await client.apply(DEPLOYMENT, mine, field_manager="kudo", force=True)
    assert taken["spec"]["replicas"] == 3


async def test_an_apply_with_a_version_is_conditional(client: Client, namespace: str) -> None:
    first = await client.apply(CONFIG_MAP, config_map(namespace, x="1"), field_manager="kudo")
    await client.apply(CONFIG_MAP, config_map(namespace, x="2"), field_manager="kudo")
    stale = config_map(namespace, x="3")
    stale["metadata"]["resourceVersion"] = first["metadata"]["resourceVersion"]
    with pytest.raises(errors.Conflict) as conflict:
        await client.apply(CONFIG_MAP, stale, field_manager="kudo")
    assert conflict.value.field_managers == {}


async def test_a_status_is_applied_by_itself(client: Client, namespace: str) -> None:
    await client.create(DEPLOYMENT, deployment(namespace))
    status: JsonObject = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": namespace},
        "status": {"observedGeneration": 77},
    }
    answer = await client.apply(
        DEPLOYMENT, status, field_manager="kudo", subresource="status", force=True
    )
    assert answer["status"]["observedGeneration"] == 77
    assert answer["spec"]["replicas"] == 0


async def test_a_dry_run_changes_nothing(client: Client, namespace: str) -> None:
    obj = config_map(namespace)
    await client.create(CONFIG_MAP, obj, dry_run=True)
    await client.apply(CONFIG_MAP, obj, field_manager="kudo", dry_run=True)
    with pytest.raises(errors.NotFound):
        await client.get(CONFIG_MAP, "a", namespace=namespace)
    await client.create(CONFIG_MAP, obj)
    await client.delete(CONFIG_MAP, "a", namespace=namespace, dry_run=True)
    assert await client.get(CONFIG_MAP, "a", namespace=namespace)


async def test_a_delete_hits_only_the_object_that_was_meant(client: Client, namespace: str) -> None:
    made = await client.create(CONFIG_MAP, config_map(namespace))
    with pytest.raises(errors.Conflict, match="UID in the precondition"):
        await client.delete(CONFIG_MAP, "a", namespace=namespace, uid="another")
    with pytest.raises(errors.Conflict):
        await client.delete(CONFIG_MAP, "a", namespace=namespace, resource_version="1")
    uid = made["metadata"]["uid"]
    answer = await client.delete(CONFIG_MAP, "a", namespace=namespace, uid=uid)
    assert answer["details"]["uid"] == uid


async def test_an_object_held_by_a_finalizer_is_returned(client: Client, namespace: str) -> None:
    obj = config_map(namespace)
    obj["metadata"]["finalizers"] = ["example.dev/hold"]
    await client.create(CONFIG_MAP, obj)
    answer = await client.delete(CONFIG_MAP, "a", namespace=namespace, propagation="Foreground")
    assert answer["metadata"]["deletionTimestamp"]
    await client.merge_patch(
        CONFIG_MAP, "a", {"metadata": {"finalizers": None}}, namespace=namespace
    )


async def test_warnings_about_unknown_fields_arrive(client: Client, namespace: str) -> None:
    heard: list[str] = []
    client.on_warning = heard.append
    odd = {**config_map(namespace), "dataa": {}}
    await client.create(CONFIG_MAP, odd, field_validation="Warn")
    assert heard == ['unknown field "dataa"']
    with pytest.raises(errors.BadRequest, match="strict decoding error"):
        await client.create(CONFIG_MAP, odd, field_validation="Strict")


async def test_lists_are_paged_selected_and_complete(client: Client, namespace: str) -> None:
    for number in range(7):
        obj = config_map(namespace, f"m{number}")
        obj["metadata"]["labels"] = {"parity": str(number % 2)}
        await client.create(CONFIG_MAP, obj)
    found = await client.list(CONFIG_MAP, namespace=namespace, label_selector="parity", limit=3)
    assert [item["metadata"]["name"] for item in found.items] == [f"m{n}" for n in range(7)]
    assert all((one["apiVersion"], one["kind"]) == ("v1", "ConfigMap") for one in found.items)
    odd = await client.list(CONFIG_MAP, namespace=namespace, label_selector="parity in (1)")
    assert len(odd.items) == 3
    one = await client.list(CONFIG_MAP, field_selector="metadata.name=m3", namespace=namespace)
    assert [item["metadata"]["name"] for item in one.items] == ["m3"]


async def test_metadata_lists_hold_no_data(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAP, config_map(namespace, big="x" * 1000))
    found = await client.list(
        CONFIG_MAP, namespace=namespace, field_selector="metadata.name=a", metadata_only=True
    )
    assert found.items[0].keys() == {"apiVersion", "kind", "metadata"}


async def test_a_watch_ends_after_its_time(client: Client, namespace: str) -> None:
    version = (await client.list(CONFIG_MAP, namespace=namespace)).resource_version
    watch = client.watch(
        CONFIG_MAP, namespace=namespace, resource_version=version, timeout_seconds=1
    )
    async with asyncio.timeout(10):
        kinds = {event.type async for event in watch}
    assert kinds <= {"BOOKMARK", "ADDED"}


async def test_a_user_without_rights_is_forbidden(cluster: Cluster, client: Client) -> None:
    secret = Resource("", "v1", "Secret", "secrets", namespaced=True)
    user = ("Impersonate-User", "nobody-in-particular")
    config = load_config(cluster.kubeconfig("admin"))
    limited = type(config)(config.server, config.tls, headers=(user,))
    async with Client(limited) as nobody:
        with pytest.raises(errors.Forbidden, match="cannot list resource"):
            await nobody.list(secret)


async def test_an_unknown_user_is_unauthorized(cluster: Cluster) -> None:
    config = load_config(cluster.kubeconfig("admin"))
    # A junk token instead of the client certificate.
    tls = Tls(verify=False)
    tls.load(ca=Pem(), cert=Pem(), key=Pem())
    stranger = type(config)(config.server, tls, StaticAuth.bearer("junk"))
    async with Client(stranger) as client:
        with pytest.raises(errors.Unauthorized):
            await client.list(NAMESPACE)


async def test_writing_into_a_terminating_namespace_is_recognised(client: Client) -> None:
    name = "kubeio-terminating"
    metadata = {"name": name, "finalizers": ["example.dev/hold"]}
    await client.create(NAMESPACE, {"metadata": metadata})
    await client.delete(NAMESPACE, name)
    with pytest.raises(errors.Forbidden) as refused:
        await client.create(CONFIG_MAP, config_map(name))
    assert refused.value.namespace_terminating
    await client.merge_patch(NAMESPACE, name, {"metadata": {"finalizers": None}})


async def test_schema_errors_of_an_apply_are_server_errors(client: Client, namespace: str) -> None:
    bad = deployment(namespace, replicas="many")
    with pytest.raises(errors.ServerError, match="failed to create typed patch object"):
        await client.apply(DEPLOYMENT, bad, field_manager="kudo")


async def test_a_body_that_is_too_large_is_refused(client: Client, namespace: str) -> None:
    with pytest.raises(errors.TooLarge):
        await client.create(CONFIG_MAP, config_map(namespace, big="x" * 4_000_000))


async def test_other_refusals_have_their_class(client: Client, namespace: str) -> None:
    with pytest.raises(errors.MethodNotAllowed):
        await client.raw("PUT", "/api/v1/namespaces", body={})
    with pytest.raises(errors.UnsupportedMediaType):
        await client.raw(
            "PATCH",
            f"/api/v1/namespaces/{namespace}",
            body={},
            content_type="application/unheard-of",
        )
    with pytest.raises(errors.BadRequest):
        await client.raw("POST", f"/api/v1/namespaces/{namespace}/configmaps", body=[])


async def test_the_server_tells_its_version(client: Client) -> None:
    assert (await client.server_version())["major"] == "1"
