"""LeaderElector in simulated time: of several candidates one works; no tests of its own.

The rules of the real Lease stand in `tests/unit/kubeio/leader_election`; here a term begins and
ends when a life wants it.
"""

import asyncio
from collections.abc import Awaitable, Callable

from kubeio.leader_election.elector import NotLeading


class Candidate:
    """Leads while it is told so."""

    def __init__(self) -> None:
        self._leads = asyncio.Event()
        self._over = asyncio.Event()

    @property
    def leading(self) -> bool:
        return self._leads.is_set()

    def check(self) -> None:
        if not self.leading:
            raise NotLeading("not the leader: another candidate holds the lease")

    def begin(self) -> None:
        self._over.clear()
        self._leads.set()

    def end(self) -> None:
        """End the term; nothing can be written from now on."""
        self._leads.clear()
        self._over.set()

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            await self._leads.wait()
            working = asyncio.ensure_future(work())
            over = asyncio.ensure_future(self._over.wait())
            try:
                await asyncio.wait({working, over}, return_when=asyncio.FIRST_COMPLETED)
                if working.done():
                    return working.result()
            finally:
                over.cancel()
                working.cancel()
                await asyncio.wait({working})
