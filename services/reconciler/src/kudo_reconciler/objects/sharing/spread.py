"""Enqueues the Instances that share an object and that its annotation does not list.

They may be tens of thousands. Each call to the queue is cheap, but all at once they would hold the
event loop for long, so a few are enqueued at a time.
"""

import asyncio
from collections.abc import Callable, Iterator

from kudo.api.identity import InstanceIdentity
from kudo.objects.inventory.record import Place
from kudo_reconciler.common.keys import Key
from kudo_reconciler.common.pacing import paced


class Spread:
    """Changes of objects whose sharers are still to be enqueued, one object after the other.

    Args:
        group: Runs it while there is something to do.
        sharers: Yields the Instances that share an object, also across an await.
        changed: Enqueues an Instance.
    """

    def __init__(
        self,
        group: asyncio.TaskGroup,
        sharers: Callable[[Place], Iterator[InstanceIdentity]],
        changed: Callable[[Key], None],
    ) -> None:
        self._group = group
        self._sharers = sharers
        self._changed = changed
        self._waiting: dict[Place, frozenset[Key]] = {}
        self._task: asyncio.Task[None] | None = None

    def tell(self, place: Place, told: frozenset[Key]) -> None:
        """Enqueue the sharers of an object but those that have been told of its change."""
        self._waiting[place] = self._waiting.get(place, told) & told
        if self._task is None:
            self._task = self._group.create_task(self._run(), name="sharers of changed objects")

    def close(self) -> None:
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        try:
            while self._waiting:
                place = next(iter(self._waiting))
                # Before the first of them: a change that comes now is told to all once more.
                await self._enqueue(place, self._waiting.pop(place))
        finally:
            self._task = None

    async def _enqueue(self, place: Place, told: frozenset[Key]) -> None:
        async for one in paced(self._sharers(place)):
            key = Key(one.namespace, one.name)
            if key not in told:
                self._changed(key)
