"""Interruption: the first signal ends the work, the second one its cleanup."""

import asyncio
import os
import signal

import pytest

from kudo_harness.running.waiting import Interruption, listening


async def _signals(*numbers: signal.Signals) -> None:
    for number in numbers:
        os.kill(os.getpid(), number)
    await asyncio.Event().wait()


async def test_work_that_ends_by_itself_was_not_interrupted() -> None:
    assert await Interruption().until_interrupted(asyncio.sleep(0))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_ends_the_work(number: signal.Signals) -> None:
    interruption = Interruption()
    with listening(interruption):
        assert not await interruption.until_interrupted(_signals(number))
    assert interruption.received == 1


async def test_cleanup_endures_the_signal_that_ended_the_work_and_one_more_ends_it() -> None:
    interruption = Interruption()
    told: list[int] = []
    interruption.on_signal = told.append
    with listening(interruption):
        assert not await interruption.until_interrupted(_signals(signal.SIGINT))
        assert await interruption.until_interrupted(asyncio.sleep(0), endures=1)
        assert not await interruption.until_interrupted(_signals(signal.SIGTERM), endures=1)
        assert not await interruption.until_interrupted(asyncio.sleep(0), endures=1)
    assert told == [1, 2]


async def test_handlers_of_before_are_there_again() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with listening(Interruption()):
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


async def test_a_hangup_that_is_ignored_stays_so() -> None:
    """As with `nohup kubectl kudo test`, whose terminal is closed."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    interruption = Interruption()
    try:
        with listening(interruption):
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.sleep(0)
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    assert interruption.received == 0


async def test_an_error_of_the_work_is_raised_as_it_is() -> None:
    async def fails() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(_raise())

    with pytest.raises(LookupError, match="broken"):
        await Interruption().until_interrupted(fails())


async def _raise() -> None:
    raise LookupError("broken")
