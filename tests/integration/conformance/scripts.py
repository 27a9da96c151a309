"""The calls that are made against both API servers, by name.

Each script has a namespace of its own. What it does is what KUDO does, or what happens to it.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from kubeio import jsonpatch
from kubeio.discovery import Discovery
from kubeio.kinds import MUTATING_WEBHOOKS, NETWORK_POLICIES, VALIDATING_WEBHOOKS
from kubeio.resource import Resource
from kubeio.types import Json, JsonObject
from tests.integration.conformance.recording import Recorder

CONFIG_MAPS = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
SECRETS = Resource("", "v1", "Secret", "secrets", namespaced=True)
EVENTS = Resource("", "v1", "Event", "events", namespaced=True)
NAMESPACES = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
LEASES = Resource("coordination.k8s.io", "v1", "Lease", "leases", namespaced=True)
DEPLOYMENTS = Resource("apps", "v1", "Deployment", "deployments", namespaced=True)
CLUSTER_ROLES = Resource(
    "rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False
)
WIDGETS = Resource("conformance.example.com", "v1", "Widget", "widgets", namespaced=True)
UNKNOWN = Resource("conformance.example.com", "v1", "Gadget", "gadgets", namespaced=True)

ANOTHER_UID = "00000000-0000-0000-0000-000000000000"
HOLD = "conformance.example.com/hold"
Script = Callable[[Recorder], Awaitable[None]]
SCRIPTS: dict[str, Script] = {}


def script(found: Script) -> Script:
    """Register a script by the name of its function."""
    SCRIPTS[found.__name__] = found
    return found


WIDGET_DEFINITION: JsonObject = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.conformance.example.com"},
    "spec": {
        "group": "conformance.example.com",
        "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["size"],
                                "properties": {
                                    "size": {"type": "integer", "minimum": 0},
                                    "color": {"type": "string", "enum": ["red", "blue"]},
                                    "speed": {"type": "string", "default": "slow"},
                                    "tags": {
                                        "type": "array",
                                        "items": {"type": "string"},
                                        "x-kubernetes-list-type": "set",
                                    },
                                    "parts": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "map",
                                        "x-kubernetes-list-map-keys": ["name"],
                                        "items": {
                                            "type": "object",
                                            "required": ["name"],
                                            "properties": {
                                                "name": {"type": "string"},
                                                "amount": {"type": "integer"},
                                            },
                                        },
                                    },
                                    "order": {"type": "array", "items": {"type": "string"}},
                                    "extra": {
                                        "type": "object",
                                        "x-kubernetes-preserve-unknown-fields": True,
                                    },
                                    "values": {
                                        "type": "object",
                                        "additionalProperties": {"type": "string"},
                                    },
                                },
                            },
                            "status": {
                                "type": "object",
                                "properties": {
                                    "phase": {"type": "string"},
                                    "seen": {"type": "integer"},
                                },
                            },
                        },
                    }
                },
            }
        ],
    },
}


def config_map(api: Recorder, name: str = "a", **data: str) -> JsonObject:
    metadata = {"name": name, "namespace": api.namespace}
    found = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    return found | ({"data": data} if data else {})


def widget(api: Recorder, name: str = "w", **spec: Any) -> JsonObject:
    return {
        "apiVersion": "conformance.example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name, "namespace": api.namespace},
        "spec": {"size": 1, **spec},
    }


def with_metadata(obj: JsonObject, **metadata: Any) -> JsonObject:
    return {**obj, "metadata": {**obj["metadata"], **metadata}}


def owner_of(obj: JsonObject, **more: Any) -> JsonObject:
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": obj["metadata"]["name"],
        "uid": obj["metadata"]["uid"],
        **more,
    }


def version_of(obj: JsonObject) -> str:
    return str(obj["metadata"]["resourceVersion"])


def _is_being_deleted(found: JsonObject | None) -> bool:
    return found is not None and "deletionTimestamp" in found["metadata"]


# Create, read, replace


@script
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


@script
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


@script
async def names_are_generated(api: Recorder) -> None:
    body = {"metadata": {"generateName": "made-"}}
    made = await api.client.raw("POST", CONFIG_MAPS.path(api.namespace), body=body)
    name = made["metadata"].pop("name")
    api.note("a name", [name[:5], len(name)])
    api.note("the object", made)


@script
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


# Patches


@script
async def patches_change_what_they_name(api: Recorder) -> None:
    client, where = api.client, api.namespace
    made = await api.call("create", client.create(CONFIG_MAPS, config_map(api, x="1", y="2")))

    async def merge(what: str, patch: JsonObject) -> JsonObject:
        return await api.call(
            what, client.merge_patch(CONFIG_MAPS, "a", patch, namespace=where, field_manager="m")
        )

    await merge("merge", {"data": {"x": None, "z": "3"}, "metadata": {"labels": {"l": "1"}}})
    await merge("merge nothing", {})
    await merge("merge a stale one", {"metadata": {"resourceVersion": version_of(made)}})

    async def patch(what: str, *operations: JsonObject) -> JsonObject:
        return await api.call(
            what,
            client.json_patch(CONFIG_MAPS, "a", operations, namespace=where, field_manager="j"),
        )

    done = await patch(
        "test and replace", jsonpatch.test("/data/z", "3"), jsonpatch.replace("/data/z", "4")
    )
    await patch("add", jsonpatch.add("/data/w", "5"))
    await patch("remove", jsonpatch.remove("/data/w"))
    await patch("a failed test", jsonpatch.test("/data/z", "3"), jsonpatch.add("/data/v", "6"))
    await patch(
        "a failed test of a version",
        jsonpatch.test("/metadata/resourceVersion", version_of(done)),
        jsonpatch.add("/data/v", "6"),
    )
    await patch("remove what is not", jsonpatch.remove("/data/nothing"))
    await patch("replace what is not", jsonpatch.replace("/data/nothing", "1"))
    await patch("add below nothing", jsonpatch.add("/nothing/below", "1"))
    await patch("add the whole map", jsonpatch.add("/metadata/annotations", {"a/b": "1"}))
    await patch(
        "escaped", jsonpatch.replace(jsonpatch.pointer(["metadata", "annotations", "a/b"]), "2")
    )
    absent = client.json_patch(CONFIG_MAPS, "b", [jsonpatch.add("/data", {})], namespace=where)
    await api.call("patch what is not", absent)


@script
async def other_patches_are_refused(api: Recorder) -> None:
    client, where = api.client, api.namespace
    await client.create(CONFIG_MAPS, config_map(api))
    path = CONFIG_MAPS.path(where, "a")

    async def patch(what: str, body: Json, kind: str, **query: str) -> None:
        call = client.raw("PATCH", path, body=body, content_type=kind, query=query)
        await api.call(what, call)

    await patch("an unknown type", {}, "application/unheard-of")
    await patch("apply without a manager", config_map(api), "application/apply-patch+yaml")


# Custom resources


@script
async def a_custom_resource_has_defaults_and_generations(api: Recorder) -> None:
    client, where = api.client, api.namespace
    body = {**widget(api, unknown=1, extra={"free": [1]}), "status": {"phase": "made"}}
    made = await api.call("create", client.create(WIDGETS, body))
    labelled = with_metadata(made, labels={"l": "1"})
    labelled = await api.call("replace its labels", client.replace(WIDGETS, labelled))
    bigger = {**labelled, "spec": {**labelled["spec"], "size": 2}, "status": {"phase": "no"}}
    bigger = await api.call("replace its spec", client.replace(WIDGETS, bigger))
    body = {**with_metadata(bigger, labels={"l": "2"}), "spec": {"size": 3}, "status": {"seen": 1}}
    seen = await api.call("replace its status", client.replace(WIDGETS, body, subresource="status"))
    same = await api.call("the same status", client.replace(WIDGETS, seen, subresource="status"))
    api.note("the same version", version_of(seen) == version_of(same))
    await api.call("a stale status", client.replace(WIDGETS, bigger, subresource="status"))
    absent = {**seen, "metadata": {**seen["metadata"], "name": "other"}}
    await api.call("status of none", client.replace(WIDGETS, absent, subresource="status"))
    patch = {"status": {"phase": "late"}, "spec": {"size": 9}}
    await api.call(
        "patch its status",
        client.merge_patch(WIDGETS, "w", patch, namespace=where, subresource="status"),
    )
    await api.call("patch both", client.merge_patch(WIDGETS, "w", patch, namespace=where))
    unversioned = {**seen, "metadata": {"name": "w", "namespace": where}}
    await api.call("replace without a version", client.replace(WIDGETS, unversioned))
    await api.call(
        "get its status", client.get(WIDGETS, "w", namespace=where, subresource="status")
    )
    path = WIDGETS.path(where, "w", "scale")
    await api.call("no such subresource", client.raw("GET", path))


@script
async def a_custom_resource_is_validated(api: Recorder) -> None:
    client = api.client
    await api.call("a wrong type", client.create(WIDGETS, widget(api, size="big")))
    await api.call("too small", client.create(WIDGETS, widget(api, size=-1)))
    await api.call("no such value", client.create(WIDGETS, widget(api, color="green")))
    missing = {**widget(api), "spec": {}}
    await api.call("missing", client.create(WIDGETS, missing))
    await api.call("of a list", client.create(WIDGETS, widget(api, order=[1])))
    await api.call("null", client.create(WIDGETS, widget(api, color=None)))


# Server-side apply


@script
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


@script
async def an_apply_can_be_conditional(api: Recorder) -> None:
    await _conditional_applies(api, CONFIG_MAPS, config_map(api, x="1"))


@script
async def an_apply_of_a_custom_resource_can_be_conditional(api: Recorder) -> None:
    await _conditional_applies(api, WIDGETS, widget(api))


@script
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


@script
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


@script
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


# Delete


async def _deletions(api: Recorder, resource: Resource, obj: JsonObject) -> None:
    client, name = api.client, obj["metadata"]["name"]
    made = await client.create(resource, obj)

    async def delete(what: str, **wishes: Any) -> None:
        await api.call(what, client.delete(resource, name, namespace=api.namespace, **wishes))

    await delete("another uid", uid=ANOTHER_UID)
    await delete("a stale version", resource_version="1")
    await delete("this one", uid=made["metadata"]["uid"], resource_version=version_of(made))
    await delete("once more")
    again = await client.create(resource, obj)
    api.note("another uid then", again["metadata"]["uid"] != made["metadata"]["uid"])


@script
async def a_deletion_may_mean_one_object_only(api: Recorder) -> None:
    await _deletions(api, CONFIG_MAPS, config_map(api))


@script
async def a_deletion_may_mean_one_custom_resource_only(api: Recorder) -> None:
    await _deletions(api, WIDGETS, widget(api))


@script
async def a_patch_cannot_change_who_an_object_is(api: Recorder) -> None:
    client, where = api.client, api.namespace
    await client.create(WIDGETS, widget(api))

    async def patch(what: str, *operations: JsonObject) -> None:
        await api.call(what, client.json_patch(WIDGETS, "w", operations, namespace=where))

    await patch("the uid tested", jsonpatch.test("/metadata/uid", ANOTHER_UID))
    await patch("another uid", jsonpatch.replace("/metadata/uid", ANOTHER_UID))
    await patch("another generation", jsonpatch.replace("/metadata/generation", 9))
    await patch("deleted", jsonpatch.add("/metadata/deletionTimestamp", "2026-01-01T00:00:00Z"))
    await patch("the status", jsonpatch.add("/status", {"phase": "no"}))


@script
async def finalizers_hold_an_object(api: Recorder) -> None:
    client, where = api.client, api.namespace
    held = with_metadata(widget(api), finalizers=[HOLD, f"{HOLD}-2"])
    await api.call("create", client.create(WIDGETS, held))
    first = await api.call("delete", client.delete(WIDGETS, "w", namespace=where))
    again = await api.call("delete again", client.delete(WIDGETS, "w", namespace=where))
    api.note("the same version", version_of(first) == version_of(again))
    await api.call("create again", client.create(WIDGETS, held))

    async def patch(what: str, patch: JsonObject) -> None:
        await api.call(what, client.merge_patch(WIDGETS, "w", patch, namespace=where))

    await patch("another finalizer", {"metadata": {"finalizers": [HOLD, "a.b/c"]}})
    await patch("change it", {"spec": {"size": 2}})
    await patch("one less", {"metadata": {"finalizers": [HOLD]}})
    operations = [
        jsonpatch.test("/metadata/finalizers/0", HOLD),
        jsonpatch.remove("/metadata/finalizers/0"),
    ]
    last = client.json_patch(WIDGETS, "w", operations, namespace=where)
    await api.call("the last one", last)
    await api.call("get", client.get(WIDGETS, "w", namespace=where))


# The garbage collector of a real cluster takes half a minute to see a new kind, so owners are
# of an old one.


@script
async def owners_take_their_dependents_along(api: Recorder) -> None:
    client, where = api.client, api.namespace
    owner = await client.create(CONFIG_MAPS, config_map(api, "owner"))
    other = await client.create(CONFIG_MAPS, config_map(api, "other"))
    sole, both = config_map(api, "sole"), config_map(api, "both")
    await client.create(CONFIG_MAPS, with_metadata(sole, ownerReferences=[owner_of(owner)]))
    references = [owner_of(owner), owner_of(other)]
    await client.create(CONFIG_MAPS, with_metadata(both, ownerReferences=references))
    await api.call(
        "delete", client.delete(CONFIG_MAPS, "owner", namespace=where, propagation="Background")
    )
    await api.gone("the sole owner's", CONFIG_MAPS, "sole")
    await api.until(
        "the other owner stays",
        CONFIG_MAPS,
        "both",
        lambda found: found is not None and len(found["metadata"]["ownerReferences"]) == 1,
    )
    late = with_metadata(config_map(api, "late"), ownerReferences=[owner_of(owner)])
    await api.call("of an owner that is gone", client.create(CONFIG_MAPS, late))
    await api.gone("it goes as well", CONFIG_MAPS, "late")


@script
async def foreground_deletion_waits_for_dependents(api: Recorder) -> None:
    client, where = api.client, api.namespace
    owner = await client.create(CONFIG_MAPS, config_map(api, "owner"))
    blocking = owner_of(owner, blockOwnerDeletion=True)
    held = with_metadata(config_map(api), ownerReferences=[blocking], finalizers=[HOLD])
    await client.create(CONFIG_MAPS, held)
    deleted = client.delete(CONFIG_MAPS, "owner", namespace=where, propagation="Foreground")
    await api.call("delete", deleted)
    await api.until(
        "the dependent is being deleted",
        CONFIG_MAPS,
        "a",
        _is_being_deleted,
    )
    await api.call("it waits", client.get(CONFIG_MAPS, "owner", namespace=where))
    await api.call("foreground again", client.delete(CONFIG_MAPS, "owner", namespace=where))
    release = {"metadata": {"finalizers": None}}
    await api.call("release", client.merge_patch(CONFIG_MAPS, "a", release, namespace=where))
    await api.gone("the dependent goes", CONFIG_MAPS, "a")
    await api.gone("and its owner", CONFIG_MAPS, "owner")


@script
async def orphans_stay(api: Recorder) -> None:
    client, where = api.client, api.namespace
    owner = await client.create(CONFIG_MAPS, config_map(api, "owner"))
    obj = with_metadata(config_map(api), ownerReferences=[owner_of(owner)])
    await client.create(CONFIG_MAPS, obj)
    await api.call(
        "delete", client.delete(CONFIG_MAPS, "owner", namespace=where, propagation="Orphan")
    )
    await api.gone("the owner goes", CONFIG_MAPS, "owner")
    found = await client.get(CONFIG_MAPS, "a", namespace=where)
    api.note("without an owner", found["metadata"].get("ownerReferences"))


@script
async def namespaces_are_emptied(api: Recorder) -> None:
    client = api.client
    name = f"{api.namespace}-2"
    body = {"metadata": {"name": name, "labels": {"l": "1"}, "finalizers": [HOLD]}}
    await api.call("create", client.create(NAMESPACES, body))
    inside = {"metadata": {"name": "a", "namespace": name}}
    await client.create(SECRETS, inside)

    def shown(obj: JsonObject) -> Json:
        # Its conditions tell how far the controller is.
        rest = {key: value for key, value in obj.items() if key != "status"}
        return {**rest, "phase": obj["status"]["phase"]}

    await api.call("delete", client.delete(NAMESPACES, name), shown)
    await api.call("create inside", client.create(CONFIG_MAPS, {**inside}))
    applied = {"apiVersion": "v1", "kind": "ConfigMap", **inside}
    await api.call("apply inside", client.apply(CONFIG_MAPS, applied, field_manager="kudo"))
    there = Recorder(client, name)
    await there.gone("emptied", SECRETS, "a")
    release = {"metadata": {"finalizers": None}}
    await client.merge_patch(NAMESPACES, name, release)
    await api.gone("the namespace goes", NAMESPACES, name)
    await api.call("create in none", client.create(CONFIG_MAPS, {**inside}))


# Lists and watches


@script
async def lists_are_selected_and_paged(api: Recorder) -> None:
    client, where = api.client, api.namespace
    for number in (3, 1, 4, 0, 2):
        obj = with_metadata(config_map(api, f"m{number}"), labels={"odd": str(number % 2)})
        await client.create(CONFIG_MAPS, obj)

    def name(obj: JsonObject) -> Json:
        return [obj["apiVersion"], obj["kind"], obj["metadata"]["name"]]

    async def select(what: str, **wishes: Any) -> None:
        wishes.setdefault("namespace", where)
        await api.call(what, client.list(CONFIG_MAPS, **wishes), wishes.pop("view", name))

    await select("by label", label_selector="odd=1")
    await select("by a set", label_selector="odd in (0,2)")
    await select("by absence", label_selector="odd!=1,!even,odd")
    await select("by name", field_selector="metadata.name=m3")
    await select("by another field", field_selector="data.x=1")
    await select("by nonsense", label_selector="odd in")
    await select("in pages", label_selector="odd", limit=2)
    path = CONFIG_MAPS.path(where)
    selected = {"labelSelector": "odd", "limit": "2"}
    first = await client.raw("GET", path, query=selected)
    await client.delete(CONFIG_MAPS, "m2", namespace=where)
    await client.create(CONFIG_MAPS, with_metadata(config_map(api, "m9"), labels={"odd": "1"}))
    token = first["metadata"]["continue"]
    second = await client.raw("GET", path, query={**selected, "continue": token})
    api.note("the same moment", [item["metadata"]["name"] for item in second["items"]])
    api.note("what goes on", sorted(second["metadata"]))
    api.note(
        "the version of the first page",
        first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"],
    )
    api.note("fields of an item", sorted(first["items"][0]))


@script
async def metadata_can_be_read_alone(api: Recorder) -> None:
    client, where = api.client, api.namespace
    await client.create(WIDGETS, with_metadata(widget(api), labels={"l": "1"}))
    found = await api.call("list", client.list(WIDGETS, namespace=where, metadata_only=True))
    await client.merge_patch(WIDGETS, "w", {"spec": {"size": 2}}, namespace=where)
    await client.delete(WIDGETS, "w", namespace=where)
    await api.changes("watch", WIDGETS, found["resourceVersion"], 2, metadata_only=True)
    raw = await client.raw("GET", WIDGETS.path(where))
    api.note("fields of a list", sorted(raw))


@script
async def watches_tell_what_happened_in_order(api: Recorder) -> None:
    client, where = api.client, api.namespace
    before = await client.create(WIDGETS, widget(api, "old"))
    start = version_of(before)
    await client.create(WIDGETS, with_metadata(widget(api), labels={"l": "1"}))
    await client.merge_patch(WIDGETS, "w", {"spec": {"size": 2}}, namespace=where)
    await client.merge_patch(WIDGETS, "w", {"spec": {"size": 2}}, namespace=where)
    await client.merge_patch(WIDGETS, "w", {"metadata": {"labels": None}}, namespace=where)
    held = {"metadata": {"labels": {"l": "1"}, "finalizers": [HOLD]}}
    await client.merge_patch(WIDGETS, "w", held, namespace=where)
    await client.delete(WIDGETS, "w", namespace=where)
    release = {"metadata": {"finalizers": None}}
    await client.merge_patch(WIDGETS, "w", release, namespace=where)
    await client.delete(WIDGETS, "old", namespace=where)
    await api.changes("all", WIDGETS, start, 7)
    await api.changes("of a label", WIDGETS, start, 6, label_selector="l=1")


@script
async def a_watch_can_begin_with_what_there_is(api: Recorder) -> None:
    for name in ("b", "a"):
        await api.client.create(WIDGETS, widget(api, name))
    await api.changes("from nothing", WIDGETS, "0", 2)
    await api.changes("of none", UNKNOWN, "1", 1)


# Kinds of their own


@script
async def events_and_leases_are_kept(api: Recorder) -> None:
    client, where = api.client, api.namespace
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e.1", "namespace": where},
        "involvedObject": {"kind": "Widget", "name": "w", "namespace": where},
        "reason": "Tried",
        "message": "it was tried",
        "type": "Normal",
        "source": {"component": "kudo"},
        "count": 1,
    }
    await api.call("event", client.create(EVENTS, event, namespace=where))
    await api.call("the same event", client.create(EVENTS, event, namespace=where))
    for selector in ("involvedObject.name=w,type=Normal", "involvedObject.name=other"):
        listed = client.list(EVENTS, namespace=where, field_selector=selector)
        await api.call(selector, listed)
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "l", "namespace": where},
        "spec": {"holderIdentity": "one", "leaseDurationSeconds": 15, "leaseTransitions": 0},
    }
    made = await api.call("lease", client.create(LEASES, lease))
    taken = {**made, "spec": {**made["spec"], "holderIdentity": "two"}}
    await api.call("take it", client.replace(LEASES, taken))
    await api.call("take it as well", client.replace(LEASES, taken))


@script
async def cluster_scoped_objects_have_no_namespace(api: Recorder) -> None:
    client = api.client
    name = f"{api.namespace}:role"
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    }
    await api.call("apply", client.apply(CLUSTER_ROLES, role, field_manager="kudo"))
    other = {**role, "rules": []}
    await api.call("of another", client.apply(CLUSTER_ROLES, other, field_manager="helm"))
    await api.call("get", client.get(CLUSTER_ROLES, name))
    await api.call("delete", client.delete(CLUSTER_ROLES, name, propagation="Foreground"))
    await api.gone("it goes", CLUSTER_ROLES, name)


@script
async def configurations_of_webhooks_have_generations(api: Recorder) -> None:
    client, name = api.client, f"{api.namespace}.example.com"

    def shown(obj: JsonObject) -> Json:
        metadata = obj["metadata"]
        return [metadata["generation"], [hook["name"] for hook in obj["webhooks"]]]

    async def apply(kind: Resource, manager: str, hook: str) -> None:
        # It has no rules, so that nobody's writes wait for it.
        config = {
            "name": f"{hook}.example.com",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        obj = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": name},
            "webhooks": [config],
        }
        call = client.apply(kind, obj, field_manager=manager)
        await api.call(f"{manager} applies {hook}", call, shown)

    for kind in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
        await apply(kind, "kudo", "one")
        await apply(kind, "kudo", "one")
        await apply(kind, "helm", "two")
        await api.call("delete", client.delete(kind, name, propagation="Background"))


@script
async def methods_that_are_not_allowed(api: Recorder) -> None:
    client, where = api.client, api.namespace
    await api.call("put", client.raw("PUT", CONFIG_MAPS.path(where), body={}))
    await api.call("post to all namespaces", client.raw("POST", CONFIG_MAPS.path(), body={}))
    await api.call("no such group", client.raw("GET", "/apis/absent.example.com/v1/things"))
    await api.call("no such version", client.raw("GET", "/apis/apps/v9/deployments"))
    body = {"metadata": {"name": "a"}, "data": {"x": "x" * 4_000_000}}
    await api.call("too large", client.raw("POST", CONFIG_MAPS.path(where), body=body))


@script
async def kinds_are_discovered(api: Recorder) -> None:
    discovery = Discovery(api.client)
    desired = (
        *(WIDGETS, CONFIG_MAPS, DEPLOYMENTS, CLUSTER_ROLES, NAMESPACES, NETWORK_POLICIES),
        *(MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS),
    )
    for one in desired:
        found = await discovery.resolve(one.api_version, one.kind)
        api.note(f"{one.kind} alone", _resource(found))
    everything = await discovery.all_resources()
    places = [(one.api_version, one.kind) for one in desired]
    listed = [_resource(one) for one in everything if (one.api_version, one.kind) in places]
    api.note("all", sorted(listed, key=str))
    for group in ("apps", "conformance.example.com"):
        await api.call(f"group {group}", api.client.raw("GET", f"/apis/{group}"))
    await api.call("no such group of versions", api.client.raw("GET", "/apis/absent.example.com"))
    for what, path in (("group", "/apis/absent.example.com/v1"), ("version", "/apis/apps/v9")):
        await api.call(f"no such {what}", api.client.raw("GET", path))


def _resource(found: Resource) -> Json:
    verbs = sorted(found.verbs)
    return [found.path("ns", "x"), found.kind, verbs, "status" in found.subresources]
