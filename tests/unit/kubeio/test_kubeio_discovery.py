"""Discovery: one group version at a time, everything at once, and servers in bad shape."""

import asyncio
from typing import Any

import pytest
from aiohttp import web

from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import ConnectionLost, ServerError, UnknownKind
from kubeio.resource import Resource
from kubeio.types import JsonObject
from tests.unit.kubeio.fake_api import FakeApi, Fault, refuse


def serves(body: JsonObject) -> Fault:
    async def handler(request: web.Request) -> web.StreamResponse:
        return web.json_response(body)

    return handler


def plain(*names: str, **more: Any) -> JsonObject:
    entries = [
        {"name": name, "kind": name.partition("/")[0].title()[:-1], "namespaced": True, **more}
        for name in names
    ]
    return {"kind": "APIResourceList", "resources": entries}


CORE = plain("pods", "pods/log", "pods/status", verbs=["get", "list"])


async def test_a_kind_is_resolved_with_one_request_and_cached(api: FakeApi, client: Client) -> None:
    api.handlers["/api/v1"] = serves(CORE)
    discovery = Discovery(client)
    first = await discovery.resolve("v1", "Pod")
    assert first == Resource(
        "", "v1", "Pod", "pods", True, frozenset({"get", "list"}), frozenset({"log", "status"})
    )
    assert await discovery.for_object({"apiVersion": "v1", "kind": "Pod"}) is first
    assert [one.path for one in api.seen] == ["/api/v1"]


async def test_all_who_ask_at_once_share_one_request(api: FakeApi, client: Client) -> None:
    api.handlers["/api/v1"] = serves(CORE)
    discovery = Discovery(client)
    await asyncio.gather(*(discovery.resolve("v1", "Pod") for _ in range(20)))
    assert len(api.seen) == 1


async def test_an_unknown_kind_is_asked_for_each_time(api: FakeApi, client: Client) -> None:
    discovery = Discovery(client)
    for _ in range(2):
        with pytest.raises(UnknownKind):
            await discovery.resolve("example.dev/v1", "Gadget")
    assert len(api.seen) == 2
    api.handlers["/apis/example.dev/v1"] = serves(plain("gadgets"))
    assert (await discovery.resolve("example.dev/v1", "Gadget")).plural == "gadgets"


async def test_an_answer_that_is_older_than_the_question_does_not_count(
    api: FakeApi, client: Client
) -> None:
    """The CRD is established while another caller's request is on its way back."""
    sent, answered = asyncio.Event(), asyncio.Event()

    async def slow(request: web.Request) -> web.StreamResponse:
        sent.set()
        await answered.wait()
        return web.json_response(plain())

    api.handlers["/apis/example.dev/v1"] = slow
    discovery = Discovery(client)
    early = [
        asyncio.ensure_future(discovery.resolve("example.dev/v1", kind))
        for kind in ("Option", "Choice")
    ]
    await sent.wait()
    api.handlers["/apis/example.dev/v1"] = serves(plain("gadgets"))
    late = [asyncio.ensure_future(discovery.resolve("example.dev/v1", "Gadget")) for _ in range(20)]
    answered.set()
    found = await asyncio.gather(*early, *late, return_exceptions=True)
    assert [type(one) for one in found] == [UnknownKind] * 2 + [Resource] * 20
    assert len(api.seen) == 2


async def test_looking_ahead_reads_once(api: FakeApi, client: Client) -> None:
    discovery = Discovery(client)
    for _ in range(3):
        with pytest.raises(UnknownKind):
            await discovery.look_ahead("example.dev/v1", "Gadget")
    assert len(api.seen) == 1
    api.handlers["/apis/example.dev/v1"] = serves(plain("gadgets"))
    assert (await discovery.resolve("example.dev/v1", "Gadget")).plural == "gadgets"
    assert (await discovery.look_ahead("example.dev/v1", "Gadget")).plural == "gadgets"
    assert len(api.seen) == 2


async def test_a_kind_added_to_a_known_group_version_is_found(api: FakeApi, client: Client) -> None:
    discovery = Discovery(client)
    api.handlers["/apis/example.dev/v1"] = serves(plain("gadgets"))
    await discovery.resolve("example.dev/v1", "Gadget")
    api.handlers["/apis/example.dev/v1"] = serves(plain("gadgets", "widgets"))
    assert (await discovery.resolve("example.dev/v1", "Widget")).plural == "widgets"


def crd(name: str, **changes: Any) -> JsonObject:
    spec = {
        "group": "example.dev",
        "names": {"kind": "Policy"},
        "versions": [{"name": "v1", "served": True}, {"name": "v0", "served": False}],
    }
    metadata, status = {"name": name}, {}
    if "deleted" in changes:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if "refused" in changes:
        status = {"conditions": [{"type": "NamesAccepted", "status": "False"}]}
    return {"metadata": metadata, "spec": spec | changes.get("spec", {}), "status": status}


_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


async def test_the_crd_that_is_to_serve_a_kind_is_found_by_its_usual_plural_or_by_name(
    api: FakeApi, client: Client
) -> None:
    discovery = Discovery(client)
    assert await discovery.definition("example.dev/v1", "Policy") is None
    api.handlers[f"{_CRDS}/rules.example.dev"] = serves(crd("rules.example.dev"))
    assert await discovery.definition("example.dev/v1", "Policy") is None
    named = await discovery.definition("example.dev/v1", "Policy", ["rules.example.dev"])
    assert named == "rules.example.dev"
    api.handlers[f"{_CRDS}/policies.example.dev"] = serves(crd("policies.example.dev"))
    assert await discovery.definition("example.dev/v1", "Policy") == "policies.example.dev"
    assert await discovery.definition("v1", "Policy") is None


@pytest.mark.parametrize(
    ("api_version", "changes"),
    [
        ("example.dev/v2", {}),
        ("example.dev/v0", {}),
        ("example.dev/v1", {"deleted": True}),
        ("example.dev/v1", {"refused": True}),
        ("example.dev/v1", {"spec": {"names": {"kind": "Other"}}}),
    ],
)
async def test_a_crd_that_will_not_serve_the_kind_does_not_count(
    api: FakeApi, client: Client, api_version: str, changes: JsonObject
) -> None:
    name = "policies.example.dev"
    api.handlers[f"{_CRDS}/{name}"] = serves(crd(name, **changes))
    assert await Discovery(client).definition(api_version, "Policy") is None


async def test_crds_that_may_not_be_read_do_not_count(api: FakeApi, client: Client) -> None:
    api.handlers[f"{_CRDS}/policies.example.dev"] = refuse(403, "Forbidden")
    assert await Discovery(client).definition("example.dev/v1", "Policy") is None


@pytest.mark.parametrize("api_version", ["", "/", "..", "a/..", "a/b/c", "x/"])
async def test_an_impossible_api_version_is_an_unknown_kind(
    client: Client, api_version: str
) -> None:
    with pytest.raises(UnknownKind):
        await Discovery(client).resolve(api_version, "Pod")


async def test_a_server_that_cannot_answer_is_not_an_unknown_kind(
    api: FakeApi, client: Client
) -> None:
    discovery = Discovery(client)
    api.handlers["/api/v1"] = refuse(503, "ServiceUnavailable")
    with pytest.raises(ServerError):
        await discovery.resolve("v1", "Pod")
    api.handlers["/api/v1"] = serves(CORE)
    assert (await discovery.resolve("v1", "Pod")).plural == "pods"


async def test_forgetting_leads_to_a_new_request(api: FakeApi, client: Client) -> None:
    discovery = Discovery(client)
    api.handlers["/api/v1"] = serves(CORE)
    await discovery.resolve("v1", "Pod")
    discovery.invalidate("v1")
    await discovery.resolve("v1", "Pod")
    discovery.invalidate()
    await discovery.resolve("v1", "Pod")
    assert len(api.seen) == 3


async def test_group_versions_list_their_resources(api: FakeApi, client: Client) -> None:
    api.handlers["/api/v1"] = serves(CORE)
    discovery = Discovery(client)
    assert [one.kind for one in await discovery.resources("v1")] == ["Pod"]
    assert await discovery.resources("v1")
    assert await discovery.resources("nope/v1") == ()
    assert len(api.seen) == 2


async def test_what_tenants_make_up_does_not_pile_up(api: FakeApi, client: Client) -> None:
    discovery = Discovery(client)
    for number in range(510):
        with pytest.raises(UnknownKind):
            await discovery.resolve(f"g{number}/v1", "X")
    assert len(discovery._cache) <= 500
    assert len(discovery._locks) <= 501


def aggregated(group: str, *versions: tuple[str, str, list[str]]) -> JsonObject:
    return {
        "metadata": {"name": group},
        "versions": [
            {
                "version": version,
                "freshness": freshness,
                "resources": [
                    {
                        "resource": f"{kind.lower()}s",
                        "responseKind": {"kind": kind},
                        "scope": "Cluster" if kind == "Node" else "Namespaced",
                        "verbs": ["list"],
                        "subresources": [{"subresource": "status"}],
                    }
                    for kind in kinds
                ],
            }
            for version, freshness, kinds in versions
        ],
    }


def index(*groups: JsonObject) -> Fault:
    return serves({"kind": "APIGroupDiscoveryList", "items": list(groups)})


async def test_everything_is_read_with_two_requests(api: FakeApi, client: Client) -> None:
    api.handlers["/api"] = index(aggregated("", ("v1", "Current", ["Pod", "Node"])))
    api.handlers["/apis"] = index(
        aggregated("apps", ("v1", "Current", ["Deployment"])),
        aggregated(
            "autoscaling", ("v2", "Current", ["Scaler"]), ("v1", "Current", ["Scaler", "Old"])
        ),
        aggregated("metrics.k8s.io", ("v1beta1", "Stale", [])),
    )
    discovery = Discovery(client)
    found = await discovery.all_resources()
    assert [(one.api_version, one.kind) for one in found] == [
        ("v1", "Pod"),
        ("v1", "Node"),
        ("apps/v1", "Deployment"),
        ("autoscaling/v2", "Scaler"),
        ("autoscaling/v1", "Scaler"),
        ("autoscaling/v1", "Old"),
    ]
    assert (found[0].namespaced, found[1].namespaced) == (True, False)
    assert found[0].subresources == {"status"}
    assert len(api.seen) == 2
    versions = await discovery.versions("autoscaling", "Scaler")
    assert [one.version for one in versions] == ["v2", "v1"]


async def test_older_servers_are_read_group_by_group_past_broken_ones(
    api: FakeApi, client: Client
) -> None:
    api.handlers["/api"] = serves({"kind": "APIVersions", "versions": ["v1"]})
    api.handlers["/apis"] = serves(
        {
            "kind": "APIGroupList",
            "groups": [
                {
                    "name": "x",
                    "versions": [{"groupVersion": "x/v1"}, {"groupVersion": "x/v2"}],
                    "preferredVersion": {"groupVersion": "x/v2"},
                },
                {"name": "metrics", "versions": [{"groupVersion": "metrics/v1"}]},
            ],
        }
    )
    api.handlers["/api/v1"] = serves(CORE)
    api.handlers["/apis/x/v1"] = serves(plain("things"))
    api.handlers["/apis/x/v2"] = serves(plain("things"))
    api.handlers["/apis/metrics/v1"] = refuse(503, "ServiceUnavailable")
    found = await Discovery(client).all_resources()
    assert [one.api_version for one in found] == ["v1", "x/v2", "x/v1"]


@pytest.mark.parametrize("body", [{"resources": [{}]}, {"resources": 3}, ["x"]])
async def test_nonsense_from_one_api_server_is_a_lost_connection(
    api: FakeApi, client: Client, body: Any
) -> None:
    api.handlers["/apis/odd/v1"] = serves(body)
    with pytest.raises(ConnectionLost, match="not a discovery document"):
        await Discovery(client).resolve("odd/v1", "X")
    api.handlers["/api"] = serves({"kind": "APIVersions", "versions": ["v1"]})
    versions = [{"groupVersion": "odd/v1"}]
    api.handlers["/apis"] = serves({"groups": [{"name": "odd", "versions": versions}]})
    api.handlers["/api/v1"] = serves(CORE)
    assert [one.kind for one in await Discovery(client).all_resources()] == ["Pod"]
