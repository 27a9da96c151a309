"""OperatorVersions from the cache, and from a live read behind it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import orjson
import pytest
from aiohttp import web

from kubeio.client import Client
from kubeio.connection.config import ClusterConfig
from kudo.admission.tenancy import LONGEST_GRANT
from kudo.api import JsonObject
from kudo.api.bounds import TOO_LARGE
from kudo.api.names import ANNOTATION_ALLOW_FROM
from kudo_webhook.versions import InformedVersions, VersionTooLarge, VersionUnreadable, slim
from tests.unit.webhook.harness import until

PATH = "/apis/kudo.dev/v1beta1/operatorversions"
ONE = "/apis/kudo.dev/v1beta1/namespaces/ns/operatorversions/{name}"


def version(name: str, revision: int, *, plan: str = "deploy") -> JsonObject:
    return {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "OperatorVersion",
        "metadata": {
            "name": name,
            "namespace": "ns",
            "resourceVersion": str(revision),
            "uid": f"uid-{name}",
        },
        "spec": {
            "version": "1",
            "plans": {plan: {"phases": [{"name": "p"}]}},
            "templates": {"a.yaml": "x" * 1000},
            "tasks": [{"name": "t", "kind": "Apply"}],
            "parameters": [{"name": "A", "default": "1"}],
        },
    }


@dataclass
class OperatorVersionsApi:
    """Answers lists, watches and reads of OperatorVersions, and counts the reads."""

    listed: list[JsonObject] = field(default_factory=list)
    live: dict[str, JsonObject] = field(default_factory=dict)
    events: asyncio.Queue[JsonObject] = field(default_factory=asyncio.Queue)
    reads: list[str] = field(default_factory=list)
    metadata_reads: int = 0
    failure: int = 0
    hang: asyncio.Event | None = None

    async def collection(self, request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            return await self._watch(request)
        body = {"kind": "List", "metadata": {"resourceVersion": "10"}, "items": self.listed}
        return web.json_response(body)

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(orjson.dumps(await self.events.get()) + b"\n")

    async def one(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        self.reads.append(name)
        self.metadata_reads += "as=PartialObjectMetadata;" in request.headers["accept"]
        if self.hang is not None:
            await self.hang.wait()
        if self.failure:
            return web.json_response({"kind": "Status", "message": "no"}, status=self.failure)
        if name not in self.live:
            return web.json_response({"kind": "Status", "reason": "NotFound"}, status=404)
        return web.json_response(self.live[name])


@asynccontextmanager
async def following(
    api: OperatorVersionsApi, *, timeout: float = 5.0
) -> AsyncIterator[InformedVersions]:
    """Yield a synced source; the API is served on a free port."""
    app = web.Application()
    app.router.add_get(PATH, api.collection)
    app.router.add_get(ONE, api.one)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    try:
        async with (
            Client(ClusterConfig(f"http://127.0.0.1:{port}")) as client,
            asyncio.TaskGroup() as group,
        ):
            source = InformedVersions(client, timeout=timeout)
            assert not source.synced
            task = group.create_task(source.run())

            async def synced() -> bool:
                return source.synced

            await until(synced)
            yield source
            task.cancel()
    finally:
        await runner.cleanup()


async def test_a_cached_version_costs_no_read() -> None:
    api = OperatorVersionsApi([version("first-1", 5)])
    async with following(api) as source:
        found = await source.get("ns", "first-1")
    assert found is not None
    assert list(found.plans) == ["deploy"]
    assert api.reads == []


async def test_a_version_is_parsed_once_until_it_changes() -> None:
    api = OperatorVersionsApi([version("first-1", 5)])
    async with following(api) as source:
        first = await source.get("ns", "first-1")
        assert await source.get("ns", "first-1") is first
        api.events.put_nowait({"type": "MODIFIED", "object": version("first-1", 11, plan="other")})

        async def changed() -> bool:
            return await source.get("ns", "first-1") is not first

        await until(changed)
        after = await source.get("ns", "first-1")
    assert after is not None
    assert list(after.plans) == ["other"]


async def test_a_version_that_changed_is_parsed_anew_whatever_its_resource_version() -> None:
    """After a restore of etcd a resourceVersion may come a second time."""
    api = OperatorVersionsApi([version("first-1", 5)])
    async with following(api) as source:
        assert await source.get("ns", "first-1") is not None
        assert source._parsed != {}
        api.events.put_nowait({"type": "MODIFIED", "object": version("first-1", 11, plan="other")})

        async def forgotten() -> bool:
            return source._parsed == {}

        await until(forgotten)


async def test_one_that_is_not_cached_yet_is_read_once_for_each_request() -> None:
    api = OperatorVersionsApi(live={"new-1": version("new-1", 12)})
    async with following(api) as source:
        found = await source.get("ns", "new-1")
    assert found is not None
    assert found.metadata.name == "new-1"
    assert api.reads == ["new-1"]


async def test_one_that_does_not_exist_is_none() -> None:
    api = OperatorVersionsApi()
    async with following(api) as source:
        assert await source.get("ns", "nowhere-1") is None
    assert api.reads == ["nowhere-1"]


async def test_a_deleted_version_is_asked_for_again() -> None:
    api = OperatorVersionsApi([version("first-1", 5)])
    async with following(api) as source:
        assert await source.get("ns", "first-1") is not None
        api.events.put_nowait({"type": "DELETED", "object": version("first-1", 11)})

        async def gone() -> bool:
            return await source.get("ns", "first-1") is None

        await until(gone)
        assert source._parsed == {}


@pytest.mark.parametrize(
    ("namespace", "name"), [("ns", ""), ("", "a"), ("ns", ".."), ("ns", "a/b"), ("ns", "A?x=1")]
)
async def test_what_cannot_be_a_name_does_not_exist_and_is_not_asked_for(
    namespace: str, name: str
) -> None:
    api = OperatorVersionsApi()
    async with following(api) as source:
        assert await source.get(namespace, name) is None
    assert api.reads == []


@pytest.mark.parametrize("failure", [403, 500])
async def test_a_refused_read_is_no_missing_version(failure: int) -> None:
    async with following(OperatorVersionsApi(failure=failure)) as source:
        with pytest.raises(VersionUnreadable, match="ns/new-1 cannot be read"):
            await source.get("ns", "new-1")


async def test_a_read_that_hangs_is_given_up() -> None:
    api = OperatorVersionsApi(hang=asyncio.Event())
    async with following(api, timeout=0.05) as source:
        with pytest.raises(VersionUnreadable, match=r"did not answer within 0\.05 s"):
            await source.get("ns", "new-1")


async def test_a_version_of_another_shape_is_unreadable_and_says_where() -> None:
    broken = version("first-1", 5)
    broken["spec"]["parameters"] = [{"name": "A", "immutable": ["x"]}]
    async with following(OperatorVersionsApi([broken])) as source:
        with pytest.raises(VersionUnreadable, match=r"spec\.parameters\.0\.immutable"):
            await source.get("ns", "first-1")


def test_templates_and_tasks_are_not_kept_in_memory() -> None:
    kept = slim(version("first-1", 5))
    assert kept["spec"] == {
        "version": "1",
        "parameters": [{"name": "A", "default": "1"}],
        "plans": {"deploy": {}},
    }


async def test_a_whole_version_is_read_from_the_api_server_although_a_part_is_cached() -> None:
    api = OperatorVersionsApi([version("first-1", 5)], {"first-1": version("first-1", 6)})
    async with following(api) as source:
        found = await source.wire("ns", "first-1", whole=True)
        assert await source.wire("ns", "gone-1", whole=True) is None
    assert found is not None
    assert orjson.loads(found) == version("first-1", 6)
    assert api.reads == ["first-1", "gone-1"]


def test_of_a_parameter_what_rules_read_is_kept() -> None:
    whole = version("first-1", 5)
    whole["spec"]["parameters"] = [
        {"name": "A", "enum": ["1"], "description": "d" * 1000, "displayName": "n"}
    ]
    assert slim(whole)["spec"]["parameters"] == [{"name": "A", "enum": ["1"]}]


def absurd(name: str) -> JsonObject:
    found = version(name, 5)
    found["spec"]["parameters"] = [{}] * 10_000
    return found


def test_of_a_version_that_is_too_large_it_is_kept_why() -> None:
    kept = slim(absurd("large-1"))
    assert kept[TOO_LARGE].startswith("spec.parameters has 10000 entries, more than 2000")
    assert "spec" not in kept
    assert kept["metadata"]["name"] == "large-1"


async def test_a_version_that_is_too_large_is_not_parsed_and_does_not_harm_others() -> None:
    cached, live = absurd("large-1"), absurd("large-2")
    api = OperatorVersionsApi([cached, version("first-1", 6)], live={"large-2": live})
    async with following(api) as source:
        for name in ("large-1", "large-2"):
            with pytest.raises(VersionTooLarge, match=f"ns/{name} .*has 10000 entries"):
                await source.get("ns", name)
        with pytest.raises(VersionTooLarge):
            await source.wire("ns", "large-2", whole=True)
        assert await source.get("ns", "first-1") is not None


def granted(found: JsonObject, grant: str) -> JsonObject:
    annotations = {ANNOTATION_ALLOW_FROM: grant, "other": "x" * 1000}
    return {**found, "metadata": {**found["metadata"], "annotations": annotations}}


def test_of_the_annotations_the_grant_is_kept_within_its_bound() -> None:
    assert "annotations" not in slim(version("first-1", 5))["metadata"]
    kept = slim(granted(version("first-1", 5), "a,b"))["metadata"]["annotations"]
    assert kept == {ANNOTATION_ALLOW_FROM: "a,b"}
    long = slim(granted(version("first-1", 5), "team," * 50_000))["metadata"]["annotations"]
    assert 0 < len(long[ANNOTATION_ALLOW_FROM]) <= LONGEST_GRANT
    odd = version("first-1", 5)
    odd["metadata"]["annotations"] = {ANNOTATION_ALLOW_FROM: 7}
    assert "annotations" not in slim(odd)["metadata"]


async def test_a_cached_grant_costs_no_read() -> None:
    api = OperatorVersionsApi([granted(version("first-1", 5), "team")])
    async with following(api) as source:
        assert await source.get("ns", "first-1", "team") is not None
        assert await source.get("ns", "first-1", "ns") is not None
        assert await source.wire("ns", "first-1", "team") is not None
    assert api.reads == []


@pytest.mark.parametrize("whole", [False, True])
async def test_a_missing_version_and_one_without_a_grant_cost_the_same_read_of_metadata(
    whole: bool,
) -> None:
    found = version("first-1", 5)
    api = OperatorVersionsApi([found], {"first-1": found})
    async with following(api) as source:
        for name in ("first-1", "nowhere-1"):
            assert await source.get("ns", name, "team") is None
            assert await source.wire("ns", name, "team", whole=whole) is None
    assert api.reads == ["first-1", "first-1", "nowhere-1", "nowhere-1"]
    assert api.metadata_reads == 4


async def test_a_grant_that_the_cache_does_not_have_yet_counts() -> None:
    api = OperatorVersionsApi(
        [version("first-1", 5)], {"first-1": granted(version("first-1", 6), "team")}
    )
    async with following(api) as source:
        found = await source.get("ns", "first-1", "team")
    assert found is not None
    assert found.metadata.resource_version == "6"
    assert api.metadata_reads == 1


async def test_one_that_is_too_large_tells_nothing_without_a_grant() -> None:
    api = OperatorVersionsApi([absurd("large-1")], live={"large-1": absurd("large-1")})
    async with following(api) as source:
        assert await source.get("ns", "large-1", "team") is None
        assert await source.wire("ns", "large-1", "team", whole=True) is None


@pytest.mark.parametrize("name", ["..", "a/b", "A?x=1", "", "x" * 300])
async def test_names_that_escape_paths_are_never_asked_for(name: str) -> None:
    api = OperatorVersionsApi()
    async with following(api) as source:
        assert await source.get("ns", name, "team") is None
        assert await source.get(name, "first-1", "team") is None
    assert api.reads == []
