"""Answers that are not what the API promises: they end no process, and no watch for ever."""

import asyncio
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st

from kubeio.cache.informer import Informer
from kubeio.cache.reflector import Timing
from kubeio.client import Client
from kubeio.errors import ConnectionLost, KubeError, Malformed
from kubeio.types import JsonObject
from kubeio.watch import fault_in
from tests.support.selection.properties import examples
from tests.unit.kubeio.cache.watched import running, truth
from tests.unit.kubeio.fake_api import PATH, WIDGET, FakeApi, fake_api, stream, until

FAST = Timing(backoff=(0.001, 0.002))
GOOD: JsonObject = {"name": "odd", "namespace": "ns", "resourceVersion": "10"}


def line(kind: Any, obj: Any) -> bytes:
    return orjson.dumps({"type": kind, "object": obj}) + b"\n"


def added(**metadata: Any) -> bytes:
    return line("ADDED", {"metadata": {**GOOD, **metadata}})


@pytest.mark.parametrize(
    "event",
    [
        b"garbage\n",
        b"3\n",
        b'{"type":"ADDED"}\n',
        b"\xff\xff\n",
        line("ADDED", None),
        line("ADDED", [1]),
        line("ADDED", {}),
        line("ADDED", {"metadata": None}),
        line("ADDED", {"metadata": "text"}),
        added(name=None),
        added(name=""),
        added(name=3),
        added(namespace=None),
        added(namespace=["ns"]),
        added(resourceVersion=None),
        added(resourceVersion=11),
        added(uid={}),
        added(labels=["heritage"]),
        added(labels={"heritage": ["kudo"]}),
        added(annotations="x"),
        added(finalizers="x"),
        added(ownerReferences=[{}]),
        added(managedFields=[1]),
        line("BOOKMARK", {"metadata": {}}),
        line("DELETED", {"metadata": {"resourceVersion": "11"}}),
        line("UNHEARD", {"metadata": GOOD}),
        line(None, {"metadata": GOOD}),
    ],
)
async def test_an_event_that_cannot_be_read_leads_to_a_new_list(
    api: FakeApi, client: Client, event: bytes
) -> None:
    """The API server would send it again to who goes on from the version before."""
    api.put("a")
    api.watch_faults.append(stream(event, hang=True))
    async with running(client, timing=FAST) as seen:
        await until(lambda: api.watchers)
        api.put("b")
        await until(lambda: seen.versions() == truth(api))
    assert len(api.lists) == 2
    assert seen.errors == [Malformed]


async def test_a_resource_version_of_thousands_of_digits_is_no_number(
    api: FakeApi, client: Client
) -> None:
    api.watch_faults.append(stream(added(resourceVersion="9" * 5000), hang=True))
    async with running(client, timing=FAST) as seen:
        await until(lambda: seen.changes)
    assert seen.told == [("added", "odd")]


@pytest.mark.parametrize("field", ["name", "namespace"])
async def test_a_list_with_an_item_that_cannot_be_read_is_read_again_and_drops_nothing(
    api: FakeApi, client: Client, field: str
) -> None:
    api.put("a")
    async with running(client, timing=FAST) as seen:
        await until(lambda: api.watchers)
        broken = api.objects["a"]
        api.objects["a"] = {**broken, "metadata": {**broken["metadata"], field: ""}}
        api.compact()
        api.watch_faults.append(stream(line("ADDED", {})))
        api.end_watches()
        await until(lambda: seen.errors.count(Malformed) > 3)
        assert seen.informer.get("ns", "a") is not None
        assert isinstance(seen.informer.error, Malformed)
        api.objects["a"] = broken
        await until(lambda: api.watchers)
        assert seen.versions() == truth(api)


async def test_an_object_that_a_transform_cannot_read_ends_no_process(
    api: FakeApi, client: Client
) -> None:
    def shrink(obj: JsonObject) -> JsonObject:
        return {**obj, "note": obj["spec"]["note"].upper()}

    api.watch_faults.append(stream(added(), hang=True))
    async with running(client, timing=FAST, transform=shrink) as seen:
        await until(lambda: api.watchers)
        api.put("b", note="x")
        await until(lambda: seen.changes)
    assert seen.told == [("added", "b")]
    assert seen.errors == [Malformed]


async def test_unreadable_events_are_listed_for_ever_more_rarely(
    api: FakeApi, client: Client
) -> None:
    """What can be read before each of them does not start the delays over."""
    delays: list[float] = []

    async def sleep(delay: float) -> None:
        delays.append(delay)

    bookmark = line("BOOKMARK", {"metadata": {"resourceVersion": "10"}})
    api.watch_faults += [stream(bookmark, b"garbage\n") for _ in range(12)]
    async with running(client, timing=Timing(backoff=(1.0, 64.0)), sleep=sleep):
        await until(lambda: api.watchers)
    assert len(api.lists) == 13
    assert max(delays) > 4.0


async def test_what_is_unreadable_is_logged_without_what_it_holds(
    api: FakeApi, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    secret = {"metadata": {**GOOD, "name": ""}, "data": {"pin": "c2VjcmV0"}}
    api.watch_faults.append(stream(line("ADDED", secret), hang=True))
    async with running(client, timing=FAST) as seen:
        await until(lambda: api.watchers)
    [record] = [one for one in caplog.records if one.name == "kubeio.cache.reflector"]
    assert record.getMessage() == (
        f"listing widgets.example.dev again: GET {PATH}: "
        "not a Kubernetes object: metadata.name is missing"
    )
    assert seen.errors == [Malformed]


async def test_a_burst_of_events_in_one_chunk_does_not_hold_the_loop(
    api: FakeApi, client: Client
) -> None:
    """A watch that goes on after a while is sent what it missed as fast as the network takes it."""
    burst = b"".join(added(name=f"w{n}", resourceVersion=str(11 + n)) for n in range(5000))
    api.watch_faults.append(stream(burst, hang=True))
    most = 0
    async with running(client) as seen:
        before = len(seen.changes)
        while len(seen.changes) < 5000:
            await asyncio.sleep(0)
            most, before = max(most, len(seen.changes) - before), len(seen.changes)
    assert most < 1000


json = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 999) | st.floats(0, 1) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
FIELDS = (*GOOD, "uid", "labels", "annotations", "finalizers", "ownerReferences", "managedFields")
metadata = st.fixed_dictionaries(
    {}, optional={name: json | st.just(GOOD.get(name, "x")) for name in FIELDS}
)
objects = json | st.fixed_dictionaries({}, optional={"metadata": json | metadata, "spec": json})
kinds = st.sampled_from(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "?"]) | json


@given(st.lists(st.tuples(kinds, objects), min_size=1, max_size=4))
@example_settings(max_examples=examples(30, deep=2000))
def test_no_event_ends_an_informer(sent: list[tuple[Any, Any]]) -> None:
    """Whatever comes: it goes on, and knows the truth in the end."""

    async def body() -> None:
        async with fake_api() as api, Client(api.config, timeout=5.0) as client:
            api.put("a")
            # One event each, so that all of them are looked at.
            api.watch_faults += [stream(line(kind, obj)) for kind, obj in sent]
            indexers = {"label": lambda obj: [*(obj["metadata"].get("labels") or {})]}
            options: dict[str, Any] = {"indexers": indexers, "sleep": no_sleep}
            async with running(client, timing=FAST, **options) as seen:
                await until(lambda: not api.watch_faults)
                api.version = 2**65
                api.compact()
                api.end_watches()
                await until(lambda: seen.informer.get("ns", "a") and api.watchers)
                assert all(issubclass(one, KubeError) for one in seen.errors)

    asyncio.run(body())


async def no_sleep(delay: float) -> None:
    del delay
    await asyncio.sleep(0)


@given(objects)
def test_an_object_without_fault_has_the_metadata_that_caches_read(obj: Any) -> None:
    if fault_in(obj, namespaced=True, versioned=True):
        return
    found = obj["metadata"]
    assert all(isinstance(found[name], str) and found[name] for name in GOOD)
    assert all(isinstance(value, str) for value in (found.get("labels") or {}).values())


async def test_an_own_write_that_is_answered_with_no_object_is_a_lost_connection(
    client: Client,
) -> None:
    def shrink(obj: JsonObject) -> JsonObject:
        return {**obj, "spec": obj["spec"]}

    informer = Informer(client, WIDGET, transform=shrink)
    with pytest.raises(ConnectionLost, match="KeyError"):
        informer.observe({"metadata": {**GOOD, "resourceVersion": "11"}})
