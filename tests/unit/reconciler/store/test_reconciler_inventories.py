"""The reconciler's Inventories: each write tests what it replaces, whoever else writes."""

import asyncio
import gc
import random
import tracemalloc
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace

import pytest

from kubeio.cache.informer import Informer
from kubeio.cache.store import Delta
from kubeio.client import Client
from kubeio.errors import Conflict, ConnectionLost, Forbidden
from kudo.api import JsonObject
from kudo.api.crds import definitions
from kudo.api.identity import InstanceIdentity
from kudo.objects.inventory.record import Entry, Place, Record, inventory_name, inventory_of
from kudo_reconciler.common.keys import INVENTORIES
from kudo_reconciler.store.freshness import Freshness, OwnWrites
from kudo_reconciler.store.inventories import (
    INDEXERS,
    InventoryStore,
    kept_inventory,
)
from tests.support.apiserver import status
from tests.support.apiserver.cluster import MemoryCluster
from tests.support.apiserver.network.faults import Fate, Quiet
from tests.support.apiserver.server import Request
from tests.support.apiserver.status import Names
from tests.support.loops.virtual_loop import VirtualLoop

ONE = InstanceIdentity("ns", "book", "0123456789")
OTHER = InstanceIdentity("ns", "other", "abcdefghij")
ABOUT = Names(INVENTORIES.group, INVENTORIES.plural, "book.01234567.0")
ROLE = Place("rbac.authorization.k8s.io", "ClusterRole", "", "role")


def entry(name: str = "a", digest: str = "1") -> Entry:
    place = Place("", "ConfigMap", "ns", name)
    return Entry(place, "v1", "configmaps", "deploy", "apply", digest)


def adding(*entries: Entry) -> Callable[[Record], Record]:
    return lambda record: record.merged(entries)


@dataclass
class Wire(Quiet):
    """Counts requests, and lets some of them fail.

    Attributes:
        late: Seconds by which watch events are late.
        sent: Method and last part of the path of each request, watches left out.
        fails: Returns what happens to a request.
    """

    late: float = 0.0
    sent: list[str] = field(default_factory=list)
    fails: Callable[[Request], Fate | None] = lambda _: None

    def fate(self, request: Request) -> Fate:
        if "watch" not in request.query:
            self.sent.append(f"{request.method} {request.path.rpartition('/')[2]}")
        return self.fails(request) or Fate()

    def event_delay(self, plural: str) -> float:
        del plural
        return self.late


@dataclass
class World:
    """A store with a cache that follows its API server.

    Attributes:
        store: Of the reconciler.
        wire: Its network.
        admin: A client of somebody else.
        news: The uids of the Instances whose Inventories others have changed.
    """

    store: InventoryStore
    wire: Wire
    admin: Client
    news: list[str]

    async def stored(self, one: InstanceIdentity = ONE, number: int = 0) -> JsonObject:
        name = inventory_name(one, number)
        return await self.admin.get(INVENTORIES, name, namespace=one.namespace)

    async def names(self, number: int = 0) -> list[str]:
        return [obj["name"] for obj in (await self.stored(number=number))["objects"]]

    async def write(
        self, one: InstanceIdentity, *entries: Entry, name: str = "", complete: bool = False
    ) -> None:
        """Create the first Inventory of an Instance as somebody else."""
        body = inventory_of(one, 0, entries, complete=complete)
        body["metadata"]["name"] = name or body["metadata"]["name"]
        await self.admin.create(INVENTORIES, body, namespace=one.namespace)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds of the cache."""
        changed = asyncio.Event()
        self.store.informer.add_handler(lambda _: changed.set())
        async with asyncio.timeout(60):
            while not holds():
                changed.clear()
                await changed.wait()


def run(body: Callable[[World], Awaitable[None]], *, late: float = 0.0) -> None:
    """Run a test in simulated time.

    Args:
        body: The test.
        late: Seconds by which watch events are late.
    """

    async def main() -> None:
        cluster = MemoryCluster.start(crds=definitions().values())
        cluster.collector.delay = lambda: 1e6
        wire = Wire(late)
        client, _ = cluster.client(user="reconciler", network=wire, finish_writes=True)
        admin, _ = cluster.client()
        informer = Informer(client, INVENTORIES, indexers=INDEXERS, transform=kept_inventory)
        news: list[str] = []
        store = InventoryStore(
            client, informer, OwnWrites(lambda uid, _: news.append(uid)), Freshness()
        )
        informer.add_handler(store.changed)
        following = asyncio.create_task(informer.run())
        await informer.wait_synced()
        await store.freshness.begin_term(client, random.Random(0))
        wire.sent.clear()
        await body(World(store, wire, admin, news))
        following.cancel()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(main())


def test_a_record_is_created_once_and_what_stays_the_same_is_not_sent() -> None:
    async def body(world: World) -> None:
        await world.store.save(ONE, adding(entry()))
        await world.store.save(ONE, adding(entry()))
        assert world.wire.sent == ["POST inventories"]
        assert (await world.store.save(ONE, lambda record: record)).get(entry().place) == entry()
        metadata = (await world.stored())["metadata"]
        assert metadata["name"] == "book.01234567.0"
        assert metadata["labels"] == {"kudo.dev/instance": "book"}
        (owner,) = metadata["ownerReferences"]
        assert (owner["uid"], owner["controller"], owner["blockOwnerDeletion"]) == (
            ONE.uid,
            True,
            False,
        )
        assert "complete" not in await world.stored()

    run(body)


def test_nothing_is_stored_for_an_instance_that_has_nothing() -> None:
    async def body(world: World) -> None:
        assert await world.store.save(ONE, lambda record: record.without([ROLE])) == Record()
        assert world.wire.sent == []
        assert world.store.cached(ONE) is None

    run(body)


def test_objects_beyond_500_are_in_further_inventories_and_each_stays_where_it_is() -> None:
    async def body(world: World) -> None:
        many = [entry(f"m{number}") for number in range(1100)]
        await world.store.save(ONE, lambda record: replace(record.merged(many), complete=True))
        assert world.wire.sent == ["POST inventories"] * 3
        assert [len(await world.names(number)) for number in range(3)] == [500, 500, 100]
        world.wire.sent.clear()
        change = adding(entry("m700", "2"), entry("new"))
        await world.store.save(ONE, lambda record: change(record.without([many[3].place])))
        # The first has room now; the last is as it was.
        assert world.wire.sent == ["PUT book.01234567.0", "PUT book.01234567.1"]
        assert [len(await world.names(number)) for number in range(3)] == [500, 500, 100]
        assert "new" in await world.names(0)
        cached = world.store.cached(ONE)
        assert cached is not None
        assert cached.complete
        assert len(cached) == 1100

    run(body)


def test_a_change_is_made_again_on_what_somebody_else_has_stored() -> None:
    async def body(world: World) -> None:
        await world.store.save(ONE, adding(entry("a")))
        stored = await world.stored()
        stored["objects"].append({**stored["objects"][0], "name": "theirs"})
        await world.admin.replace(INVENTORIES, stored)
        # The cache does not know of it yet.
        saved = await world.store.save(ONE, adding(entry("b")))
        assert {place.name for place in saved.entries} == {"a", "b", "theirs"}
        assert await world.names() == ["a", "theirs", "b"]

    run(body, late=10.0)


def test_one_that_was_deleted_meanwhile_is_created_with_what_is_to_be_stored() -> None:
    async def body(world: World) -> None:
        await world.store.save(ONE, adding(entry("a")))
        await world.admin.delete(INVENTORIES, inventory_name(ONE, 0), namespace="ns")
        saved = await world.store.save(ONE, adding(entry("b")))
        assert {place.name for place in saved.entries} == {"b"}
        assert await world.names() == ["b"]

    run(body, late=10.0)


def test_a_record_that_keeps_changing_is_given_up() -> None:
    async def body(world: World) -> None:
        refused = status.conflict(ABOUT, "it changed")
        world.wire.fails = lambda sent: Fate(refused=refused) if sent.method == "POST" else None
        with pytest.raises(Conflict, match="keeps changing"):
            await world.store.save(ONE, adding(entry()))
        assert world.wire.sent.count("POST inventories") == 5

    run(body)


def test_what_has_our_name_and_another_owner_is_taken_over_without_its_entries() -> None:
    async def body(world: World) -> None:
        foreign = InstanceIdentity("ns", "book", "01234567-of-another")
        await world.write(foreign, entry("theirs"), complete=True)
        assert world.store.cached(ONE) is None
        saved = await world.store.save(ONE, adding(entry("a")))
        assert saved == Record().merged([entry("a")])
        stored = await world.stored()
        assert [owner["uid"] for owner in stored["metadata"]["ownerReferences"]] == [ONE.uid]
        assert await world.names() == ["a"]

    run(body)


def test_an_inventory_with_another_name_is_none_of_the_instance() -> None:
    async def body(world: World) -> None:
        await world.write(ONE, entry("made-up"), name="made-up")
        await world.until(lambda: len(world.store.informer) == 1)
        assert world.store.cached(ONE) is None

    run(body)


def test_entries_that_no_plan_can_have_made_are_left_out_and_counted() -> None:
    async def body(world: World) -> None:
        bad = inventory_of(ONE, 0, [entry("a")], complete=False)
        good = bad["objects"][0]
        bad["objects"] += [{**good, "namespace": "kube-system"}, {**good, "name": "../x"}]
        await world.admin.create(INVENTORIES, bad, namespace="ns")
        await world.until(lambda: world.store.cached(ONE) is not None)
        assert world.store.ignored(ONE) == 2
        assert world.store.cached(ONE) == Record().merged([entry("a")])

    run(body)


def test_sharers_are_found_by_object_and_shares_by_instance() -> None:
    async def body(world: World) -> None:
        role = Entry(ROLE, "v1", "clusterroles", "deploy", "apply", uid="u")
        for one in (ONE, OTHER):
            await world.store.save(one, adding(role, entry()))
        assert {*world.store.some_sharers(ROLE)} == {ONE, OTHER}
        assert {*world.store.some_sharers(entry().place)} == set()
        assert world.store.shares(ONE) == [role]
        await world.store.save(ONE, lambda record: record.without([ROLE]))
        assert {*world.store.some_sharers(ROLE)} == {OTHER}

    run(body)


def test_sharers_are_found_by_the_uid_of_the_object_and_not_while_they_leave() -> None:
    async def body(world: World) -> None:
        role = Entry(ROLE, "v1", "clusterroles", "deploy", "apply")
        await world.store.save(ONE, adding(role))
        await world.store.save(OTHER, adding(replace(role, uid="u")))
        assert {*world.store.some_sharers(ROLE, "u")} == {OTHER}
        assert {*world.store.some_sharers(ROLE, "another")} == set()
        await world.store.save(OTHER, lambda record: record.leaving([ROLE]))
        assert {*world.store.some_sharers(ROLE, "u")} == set()
        assert {*world.store.some_sharers(ROLE)} == {ONE}
        assert not world.store.has_share(OTHER, ROLE)
        # It is applied again.
        await world.store.save(OTHER, adding(role))
        assert {*world.store.some_sharers(ROLE, "u")} == {OTHER}

    run(body)


def test_own_writes_are_no_news_and_the_writes_of_others_are() -> None:
    async def body(world: World) -> None:
        await world.store.save(ONE, adding(entry("a")))
        await world.store.save(ONE, adding(entry("b")))
        await asyncio.sleep(30)
        assert world.news == []
        stored = await world.stored()
        await world.admin.replace(INVENTORIES, {**stored, "objects": []})
        await asyncio.sleep(30)
        assert world.news == [ONE.uid]

    run(body, late=5.0)


def test_a_write_whose_answer_is_lost_is_known_as_our_own() -> None:
    async def body(world: World) -> None:
        world.wire.fails = lambda sent: Fate(lost="answer") if sent.method == "POST" else None
        with pytest.raises(ConnectionLost):
            await world.store.save(ONE, adding(entry("a")))
        await world.until(lambda: world.store.cached(ONE) is not None)
        stored = world.store.informer.get("ns", inventory_name(ONE, 0))
        assert stored is not None
        assert world.store.is_own(ONE.uid, stored)
        assert not world.store.is_own(ONE.uid, {**stored, "entries": ()})

    run(body)


def test_a_refused_write_is_told_and_changes_nothing() -> None:
    async def body(world: World) -> None:
        refused = status.forbidden(ABOUT, "no right")
        world.wire.fails = lambda sent: Fate(refused=refused) if sent.method == "POST" else None
        with pytest.raises(Forbidden):
            await world.store.save(ONE, adding(entry("a")))
        assert world.store.cached(ONE) is None

    run(body)


async def lag(world: World, write: Callable[[Client], Awaitable[None]]) -> None:
    """Have a former leader write what the cache lacks, and begin another term."""
    await write(world.admin)
    world.store.freshness.forget_term()
    world.store.begin_term()
    await world.store.freshness.begin_term(world.store.client, random.Random(0))
    world.wire.sent.clear()


def test_a_new_leader_reads_once_what_its_cache_may_lack() -> None:
    async def body(world: World) -> None:
        await world.store.save(ONE, adding(entry("a")))

        async def drop(client: Client) -> None:
            await client.replace(INVENTORIES, {**(await world.stored()), "objects": []})

        await lag(world, drop)
        assert world.store.cached(ONE) == Record().merged([entry("a")])
        # By the cache it is on record, so nothing would be written.
        assert await world.store.current(ONE) == Record()
        assert len(world.wire.sent) == 2
        assert await world.store.current(ONE) == Record()
        assert len(world.wire.sent) == 2

    run(body, late=60.0)


def test_a_new_leader_reads_before_it_changes_a_record_and_not_before_it_creates_one() -> None:
    async def body(world: World) -> None:
        await world.store.save(ONE, adding(entry("a")))

        async def nothing(_: Client) -> None:
            """The cache could lack something all the same."""

        await lag(world, nothing)
        await world.store.save(OTHER, adding(entry("a")))
        assert world.wire.sent == ["POST inventories"]
        await world.store.save(ONE, adding(entry("b")))
        assert world.wire.sent[1:] == [
            "GET book.01234567.0",
            "GET book.01234567.1",
            "PUT book.01234567.0",
        ]

    run(body, late=60.0)


def test_nothing_is_read_once_the_watch_has_reached_the_term() -> None:
    async def body(world: World) -> None:
        await world.store.save(ONE, adding(entry("a")))

        async def nothing(_: Client) -> None:
            """The cache could lack something all the same."""

        await lag(world, nothing)
        await world.store.save(OTHER, adding(entry("a")))
        await asyncio.sleep(5)
        world.wire.sent.clear()
        assert await world.store.current(ONE) == Record().merged([entry("a")])
        assert world.wire.sent == []

    run(body)


def inventories(count: int, objects: int) -> Iterable[JsonObject]:
    for number in range(count):
        one = InstanceIdentity(
            "ns", f"instance-{number}", f"{number:08}-aaaa-bbbb-cccc-dddddddddddd"
        )
        made = [
            replace(
                entry(f"{one.name}-{item}", f"{number * objects + item:032x}"),
                uid=f"{item:08}-{number:04}-bbbb-cccc-dddddddddddd",
            )
            for item in range(objects)
        ]
        body = inventory_of(one, 0, made, complete=True)
        body["metadata"] |= {"uid": one.uid, "resourceVersion": str(number + 1)}
        yield body


def test_an_object_on_record_takes_less_than_a_kibibyte_of_memory() -> None:
    count, objects = 50, 20
    gc.collect()
    tracemalloc.start()
    kept = [kept_inventory(body) for body in inventories(count, objects)]
    gc.collect()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(len(obj["entries"]) for obj in kept) == count * objects
    assert used / (count * objects) < 1024


def test_what_a_change_of_one_inventory_does_to_the_record() -> None:
    async def body(world: World) -> None:
        many = [entry(f"m{number}") for number in range(501)]
        await world.store.save(ONE, adding(*many))
        last = world.store.informer.get("ns", inventory_name(ONE, 1))
        assert last is not None
        before, after = world.store.change(ONE, Delta("updated", {**last, "entries": ()}, last))
        assert (len(before), len(after)) == (501, 500)
        first = world.store.informer.get("ns", inventory_name(ONE, 0))
        assert first is not None
        before, after = world.store.change(ONE, Delta("deleted", first, first))
        # What is in the second one cannot be found without the first.
        assert (len(before), len(after)) == (501, 0)

    run(body)
