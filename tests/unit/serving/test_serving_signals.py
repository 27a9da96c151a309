"""SIGTERM and SIGINT, in a process of their own."""

import asyncio
import signal
import sys

import pytest

PROGRAM = """
import asyncio
from serving.program import stop_on_signals

async def main():
    stop = stop_on_signals()
    print("ready", flush=True)
    await stop.wait()
    print("stopping", flush=True)
    if {stuck}:
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def start(*, stuck: bool) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM.format(stuck=stuck), stdout=asyncio.subprocess.PIPE
    )
    await expect(process, b"ready\n")
    return process


async def expect(process: asyncio.subprocess.Process, line: bytes) -> None:
    assert process.stdout is not None
    async with asyncio.timeout(30):
        assert await process.stdout.readline() == line


async def ended(process: asyncio.subprocess.Process) -> int:
    async with asyncio.timeout(30):
        return await process.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_the_first_signal_asks_for_a_stop(number: signal.Signals) -> None:
    process = await start(stuck=False)
    process.send_signal(number)
    await expect(process, b"stopping\n")
    assert await ended(process) == 0


async def test_the_second_signal_ends_a_stop_that_hangs() -> None:
    process = await start(stuck=True)
    process.send_signal(signal.SIGTERM)
    await expect(process, b"stopping\n")
    process.send_signal(signal.SIGINT)
    assert await ended(process) == 128 + signal.SIGINT
