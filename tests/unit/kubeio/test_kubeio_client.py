"""What each verb asks of the API server, and lists and watches as a caller sees them."""

from collections.abc import Awaitable, Callable
from contextlib import aclosing

import orjson
import pytest
from aiohttp import web

from kubeio.client import Client
from kubeio.errors import ConnectionLost, Forbidden, Gone, Malformed
from kubeio.resource import Resource
from kubeio.types import Json, JsonObject
from tests.unit.kubeio.fake_api import (
    PATH,
    WIDGET,
    FakeApi,
    error_event,
    refuse,
    status_body,
    stream,
    until,
)

NS_PATH = "/apis/example.dev/v1/namespaces/ns/widgets"
ONE = f"{NS_PATH}/a"
OBJECT: JsonObject = {"apiVersion": "example.dev/v1", "kind": "Widget"} | {
    "metadata": {"name": "a", "namespace": "ns", "resourceVersion": "7"}
}

Call = Callable[[Client], Awaitable[JsonObject]]


async def echo(request: web.Request) -> web.StreamResponse:
    return web.json_response({"ok": True})


@pytest.mark.parametrize(
    ("call", "method", "path", "query", "content_type", "body"),
    [
        (lambda c: c.get(WIDGET, "a", namespace="ns"), "GET", ONE, {}, None, None),
        (
            lambda c: c.create(WIDGET, OBJECT, dry_run=True, field_manager="me"),
            "POST",
            NS_PATH,
            {"dryRun": "All", "fieldManager": "me"},
            "application/json",
            OBJECT,
        ),
        (
            lambda c: c.create(WIDGET, {"metadata": {}}, namespace="ns"),
            "POST",
            NS_PATH,
            {},
            "application/json",
            {"metadata": {}},
        ),
        (
            lambda c: c.apply(
                WIDGET, OBJECT, field_manager="me", force=True, field_validation="Strict"
            ),
            "PATCH",
            ONE,
            {"fieldManager": "me", "force": "true", "fieldValidation": "Strict"},
            "application/apply-patch+yaml",
            OBJECT,
        ),
        (
            lambda c: c.apply(WIDGET, OBJECT, field_manager="me", subresource="status"),
            "PATCH",
            f"{ONE}/status",
            {"fieldManager": "me"},
            "application/apply-patch+yaml",
            OBJECT,
        ),
        (
            lambda c: c.merge_patch(
                WIDGET, "a", {"x": None}, namespace="ns", subresource="status", field_manager="me"
            ),
            "PATCH",
            f"{ONE}/status",
            {"fieldManager": "me"},
            "application/merge-patch+json",
            {"x": None},
        ),
        (
            lambda c: c.json_patch(WIDGET, "a", [{"op": "remove"}], namespace="ns", dry_run=True),
            "PATCH",
            ONE,
            {"dryRun": "All"},
            "application/json-patch+json",
            [{"op": "remove"}],
        ),
        (
            lambda c: c.replace(WIDGET, OBJECT, subresource="status"),
            "PUT",
            f"{ONE}/status",
            {},
            "application/json",
            OBJECT,
        ),
        (
            lambda c: c.delete(
                WIDGET,
                "a",
                namespace="ns",
                propagation="Background",
                uid="u",
                resource_version="7",
                grace_period_seconds=0,
                dry_run=True,
            ),
            "DELETE",
            ONE,
            {},
            "application/json",
            {
                "kind": "DeleteOptions",
                "apiVersion": "v1",
                "preconditions": {"uid": "u", "resourceVersion": "7"},
                "propagationPolicy": "Background",
                "dryRun": ["All"],
                "gracePeriodSeconds": 0,
            },
        ),
        (
            lambda c: c.delete(WIDGET, "a", namespace="ns"),
            "DELETE",
            ONE,
            {},
            "application/json",
            {"kind": "DeleteOptions", "apiVersion": "v1"},
        ),
        (lambda c: c.server_version(), "GET", "/version", {}, None, None),
        (
            lambda c: c.raw("GET", "/x", query={"a": "b c&d"}),
            "GET",
            "/x",
            {"a": "b c&d"},
            None,
            None,
        ),
    ],
)
async def test_verbs_become_requests(
    api: FakeApi,
    client: Client,
    call: Call,
    method: str,
    path: str,
    query: dict[str, str],
    content_type: str | None,
    body: Json,
) -> None:
    api.handlers[path] = echo
    assert await call(client) == {"ok": True}
    [seen] = api.seen
    assert (seen.method, seen.path, seen.query) == (method, path, query)
    assert seen.headers.get("Content-Type") == content_type
    assert (orjson.loads(seen.body) if seen.body else None) == body


async def test_an_object_without_namespace_is_not_written_anywhere(client: Client) -> None:
    with pytest.raises(ValueError, match=r"is namespaced: set metadata.namespace"):
        await client.create(WIDGET, {"metadata": {"name": "a"}})


async def test_an_empty_answer_is_none(api: FakeApi, client: Client) -> None:
    async def nothing(request: web.Request) -> web.StreamResponse:
        return web.Response()

    api.handlers["/x"] = nothing
    assert await client.raw("POST", "/x", body={}) is None


async def test_lists_are_read_in_pages(api: FakeApi, client: Client) -> None:
    for number in range(5):
        api.put(f"w{number}")
    found = await client.list(WIDGET, limit=2)
    assert [item["metadata"]["name"] for item in found.items] == ["w0", "w1", "w2", "w3", "w4"]
    assert found.resource_version == "15"
    assert [one.query.get("limit") for one in api.lists] == ["2", "2", "2"]


async def test_large_objects_are_asked_for_in_small_pages(api: FakeApi, client: Client) -> None:
    for number in range(120):
        api.put(f"w{number:03}", note="x" * 100_000)
    found = await client.list(WIDGET, limit=500)
    assert len(found.items) == 120
    first, second = [int(one.query["limit"]) for one in api.lists]
    assert first == 100
    # 100,000 characters each and a little more, 8 Mi characters a page.
    assert 80 <= second <= 83


async def test_small_objects_are_asked_for_in_whole_pages(api: FakeApi, client: Client) -> None:
    for number in range(120):
        api.put(f"w{number:03}")
    await client.list(WIDGET, limit=500)
    assert [one.query["limit"] for one in api.lists] == ["100", "500"]


async def test_pages_are_shrunk_as_they_are_read(api: FakeApi, client: Client) -> None:
    for name in "ab":
        api.put(name)
    pages = client.pages(WIDGET, limit=1, transform=lambda obj: {"n": obj["metadata"]["name"]})
    assert [page.items async for page in pages] == [[{"n": "a"}], [{"n": "b"}]]


async def test_a_list_can_be_shrunk_as_it_is_read(api: FakeApi, client: Client) -> None:
    for name in "ab":
        api.put(name)
    listed = await client.list(
        WIDGET, limit=1, transform=lambda obj: {"n": obj["metadata"]["name"]}
    )
    assert listed.items == [{"n": "a"}, {"n": "b"}]


async def test_selectors_and_no_limit_are_passed_on(api: FakeApi, client: Client) -> None:
    await client.list(WIDGET, label_selector="a in (b,c)", field_selector="x=y", limit=0)
    assert api.seen[0].query == {"labelSelector": "a in (b,c)", "fieldSelector": "x=y"}


async def test_list_items_are_given_their_kind(api: FakeApi, client: Client) -> None:
    async def bare(request: web.Request) -> web.StreamResponse:
        items = [{"metadata": {"name": "a"}}]
        return web.json_response({"metadata": {"resourceVersion": "3"}, "items": items})

    api.handlers[PATH] = bare
    [item] = (await client.list(WIDGET)).items
    assert (item["apiVersion"], item["kind"]) == ("example.dev/v1", "Widget")


async def test_an_expired_snapshot_restarts_a_list_once(api: FakeApi, client: Client) -> None:
    for number in range(3):
        api.put(f"w{number}")

    async def expire_second_page(request: web.Request) -> web.StreamResponse:
        if len(api.lists) == 2:
            return await refuse(410, "Expired")(request)
        return await api.answer_list(request)

    api.handlers[PATH] = expire_second_page
    found = await client.list(WIDGET, limit=2)
    assert [item["metadata"]["name"] for item in found.items] == ["w0", "w1", "w2"]
    assert len(api.lists) == 4


async def test_a_snapshot_that_expires_twice_is_gone(api: FakeApi, client: Client) -> None:
    api.list_faults += [refuse(410, "Expired"), refuse(410, "Expired")]
    with pytest.raises(Gone):
        await client.list(WIDGET)


async def test_null_items_are_an_empty_list(api: FakeApi, client: Client) -> None:
    async def empty(request: web.Request) -> web.StreamResponse:
        return web.json_response({"metadata": {"resourceVersion": "3"}, "items": None})

    api.handlers[PATH] = empty
    assert await client.list(WIDGET) == ([], "3")


@pytest.mark.parametrize("body", [{"error": "x"}, {"items": []}, {"items": [], "metadata": 1}])
async def test_what_is_no_list_is_not_taken_for_an_empty_one(
    api: FakeApi, client: Client, body: JsonObject
) -> None:
    async def odd(request: web.Request) -> web.StreamResponse:
        return web.json_response(body)

    api.handlers[PATH] = odd
    with pytest.raises(ConnectionLost, match="not a Kubernetes list"):
        await client.list(WIDGET)


async def test_what_is_no_object_is_not_listed(api: FakeApi, client: Client) -> None:
    async def odd(request: web.Request) -> web.StreamResponse:
        return web.json_response({"metadata": {}, "items": [{"metadata": {}}]})

    api.handlers[PATH] = odd
    with pytest.raises(Malformed, match=r"not a Kubernetes object: metadata.name is missing"):
        await client.list(WIDGET)


async def test_metadata_lists_and_watches_ask_for_the_partial_form(
    api: FakeApi, client: Client
) -> None:
    api.watch_faults.append(stream())
    await client.list(WIDGET, metadata_only=True)
    async for _ in client.watch(WIDGET, resource_version="1", metadata_only=True):
        pass
    accepts = [one.headers["Accept"].partition(",")[0] for one in api.seen]
    assert accepts == [
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    ]


async def test_a_watch_asks_for_bookmarks_from_a_version_on(api: FakeApi, client: Client) -> None:
    api.watch_faults.append(stream())
    watch = client.watch(WIDGET, resource_version="7", timeout_seconds=60, label_selector="a=b")
    assert [event async for event in watch] == []
    assert api.seen[0].query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "7",
        "timeoutSeconds": "60",
        "labelSelector": "a=b",
    }


async def test_a_watch_yields_events_and_bookmarks(api: FakeApi, client: Client) -> None:
    async with aclosing(client.watch(WIDGET, resource_version="10")) as watch:
        api.put("a")
        added = await anext(watch)
        api.bookmark()
        bookmark = await anext(watch)
    assert (added.type, added.object["metadata"]["name"]) == ("ADDED", "a")
    assert (bookmark.type, bookmark.object["kind"]) == ("BOOKMARK", "Widget")
    await until(lambda: not api.watchers)


async def test_an_expired_version_is_gone_before_and_in_the_stream(
    api: FakeApi, client: Client
) -> None:
    api.watch_faults += [refuse(410, "Expired"), stream(error_event(410, "Expired"))]
    for _ in range(2):
        with pytest.raises(Gone):
            await anext(client.watch(WIDGET, resource_version="1"))


async def test_a_refused_watch_carries_the_servers_words(api: FakeApi, client: Client) -> None:
    async def forbid(request: web.Request) -> web.StreamResponse:
        body = status_body(403, "Forbidden", "widgets is forbidden")
        return web.json_response(body, status=403)

    api.watch_faults.append(forbid)
    with pytest.raises(Forbidden, match="widgets is forbidden"):
        await anext(client.watch(WIDGET, resource_version="1"))


async def test_a_watch_that_breaks_is_a_lost_connection(api: FakeApi, client: Client) -> None:
    metadata = {"name": "a", "namespace": "ns", "resourceVersion": "1"}
    line = orjson.dumps({"type": "ADDED", "object": {"metadata": metadata}})
    api.watch_faults.append(stream(line + b"\n", abort=True))
    async with aclosing(client.watch(WIDGET, resource_version="1")) as watch:
        assert (await anext(watch)).type == "ADDED"
        with pytest.raises(ConnectionLost):
            await anext(watch)


async def test_a_watch_that_stands_still_is_a_lost_connection(api: FakeApi, client: Client) -> None:
    api.watch_faults.append(stream(hang=True))
    with pytest.raises(ConnectionLost) as lost:
        await anext(client.watch(WIDGET, resource_version="1", idle_timeout=0.05))
    assert lost.value.timeout


async def test_an_event_without_metadata_is_malformed(api: FakeApi, client: Client) -> None:
    api.watch_faults.append(stream(b'{"type":"ADDED","object":{}}\n'))
    with pytest.raises(Malformed, match="not a Kubernetes object: metadata is missing"):
        await anext(client.watch(WIDGET, resource_version="1"))


async def test_an_event_of_two_megabytes_is_read(api: FakeApi, client: Client) -> None:
    api.put("big", note="x" * 2**21)
    async with aclosing(client.watch(WIDGET, resource_version="10")) as watch:
        event = await anext(watch)
    assert len(event.object["spec"]["note"]) == 2**21


async def test_cluster_scoped_objects_need_no_namespace(api: FakeApi, client: Client) -> None:
    node = Resource("", "v1", "Node", "nodes", namespaced=False)
    api.handlers["/api/v1/nodes/n"] = echo
    await client.apply(node, {"metadata": {"name": "n"}}, field_manager="me")
    assert api.seen[0].path == "/api/v1/nodes/n"
