"""Slots: a bound for the process, and one for each namespace."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo_reconciler.execution.slots import Slots


async def holding(slots: Slots, namespace: str, release: asyncio.Event, log: list[str]) -> None:
    async with slots.taken(namespace):
        log.append(namespace)
        await release.wait()


async def settle() -> None:
    for _ in range(10):
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
