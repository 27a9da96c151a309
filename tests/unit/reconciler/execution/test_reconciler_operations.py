"""Operations: awaited briefly, left alone after that, cancelled at once."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from kudo_reconciler.common.keys import Key
from kudo_reconciler.execution.operations import Operation, Operations, Slots, StillGoing
from tests.unit.cancelling import cancel_at_each_await

KEY = Key("ns", "i")
FOREVER = 3600.0


@dataclass
class Bench:
    """Operations whose wakes are noted."""

    woken: list[Key] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.operations = Operations(self.woken.append, Slots(8, 4), wait_seconds=FOREVER)

    def start(
        self, work: Callable[[Operation[str]], Awaitable[str]], key: Key = KEY
    ) -> Operation[str]:
        return self.operations.start(key, work)


async def at_once(_: Operation[str]) -> str:
    return "done"


def after(event: asyncio.Event) -> Callable[[Operation[str]], Awaitable[str]]:
    async def work(_: Operation[str]) -> str:
        await event.wait()
        return "done"

    return work


async def test_one_that_ends_while_it_is_awaited_wakes_nobody() -> None:
    bench = Bench()
    operation = bench.start(at_once)
    await bench.operations.wait_briefly([operation], FOREVER)
    assert operation.ended
    assert operation.result() == "done"
    assert bench.woken == []


async def test_one_that_takes_longer_goes_on_and_wakes_its_instance() -> None:
    bench, event = Bench(), asyncio.Event()
    operation = bench.start(after(event))
    await bench.operations.wait_briefly([operation], 0.0)
    assert not operation.ended
    event.set()
    await bench.operations.ended()
    assert bench.woken == [KEY]
    assert operation.result() == "done"


async def test_one_that_says_that_it_takes_long_is_not_waited_for() -> None:
    bench, event = Bench(), asyncio.Event()

    async def copy(operation: Operation[str]) -> str:
        await operation.takes_long("copying a file")
        await event.wait()
        await operation.takes_long("copying another one")
        return "done"

    operation = bench.start(copy)
    await asyncio.wait_for(bench.operations.wait_briefly([operation], FOREVER), 60)
    assert operation.doing == "copying a file"
    event.set()
    await bench.operations.ended()
    assert bench.woken == [KEY]


async def test_those_that_take_long_leave_their_slots_to_others() -> None:
    bench, event = Bench(), asyncio.Event()

    async def copy(operation: Operation[str]) -> str:
        await operation.takes_long("copying a file")
        await event.wait()
        return "done"

    # Twice as many as one namespace may have slots.
    hanging = [bench.start(copy) for _ in range(8)]
    quick = bench.start(at_once)
    await asyncio.wait_for(bench.operations.wait_briefly([quick], FOREVER), 60)
    assert quick.ended
    assert not any(one.ended for one in hanging)
    event.set()
    await bench.operations.ended()


async def test_the_end_of_one_ends_the_attention_to_the_others() -> None:
    bench, event = Bench(), asyncio.Event()
    hanging, quick = bench.start(after(event)), bench.start(at_once)
    await bench.operations.wait_briefly([hanging, quick], FOREVER)
    assert quick.ended
    assert not hanging.ended
    # What has ended already is to be looked at, whatever else goes on.
    await bench.operations.wait_briefly([hanging, quick], FOREVER)
    event.set()
    await bench.operations.ended()
    assert bench.woken == [KEY]


async def test_a_cancelled_one_wakes_nobody_and_is_over() -> None:
    bench = Bench()
    cleaned = []

    async def work(_: Operation[str]) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            # Such as a write that is on the wire.
            await asyncio.sleep(0)
            cleaned.append(True)
        return "done"

    operation = bench.start(work)
    await asyncio.sleep(0)
    await bench.operations.cancel([operation])
    assert cleaned == [True]
    assert operation.ended
    assert bench.woken == []
    assert len(bench.operations) == 0


async def test_a_failure_is_raised_where_the_result_is_taken() -> None:
    bench = Bench()

    async def fail(_: Operation[str]) -> str:
        raise LookupError("why")

    operation = bench.start(fail)
    await bench.operations.wait_briefly([operation], FOREVER)
    with pytest.raises(LookupError, match="why"):
        operation.result()


async def test_a_named_one_is_started_once_and_its_result_taken_once() -> None:
    bench, event, starts = Bench(), asyncio.Event(), []

    async def work() -> str:
        starts.append(True)
        await event.wait()
        return "done"

    bench.operations.wait_seconds = 0.0
    for _ in range(3):
        with pytest.raises(StillGoing):
            await bench.operations.result(KEY, "values", 1, work)
    event.set()
    await bench.operations.ended()
    assert await bench.operations.result(KEY, "values", 1, work) == "done"
    assert len(starts) == 1
    assert bench.woken == [KEY]


async def test_a_named_one_of_another_state_is_cancelled() -> None:
    bench, ends = Bench(), []

    async def hang() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ends.append("cancelled")
        return "old"

    async def answer() -> str:
        return "new"

    bench.operations.wait_seconds = 0.0
    with pytest.raises(StillGoing):
        await bench.operations.result(KEY, "values", "old state", hang)
    await asyncio.sleep(0)
    bench.operations.wait_seconds = FOREVER
    assert await bench.operations.result(KEY, "values", "new state", answer) == "new"
    assert ends == ["cancelled"]


async def test_what_is_forgotten_is_cancelled() -> None:
    bench = Bench()

    async def hang() -> str:
        await asyncio.Event().wait()
        return ""

    bench.operations.wait_seconds = 0.0
    with pytest.raises(StillGoing):
        await bench.operations.result(KEY, "values", 1, hang)
    await bench.operations.forget(KEY, "values", "children")
    assert len(bench.operations) == 0
    assert bench.woken == []


async def test_closing_ends_everything() -> None:
    bench = Bench()
    for _ in range(20):
        bench.start(after(asyncio.Event()))
    await asyncio.sleep(0)
    await bench.operations.close()
    assert len(bench.operations) == 0
    assert bench.woken == []


async def test_an_operation_that_is_cancelled_at_any_await_gives_its_slots_back() -> None:
    slots, long_slots = Slots(2, 1), Slots(2, 1)
    operations = Operations(lambda _: None, slots, long_slots, wait_seconds=FOREVER)

    async def work(operation: Operation[str]) -> str:
        await asyncio.sleep(0)
        await operation.takes_long("copying files")
        await asyncio.sleep(0)
        return "done"

    async def two_after_each_other() -> None:
        started = [operations.start(KEY, work) for _ in range(2)]
        try:
            for one in started:
                await operations.wait_briefly([one])
            await operations.ended()
        finally:
            await operations.cancel(started)

    async def another_runs() -> None:
        operation = operations.start(KEY, work)
        async with asyncio.timeout(60):
            await operations.ended()
        assert operation.result() == "done"
        for of_kind in (slots, long_slots):
            assert (of_kind.held(), of_kind.waiting()) == ({}, {})
        assert not len(operations)

    assert await cancel_at_each_await(two_after_each_other, another_runs) > 3


async def test_no_worker_waits_for_an_operation_without_a_slot() -> None:
    woken = list[Key]()
    operations = Operations(woken.append, Slots(1, 1), wait_seconds=FOREVER)
    events = asyncio.Event(), asyncio.Event()
    operations.start(KEY, after(events[0]))
    second = operations.start(KEY, after(events[1]))
    waits = asyncio.create_task(operations.wait_briefly([second]))
    for _ in range(10):
        await asyncio.sleep(0)
    assert waits.done()
    # Once it has its slot, a reconcile may wait for it as for any other.
    events[0].set()
    for _ in range(10):
        await asyncio.sleep(0)
    assert woken == [KEY]
    assert second.may_end_soon
    again = asyncio.create_task(operations.wait_briefly([second]))
    await asyncio.sleep(0)
    assert not again.done()
    events[1].set()
    await again
    assert second.result() == "done"
