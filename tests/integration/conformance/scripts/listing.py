"""Lists and watches."""

from typing import Any

from kubeio.resource import CONFIG_MAPS
from kubeio.types import Json, JsonObject
from tests.integration.conformance.recording import Recorder
from tests.integration.conformance.scripts.objects import (
    HOLD,
    UNKNOWN,
    WIDGETS,
    Scripts,
    config_map,
    version_of,
    widget,
    with_metadata,
)

SCRIPTS = Scripts()


@SCRIPTS.add
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
    others = "metadata.name!=m3,metadata.name!=m1"
    await select("by other names", label_selector="odd", field_selector=others)
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


@SCRIPTS.add
async def metadata_can_be_read_alone(api: Recorder) -> None:
    client, where = api.client, api.namespace
    await client.create(WIDGETS, with_metadata(widget(api), labels={"l": "1"}))
    found = await api.call("list", client.list(WIDGETS, namespace=where, metadata_only=True))
    await client.merge_patch(WIDGETS, "w", {"spec": {"size": 2}}, namespace=where)
    await client.delete(WIDGETS, "w", namespace=where)
    await api.changes("watch", WIDGETS, found["resourceVersion"], 2, metadata_only=True)
    raw = await client.raw("GET", WIDGETS.path(where))
    api.note("fields of a list", sorted(raw))


@SCRIPTS.add
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


@SCRIPTS.add
async def a_watch_can_begin_with_what_there_is(api: Recorder) -> None:
    for name in ("b", "a"):
        await api.client.create(WIDGETS, widget(api, name))
    await api.changes("from nothing", WIDGETS, "0", 2)
    await api.changes("of none", UNKNOWN, "1", 1)
