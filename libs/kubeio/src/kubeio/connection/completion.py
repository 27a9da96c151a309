"""Calls that run to their end although nobody waits for them any more."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def finished(call: Coroutine[Any, Any, T]) -> T:
    """Await a call to its end, also if the caller is cancelled meanwhile; a second time ends it."""
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
