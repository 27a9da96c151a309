"""Who shares a cluster-scoped object: what is written on it, and who is asked before a deletion."""

import asyncio
import sys
from types import FrameType

import pytest

from kubeio.errors import Conflict, Invalid, NotFound
from kudo.api import JsonObject
from kudo.api.identity import InstanceIdentity
from kudo.objects.sharing import MOST_LISTED, shared_by, sharers
from kudo_reconciler.common.keys import INSTANCES
from tests.unit.reconciler.objects.sharing_world import (
    ENTRY,
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


# What is listed


async def test_all_are_listed_and_of_many_as_many_as_there_is_room_for() -> None:
    async with world() as found:
        process, some = await shared(found, MOST_LISTED)
        assert text_of(await process.role()) == shared_by(some)
        for one in await found.recorded(3, first=MOST_LISTED):
            role = await process.share(one)
            assert one in listed(role)
            assert len(listed(role)) == MOST_LISTED


async def test_each_share_changes_the_object() -> None:
    async with world() as found:
        process, _ = await shared(found, 1)
        versions = {(await process.role())["metadata"]["resourceVersion"]}
        for number in range(1, 40):
            (one,) = await found.recorded(1, first=number)
            versions.add((await process.share(one))["metadata"]["resourceVersion"])
        assert len(versions) == 40


async def test_who_is_listed_already_changes_nothing() -> None:
    async with world() as found:
        process, some = await shared(found, 40)
        before = await process.role()
        for one in (some[0], some[-1]):
            assert await process.share(one) == before


async def test_when_some_of_many_leave_others_take_their_room() -> None:
    async with world() as found:
        process, some = await shared(found, 35)
        for one in some[:5]:
            role, another = await process.leave(one)
            assert another in some[1:]
        # The next ones were not listed.
        assert listed(role) == some[5:]


async def test_who_is_not_listed_leaves_without_a_write_to_the_object() -> None:
    async with world() as found:
        process, some = await shared(found, 35)
        before = await process.role()
        (unlisted, *_) = [one for one in some if one not in listed(before)]
        after, another = await process.leave(unlisted)
        assert after == before
        assert another is not None


async def test_nobody_is_left() -> None:
    async with world() as found:
        process, some = await shared(found, 35)
        for one in some[:-1]:
            assert (await process.leave(one))[1] is not None
        assert (await process.leave(some[-1]))[1] is None


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


# Taking over from other releases


async def test_who_has_no_record_stays_listed_whatever_the_number() -> None:
    async with world() as found:
        (process,) = found.processes
        former = [await found.instance(f"old{number:02}") for number in range(40)]
        await found.annotate(shared_by(former))
        (one,) = await found.recorded(1)
        role = await process.share(one)
        assert set(listed(role)) == {*former, one}
        # From now on the record tells of these, and the list shrinks.
        for each in former[:30]:
            await found.record(each)
        role = await process.share(one)
        assert {*former[30:], one} <= set(listed(role))
        assert len(listed(role)) == MOST_LISTED


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


async def test_what_the_release_before_wrote_of_many_is_listed_again() -> None:
    async with world() as found:
        process, some = await shared(found, 20)
        last = f"{some[19].namespace} {some[19].name} {some[19].uid}"
        await found.annotate(f"more than 16 Instances, the last one {last},{shared_by(some[:3])}")
        assert await process.another(some[0]) is not None
        assert text_of(await process.share(some[5])) == shared_by(some)


# Who is asked before a deletion


async def test_one_that_exists_is_enough() -> None:
    async with world() as found:
        process, some = await shared(found, 200)
        process.sent.clear()
        assert await process.another(some[0]) in some[1:]
        (role, other) = process.sent
        assert (role, other[:5]) == ("GET role", "GET i")


async def test_nobody_shares_an_object_when_all_are_gone() -> None:
    async with world() as found:
        process, some = await shared(found, 40)
        for one in some[1:]:
            await found.delete(one)
        assert await process.another(some[0]) is None


@pytest.mark.parametrize("count", [2, 40])
async def test_the_record_decides_whatever_the_list_says(count: int) -> None:
    async with world() as found:
        process, some = await shared(found, count)
        mine = some[0]
        for text in (None, shared_by([mine]), ",,"):
            await found.annotate(text)
            assert await process.another(mine) in some[1:]
        # All of them live, and none has it on record any more.
        for one in some[1:]:
            await process.leave(one)
        await found.annotate(shared_by(some))
        assert await process.another(mine) is None


async def test_who_has_an_object_on_record_and_has_not_applied_it_does_not_count() -> None:
    async with world() as found:
        process, some = await shared(found, 2)
        (late,) = await found.recorded(1, 2, ENTRY)
        assert await process.another(late) in some
        for one in some:
            role, another = await process.leave(one)
        assert another is None
        # It applies it now, and the deletion fails.
        await process.share(late)
        with pytest.raises(Conflict):
            await process.delete(role)
        assert await process.another(some[0]) == late


async def test_an_object_that_was_made_again_is_shared_by_who_has_applied_that_one() -> None:
    async with world() as found:
        process, some = await shared(found, 3)
        await found.admin.delete(ROLES, "role")
        labels = {"heritage": "kudo"}
        metadata = {"name": "role", "labels": labels}
        body = {"apiVersion": ROLES.api_version, "kind": ROLES.kind, "metadata": metadata}
        await found.admin.create(ROLES, {**body, "rules": []})
        await process.share(some[1])
        assert await process.another(some[0]) == some[1]
        assert await process.another(some[1]) is None


async def test_nobody_is_left_out_of_who_shares_what_many_do() -> None:
    async with world() as found:
        process, some = await shared(found, MOST_LISTED + 8)
        (unknown,) = await found.recorded(1, 500, ENTRY)
        await process.share(unknown)
        for one in some:
            await found.delete(one)
        await found.annotate(shared_by(some[:MOST_LISTED]))
        assert await process.another(some[0]) == unknown


async def test_a_record_of_an_instance_that_is_gone_or_another_one_now_does_not_count() -> None:
    async with world() as found:
        process, some = await shared(found, 1)
        await found.annotate(None)
        (crashed,) = await found.recorded(1, 1, ENTRY)
        assert await process.another(some[0]) == crashed
        await found.delete(crashed)
        assert await process.another(some[0]) is None
        again = await found.instance(crashed.name)
        assert again.uid != crashed.uid
        assert await process.another(some[0]) is None


async def test_who_is_taken_off_the_record_by_hand_counts_until_that_is_restored() -> None:
    async with world() as found:
        process, some = await shared(found, 2)
        recorder = process.shares.recorder
        before = recorder.of(some[1])
        recorder.damage.add(some[1], before, before.without([PLACE]))
        await recorder.inventories.save(some[1], lambda record: record.without([PLACE]))
        assert await process.another(some[0]) == some[1]
        # The next write restores it.
        await recorder.save(some[1], lambda record: record)
        assert not recorder.is_damaged(some[1])
        await found.annotate(shared_by(some[:1]))
        assert await process.another(some[0]) == some[1]


# Several that leave or come at the same time


@pytest.mark.parametrize("count", [2, 3, 40])
async def test_of_some_that_leave_together_the_last_to_ask_finds_nobody(count: int) -> None:
    async with world() as found:
        process, some = await shared(found, count)

        async def leave(one: InstanceIdentity) -> InstanceIdentity | None:
            while True:
                try:
                    return (await process.leave(one))[1]
                except (Conflict, Invalid):
                    continue

        others = await asyncio.gather(*map(leave, some))
        assert None in others
        # They are on record until the end of their runs, as such that leave.
        records = [process.sharers.inventories.cached(one) for one in some]
        assert all(record and record.entries[PLACE].leaving for record in records)


async def test_who_comes_back_counts_again() -> None:
    async with world() as found:
        process, some = await shared(found, 2)
        await process.leave(some[0])
        assert await process.another(some[1]) is None
        back = process.shares.recorder
        await back.save(some[0], lambda record: record.merged([ENTRY]))
        await process.share(some[0])
        assert await process.another(some[1]) == some[0]


@pytest.mark.parametrize("count", [2, MOST_LISTED, 40])
async def test_a_deletion_that_was_decided_before_a_share_fails(count: int) -> None:
    async with world() as found:
        process, some = await shared(found, count)
        for one in some:
            role, another = await process.leave(one)
        assert another is None
        (late,) = await found.recorded(1, first=500)
        await process.share(late)
        with pytest.raises(Conflict):
            await process.delete(role)
        assert await process.another(some[0]) == late


async def test_a_share_after_a_deletion_creates_the_object_again() -> None:
    async with world() as found:
        process, some = await shared(found, 1)
        role, another = await process.leave(some[0])
        (late,) = await found.recorded(1, first=500)
        assert another is None
        await process.delete(role)
        with pytest.raises(NotFound):
            await process.share(late, role)


async def test_a_crash_while_a_share_is_given_up_keeps_the_object_for_who_comes_back() -> None:
    async with world() as found:
        former, some = await shared(found, 2)
        leader = found.process()
        for one in some:
            body = await found.admin.get(INSTANCES, one.name, namespace="ns")
            leader.sharers.instances.informer.observe(body)
            await leader.sharers.inventories.live(one)
        # The former leader has taken it off the list, and dies before the record is written.
        role = await former.shares.unlist(ROLES, await former.role(), some[0], client=former.client)
        assert listed(role) == [some[1]]
        assert await leader.another(some[1]) == some[0]
        before = role["metadata"]["resourceVersion"]
        role = await leader.share(some[0])
        assert listed(role) == some
        assert role["metadata"]["resourceVersion"] != before


# Two processes


@pytest.mark.parametrize("count", [1, 16, 40])
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
        assert await former.sharers.another(ROLES, role["metadata"], some[0]) is None
        (late,) = await found.recorded(1, first=500)
        await leader.share(late)
        with pytest.raises(Conflict):
            await former.delete(role)
        assert await former.another(some[0]) == late


async def test_a_process_whose_cache_may_lack_sharers_believes_a_list_that_is_not_full() -> None:
    async with world() as found:
        _, some = await shared(found, 3)
        started = found.process()
        started.sharers.inventories.freshness.forget_term()
        for one in some:
            await started.sharers.inventories.live(one)
        assert await started.another(some[0]) == some[1]
        for one in some[1:]:
            await found.delete(one)
        assert await started.another(some[0]) is None


async def test_a_process_whose_cache_may_lack_sharers_deletes_nothing_of_many() -> None:
    async with world() as found:
        process, some = await shared(found, 33)
        for one in some:
            await found.delete(one)
        process.sharers.inventories.freshness.forget_term()
        with pytest.raises(Conflict, match="who shares ClusterRole role is not known yet"):
            await process.another(some[0])
        with pytest.raises(Conflict, match="who shares ClusterRole role is not known yet"):
            await process.leave(some[0])


async def test_a_process_with_empty_caches_removes_nobody() -> None:
    async with world() as found:
        _, some = await shared(found, 10)
        started = found.process()
        late = await found.instance("late")
        role = await started.share(late)
        assert set(sharers(role["metadata"])) == {*some, late}


async def test_the_work_of_a_share_does_not_grow_up_to_fifty_thousand_sharers() -> None:
    async with world() as found:
        process, _ = await shared(found, 40)
        (one, other) = await found.recorded(2, first=40)
        metadata = (await process.role())["metadata"]
        few = [await _calls(process, metadata, one), await _requests(process, one)]
        for number in range(50_000):
            found.put_on_record(process, InstanceIdentity("ns", f"x{number}", f"u{number}"))
        many = [await _calls(process, metadata, other), await _requests(process, other)]
        # Sorting compares more or less, by the hashes of this process.
        assert many[0] < 1.05 * few[0]
        assert many[1] == few[1]
        assert len([*process.sharers.inventories.some_sharers(PLACE)]) == 50_040


async def _requests(process: Process, one: InstanceIdentity) -> int:
    """Return the number of requests of who shares an object, asks for others, and leaves."""
    process.sent.clear()
    await process.share(one)
    await process.another(one)
    await process.leave(one)
    return len(process.sent)


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
