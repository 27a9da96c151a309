"""Waits that last until something has ended even if the caller is cancelled."""

import asyncio
from collections.abc import Callable, Collection, Coroutine
from typing import Any, TypeVar

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
