"""The loop with simulated time."""

import asyncio

import pytest

from tests.support.loops.virtual_loop import NothingToDo, TooBusy, VirtualLoop, run_virtually


def test_hours_pass_at_once_and_in_order() -> None:
    told: list[tuple[str, float]] = []

    async def wait(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        told.append((name, asyncio.get_running_loop().time()))

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for name, seconds in (("c", 7200.0), ("a", 0.5), ("b", 3600.0)):
                group.create_task(wait(name, seconds))

    run_virtually(main())
    assert told == [("a", 0.5), ("b", 3600.0), ("c", 7200.0)]


def test_a_time_limit_is_one_of_simulated_seconds() -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(30):
                await asyncio.Event().wait()
        return asyncio.get_running_loop().time()

    assert run_virtually(main()) == pytest.approx(30)


def test_time_stands_still_while_something_is_ready() -> None:
    async def main() -> float:
        asyncio.get_running_loop().call_later(1e-3, lambda: None)
        for _ in range(100):
            await asyncio.sleep(0)
        return asyncio.get_running_loop().time()

    assert run_virtually(main()) == 0.0


def test_who_waits_for_what_never_comes_is_told() -> None:
    async def main() -> None:
        await asyncio.Event().wait()

    loop = VirtualLoop()
    waiting = loop.create_task(main())
    with pytest.raises(NothingToDo):
        loop.run_until_complete(waiting)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(waiting)
    loop.close()


def test_what_is_given_to_a_thread_runs_in_place() -> None:
    def fails() -> None:
        raise ValueError("no")

    async def main() -> float:
        with pytest.raises(ValueError, match="no"):
            await asyncio.to_thread(fails)
        return await asyncio.to_thread(lambda: 7.0)

    assert run_virtually(main()) == 7.0


def test_each_iteration_can_be_counted() -> None:
    async def steps(count: int) -> None:
        for _ in range(count):
            await asyncio.sleep(0)

    def iterations(count: int) -> int:
        seen = 0

        def step() -> None:
            nonlocal seen
            seen += 1

        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            loop = runner.get_loop()
            assert isinstance(loop, VirtualLoop)
            loop.on_iteration = step
            runner.run(steps(count))
            return seen

    assert iterations(20) - iterations(10) == 10


def test_who_never_lets_time_pass_is_stopped() -> None:
    async def busy() -> None:
        while True:  # noqa: ASYNC110 - it is to be ended
            await asyncio.sleep(0)

    with pytest.raises(TooBusy, match="100000 iterations"):
        run_virtually(busy())
