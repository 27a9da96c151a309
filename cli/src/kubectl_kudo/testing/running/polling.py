"""Waits until something holds, by looking again and again."""

import asyncio
from collections.abc import Awaitable, Callable


async def until(condition: Callable[[], Awaitable[bool]], *, every: float) -> None:
    """Wait until a condition holds; callers give it a time limit.

    Args:
        condition: Looks whether it holds.
        every: Seconds between two looks.
    """
    while True:
        if await condition():
            return
        await asyncio.sleep(every)
