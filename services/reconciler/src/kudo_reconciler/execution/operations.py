"""Operations: work that may take long, done outside the workers of the queue, in slots.

A reconcile starts an operation and waits for it briefly, since most take a few milliseconds. One
that takes longer, or has to wait for a slot, continues without a worker and enqueues its Instance
when it ends; the next reconcile reads its result. Cancelling an operation waits at most for a write
that is in flight.

Invariants of slots: half of them are given only to namespaces that hold none, one to each, or whose
last operation was quick; the last eighth only to the former. So namespaces whose calls hang keep
one slot each once the other half is used, and whoever comes finds a free one. The next free slot
goes to the namespace that got one least recently, so that a namespace with hundreds of waiting
operations delays another one by no more than its own share. A holder that is cancelled, also while
it waits, gives its slot back without another `await`.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Hashable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from kudo_reconciler.common.clock import loop_seconds
from kudo_reconciler.common.concurrency import USUAL, Fairness
from kudo_reconciler.common.keys import Key
from serving.namespaces import Measure
from serving.settings import Share
from workers.queue import FairQueue, Usage

_QUICK_SECONDS: Final = 1.0
"""An operation takes a few requests of milliseconds; one that hangs takes ten times this."""

_Waiting = tuple[str, asyncio.Future[None]]
"""A namespace, and what is done once it has a slot for an operation."""


class Slots:
    """Limits the operations that run at the same time.

    Args:
        limit: Slots of the process.
        per_namespace: Slots that one namespace may hold.
        on_wait: Called with the seconds that an operation has waited, once it has its slot.
    """

    def __init__(
        self, limit: int, per_namespace: int, on_wait: Callable[[float], None] = lambda _: None
    ) -> None:
        self._limit = limit
        self._share = per_namespace
        # A share above one half is what somebody has chosen.
        self._reserved = min(limit // 2, limit - per_namespace)
        self._reserved_of_quick = self._reserved // 4
        # Those that hold a slot, or wait for one, whose last operation was quick.
        self._quick: set[str] = set()
        self._on_wait = on_wait
        self._held = Usage()
        self._queue: FairQueue[_Waiting] = FairQueue()

    @property
    def running(self) -> int:
        """Return how many slots are held; from any thread."""
        return self._held.total

    @property
    def queued(self) -> int:
        """Return how many operations wait for a slot; from any thread."""
        return self._queue.waiting.total

    def held(self) -> dict[str, int]:
        """Return how many slots each namespace holds."""
        return self._held.by_tenant()

    def waiting(self) -> dict[str, int]:
        """Return how many operations of each namespace wait for a slot."""
        return self._queue.waiting.by_tenant()

    @asynccontextmanager
    async def taken(
        self, namespace: str, on_queue: Callable[[], None] = lambda: None
    ) -> AsyncIterator[None]:
        """Hold a slot, once there is one; `on_queue` is called if there is none yet."""
        began, granted = loop_seconds(), asyncio.get_running_loop().create_future()
        self._queue.put(namespace, (namespace, granted))
        try:
            self._grant()
            if not granted.done():
                on_queue()
            await granted
            self._on_wait(loop_seconds() - began)
            began = loop_seconds()
            yield
        finally:
            # A future that is cancelled after its slot was granted has its result all the same.
            if granted.done() and not granted.cancelled():
                self._release(namespace, quick=loop_seconds() - began < _QUICK_SECONDS)
            else:
                self._queue.discard(namespace, (namespace, granted))
            self._grant()
            if not self._held[namespace]:
                # Nothing is kept of idle namespaces: there may be very many of them.
                self._quick.discard(namespace)

    def _grant(self) -> None:
        """Give the free slots to those who may have them."""
        while self.running < self._limit and (taken := self._queue.take(self._may_have)):
            namespace, granted = taken
            # A cancelled one, whose task has not noticed yet, needs none.
            if not granted.done():
                self._held.add(namespace)
                granted.set_result(None)

    def _may_have(self, namespace: str) -> bool:
        held = self._held[namespace]
        reserved = self._reserved_of_quick if namespace in self._quick else self._reserved
        return not held or (held < self._share and self._limit - self.running > reserved)

    def _release(self, namespace: str, *, quick: bool) -> None:
        self._held.remove(namespace)
        if quick:
            self._quick.add(namespace)
        else:
            self._quick.discard(namespace)


_TOGETHER_SECONDS: Final = 0.05
"""How long a reconcile waits for operations that end at about the same time, so that one write of
the status covers all of them."""

T = TypeVar("T")


class StillGoing(Exception):
    """An operation takes longer than a worker may wait; it enqueues its Instance at its end."""


class _Waiter:
    """A reconcile that waits for some of its operations."""

    def __init__(self, number: int, *, ended: bool) -> None:
        self._left = number
        self._first, self._all = asyncio.Event(), asyncio.Event()
        if ended:
            self._first.set()

    def settled(self, *, ended: bool) -> None:
        """Record that an operation has ended, or will take long."""
        self._left -= 1
        if ended or self._left == 0:
            self._first.set()
        if self._left == 0:
            self._all.set()

    async def wait(self, seconds: float) -> None:
        """Wait until one has ended, and briefly for others, or until all will take long."""
        if await _within(seconds, self._first):
            await _within(_TOGETHER_SECONDS, self._all)


class Operation(Generic[T]):
    """Work in progress, or work that has ended and whose result has not been read yet.

    Attributes:
        doing: Description for messages of what it does; empty unless it takes long.
    """

    def __init__(self, key: Key, wake: Callable[[Key], None], long_slots: Slots) -> None:
        self.doing = ""
        self._key = key
        self._slot = AsyncExitStack()
        self._long_slots = long_slots
        self._wake = wake
        self._waiter: _Waiter | None = None
        self._long = self._queued = self._dropped = False
        self._task: asyncio.Task[T] | None = None

    def run(
        self, slots: Slots, work: "Callable[[Operation[T]], Awaitable[T]]"
    ) -> "asyncio.Task[T]":
        """Start, once there is a slot."""
        self._task = asyncio.create_task(self._in_slot(slots, work))
        self._task.add_done_callback(lambda _: self._settle(ended=True))
        return self._task

    async def _in_slot(self, slots: Slots, work: "Callable[[Operation[T]], Awaitable[T]]") -> T:
        async with self._slot:
            await self._slot.enter_async_context(
                slots.taken(self._key.namespace, self._has_to_wait)
            )
            self._queued = False
            return await work(self)

    def _has_to_wait(self) -> None:
        # Else hundreds of operations of namespaces whose slots are used would hold the workers.
        self._queued = True
        self._settle(ended=False)

    @property
    def ended(self) -> bool:
        return self._task is not None and self._task.done()

    @property
    def may_end_soon(self) -> bool:
        """Whether a worker may wait for the end."""
        return not self.ended and not self._long and not self._queued

    def result(self) -> T:
        """Return the result of an operation that has ended, or raise what it raised."""
        assert self._task is not None
        return self._task.result()

    async def takes_long(self, doing: str) -> None:
        """Describe what it does from now on; no worker waits for it any more.

        It releases its slot and continues in one of those for long operations.
        """
        self.doing = doing
        if not self._long:
            self._long = True
            self._settle(ended=False)
            await self._slot.aclose()
            await self._slot.enter_async_context(self._long_slots.taken(self._key.namespace))

    def set_waiter(self, waiter: _Waiter | None) -> None:
        """Notify a waiting reconcile of the end, instead of enqueueing the Instance."""
        self._waiter = waiter

    def cancel(self) -> "asyncio.Task[T] | None":
        """Cancel it; return the task to await, if any. It does not enqueue its Instance."""
        self._dropped = True
        if self._task is None or self._task.done():
            return None
        self._task.cancel()
        return self._task

    def _settle(self, *, ended: bool) -> None:
        if self._waiter is not None:
            self._waiter.settled(ended=ended)
            self._waiter = None
        elif ended and not self._dropped:
            self._wake(self._key)


def _slots(limits: Share, on_wait: Callable[[float], None] = lambda _: None) -> Slots:
    return Slots(limits.total, limits.namespace, on_wait)


@dataclass
class Operations:
    """Starts, awaits and cancels operations.

    Attributes:
        wake: Called with the Instance of an operation that ends while no reconcile waits for it.
        slots: Limits the operations that run at the same time.
        long_slots: Limits those that take long.
        wait_seconds: How long a reconcile holds its worker for one that does not end.
    """

    wake: Callable[[Key], None]
    slots: Slots = field(default_factory=lambda: _slots(USUAL.operations))
    long_slots: Slots = field(default_factory=lambda: _slots(USUAL.long_operations))
    wait_seconds: float = 0.5
    _going: dict[asyncio.Task[Any], Operation[Any]] = field(default_factory=dict)
    _named: dict[tuple[Key, str], tuple[Hashable, Operation[Any]]] = field(default_factory=dict)

    @classmethod
    def within(
        cls,
        fairness: Fairness,
        wake: Callable[[Key], None],
        on_wait: Callable[[float], None] = lambda _: None,
    ) -> "Operations":
        """Return operations with these limits.

        Args:
            fairness: The limits.
            wake: As the attribute.
            on_wait: Called with the seconds that each waited for its first slot.
        """
        return cls(wake, _slots(fairness.operations, on_wait), _slots(fairness.long_operations))

    def __len__(self) -> int:
        return len(self._going)

    def measures(self) -> list[Measure]:
        """Return what namespaces use of the slots, for /debug/namespaces."""
        return [
            Measure("operations_running", self.slots.held),
            Measure("operations_waiting", self.slots.waiting),
            Measure("long_operations_running", self.long_slots.held),
            Measure("long_operations_waiting", self.long_slots.waiting),
        ]

    def start(self, key: Key, work: Callable[[Operation[T]], Awaitable[T]]) -> Operation[T]:
        """Start an operation of an Instance.

        Args:
            key: The Instance; its namespace holds the slot.
            work: Does the work; it is given the operation, for `takes_long`.
        """
        operation: Operation[T] = Operation(key, self.wake, self.long_slots)
        task = operation.run(self.slots, work)
        self._going[task] = operation
        task.add_done_callback(self._has_ended)
        return operation

    def _has_ended(self, task: asyncio.Task[Any]) -> None:
        del self._going[task]
        if not task.cancelled():
            # `result` raises it. If nobody calls that, asyncio must not log it as never retrieved.
            task.exception()

    async def wait_briefly(
        self, operations: Collection[Operation[Any]], seconds: float | None = None
    ) -> None:
        """Wait briefly for operations, until one has ended or all of them take long.

        Args:
            operations: Operations of one Instance.
            seconds: Timeout, if less than `wait_seconds`.
        """
        short = [operation for operation in operations if operation.may_end_soon]
        if not short:
            return
        waiter = _Waiter(len(short), ended=any(operation.ended for operation in operations))
        for operation in short:
            operation.set_waiter(waiter)
        try:
            await waiter.wait(
                self.wait_seconds if seconds is None else min(seconds, self.wait_seconds)
            )
        finally:
            for operation in short:
                operation.set_waiter(None)

    async def result(
        self, key: Key, name: str, token: Hashable, work: Callable[[], Awaitable[T]]
    ) -> T:
        """Return the result of a named operation, of which an Instance has one at a time.

        Args:
            key: The Instance.
            name: Name of the operation.
            token: What the result depends on; an operation with another token is cancelled.
            work: Does the work.

        Raises:
            StillGoing: it takes longer than a worker may be held.
        """
        named = self._named.get((key, name))
        if named is not None and named[0] != token:
            await self.forget(key, name)
            named = None
        if named is None:
            operation: Operation[T] = self.start(key, lambda _: work())
            self._named[key, name] = token, operation
        else:
            operation = named[1]
        await self.wait_briefly([operation])
        if not operation.ended:
            raise StillGoing
        del self._named[key, name]
        return operation.result()

    async def forget(self, key: Key, *names: str) -> None:
        """Cancel the named operations of an Instance."""
        named = [self._named.pop((key, name), None) for name in names]
        await self.cancel([operation[1] for operation in named if operation is not None])

    async def cancel(self, operations: Collection[Operation[Any]]) -> None:
        """Cancel operations, awaiting only writes in flight; they enqueue nothing."""
        tasks = [task for operation in operations if (task := operation.cancel()) is not None]
        if tasks:
            # A request that is in flight is answered first: until then it may still change objects.
            await asyncio.wait(tasks)

    async def ended(self) -> None:
        """Wait until none is running."""
        while self._going:
            await asyncio.wait(list(self._going))

    async def close(self) -> None:
        """Cancel all of them."""
        self._named.clear()
        await self.cancel(list(self._going.values()))


async def _within(seconds: float, event: asyncio.Event) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
