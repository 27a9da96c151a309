"""Slots: a bound for the process, and one for each namespace."""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo_reconciler.execution.operations import Slots
from tests.support.loops.virtual_loop import run_virtually
from tests.unit.cancelling import cancel_at_each_await


async def holding(slots: Slots, namespace: str, release: asyncio.Event, log: list[str]) -> None:
    async with slots.taken(namespace):
        log.append(namespace)
        await release.wait()


async def settle() -> None:
    for _ in range(100):
        await asyncio.sleep(0)


async def test_one_namespace_never_holds_all_slots() -> None:
    slots, release, log = Slots(4, 2), asyncio.Event(), list[str]()
    async with asyncio.TaskGroup() as group:
        for _ in range(10):
            group.create_task(holding(slots, "noisy", release, log))
        await settle()
        assert log == ["noisy"] * 2
        group.create_task(holding(slots, "quiet", release, log))
        await settle()
        assert log == ["noisy", "noisy", "quiet"]
        assert slots.held() == {"noisy": 2, "quiet": 1}
        assert slots.waiting() == {"noisy": 8}
        release.set()
    assert Counter(log) == {"noisy": 10, "quiet": 1}


async def test_the_next_slot_goes_to_the_namespace_that_waits_longest_for_one() -> None:
    slots, log = Slots(1, 1), list[str]()
    releases = {name: asyncio.Event() for name in ("a", "b", "c")}
    async with asyncio.TaskGroup() as group:
        for namespace in ("a", "a", "a", "b", "c"):
            group.create_task(holding(slots, namespace, releases[namespace], log))
        await settle()
        assert log == ["a"]
        for event in releases.values():
            event.set()
    assert log == ["a", "a", "b", "c", "a"]


async def test_a_waiting_task_that_is_cancelled_takes_no_slot() -> None:
    slots, release, log = Slots(1, 1), asyncio.Event(), list[str]()
    first = asyncio.create_task(holding(slots, "a", release, log))
    await settle()
    waiting = asyncio.create_task(holding(slots, "a", release, log))
    await settle()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert slots.waiting() == {}
    release.set()
    await first
    await asyncio.wait_for(holding(slots, "a", release, log), 60)
    assert log == ["a", "a"]


async def test_a_slot_that_is_granted_to_a_cancelled_task_goes_on_to_the_next() -> None:
    slots, release, log = Slots(1, 1), asyncio.Event(), list[str]()
    first = asyncio.create_task(holding(slots, "a", release, log))
    await settle()
    waiting = [asyncio.create_task(holding(slots, "b", release, log)) for _ in range(2)]
    await settle()
    release.set()
    # The release grants the slot in this very turn; the cancellation comes before it is used.
    await first
    waiting[0].cancel()
    await asyncio.wait(waiting)
    assert log[0] == "a"
    assert "b" in log


@given(
    limit=st.integers(1, 5),
    share=st.integers(1, 3),
    desired=st.lists(st.sampled_from("abc"), max_size=25),
    cancelled=st.sets(st.integers(0, 24)),
)
def test_the_bounds_hold_and_everybody_is_served(
    limit: int, share: int, desired: list[str], cancelled: set[int]
) -> None:
    held: Counter[str] = Counter()
    served = list[str]()

    async def use(slots: Slots, namespace: str) -> None:
        async with slots.taken(namespace):
            held[namespace] += 1
            assert held.total() <= limit
            assert held[namespace] <= share
            await asyncio.sleep(0)
            held[namespace] -= 1
            served.append(namespace)

    async def scenario() -> None:
        slots = Slots(limit, share)
        tasks = [asyncio.create_task(use(slots, namespace)) for namespace in desired]
        await asyncio.sleep(0)
        for number in cancelled:
            if number < len(tasks) and not held.total():
                tasks[number].cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(r is None or isinstance(r, asyncio.CancelledError) for r in results)
        for namespace in "abc":
            await asyncio.wait_for(use(slots, namespace), 60)

    asyncio.run(scenario())


async def test_a_holder_that_is_cancelled_at_any_await_gives_its_slot_back() -> None:
    slots, others = Slots(1, 1), list[asyncio.Task[None]]()

    async def hold(namespace: str) -> None:
        async with slots.taken(namespace):
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    def behind_another() -> Coroutine[Any, Any, None]:
        others.append(asyncio.create_task(hold("b")))
        return hold("a")

    async def all_are_free() -> None:
        async with asyncio.timeout(60):
            await asyncio.gather(*others, hold("a"), hold("b"))
        assert (slots.held(), slots.waiting()) == ({}, {})

    assert await cancel_at_each_await(behind_another, all_are_free) > 4


@pytest.mark.parametrize("together", [True, False])
async def test_twenty_namespaces_whose_operations_hang_leave_slots_to_others(
    together: bool,
) -> None:
    slots, never, log = Slots(64, 16), asyncio.Event(), list[str]()
    names = [f"hanging-{number}" for number in range(20)]
    # All of them at the same time, or one after the other, each with all that it has.
    order = names * 30 if together else sorted(names * 30)
    hanging = [asyncio.create_task(holding(slots, name, never, log)) for name in order]
    await settle()
    assert max(slots.held().values()) <= 16
    assert min(slots.held().values()) >= 1
    finished = asyncio.Event()
    finished.set()
    others = [asyncio.create_task(holding(slots, "other", finished, log)) for _ in range(20)]
    await settle()
    assert log[-20:] == ["other"] * 20
    for task in (*hanging, *others):
        task.cancel()
    await asyncio.wait([*hanging, *others])
    assert (slots.held(), slots.waiting()) == ({}, {})


@given(
    limit=st.integers(2, 64),
    share=st.integers(1, 63),
    hanging=st.lists(st.integers(0, 70), max_size=200),
)
def test_whoever_holds_none_gets_a_slot_while_fewer_than_half_as_many_namespaces_hold_some(
    limit: int, share: int, hanging: list[int]
) -> None:
    share = min(share, limit - 1)

    async def scenario() -> None:
        slots, never = Slots(limit, share), asyncio.Event()
        tasks = [
            asyncio.create_task(holding(slots, f"hanging-{number}", never, []))
            for number in hanging
        ]
        await asyncio.sleep(0)
        held = Counter(slots.held())
        assert held.total() <= limit
        assert max(held.values(), default=0) <= share
        if len(set(hanging)) < min(limit // 2, limit - share):
            async with slots.taken("other"):
                assert slots.held()["other"] == 1
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        assert (slots.held(), slots.waiting()) == ({}, {})

    asyncio.run(scenario())


async def test_a_share_above_one_half_is_had() -> None:
    slots, end, log = Slots(10, 8), asyncio.Event(), list[str]()
    tasks = [asyncio.create_task(holding(slots, "large", end, log)) for _ in range(10)]
    await settle()
    assert slots.held() == {"large": 8}
    end.set()
    await asyncio.gather(*tasks)


@pytest.mark.parametrize(("seconds", "together"), [(0.1, 6), (1.5, 1)])
def test_beside_namespaces_that_hang_only_one_whose_operations_are_quick_gets_several_slots(
    seconds: float, together: int
) -> None:
    async def scenario() -> None:
        slots, never = Slots(64, 16), asyncio.Event()
        most = 0

        async def work() -> None:
            nonlocal most
            async with slots.taken("other"):
                await asyncio.sleep(seconds)
                most = max(most, slots.held()["other"])

        hanging = [
            asyncio.create_task(holding(slots, f"hanging-{number}", never, []))
            for number in sorted([*range(20)] * 30)
        ]
        await asyncio.sleep(0)
        assert slots.running == 50
        async with asyncio.TaskGroup() as group:
            for _ in range(20):
                group.create_task(work())
        assert most == together
        for task in hanging:
            task.cancel()
        await asyncio.wait(hanging)
        assert (slots.held(), slots.waiting(), slots.running) == ({}, {}, 0)
        assert not slots._quick

    run_virtually(scenario())
