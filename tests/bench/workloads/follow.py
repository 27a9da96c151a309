"""When each of some Instances came to where a bench waits for it, seen by one watch."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from typing import Final

from kubeio.client import Client
from kubeio.watch import WatchEvent
from tests.support.cluster.resources import INSTANCES
from tests.support.instances import idle, messages, status_of

Key = tuple[str, str]
"""Namespace and name of an Instance."""

Done = Callable[[WatchEvent], bool]

_DEADLINE: Final = 1800.0


@asynccontextmanager
async def followed(
    client: Client, keys: Collection[Key], done: Done
) -> AsyncIterator["asyncio.Task[dict[Key, float]]"]:
    """Yield a task that ends when all Instances are done, with the moments at which each was.

    The watch begins before the block does. Moments are those of `time.perf_counter`.
    """
    pages = client.pages(INSTANCES, limit=1, metadata_only=True)
    async with contextlib.aclosing(pages):
        since = (await anext(pages)).resource_version
    opened = asyncio.Event()
    task = asyncio.create_task(_follow(client, set(keys), done, since, opened.set))
    try:
        await opened.wait()
        yield task
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _follow(
    client: Client, left: set[Key], done: Done, since: str, opened: Callable[[], None]
) -> dict[Key, float]:
    found: dict[Key, float] = {}
    watch = client.watch(
        INSTANCES, resource_version=since, timeout_seconds=int(_DEADLINE), on_open=opened
    )
    async with asyncio.timeout(_DEADLINE), contextlib.aclosing(watch) as events:
        async for event in events:
            if event.type == "BOOKMARK":
                continue
            metadata = event.object["metadata"]
            key = (metadata["namespace"], metadata["name"])
            if key in left and done(event):
                found[key] = time.perf_counter()
                left.discard(key)
                if not left:
                    return found
    raise TimeoutError(f"{len(left)} Instances were not done when the watch ended")


def ended(plan: str) -> Done:
    """Return what tells that a plan is COMPLETE, the Instance idle, and its status up to date."""

    def done(event: WatchEvent) -> bool:
        found = event.object
        if event.type == "DELETED" or not idle(found):
            return False
        if status_of(found, plan) == "FATAL_ERROR":
            raise RuntimeError(f"{found['metadata']['name']}: {messages(found, plan)}")
        return status_of(found, plan) == "COMPLETE"

    return done


def gone(event: WatchEvent) -> bool:
    return event.type == "DELETED"
