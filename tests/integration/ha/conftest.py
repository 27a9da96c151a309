"""Two reconcilers on one cluster, the first of which leads."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from tests.integration.ha.support import Pair
from tests.integration.support import World

Start = Callable[..., AbstractAsyncContextManager[Pair]]


@pytest.fixture
def two_reconcilers(world: World) -> Start:
    """Return a function that runs two in place of the one, given their options."""

    @asynccontextmanager
    async def started(*options: str) -> AsyncIterator[Pair]:
        installation = world.installation
        await asyncio.to_thread(installation.reconciler.stop)
        lease = f"--lease-name=kudo-{world.namespace}"
        first = installation.another_reconciler("reconciler-first", lease, *options)
        second = installation.another_reconciler("reconciler-second", lease, *options)
        pair = Pair(first, second)
        try:
            await asyncio.to_thread(first.start)
            await pair.until_leads(first)
            await asyncio.to_thread(second.start)
            yield pair
        finally:
            for one in (first, second):
                one.send_signal(signal.SIGCONT)
                await asyncio.to_thread(one.kill)
            await asyncio.to_thread(installation.reconciler.start)

    return started
