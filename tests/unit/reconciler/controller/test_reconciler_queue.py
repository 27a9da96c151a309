"""The work queue: one key never twice, appointments, backoff, closing.

Time is a loop that jumps to the next timer as soon as nothing else is left to do, so that a
minute of backoff costs no time at all.
"""

import asyncio
import heapq
import random
import selectors
from collections import Counter
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo_reconciler.common.keys import Key
from kudo_reconciler.controller.workqueue import QueueClosed, WorkQueue, namespace_limit
from tests.unit.cancelling import cancel_at_each_await

T = TypeVar("T")
A, B, C = (Key("ns", name) for name in "abc")


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps over every wait."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_NeverWaiting(self))

    def time(self) -> float:
        return self.now


class _NeverWaiting(selectors.DefaultSelector):
    def __init__(self, loop: JumpingLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise AssertionError("everything waits, and nothing is going to happen")
        self._loop.now += timeout
        return super().select(0)


def run(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        return runner.run(work)


def now() -> float:
    return asyncio.get_running_loop().time()


async def taken(queue: WorkQueue) -> tuple[Key, float]:
    """Take the next key, give it back, and tell when it came."""
    key = await queue.get()
    queue.done(key)
    return key, now()


async def nothing_within(queue: WorkQueue, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await queue.get()
    except TimeoutError:
        return True
    return False


# Keys


def test_a_key_reads_as_kubernetes_writes_it() -> None:
    assert str(Key("ns", "i")) == "ns/i"


def test_keys_come_in_the_order_in_which_they_were_added() -> None:
    async def work() -> list[Key]:
        queue = WorkQueue()
        for key in (B, A, C):
            queue.add(key)
        assert len(queue) == 3
        return [await queue.get() for _ in range(3)]

    assert run(work()) == [B, A, C]


def test_a_key_waits_once_however_often_it_is_added() -> None:
    async def work() -> None:
        queue = WorkQueue()
        for _ in range(3):
            queue.add(A)
        assert len(queue) == 1
        queue.done(await queue.get())
        assert await nothing_within(queue, 1000)

    run(work())


def test_a_key_in_work_is_given_to_nobody_else_and_comes_back_once() -> None:
    async def work() -> None:
        queue = WorkQueue()
        queue.add(A)
        assert await queue.get() == A
        queue.add(A)
        queue.add(A)
        assert await nothing_within(queue, 1000)
        queue.done(A)
        assert await taken(queue) == (A, 1000)
        assert await nothing_within(queue, 1000)

    run(work())


def test_one_key_in_work_holds_up_no_other() -> None:
    async def work() -> None:
        queue = WorkQueue()
        queue.add(A)
        await queue.get()
        queue.add(A)
        queue.add(B)
        assert await queue.get() == B

    run(work())


def test_every_waiting_worker_gets_its_key() -> None:
    async def work() -> set[Key]:
        queue = WorkQueue()
        async with asyncio.TaskGroup() as group:
            workers = [group.create_task(queue.get()) for _ in range(3)]
            await asyncio.sleep(1)
            for key in (A, B, C):
                queue.add(key)
        return {worker.result() for worker in workers}

    assert run(work()) == {A, B, C}


def test_a_worker_that_stops_waiting_takes_no_key_along() -> None:
    async def work() -> None:
        queue = WorkQueue()
        assert await nothing_within(queue, 1)
        queue.add(A)
        assert await queue.get() == A

    run(work())


# Appointments


def test_a_key_comes_after_its_delay() -> None:
    async def work() -> tuple[Key, float]:
        queue = WorkQueue()
        queue.add_after(A, 5)
        assert len(queue) == 0
        return await taken(queue)

    assert run(work()) == (A, 5)


@pytest.mark.parametrize("delays", [(5, 9), (9, 5), (5, 5), (9, 5, 7)])
def test_of_several_appointments_the_earliest_stands_alone(delays: tuple[int, ...]) -> None:
    async def work() -> None:
        queue = WorkQueue()
        for delay in delays:
            queue.add_after(A, delay)
        assert await taken(queue) == (A, 5)
        assert await nothing_within(queue, 1000)

    run(work())


def test_a_key_that_is_added_needs_its_appointment_no_more() -> None:
    async def work() -> None:
        queue = WorkQueue()
        queue.add_after(A, 5)
        queue.add(A)
        assert await taken(queue) == (A, 0)
        assert await nothing_within(queue, 1000)

    run(work())


def test_an_appointment_in_the_time_of_a_worker_waits_for_the_worker() -> None:
    async def work() -> None:
        queue = WorkQueue()
        queue.add(A)
        await queue.get()
        queue.add_after(A, 5)
        assert await nothing_within(queue, 100)
        queue.done(A)
        assert await taken(queue) == (A, 100)

    run(work())


# Backoff


def test_the_delay_doubles_with_each_failure_up_to_a_minute_and_is_jittered() -> None:
    async def work() -> list[float]:
        queue = WorkQueue(random.Random(1))
        return [queue.retry(A) for _ in range(100)]

    delays = run(work())
    ceilings = [min(60.0, 0.25 * 2**failures) for failures in range(100)]
    assert all(top / 2 <= delay <= top for delay, top in zip(delays, ceilings, strict=True))
    assert len(set(delays[20:])) == 80


def test_a_failed_key_comes_back_after_the_delay_that_was_told() -> None:
    async def work() -> None:
        queue = WorkQueue(random.Random(1))
        delay = queue.retry(A)
        assert await taken(queue) == (A, delay)

    run(work())


def test_after_a_success_the_delays_start_over_and_other_keys_never_had_them() -> None:
    async def work() -> tuple[float, float]:
        queue = WorkQueue(random.Random(1))
        for _ in range(10):
            queue.retry(A)
        other = queue.retry(B)
        queue.forget_failures(A)
        queue.forget_failures(C)
        return queue.retry(A), other

    assert all(delay <= 0.25 for delay in run(work()))


def test_a_change_does_not_wait_for_the_backoff() -> None:
    async def work() -> None:
        queue = WorkQueue()
        for _ in range(10):
            queue.retry(A)
        queue.add(A)
        assert await taken(queue) == (A, 0)

    run(work())


# Nudges


def test_a_nudge_brings_an_idle_key_at_once_and_only_once() -> None:
    async def work() -> None:
        queue = WorkQueue()
        queue.nudge(A)
        queue.nudge(A)
        assert await taken(queue) == (A, 0)
        assert await nothing_within(queue, 1000)

    run(work())


def test_a_nudge_does_not_shorten_the_backoff_of_a_failing_key() -> None:
    async def work() -> None:
        queue = WorkQueue(random.Random(1))
        delays = [queue.retry(A)]
        queue.nudge(A)
        assert await taken(queue) == (A, delays[0])
        delays.append(queue.retry(A))
        for _ in range(5):
            queue.nudge(A)
        assert await taken(queue) == (A, sum(delays))
        assert await nothing_within(queue, 1000)

    run(work())


def test_a_nudge_shortens_an_appointment_that_no_failure_made() -> None:
    async def work() -> None:
        queue = WorkQueue()
        queue.add_after(A, 60)
        queue.nudge(A)
        assert await taken(queue) == (A, 0)
        assert await nothing_within(queue, 1000)

    run(work())


def test_a_key_that_failed_and_has_no_appointment_is_nudged_as_any_other() -> None:
    async def work() -> None:
        queue = WorkQueue()
        delay = queue.retry(A)
        assert await taken(queue) == (A, delay)
        queue.nudge(A)
        assert await taken(queue) == (A, delay)

    run(work())


def test_a_nudge_after_a_success_counts_again() -> None:
    async def work() -> None:
        queue = WorkQueue()
        queue.retry(A)
        queue.forget_failures(A)
        queue.nudge(A)
        assert await taken(queue) == (A, 0)

    run(work())


@pytest.mark.parametrize("nudges", [1, 3])
def test_a_nudge_while_the_key_is_worked_on_brings_it_back_once(nudges: int) -> None:
    async def work() -> None:
        queue = WorkQueue()
        queue.add(A)
        await queue.get()
        for _ in range(nudges):
            queue.nudge(A)
        assert await nothing_within(queue, 10)
        queue.done(A)
        assert await taken(queue) == (A, 10)
        assert await nothing_within(queue, 1000)

    run(work())


def test_a_nudge_in_a_pass_that_fails_waits_for_the_backoff() -> None:
    async def work() -> None:
        queue = WorkQueue()
        queue.add(A)
        await queue.get()
        queue.nudge(A)
        delay = queue.retry(A)
        queue.done(A)
        assert await taken(queue) == (A, delay)
        assert await nothing_within(queue, 1000)

    run(work())


def test_a_change_in_a_pass_that_fails_beats_the_nudge_and_the_backoff() -> None:
    async def work() -> None:
        queue = WorkQueue()
        queue.add(A)
        await queue.get()
        queue.nudge(A)
        queue.retry(A)
        queue.add(A)
        queue.done(A)
        assert await taken(queue) == (A, 0)
        assert await nothing_within(queue, 1000)

    run(work())


def test_a_nudge_of_one_key_moves_no_other() -> None:
    async def work() -> None:
        queue = WorkQueue()
        delay = queue.retry(A)
        queue.nudge(B)
        assert await taken(queue) == (B, 0)
        assert await taken(queue) == (A, delay)

    run(work())


def test_a_closed_queue_takes_no_nudge() -> None:
    async def work() -> None:
        queue = WorkQueue()
        queue.close()
        queue.nudge(A)
        assert len(queue) == 0

    run(work())


# Namespaces and runs


@pytest.mark.parametrize(
    ("workers", "limit"), [(1, 1), (2, 1), (3, 2), (4, 3), (16, 12), (1000, 750)]
)
def test_a_namespace_has_three_quarters_of_the_workers(workers: int, limit: int) -> None:
    assert namespace_limit(workers) == limit


def test_a_namespace_with_a_thousand_keys_leaves_workers_to_others() -> None:
    async def work() -> None:
        queue = WorkQueue(namespace_limit=3)
        for number in range(1000):
            queue.add(Key("noisy", str(number)))
        held = [await queue.get() for _ in range(3)]
        assert await nothing_within(queue, 1000)
        queue.add(A)
        assert await queue.get() == A
        queue.done(held[1])
        assert await queue.get() == Key("noisy", "3")

    run(work())


def test_a_waiting_worker_is_woken_when_its_namespace_may_have_another() -> None:
    async def work() -> None:
        queue = WorkQueue(namespace_limit=1)
        queue.add(A)
        queue.add(B)
        assert await queue.get() == A
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(queue.get())
            await asyncio.sleep(5)
            assert not waiting.done()
            queue.done(A)
        assert waiting.result() == B

    run(work())


def test_a_key_with_a_run_in_progress_goes_before_keys_that_begin() -> None:
    async def work() -> list[Key]:
        queue = WorkQueue(begun={C}.__contains__)
        for key in (A, B, C):
            queue.add(key)
        return [await queue.get() for _ in range(3)]

    assert run(work()) == [C, A, B]


def test_whether_a_run_has_begun_is_asked_when_the_key_comes_back() -> None:
    async def work() -> list[Key]:
        begun: set[Key] = set()
        queue = WorkQueue(begun=begun.__contains__)
        queue.add(A)
        key = await queue.get()
        queue.add(B)
        queue.add(key)
        begun.add(key)
        queue.done(key)
        return [await queue.get() for _ in range(2)]

    assert run(work()) == [A, B]


# Closing


def test_closing_ends_every_waiting_worker_and_every_later_one() -> None:
    async def work() -> None:
        queue = WorkQueue()
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(_until_closed(queue))
            await asyncio.sleep(1)
            queue.close()
        with pytest.raises(QueueClosed):
            await queue.get()

    run(work())


async def _until_closed(queue: WorkQueue) -> None:
    with pytest.raises(QueueClosed):
        await queue.get()


def test_a_closed_queue_hands_out_nothing_and_takes_nothing() -> None:
    async def work() -> None:
        queue = WorkQueue()
        queue.add(A)
        queue.add_after(B, 5)
        queue.add(C)
        assert await queue.get() == A
        queue.add(A)
        queue.close()
        queue.add(B)
        queue.add_after(B, 1)
        queue.done(A)
        await asyncio.sleep(1000)
        with pytest.raises(QueueClosed):
            await queue.get()

    run(work())


def test_a_closed_queue_leaves_no_timer_behind() -> None:
    async def work() -> float:
        queue = WorkQueue()
        queue.add_after(A, 1000)
        queue.retry(B)
        queue.close()
        queue.retry(C)
        return now()

    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        assert runner.run(work()) == 0
        assert _timers(runner.get_loop()) == []


def _timers(loop: asyncio.AbstractEventLoop) -> list[asyncio.TimerHandle]:
    scheduled: list[asyncio.TimerHandle] = list(getattr(loop, "_scheduled"))  # noqa: B009
    heapq.heapify(scheduled)
    return [timer for timer in scheduled if not timer.cancelled()]


# Properties

_keys = st.sampled_from([A, B, C, Key("other", "a"), Key("other", "b")])
_actions = st.one_of(
    st.tuples(st.just("add"), _keys, st.just(0)),
    st.tuples(st.just("nudge"), _keys, st.just(0)),
    st.tuples(st.just("after"), _keys, st.integers(0, 5)),
    st.tuples(st.just("retry"), _keys, st.just(0)),
    st.tuples(st.just("wait"), _keys, st.integers(0, 5)),
)


@given(
    st.lists(_actions, max_size=30),
    st.lists(st.integers(0, 3), min_size=1, max_size=10),
    st.integers(1, 3),
    st.integers(1, 2),
)
def test_no_key_is_worked_on_twice_at_once_and_none_is_forgotten(
    actions: list[tuple[str, Key, int]], durations: list[int], workers: int, limit: int
) -> None:
    async def work() -> None:
        queue = WorkQueue(
            random.Random(1), begun=lambda key: key.name == "a", namespace_limit=limit
        )
        working: Counter[Key] = Counter()
        asked: dict[Key, float] = {}
        begun: dict[Key, float] = {}

        async def worker() -> None:
            turns = 0
            while True:
                try:
                    key = await queue.get()
                except QueueClosed:
                    return
                working[key] += 1
                begun[key] = now()
                assert working[key] == 1
                assert sum(working[one] for one in working if one[0] == key.namespace) <= limit
                await asyncio.sleep(durations[turns % len(durations)])
                turns += 1
                working[key] -= 1
                queue.done(key)

        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(worker())
            for action, key, seconds in actions:
                if action == "wait":
                    await asyncio.sleep(seconds)
                    continue
                asked[key] = now()
                if action == "add":
                    queue.add(key)
                elif action == "nudge":
                    queue.nudge(key)
                elif action == "after":
                    queue.add_after(key, seconds)
                else:
                    queue.retry(key)
            await asyncio.sleep(10_000)
            assert len(queue) == 0
            queue.close()
        assert begun.keys() == asked.keys()
        assert all(begun[key] >= asked[key] for key in asked)

    run(work())


async def test_a_worker_that_is_cancelled_at_any_await_gives_its_key_back() -> None:
    queue = WorkQueue(namespace_limit=1)

    async def work() -> None:
        key = await queue.get()
        try:
            await asyncio.sleep(0)
        finally:
            queue.done(key)

    def before_the_key_comes() -> Coroutine[Any, Any, None]:
        asyncio.get_running_loop().call_soon(asyncio.get_running_loop().call_soon, queue.add, A)
        return work()

    async def the_next_comes() -> None:
        queue.add(A)
        async with asyncio.timeout(60):
            await work()
        assert (queue.working(), queue.queued()) == ({}, {})

    assert await cancel_at_each_await(before_the_key_comes, the_next_comes) > 2
