"""Worker processes: what a hop costs, and what a job waits for after another one was killed.

The job gives back the 2 KiB that it gets, so all of its time is overhead: the queue, two pipes and
the change of processes. Wall clock; the figure is the median of the best batch.
"""

import asyncio
import contextlib
import statistics
import time
from typing import Final

from tests.bench.figures import Figure
from tests.support.pools import running
from workers import LimitExceeded, Pool

_BATCHES: Final = 5
_CALLS: Final = 200
_KILLS: Final = 10
_PAYLOAD: Final = bytes(2048)
_TARGET: Final = 0.001


def bench(rounds: int) -> list[Figure]:
    """Measure on a pool of our own; nothing else runs in it."""
    return asyncio.run(_measure(rounds))


async def _measure(rounds: int) -> list[Figure]:
    async with running() as pool:
        batches = [await _batch(pool) for _ in range(rounds * _BATCHES)]
        after = [await _after_a_kill(pool) for _ in range(_KILLS)]
    return [
        _figure("worker: overhead of a small job", min(batches)),
        _figure(
            "worker: the same, right after another tenant's was killed", statistics.median(after)
        ),
    ]


async def _batch(pool: Pool) -> float:
    return statistics.median([await _hop(pool) for _ in range(_CALLS)])


async def _hop(pool: Pool) -> float:
    began = time.perf_counter()
    await pool.call("echo", _PAYLOAD, tenant="ours")
    return time.perf_counter() - began


async def _after_a_kill(pool: Pool) -> float:
    with contextlib.suppress(LimitExceeded):
        await pool.call("sleep", b"", tenant="hostile", wall=0.01)
    return statistics.median([await _hop(pool) for _ in range(10)])


def _figure(name: str, seconds: float) -> Figure:
    measured = f"{seconds * 1000:.2f} ms"
    return Figure(name, f"≤ {_TARGET * 1000:g} ms", measured, ok=seconds <= _TARGET)
