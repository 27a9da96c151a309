"""Waits for conditions, with a generous deadline; nothing depends on how fast they come."""

import asyncio
import re
from collections.abc import Awaitable, Callable

from kudo_cluster.installation import Service

DEADLINE = 90.0
_POLL = 0.05
_SLOW_POLL = 0.2
_POLLS = 20
"""So many looks follow quickly; who still waits then looks less often."""


async def wait_until(
    condition: Callable[[], Awaitable[bool]], what: Callable[[], str], seconds: float = DEADLINE
) -> None:
    try:
        async with asyncio.timeout(seconds):
            looks = 0
            while not await condition():
                looks += 1
                await asyncio.sleep(_POLL if looks < _POLLS else _SLOW_POLL)
    except TimeoutError:
        raise AssertionError(f"waited {seconds:.0f} s in vain for {what()}") from None


async def events_written(*reconcilers: Service) -> None:
    """Wait until no reconciler that runs has events to write."""

    async def written() -> bool:
        for one in reconcilers:
            text = (await asyncio.to_thread(one.get, "/metrics"))[1]
            if re.search(r"^kudo_events_waiting [^0]", text, re.MULTILINE):
                return False
        return True

    await wait_until(written, lambda: "the events to be written")
