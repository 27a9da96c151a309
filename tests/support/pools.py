"""Pools of real processes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from tests.support.loops.lacking import within
from workers import Limits, Observation, Pool
from workers.queue import Bounds

HANDLERS = Path(__file__).parent / "handlers"


@contextlib.asynccontextmanager
async def running(
    *,
    handlers: str = "trials",
    path: Path = HANDLERS,
    size: int = 2,
    share: int | None = None,
    limits: Limits | None = None,
    bounds: Bounds | None = None,
    observe: Callable[[Observation], None] | None = None,
    settled: bool = True,
    patience: float = 60.0,
) -> AsyncIterator[Pool]:
    """Run a pool; none of its processes is left at the end.

    Args:
        settled: Whether all its processes are warm at the start; one otherwise.
    """
    pool = Pool(
        handlers,
        size=size,
        share=share,
        limits=limits,
        bounds=bounds,
        at_rest=size + 1 if settled else 1,
        settling=0,
        patience=patience,
        observe=observe,
        path=[path],
    )
    task = asyncio.create_task(pool.run())
    try:
        warm = size + 1 if settled else 1
        await until(lambda: len(pool.pids) >= warm or task.done())
        yield pool
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def until(condition: Callable[[], bool]) -> None:
    async with within(60, condition):
        while not condition():  # noqa: ASYNC110 - processes signal no event
            await asyncio.sleep(0.005)


def gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has reaped yet counts."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except FileNotFoundError:
        return True
    return stat.rpartition(") ")[2].startswith("Z")
