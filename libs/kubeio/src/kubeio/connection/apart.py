"""Runs a coroutine in a thread, with an event loop of its own, for so long and no longer.

For code that blocks its event loop, or leaves processes behind when it is cancelled.
"""

import asyncio
import contextlib
from asyncio.subprocess import Process
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")


async def run_apart(work: Callable[[], Coroutine[Any, Any, T]], *, seconds: float) -> T:
    """Return the result of a coroutine; the processes it started have ended then.

    Cancellation ends it at once.

    Raises:
        TimeoutError: it took longer.
        Exception: whatever the coroutine raised.
    """
    running = _Running(work, seconds)
    try:
        return await asyncio.to_thread(running.run)
    except asyncio.CancelledError:
        running.cancel()
        raise


class _Running(Generic[T]):
    def __init__(self, work: Callable[[], Coroutine[Any, Any, T]], seconds: float) -> None:
        self._work = work
        self._seconds = seconds
        self._task: asyncio.Task[T] | None = None
        self._cancelled = False

    def run(self) -> T:
        with asyncio.Runner(loop_factory=_Loop) as runner:
            return runner.run(self._limited())

    def cancel(self) -> None:
        # Each thread writes before it reads, so that one of them sees what the other wrote.
        self._cancelled = True
        if self._task is not None:
            with contextlib.suppress(RuntimeError):  # its loop has ended meanwhile
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)

    async def _limited(self) -> T:
        loop = cast("_Loop", asyncio.get_running_loop())
        self._task = asyncio.create_task(self._work(), name="work")
        if self._cancelled:
            self._task.cancel()
        try:
            async with asyncio.timeout(self._seconds):
                return await self._task
        finally:
            await loop.end_processes()


class _Loop(asyncio.SelectorEventLoop):
    """An event loop that knows the processes it started."""

    def __init__(self) -> None:
        super().__init__()
        self._kubeio_started: list[tuple[asyncio.SubprocessTransport, Process]] = []

    async def subprocess_exec(self, *args: Any, **options: Any) -> Any:
        transport, protocol = await super().subprocess_exec(*args, **options)
        self._kubeio_started.append((transport, Process(transport, protocol, self)))
        return transport, protocol

    async def end_processes(self) -> None:
        """Kill those that still run."""
        for transport, process in self._kubeio_started:
            transport.close()
            await process.wait()
