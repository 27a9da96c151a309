"""Server-side apply: owners of fields, conflicts, merged lists."""

from kubeio import jsonpatch
from kubeio.resource import CONFIG_MAPS, DEPLOYMENTS, Resource
from kubeio.types import Json, JsonObject
from tests.integration.conformance.recording import Recorder
from tests.integration.conformance.scripts.objects import (
    ANOTHER_UID,
    WIDGETS,
    Scripts,
    config_map,
    version_of,
    widget,
    with_metadata,
)

SCRIPTS = Scripts()


@SCRIPTS.add
async def fields_that_are_applied_have_owners(api: Recorder) -> None:
    client, where = api.client, api.namespace

    async def apply(what: str, manager: str, obj: JsonObject, *, force: bool = False) -> JsonObject:
        return await api.call(
            what, client.apply(CONFIG_MAPS, obj, field_manager=manager, force=force)
        )

    made = await apply("create", "kudo", config_map(api, x="1", y="2"))
    same = await apply("the same", "kudo", config_map(api, x="1", y="2"))
    api.note("the same version", version_of(same) == version_of(made))
    await apply("another manager, equal", "helm", config_map(api, x="1"))
    await apply("another manager, another value", "helm", config_map(api, x="2"))
    await apply("two values", "helm", config_map(api, x="2", y="3"))
    await apply("by force", "helm", config_map(api, x="2"), force=True)
    await apply("fewer", "kudo", config_map(api, z="1"))
    await apply("nothing", "kudo", config_map(api))
    patch = {"data": {"x": "7", "p": "8"}}
    await api.call(
        "patch what is applied",
        client.merge_patch(CONFIG_MAPS, "a", patch, namespace=where, field_manager="editor"),
    )
    await apply("over an update", "kudo", config_map(api, p="9"))
    await apply("over an update by force", "kudo", config_map(api, p="9"), force=True)
    labelled = with_metadata(config_map(api), labels={"a/b": "1"}, annotations={"c": "2"})
    await apply("labels", "kudo", labelled)
    await apply("no labels", "kudo", config_map(api))


async def _conditional_applies(api: Recorder, resource: Resource, obj: JsonObject) -> None:
    async def apply(what: str, name: str, **metadata: Json) -> JsonObject:
        sent = with_metadata(obj, name=name, **metadata)
        return await api.call(what, api.client.apply(resource, sent, field_manager="kudo"))

    await apply("none, with a uid", "b", uid=ANOTHER_UID)
    await apply("none, with a version", "c", resourceVersion="1")
    await apply("none, with both", "d", resourceVersion="1", uid=ANOTHER_UID)
    made = await apply("create", "a")
    uid = made["metadata"]["uid"]
    await apply("its version", "a", resourceVersion=version_of(made))
    changed = await apply("its uid", "a", uid=uid, labels={"l": "1"})
    await apply("a stale version", "a", resourceVersion=version_of(made), labels={"l": "2"})
    await apply("another uid", "a", uid=ANOTHER_UID)
    await apply(
        "another uid and its version", "a", uid=ANOTHER_UID, resourceVersion=version_of(changed)
    )
    await apply("both", "a", uid=uid, resourceVersion=version_of(changed))
    await apply("managed fields", "a", managedFields=made["metadata"]["managedFields"])


@SCRIPTS.add
async def an_apply_can_be_conditional(api: Recorder) -> None:
    await _conditional_applies(api, CONFIG_MAPS, config_map(api, x="1"))


@SCRIPTS.add
async def an_apply_of_a_custom_resource_can_be_conditional(api: Recorder) -> None:
    await _conditional_applies(api, WIDGETS, widget(api))


@SCRIPTS.add
async def lists_are_merged_as_their_schema_says(api: Recorder) -> None:
    client = api.client

    async def apply(what: str, manager: str, **spec: Json) -> JsonObject:
        obj = widget(api, **spec)
        return await api.call(what, client.apply(WIDGETS, obj, field_manager=manager, force=True))

    await apply(
        "create",
        "one",
        tags=["a", "b"],
        parts=[{"name": "p", "amount": 1}],
        order=["x", "y"],
        values={"k": "1"},
        extra={"deep": {"er": 1}},
    )
    await apply("more", "two", tags=["c"], parts=[{"name": "q", "amount": 2}], values={"l": "2"})
    await apply("the same item", "two", tags=["b"], parts=[{"name": "p", "amount": 3}])
    await apply("fewer", "one", tags=["a"], parts=[{"name": "r"}], order=["y"])
    await apply("none", "one")
    await apply("empty", "one", tags=[], values={}, extra={})
    status = {**widget(api), "status": {"phase": "applied"}}
    del status["spec"]
    await api.call(
        "status", client.apply(WIDGETS, status, field_manager="one", subresource="status")
    )


@SCRIPTS.add
async def containers_are_merged_by_name(api: Recorder) -> None:
    client = api.client

    def pods(*containers: JsonObject, replicas: int = 0) -> JsonObject:
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "d", "namespace": api.namespace},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": "d"}},
                "template": {
                    "metadata": {"labels": {"app": "d"}},
                    "spec": {"containers": list(containers)},
                },
            },
        }

    def shown(obj: JsonObject) -> Json:
        containers = obj["spec"]["template"]["spec"]["containers"]
        kept = ("name", "image", "env")
        return {
            "generation": obj["metadata"]["generation"],
            "containers": [{k: one[k] for k in kept if k in one} for one in containers],
            "owners": [
                entry
                for entry in obj["metadata"]["managedFields"]
                if entry["manager"] in ("one", "two")
            ],
        }

    async def apply(what: str, manager: str, obj: JsonObject, *, force: bool = False) -> None:
        call = client.apply(DEPLOYMENTS, obj, field_manager=manager, force=force)
        await api.call(what, call, shown)

    main = {"name": "main", "image": "one", "env": [{"name": "A", "value": "1"}]}
    await apply("create", "one", pods(main))
    await apply("a sidecar", "two", pods({"name": "side", "image": "two"}))
    await apply("another image", "two", pods({"name": "main", "image": "two"}))
    await apply("another image by force", "two", pods({"name": "main", "image": "two"}), force=True)
    await apply("without variables", "one", pods({"name": "main", "image": "two"}))


@SCRIPTS.add
async def managed_fields_can_be_written(api: Recorder) -> None:
    client, where = api.client, api.namespace
    made = await api.call(
        "create", client.create(CONFIG_MAPS, config_map(api, x="1"), field_manager="kudo")
    )
    (entry,) = made["metadata"]["managedFields"]
    entries = [{**entry, "operation": "Apply"}]

    async def patch(what: str, value: Json) -> None:
        operation = jsonpatch.add("/metadata/managedFields", value)
        await api.call(
            what,
            client.json_patch(CONFIG_MAPS, "a", [operation], namespace=where, field_manager="kudo"),
        )

    await patch("as applied", entries)
    dropped = client.apply(CONFIG_MAPS, config_map(api, y="2"), field_manager="kudo")
    await api.call("apply others", dropped)
    await patch("none", [{}])
