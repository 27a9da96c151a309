"""Who shares a cluster-scoped object: what is written on it, and who is asked before a deletion."""

import sys
from types import FrameType

import pytest

from kubeio.errors import Conflict
from kudo.api import JsonObject
from kudo.identity import InstanceIdentity
from kudo.objects.sharing import last_sharer, names_everybody, shared_by, sharers
from kudo_reconciler.objects.sharing.left_shares import LeftShares
from kudo_reconciler.resources import INVENTORIES
from tests.unit.reconciler.objects.sharing_world import (
    PLACE,
    ROLES,
    Process,
    World,
    listed,
    text_of,
    world,
)


async def shared(found: World, count: int) -> tuple[Process, list[InstanceIdentity]]:
    """Have Instances on record share the role, one after the other."""
    (process,), some = found.processes, await found.recorded(count)
    for one in some:
        await process.share(one)
    return process, some


# What is written


async def test_up_to_sixteen_are_listed_and_of_more_the_last_one_is_named() -> None:
    async with world() as found:
        process, some = await shared(found, 16)
        assert text_of(await process.role()) == shared_by(some)
        one, another = await found.recorded(2, first=16)
        role = await process.share(one)
        assert text_of(role).startswith("more than 16 Instances, the last one ns i0016 ")
        assert last_sharer(role["metadata"]) == one
        role = await process.share(another)
        assert last_sharer(role["metadata"]) == another
        assert listed(role) == some


async def test_each_share_changes_the_object() -> None:
    async with world() as found:
        process, _ = await shared(found, 1)
        versions = {(await process.role())["metadata"]["resourceVersion"]}
        for number in range(1, 40):
            (one,) = await found.recorded(1, first=number)
            versions.add((await process.share(one))["metadata"]["resourceVersion"])
        assert len(versions) == 40


async def test_who_is_named_already_changes_nothing() -> None:
    async with world() as found:
        process, some = await shared(found, 20)
        before = await process.role()
        for one in (some[0], some[-1]):
            assert await process.share(one) == before


async def test_when_few_are_left_all_are_listed_again() -> None:
    async with world() as found:
        process, some = await shared(found, 18)
        before = await process.role()
        role = await process.leave(some[16])
        # Neither listed nor the last one: the object says already what it has to.
        assert role == before
        role = await process.leave(some[3])
        assert text_of(role) == shared_by([one for one in some if one not in (some[16], some[3])])


async def test_the_last_one_leaves() -> None:
    async with world() as found:
        process, some = await shared(found, 20)
        role = await process.leave(some[-1])
        last = last_sharer(role["metadata"])
        assert last in some[:-1]
        assert listed(role) == some[:16]


async def test_nobody_is_left() -> None:
    async with world() as found:
        process, some = await shared(found, 17)
        for one in some:
            await process.leave(one)
        assert "annotations" not in (await process.role())["metadata"]


async def test_room_on_the_object_goes_to_who_shares_it_next() -> None:
    async with world() as found:
        process, some = await shared(found, 30)
        await process.leave(some[0])
        role = await process.share(some[20])
        assert listed(role) == [*some[1:16], some[20]]


async def test_a_share_costs_the_same_with_two_and_with_hundreds() -> None:
    async with world() as found:
        process, some = await shared(found, 1)
        sent = []
        for first in (1, 300):
            await found.recorded(299 if first == 1 else 1, first=first)
            process.sent.clear()
            await process.share(InstanceIdentity("ns", "i0000", some[0].uid))
            sent.append(list(process.sent))
        assert sent[0] == sent[1] == ["GET role", "PATCH role"]


# Taking over from older releases


async def test_who_has_no_record_stays_listed_whatever_the_number() -> None:
    async with world() as found:
        (process,) = found.processes
        former = [await found.instance(f"old{number:02}") for number in range(40)]
        await found.annotate(shared_by(former))
        (one,) = await found.recorded(1)
        role = await process.share(one)
        assert last_sharer(role["metadata"]) == one
        assert set(listed(role)) == set(former)
        # From now on the record tells of these, and the list shrinks.
        for each in former[:30]:
            await found.record(each)
        role = await process.share(one)
        assert set(former[30:]) <= set(listed(role))
        assert len(listed(role)) == 16


async def test_who_is_gone_is_not_listed_any_more() -> None:
    async with world() as found:
        (process,) = found.processes
        ghosts = [InstanceIdentity("ns", f"ghost{number}", "none") for number in range(40)]
        await found.annotate(shared_by(ghosts))
        (one,) = await found.recorded(1)
        assert text_of(await process.share(one)) == shared_by([one])


async def test_a_share_of_a_former_release_counts_before_a_deletion() -> None:
    async with world() as found:
        (process,) = found.processes
        (one,), former = await found.recorded(1), await found.instance("old")
        await found.annotate(shared_by([one, former]))
        assert await process.another(one) == former


# Who is asked before a deletion


async def test_one_that_exists_is_enough() -> None:
    async with world() as found:
        process, some = await shared(found, 200)
        process.sent.clear()
        assert await process.another(some[0]) == some[1]
        assert process.sent == ["GET role", "GET i0001"]


async def test_those_on_record_are_asked_when_nobody_is_left_that_is_listed() -> None:
    async with world() as found:
        process, some = await shared(found, 20)
        for one in (*some[:16], some[19]):
            await found.delete(one)
        assert await process.another(some[0]) == some[16]


async def test_nobody_shares_an_object_when_all_are_gone() -> None:
    async with world() as found:
        process, some = await shared(found, 40)
        for one in some[1:]:
            await found.delete(one)
        assert await process.another(some[0]) is None


async def test_a_record_counts_where_somebody_removed_the_annotation() -> None:
    async with world() as found:
        process, some = await shared(found, 2)
        await found.annotate(None)
        assert await process.another(some[0]) == some[1]


async def test_who_is_only_on_record_of_an_object_that_names_all_does_not_count() -> None:
    async with world() as found:
        process, some = await shared(found, 16)
        await found.recorded(1, first=16)
        for one in some[1:]:
            await process.leave(one)
        process.sent.clear()
        assert await process.another(some[0]) is None
        assert process.sent == ["GET role"]


async def test_a_list_that_an_older_release_wrote_may_lack_some_that_are_on_record() -> None:
    async with world() as found:
        process, some = await shared(found, 18)
        ghosts = [InstanceIdentity("ns", f"ghost{number}", "none") for number in range(16)]
        await found.annotate(shared_by([*ghosts, some[0]]))
        assert await process.another(some[0]) == some[1]


async def test_a_record_of_an_instance_that_is_gone_or_another_one_now_does_not_count() -> None:
    async with world() as found:
        process, some = await shared(found, 1)
        await found.annotate(None)
        (crashed,) = await found.recorded(1, first=1)
        assert await process.another(some[0]) == crashed
        await found.delete(crashed)
        assert await process.another(some[0]) is None
        again = await found.instance(crashed.name)
        assert again.uid != crashed.uid
        assert await process.another(some[0]) is None


async def test_a_record_that_has_lost_the_object_since_does_not_count() -> None:
    async with world() as found:
        process, some = await shared(found, 1)
        await found.annotate(None)
        mine = await found.instance("mine")
        await found.record(mine)
        (stored,) = [
            one
            for one in (await found.admin.list(INVENTORIES, namespace="ns")).items
            if one["metadata"]["name"].startswith("mine.")
        ]
        stored["objects"] = []
        # The cache does not know yet.
        await found.admin.replace(INVENTORIES, stored)
        assert process.sharers.inventories.has_share(mine, PLACE)
        assert await process.another(some[0]) is None


async def test_each_of_two_that_leave_together_does_not_count_for_the_other() -> None:
    async with world() as found:
        process, some = await shared(found, 2)
        await process.leave(some[0])
        # Its record tells of the object until the end of its run.
        assert process.sharers.inventories.has_share(some[0], PLACE)
        assert await process.another(some[1]) is None
        await process.share(some[0])
        assert await process.another(some[1]) == some[0]


def test_shares_that_were_given_up_are_forgotten_in_their_order() -> None:
    one, two, three = (InstanceIdentity("ns", name, name) for name in "abc")
    left = LeftShares(most=2)
    for each in (one, two, three):
        left.add(each, PLACE)
    assert [(each, PLACE) in left for each in (one, two, three)] == [False, True, True]
    left.discard(two, PLACE)
    assert (two, PLACE) not in left


# Two processes


@pytest.mark.parametrize("count", [1, 16, 30])
async def test_a_delayed_deletion_of_a_former_leader_spares_what_is_shared_since(
    count: int,
) -> None:
    async with world() as found:
        former, some = await shared(found, count)
        leader = found.process()
        for one in some:
            await found.delete(one)
        role = await former.role()
        # It has made sure that nobody shares the object, and its request is on the way.
        assert await former.sharers.another(role["metadata"], PLACE, some[0]) is None
        (late,) = await found.recorded(1, first=500)
        await leader.share(late)
        metadata = role["metadata"]
        with pytest.raises(Conflict):
            await former.client.delete(
                ROLES, "role", uid=metadata["uid"], resource_version=metadata["resourceVersion"]
            )
        assert await former.another(some[0]) == late


async def test_a_process_whose_cache_may_lack_sharers_deletes_nothing_that_names_not_all() -> None:
    async with world() as found:
        process, some = await shared(found, 17)
        for one in some:
            await found.delete(one)
        process.sharers.inventories.freshness.forget_term()
        with pytest.raises(Conflict, match="who shares ClusterRole role is not known yet"):
            await process.another(some[0])
        await found.annotate(shared_by(some[:3]))
        assert await process.another(some[0]) is None


@pytest.mark.parametrize("gone", [3, 17])
async def test_a_process_whose_cache_may_lack_sharers_goes_on_to_say_that_they_are_many(
    gone: int,
) -> None:
    async with world() as found:
        _, some = await shared(found, 17)
        started = found.process()
        started.sharers.inventories.freshness.forget_term()
        for one in some[:gone]:
            role = await started.leave(one)
            assert not names_everybody(role["metadata"])
        (late,) = await found.recorded(1, first=17)
        role = await started.share(late)
        assert last_sharer(role["metadata"]) == late


async def test_a_process_with_empty_caches_removes_nobody() -> None:
    async with world() as found:
        _, some = await shared(found, 10)
        started = found.process()
        late = await found.instance("late")
        role = await started.share(late)
        assert set(sharers(role["metadata"])) == {*some, late}


async def test_the_work_of_a_share_does_not_grow_with_the_sharers() -> None:
    async with world() as found:
        process, _ = await shared(found, 20)
        calls = []
        for first, more in ((20, 1), (100, 400), (600, 1)):
            some = await found.recorded(more, first=first)
            metadata = (await process.role())["metadata"]
            calls.append(await _calls(process, metadata, some[-1]))
        assert calls[0] == calls[1] == calls[2]


async def _calls(process: Process, metadata: JsonObject, one: InstanceIdentity) -> int:
    """Return the number of calls of functions that a share takes, but for its requests."""
    count = 0

    def called(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sharers(metadata)  # What it has read it remembers.
    sys.setprofile(called)
    try:
        await process.sharers.others(metadata, PLACE, one)
        await process.sharers.joined(metadata, PLACE, one)
    finally:
        sys.setprofile(None)
    return count
