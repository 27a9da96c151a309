"""Calls that run to completion even if their caller is cancelled."""

import asyncio
from collections.abc import Coroutine
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
