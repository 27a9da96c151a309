"""Merge patches and JSON patches."""

from kubeio import jsonpatch
from kubeio.resource import CONFIG_MAPS
from kubeio.types import Json, JsonObject
from tests.integration.conformance.recording import Recorder
from tests.integration.conformance.scripts.objects import (
    ANOTHER_UID,
    WIDGETS,
    Scripts,
    config_map,
    version_of,
    widget,
)

SCRIPTS = Scripts()


@SCRIPTS.add
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


@SCRIPTS.add
async def other_patches_are_refused(api: Recorder) -> None:
    client, where = api.client, api.namespace
    await client.create(CONFIG_MAPS, config_map(api))
    path = CONFIG_MAPS.path(where, "a")

    async def patch(what: str, body: Json, kind: str, **query: str) -> None:
        call = client.raw("PATCH", path, body=body, content_type=kind, query=query)
        await api.call(what, call)

    await patch("an unknown type", {}, "application/unheard-of")
    await patch("apply without a manager", config_map(api), "application/apply-patch+yaml")


@SCRIPTS.add
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
