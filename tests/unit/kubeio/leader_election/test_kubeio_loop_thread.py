"""An event loop in a real thread, and coroutines that run on it."""

import asyncio
import threading

import pytest

from kubeio.loops import loop_thread, run_on


async def there() -> str:
    return threading.current_thread().name


async def test_a_coroutine_runs_in_the_thread_and_its_result_comes_back() -> None:
    with loop_thread("other") as loop:
        assert await run_on(loop, there) == "other"
        assert threading.current_thread().name != "other"
    assert "other" not in [one.name for one in threading.enumerate()]
    assert loop.is_closed()


async def test_what_it_raises_is_raised_here() -> None:
    async def fails() -> None:
        raise LookupError("broken")

    with loop_thread("other") as loop, pytest.raises(LookupError, match="broken"):
        await run_on(loop, fails)


async def test_its_own_cancellation_is_one_here() -> None:
    async def cancelled() -> None:
        raise asyncio.CancelledError

    with loop_thread("other") as loop, pytest.raises(asyncio.CancelledError):
        await run_on(loop, cancelled)


@pytest.mark.parametrize("fails", [False, True])
async def test_cancelling_waits_for_the_end_there_however_often_it_is_asked_for(
    fails: bool,
) -> None:
    here = asyncio.get_running_loop()
    begun, cancelling = asyncio.Event(), asyncio.Event()
    may_end = threading.Event()
    ended: list[bool] = []

    async def stubborn() -> None:
        here.call_soon_threadsafe(begun.set)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            here.call_soon_threadsafe(cancelling.set)
            await asyncio.to_thread(may_end.wait)
            raise LookupError("broken") if fails else asyncio.CancelledError from None
        finally:
            ended.append(True)

    with loop_thread("other") as loop:
        running = asyncio.ensure_future(run_on(loop, stubborn))
        await begun.wait()
        running.cancel()
        await cancelling.wait()
        assert not running.done()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert ended == [True]


async def test_one_that_is_cancelled_at_once_ends() -> None:
    with loop_thread("other") as loop:
        running = asyncio.ensure_future(run_on(loop, there))
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running


async def test_a_thread_that_has_ended_is_told() -> None:
    with loop_thread("other") as loop:
        pass
    with pytest.raises(RuntimeError, match="closed"):
        await run_on(loop, there)


async def test_the_loop_here_runs_while_the_other_one_is_blocked() -> None:
    release = threading.Event()

    async def blocks() -> str:
        release.wait()
        return "done"

    with loop_thread("other") as loop:
        running = asyncio.ensure_future(run_on(loop, blocks))
        await asyncio.sleep(0)
        release.set()
        assert await running == "done"
