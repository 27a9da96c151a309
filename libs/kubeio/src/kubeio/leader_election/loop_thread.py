"""An event loop in a thread of its own, and coroutines of one loop that run on another.

Invariant: whoever waits for a coroutine on the other loop waits until it has ended there, also when
cancelled. So the two loops never use the same object at the same time, and what one of them wrote
is seen by the other: each hand-over goes through ``call_soon_threadsafe``.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


@contextmanager
def loop_thread(name: str) -> Iterator[asyncio.AbstractEventLoop]:
    """Run an event loop in a new thread until the block is left.

    Whatever was started on it must have ended by then. The thread is a daemon: it never keeps a
    process from ending.
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
        # Does not wait for the threads that its executor has: a look-up of a name may take long.
        loop.close()


async def run_on(loop: asyncio.AbstractEventLoop, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run ``start()`` on another loop and return what it returns, or raise what it raises.

    Cancelling this cancels it there and waits for its end.

    Raises:
        RuntimeError: the other loop is closed.
    """
    here = asyncio.get_running_loop()
    ended: asyncio.Future[T] = here.create_future()
    started: list[asyncio.Task[T]] = []

    def begin() -> None:
        task = loop.create_task(start())
        started.append(task)
        task.add_done_callback(lambda task: here.call_soon_threadsafe(_settle, ended, task))

    def cancel() -> None:
        # Calls are carried out in order, so it has begun.
        started[0].cancel()

    loop.call_soon_threadsafe(begin)
    cancelled = False
    while not ended.done():
        try:
            await asyncio.wait([ended])
        except asyncio.CancelledError:
            cancelled = True
            loop.call_soon_threadsafe(cancel)
    if cancelled:
        ended.cancelled() or ended.exception()  # asyncio would log that nobody asked for it
        raise asyncio.CancelledError
    return ended.result()


def _settle(ended: asyncio.Future[T], task: asyncio.Task[T]) -> None:
    if task.cancelled():
        ended.cancel()
    elif (error := task.exception()) is not None:
        ended.set_exception(error)
    else:
        ended.set_result(task.result())
