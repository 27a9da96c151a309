"""Loops over what a tenant sent give way to other tasks after a counted number of items.

There may be some thousand items (`kudo.api.bounds`), and while a loop goes over them nobody else is
served. What is done at once takes about a millisecond, since each operation in progress may do so
much in one turn of the event loop: 16 of a namespace, 64 in all.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Final, TypeVar

AT_ONCE: Final = 100
"""Items that take about 10 µs each, such as entries of a record."""
FEW_AT_ONCE: Final = 10
"""Items that take up to 100 µs each, such as objects whose health is computed."""

T = TypeVar("T")


async def paced(items: Iterable[T], at_once: int = AT_ONCE) -> AsyncIterator[T]:
    """Yield items; the event loop may run other tasks after every `at_once` of them."""
    for number, item in enumerate(items, 1):
        yield item
        if number % at_once == 0:
            await asyncio.sleep(0)
