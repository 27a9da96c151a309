"""An event loop in its own thread, and how one loop runs coroutines on it.

Invariant: a caller waits until its coroutine has ended on the other loop, also when it is
cancelled. So the two loops never use an object at the same time, and ``call_soon_threadsafe`` makes
the writes of one loop visible to the other.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from kubeio.connection.completion import ended

T = TypeVar("T")


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
