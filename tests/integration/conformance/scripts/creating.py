"""Objects are created, read and replaced; what cannot be is refused."""

from kubeio.resource import CONFIG_MAPS
from kubeio.types import Json
from tests.integration.conformance.recording import Recorder
from tests.integration.conformance.scripts.objects import (
    ANOTHER_UID,
    UNKNOWN,
    WIDGETS,
    Scripts,
    config_map,
    version_of,
    with_metadata,
)

SCRIPTS = Scripts()


@SCRIPTS.add
async def a_config_map_is_created_read_and_replaced(api: Recorder) -> None:
    client, where = api.client, api.namespace
    made = await api.call("create", client.create(CONFIG_MAPS, config_map(api, x="1")))
    await api.call("get", client.get(CONFIG_MAPS, "a", namespace=where))
    await api.call("create again", client.create(CONFIG_MAPS, config_map(api, x="1")))
    await api.call("get another", client.get(CONFIG_MAPS, "b", namespace=where))
    changed = await api.call("replace", client.replace(CONFIG_MAPS, {**made, "data": {"y": "2"}}))
    api.note("a new version", version_of(changed) != version_of(made))
    await api.call("replace a stale one", client.replace(CONFIG_MAPS, {**made, "data": {"z": "3"}}))
    same = await api.call("replace by the same", client.replace(CONFIG_MAPS, changed))
    api.note("the same version", version_of(same) == version_of(changed))
    free = await api.call("replace whichever", client.replace(CONFIG_MAPS, config_map(api, v="4")))
    other = with_metadata(free, uid=ANOTHER_UID)
    await api.call("replace another uid", client.replace(CONFIG_MAPS, other))
    await api.call("replace what is not", client.replace(CONFIG_MAPS, config_map(api, "b")))


@SCRIPTS.add
async def what_cannot_be_created_is_refused(api: Recorder) -> None:
    client, where = api.client, api.namespace
    path = CONFIG_MAPS.path(where)

    async def post(what: str, body: Json, path: str = path) -> None:
        await api.call(what, client.raw("POST", path, body=body))

    good = config_map(api)
    await post("no name", {**good, "metadata": {}})
    await post("a bad name", {**good, "metadata": {"name": "Not Good"}})
    await post("a version", with_metadata(good, resourceVersion="1"))
    await post("another kind", {**good, "kind": "Secret"})
    await post("another version", {**good, "apiVersion": "v2"})
    await post("another namespace", with_metadata(good, namespace="elsewhere"))
    await post("no such namespace", {"metadata": {"name": "a"}}, CONFIG_MAPS.path("absent-one"))
    await post("no such kind", {}, UNKNOWN.path(where))
    await post("no kind", {"metadata": {"name": "w"}, "spec": {"size": 1}}, WIDGETS.path(where))


@SCRIPTS.add
async def names_are_generated(api: Recorder) -> None:
    body = {"metadata": {"generateName": "made-"}}
    made = await api.client.raw("POST", CONFIG_MAPS.path(api.namespace), body=body)
    name = made["metadata"].pop("name")
    api.note("a name", [name[:5], len(name)])
    api.note("the object", made)


@SCRIPTS.add
async def a_dry_run_stores_nothing(api: Recorder) -> None:
    client, where = api.client, api.namespace
    await api.call("create", client.create(CONFIG_MAPS, config_map(api), dry_run=True))
    await api.call("get", client.get(CONFIG_MAPS, "a", namespace=where))
    made = await api.call("create indeed", client.create(CONFIG_MAPS, config_map(api, x="1")))
    patch = {"data": {"x": "2"}}
    tried = client.merge_patch(CONFIG_MAPS, "a", patch, namespace=where, dry_run=True)
    await api.call("patch", tried)
    applied = client.apply(CONFIG_MAPS, config_map(api, y="1"), field_manager="kudo", dry_run=True)
    await api.call("apply", applied)
    await api.call("delete", client.delete(CONFIG_MAPS, "a", namespace=where, dry_run=True))
    kept = await api.call("get again", client.get(CONFIG_MAPS, "a", namespace=where))
    api.note("the same version", version_of(kept) == version_of(made))


@SCRIPTS.add
async def methods_that_are_not_allowed(api: Recorder) -> None:
    client, where = api.client, api.namespace
    await api.call("put", client.raw("PUT", CONFIG_MAPS.path(where), body={}))
    await api.call("post to all namespaces", client.raw("POST", CONFIG_MAPS.path(), body={}))
    await api.call("no such group", client.raw("GET", "/apis/absent.example.com/v1/things"))
    await api.call("no such version", client.raw("GET", "/apis/apps/v9/deployments"))
    body = {"metadata": {"name": "a"}, "data": {"x": "x" * 4_000_000}}
    await api.call("too large", client.raw("POST", CONFIG_MAPS.path(where), body=body))
