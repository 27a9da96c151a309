"""Deletions: preconditions, finalizers, owners, namespaces."""

from typing import Any

from kubeio import jsonpatch
from kubeio.resource import CONFIG_MAPS, NAMESPACES, SECRETS, Resource
from kubeio.types import Json, JsonObject
from tests.integration.conformance.recording import Recorder
from tests.integration.conformance.scripts.objects import (
    ANOTHER_UID,
    HOLD,
    WIDGETS,
    Scripts,
    config_map,
    owner_of,
    version_of,
    widget,
    with_metadata,
)

SCRIPTS = Scripts()


def _is_being_deleted(found: JsonObject | None) -> bool:
    return found is not None and "deletionTimestamp" in found["metadata"]


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


@SCRIPTS.add
async def a_deletion_may_mean_one_object_only(api: Recorder) -> None:
    await _deletions(api, CONFIG_MAPS, config_map(api))


@SCRIPTS.add
async def a_deletion_may_mean_one_custom_resource_only(api: Recorder) -> None:
    await _deletions(api, WIDGETS, widget(api))


@SCRIPTS.add
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


@SCRIPTS.add
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


@SCRIPTS.add
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


@SCRIPTS.add
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


@SCRIPTS.add
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
