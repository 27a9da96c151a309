"""Coroutines on other event loops, and waits that outlast the cancellation of the caller.

Invariant: a caller waits until its coroutine has ended on the other loop, also when it is
cancelled. So the two loops never use an object at the same time, and ``call_soon_threadsafe`` makes
the writes of one loop visible to the other.
"""

import asyncio
import contextlib
import threading
from asyncio.subprocess import Process
from collections.abc import Callable, Collection, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")


async def finished(call: Coroutine[Any, Any, T]) -> T:
    """Await a call, and its end if the caller is cancelled; a second cancellation cancels it."""
    task = asyncio.ensure_future(call)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
        if not task.cancelled():
            task.exception()
        raise


async def ended(futures: Collection[asyncio.Future[Any]], cancel: Callable[[], object]) -> None:
    """Await the end of all futures; each cancellation of the caller calls ``cancel`` meanwhile.

    Raises:
        CancelledError: at the end, if the caller was cancelled.
    """
    cancelled = False
    while left := [future for future in futures if not future.done()]:
        try:
            await asyncio.wait(left)
        except asyncio.CancelledError:
            cancelled = True
            cancel()
    for future in futures:
        if not future.cancelled():
            future.exception()  # otherwise asyncio logs that it was never retrieved
    if cancelled:
        raise asyncio.CancelledError


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


@contextmanager
def loop_thread(name: str) -> Iterator[asyncio.AbstractEventLoop]:
    """Run an event loop in a new thread until the block is left.

    Everything that was started on it must have ended by then. The thread is a daemon, so it does
    not keep the process alive.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=_run, args=(loop,), name=name, daemon=True)
    try:
        thread.start()
    except BaseException:
        loop.close()
        raise
    try:
        yield loop
    finally:
        if not loop.is_closed():
            loop.call_soon_threadsafe(loop.stop)
        thread.join()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        # Does not wait for the threads of its executor: a DNS lookup may take long.
        loop.close()


async def run_on(loop: asyncio.AbstractEventLoop, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run ``start()`` on another loop; return its result or raise its exception.

    Cancelling this cancels the coroutine there and awaits its end.

    Raises:
        RuntimeError: the other loop is closed.
    """
    here = asyncio.get_running_loop()
    result: asyncio.Future[T] = here.create_future()
    started: list[asyncio.Task[T]] = []

    def begin() -> None:
        task = loop.create_task(start())
        started.append(task)
        task.add_done_callback(lambda task: here.call_soon_threadsafe(_settle, result, task))

    def cancel() -> None:
        # call_soon_threadsafe keeps the order, so `begin` has run.
        loop.call_soon_threadsafe(lambda: started[0].cancel())

    loop.call_soon_threadsafe(begin)
    await ended([result], cancel)
    return result.result()


def _settle(result: asyncio.Future[T], task: asyncio.Task[T]) -> None:
    if task.cancelled():
        result.cancel()
    elif (error := task.exception()) is not None:
        result.set_exception(error)
    else:
        result.set_result(task.result())
