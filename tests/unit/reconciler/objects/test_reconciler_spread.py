"""Who of those that share an object is enqueued when it changes, and how."""

import asyncio
import itertools
from collections.abc import Iterator

from kudo.api import JsonObject
from kudo.api.identity import InstanceIdentity
from kudo.objects.inventory.record import Place
from kudo_reconciler.common.concurrency import AT_ONCE
from kudo_reconciler.common.keys import Key
from kudo_reconciler.objects.sharers import Spread
from tests.unit.reconciler.objects.sharing_world import PLACE, ROLES, Process, World, world

CHANGE: JsonObject = {"metadata": {"annotations": {"kudo.dev/delete-with-instance": "true"}}}


async def watched(found: World, count: int) -> tuple[Process, list[InstanceIdentity]]:
    """Have Instances share the role, and watch it."""
    (process,), some = found.processes, await found.recorded(count)
    for one in some:
        await process.share(one)
    assert await process.observer.watch(ROLES)
    await woken(process, count)
    return process, some


async def woken(process: Process, count: int) -> list[Key]:
    async with asyncio.timeout(5):
        found = [await process.woken.get() for _ in range(count)]
        # Whoever else is enqueued is so in the next turns of the loop.
        for _ in range(20):
            await asyncio.sleep(0)
    assert process.woken.empty()
    return found


def keys(some: list[InstanceIdentity]) -> set[Key]:
    return {Key(one.namespace, one.name) for one in some}


async def test_a_change_enqueues_all_that_share_an_object_each_once() -> None:
    async with world() as found:
        process, some = await watched(found, 30)
        await found.admin.merge_patch(ROLES, "role", CHANGE)
        told = await woken(process, 30)
        assert set(told) == keys(some)


async def test_a_deletion_enqueues_all_that_share_an_object() -> None:
    async with world() as found:
        process, some = await watched(found, 30)
        await found.admin.delete(ROLES, "role")
        assert set(await woken(process, 30)) == keys(some)


async def test_a_share_of_an_object_of_many_enqueues_nobody() -> None:
    async with world() as found:
        process, _ = await watched(found, 40)
        (late,) = await found.recorded(1, first=40)
        role = await process.share(late)
        # As its event: nothing is awaited, and whoever it concerned would be in the queue.
        process.observer.read(ROLES, role)
        await woken(process, 0)


async def test_who_is_listed_no_more_is_enqueued_alone() -> None:
    async with world() as found:
        process, some = await watched(found, 30)
        metadata = (await process.role())["metadata"]
        await found.annotate(process.sharers.without(metadata, PLACE, some[0]))
        assert await woken(process, 1) == [Key("ns", some[0].name)]


async def test_an_own_write_does_not_enqueue_its_author() -> None:
    async with world() as found:
        process, some = await watched(found, 30)
        author = Key("ns", some[20].name)
        with process.observer.writing(ROLES, None, "role", author) as write:
            before = await process.role()
            answer = await found.admin.merge_patch(ROLES, "role", CHANGE)
            write.answered(answer, after=before)
        assert set(await woken(process, 29)) == keys(some) - {author}


async def test_the_observer_sees_an_object_for_whoever_has_it_on_record() -> None:
    async with world() as found:
        process, some = await watched(found, 30)
        stranger = await found.instance("stranger")
        seen = [
            process.observer.sees(ROLES, None, "role", Key(one.namespace, one.name))
            for one in (some[0], some[25], stranger)
        ]
        assert seen == [True, True, False]


async def test_others_get_the_loop_while_thousands_are_enqueued() -> None:
    number = 20 * AT_ONCE
    told: list[Key] = []
    turns = 0

    def sharers(_: Place) -> Iterator[InstanceIdentity]:
        return (InstanceIdentity("ns", f"i{one}", "u") for one in range(number))

    async with asyncio.TaskGroup() as group:
        spread = Spread(group, sharers, told.append)
        spread.tell(PLACE, frozenset({Key("ns", "i7")}))
        for before in itertools.count():
            await asyncio.sleep(0)
            assert len(told) <= (before + 2) * AT_ONCE
            turns += 1
            if len(told) == number - 1:
                break
    assert turns >= 20
    assert Key("ns", "i7") not in told


async def test_a_change_during_another_one_is_told_to_all_again_and_those_before_it_once() -> None:
    told: list[Key] = []
    rounds = itertools.count(1)

    def sharers(_: Place) -> Iterator[InstanceIdentity]:
        number = next(rounds)
        return (InstanceIdentity("ns", f"{number}-{one}", "u") for one in range(2 * AT_ONCE))

    async with asyncio.TaskGroup() as group:
        spread = Spread(group, sharers, told.append)
        for _ in range(3):
            spread.tell(PLACE, frozenset())
        await asyncio.sleep(0)
        assert told
        for _ in range(3):
            spread.tell(PLACE, frozenset())
    assert len(told) == 4 * AT_ONCE
    assert len(set(told)) == len(told)


async def test_nothing_is_enqueued_after_the_end() -> None:
    told: list[Key] = []

    def sharers(_: Place) -> Iterator[InstanceIdentity]:
        return (InstanceIdentity("ns", f"i{one}", "u") for one in range(10 * AT_ONCE))

    async with asyncio.TaskGroup() as group:
        spread = Spread(group, sharers, told.append)
        spread.tell(PLACE, frozenset())
        await asyncio.sleep(0)
        spread.close()
    assert len(told) == AT_ONCE
