"""A batch: one request for each of many Instances, until what it asks for is done."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from tests.bench.measure.processes import Cpu, cpu_between
from tests.bench.measure.requests import RequestCounts
from tests.bench.rounds import percentile
from tests.bench.workloads.follow import Done, Key, followed
from tests.bench.workloads.installed import Installed
from tests.bench.world import each

AT_ONCE: Final = 32
"""Requests of the bench that are under way at the same time."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What a batch took.

    Attributes:
        seconds: From the first request until the last Instance was done.
        latencies: Of each Instance, from its request on, in seconds.
        cpu: CPU seconds of each process.
        requests: What the API server answered.
    """

    seconds: float
    latencies: list[float]
    cpu: Cpu
    requests: RequestCounts

    @property
    def rate(self) -> float:
        """Return Instances a second."""
        return len(self.latencies) / self.seconds

    def cpu_each(self, process: str) -> float:
        """Return the CPU seconds of a process for each Instance."""
        return self.cpu[process] / len(self.latencies)

    def percentile(self, share: float) -> float:
        return percentile(self.latencies, share)


async def run_batch(
    installed: Installed,
    requests: Mapping[Key, Callable[[], Awaitable[object]]],
    done: Done,
    *,
    cpu: Callable[[], Cpu] | None = None,
    settled: Callable[[], Awaitable[None]] | None = None,
    broken: Callable[[], Awaitable[None]] | None = None,
) -> Batch:
    """Send requests, some at once, and wait until all their Instances are done.

    Args:
        installed: Where.
        requests: What to send, by Instance.
        done: Tells from a change of an Instance whether it is done.
        cpu: Reads the CPU time of the processes; by default those of the installation.
        settled: Waits for what is sent behind the Instances, such as events: it belongs to the CPU
            time and the requests of the batch, and not to its seconds.
        broken: Raises if whoever does the work cannot go on.
    """
    read = cpu or installed.cpu
    began: dict[Key, float] = {}

    async def send(key: Key) -> object:
        began[key] = time.perf_counter()
        return await requests[key]()

    counts, used = await installed.requests(), read()
    start = time.perf_counter()
    async with followed(installed.client, requests, done) as following:
        await each((partial(send, key) for key in requests), at_once=AT_ONCE)
        ends = await _unless(following, broken)
    if settled is not None:
        await settled()
    used, counts = cpu_between(used, read()), (await installed.requests()).since(counts)
    latencies = [ends[key] - began[key] for key in requests]
    return Batch(max(ends.values()) - start, latencies, used, counts)


async def _unless(
    following: "asyncio.Task[dict[Key, float]]", broken: Callable[[], Awaitable[None]] | None
) -> dict[Key, float]:
    if broken is None:
        return await following
    watching = asyncio.ensure_future(broken())
    try:
        await asyncio.wait({following, watching}, return_when=asyncio.FIRST_COMPLETED)
        if watching.done():
            watching.result()
        return await following
    finally:
        watching.cancel()
