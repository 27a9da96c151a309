"""Leader election: of several candidates for one Lease, at most one works.

The objects and the rules are those of client-go (coordination.k8s.io/v1 Lease), so that
``kubectl get lease`` shows what people know. Why two candidates never write at the same time:

* A leader counts from the moment **before** it sent its last successful renewal, and stops
  writing ``renew_deadline`` seconds after it. An answer that comes late does not count from its
  coming, and one that comes after the deadline changes nothing: the term is over.
* Another candidate counts from the moment **after** it first saw a state of the Lease, and
  takes over no earlier than ``duration`` seconds later, if that state has not changed.
* The ``duration - renew_deadline`` seconds between the two are for writes under way and for
  clocks that run at different speeds. Each side uses a clock of its own that nobody sets;
  times of day are written for people and never read.
* Each write of the Lease tests the resourceVersion that it was decided on.
* A Lease that somebody deleted or emptied by hand is nobody's for ``duration`` seconds, since
  its leader learns of it only with its next renewal. What a leader has released
  (no holder, ``leaseDurationSeconds`` 1) is free at once.

All requests about the Lease are made by a thread with an event loop and a connection of its own, so
that work that holds the loop of the leader for a while does not cost the Lease. The loop that works
shows by heartbeats that it runs. The thread renews only while the last one is younger than
``renew_deadline``, and the term of a loop that stood still for so long is over, whoever notices
first: another candidate follows ``duration`` seconds after the last renewal. A slow loop keeps the
Lease: with timers alone one iteration may take nearly half of ``renew_deadline``, since a timer
waits for the iteration under way and for what is due before it; where each iteration ends with
``LeaderElector.beat``, it may take nearly all of it.

Timers only make things happen in time. Whether we lead is asked of the clock with each write
(``LeaderElector.check``), so a process that was frozen past its deadline writes nothing when it
goes on.

What is left open: a candidate that finds no Lease at its very start creates it and leads. If a
Lease was deleted by hand moments before, its leader may go on until its next renewal.

Modules: `record` what stands in a Lease, `candidacy` the requests, `term` the deadline,
`loop_thread` the thread.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from kubeio.backoff import Backoff
from kubeio.errors import ApiError, Conflict, KubeError
from kubeio.leader_election.candidacy import Candidacy, Connect, LeaseApi, Place, words
from kubeio.leader_election.loop_thread import loop_thread, run_on
from kubeio.leader_election.term import LeaseTimes, Term, elapsed

__all__ = [
    "Connect",
    "LeaderElector",
    "LeaseApi",
    "LeaseTimes",
    "NotLeading",
    "elapsed",
    "utc_now",
]

log = logging.getLogger(__name__)

Loops = Callable[[], AbstractContextManager[asyncio.AbstractEventLoop]]
T = TypeVar("T")
_USUAL_TIMES = LeaseTimes()
_IN_THREAD: Loops = partial(loop_thread, "lease")


def utc_now() -> datetime:
    """Return the time of day."""
    return datetime.now(UTC)


class NotLeading(KubeError):
    """A write was asked for by who does not hold the lease, or no longer; nothing was sent."""


class LeaderElector:
    """One candidate for one Lease.

    Args:
        connect: makes the client for the Lease, without a write guard. Called and entered in the
            thread of the requests. The client should have credentials of its own: those of a
            plugin belong to one event loop.
        namespace: of the Lease.
        name: of the Lease.
        identity: who we are. Unique to this process, over restarts too: two candidates of one
            name would each take the other's lease for their own.
        times: how long a lease lasts.
        clock: seconds that only grow, at about the speed of other machines' clocks.
        now: the time of day, for what people read.
        rng: source of jitter.
        on_change: called with True when a term begins, before the work does, and with False
            when it ends, both on the loop that works. Must not raise.
        loops: runs the event loop of the requests beside ours until its block is left.
    """

    def __init__(
        self,
        connect: Connect,
        *,
        namespace: str,
        name: str,
        identity: str,
        times: LeaseTimes = _USUAL_TIMES,
        clock: Callable[[], float] = elapsed,
        now: Callable[[], datetime] = utc_now,
        rng: random.Random | None = None,
        on_change: Callable[[bool], None] | None = None,
        loops: Loops = _IN_THREAD,
    ) -> None:
        self._place = Place(namespace, name, identity)
        self._times = times
        self._clock = clock
        self._rng = rng or random.Random()  # noqa: S311 - jitter
        self._on_change = on_change
        self._loops = loops
        self._there: asyncio.AbstractEventLoop | None = None
        self._term: Term | None = None
        self._candidacy = Candidacy(
            connect, self._place, times=times, clock=clock, now=now, rng=self._rng
        )

    @property
    def leading(self) -> bool:
        """Whether we may write now, by our own clock."""
        return self._term is not None and self._term.holds

    @property
    def holder(self) -> str | None:
        """Return who held the Lease when last seen: "" nobody, None if there was no Lease."""
        return self._candidacy.holder

    @property
    def transitions(self) -> int:
        """Return how often it had changed hands by then."""
        return self._candidacy.transitions

    def check(self) -> None:
        """Let a leader pass; made for ``Client.before_write``.

        Raises:
            NotLeading: the lease is not ours, was not renewed in time, or our event loop has
                stood still for too long.
        """
        if not self.leading:
            lease, identity = f"{self._place.namespace}/{self._place.name}", self._place.identity
            raise NotLeading(f"not the leader: lease {lease} is not held by {identity}")

    def beat(self) -> None:
        """Note that the loop that works runs; timers do it as well, but some turns later."""
        if self._term is not None:
            self._term.beat()

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait for the lease, then work while it is renewed.

        Work that ends ends this, too, with what it raised. When the lease is lost, the work is
        cancelled and awaited, and the next term begins with ``work()`` anew; what it raises then
        is logged. Cancelling this cancels and awaits the work. In the end a lease that is held is
        released, for which ``times.call`` seconds are allowed.
        """
        with self._loops() as self._there:
            try:
                await self._ask(self._candidacy.open)
                while True:
                    term = await self._campaign()
                    if await self._lead(term, work):
                        return
            finally:
                try:
                    await self.release()
                finally:
                    await self._ask(self._candidacy.close)

    async def release(self) -> None:
        """Let others have the lease at once; ``run`` does it when it ends.

        Nothing can be written from here on. Failure is logged: the lease then runs out.
        """
        self._end_term()
        if not self._candidacy.claimed:
            return
        self._candidacy.claimed = False
        try:
            async with asyncio.timeout(self._times.call):
                await self._ask(self._candidacy.clear)
        except (KubeError, TimeoutError) as error:
            log.warning("the lease could not be released: %s", words(error))

    async def _ask(self, request: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine in the thread of the requests, and wait for its end."""
        assert self._there is not None
        return await run_on(self._there, request)

    async def _campaign(self) -> Term:
        """Return a term as the leader."""
        candidacy, times = self._candidacy, self._times
        refusals = Backoff(base=times.retry, cap=times.duration, rng=self._rng)
        while True:
            delay = candidacy.pause()
            try:
                sent = await self._ask(candidacy.attempt)
                if sent is not None and (term := self._begin_term(sent)) is not None:
                    return term
                refusals.reset()
            except Conflict:
                log.debug("another candidate was faster")
            except ApiError as error:
                candidacy.complain(error)
                delay = max(delay, refusals.next(error.retry_after))
            except (KubeError, TimeoutError) as error:
                candidacy.complain(error)
            await asyncio.sleep(candidacy.until_free(delay))

    async def _lead(self, term: Term, work: Callable[[], Awaitable[None]]) -> bool:
        """Work until the term is over (False), or the work has ended (True)."""
        working = asyncio.ensure_future(work())
        renewal = self._ask(partial(self._candidacy.renew_until_over, term))
        renewing = asyncio.create_task(renewal, name="lease renewal")
        with _heartbeats(term, self._times.heartbeat) as over:
            try:
                # The heartbeats notice the end of the term without any help of the thread.
                ends = {working, renewing, over}
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            finally:
                by_itself, lost = working.done(), not term.holds
                # First of all, so that the work cannot write while it is being cancelled.
                self._end_term()
                await _stop(renewing, working)
                error = None if working.cancelled() else working.exception()
                if error is not None and (lost or not by_itself):
                    trace = None if isinstance(error, NotLeading) else error
                    log.warning("the work failed while its lease ended: %s", error, exc_info=trace)
        if not renewing.cancelled():
            renewing.result()
        if by_itself and not (lost and error):
            working.result()
            return True
        return False

    def _begin_term(self, sent: float) -> Term | None:
        """Return the term of a claim that was sent at a time, None if it has run out already."""
        term = Term(self._clock, self._times.renew_deadline, sent)
        if not term.holds:
            return None
        self._term = term
        log.info("leading: lease %s/%s is held", self._place.namespace, self._place.name)
        if self._on_change is not None:
            self._on_change(True)
        return term

    def _end_term(self) -> None:
        if self._term is None:
            return
        self._term.end()
        self._term = None
        log.info("not leading any more")
        if self._on_change is not None:
            self._on_change(False)


@contextmanager
def _heartbeats(term: Term, period: float) -> Iterator[asyncio.Future[None]]:
    """Show that the running loop runs until the block is left.

    Yields a future that is done when a heartbeat finds the term over.
    """
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    timers: list[asyncio.TimerHandle] = []

    def beat() -> None:
        # A timer and no task: a task that sleeps is woken only one turn of the loop later, and
        # of a slow loop each turn may take seconds.
        if term.beat():
            timers[:] = [loop.call_later(period, beat)]
        else:
            over.set_result(None)

    beat()
    try:
        yield over
    finally:
        for timer in timers:
            timer.cancel()


async def _stop(*tasks: asyncio.Future[None]) -> None:
    """Cancel tasks and wait for them, also when cancelled meanwhile."""
    cancelled = False
    while left := [task for task in tasks if not task.done()]:
        for task in left:
            task.cancel()
        try:
            await asyncio.wait(left)
        except asyncio.CancelledError:
            cancelled = True
    for task in tasks:
        if not task.cancelled():
            task.exception()  # asyncio would log that nobody asked for it
    if cancelled:
        raise asyncio.CancelledError
