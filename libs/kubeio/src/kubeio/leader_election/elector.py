"""Leader election: at most one of several candidates for a Lease works.

Objects and rules are those of client-go (coordination.k8s.io/v1 Lease). Why two candidates never
write at the same time:

* A leader stops writing ``renew_deadline`` seconds after the moment **before** it sent its last
  successful renewal. A late answer does not extend that, and an answer after the deadline has no
  effect: the term is over.
* Another candidate takes the Lease no earlier than ``duration`` seconds after the moment **after**
  it first saw the current state of the Lease, if that has not changed since.
* The ``duration - renew_deadline`` seconds in between cover writes in flight and clocks that run at
  different speeds. Each candidate uses its own monotonic clock; the times of day in the Lease are
  for people and are never read.
* Each write of the Lease carries the resourceVersion that was read.
* A Lease that was deleted or emptied by hand cannot be taken for ``duration`` seconds, since its
  leader notices only at its next renewal. One that its leader released (no holder,
  ``leaseDurationSeconds`` 1) can be taken at once.

A thread with its own event loop and connection sends all requests for the Lease, so a leader whose
loop is blocked for a moment keeps it. The loop that works proves by heartbeats that it runs. The
thread renews only while the last heartbeat is younger than ``renew_deadline``; if the loop is
blocked for longer, the term is over and another candidate takes the Lease ``duration`` seconds
after the last renewal. A slow loop keeps the Lease: with timers alone an iteration may take nearly
half of ``renew_deadline``, since a timer waits for the iteration in progress and for what is due
before it; if each iteration ends with ``LeaderElector.beat``, it may take nearly all of it.

Timers are not what makes this safe: every write checks the clock (``LeaderElector.check``), so a
process that was frozen past its deadline writes nothing when it continues.

Not covered: a candidate that finds no Lease when it starts creates it and leads. If somebody has
just deleted the Lease, its leader may continue until its next renewal.

Modules: `lease` has the fields of a Lease and the deadline of a term, `candidacy` the requests.
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
from kubeio.leader_election.candidacy import Candidacy, Connect, LeaseApi, LeaseLock, error_text
from kubeio.leader_election.lease import LeaseTimes, Term, elapsed
from kubeio.loops import ended, loop_thread, run_on

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
    """Return the current time in UTC."""
    return datetime.now(UTC)


class NotLeading(KubeError):
    """This candidate is not the leader, or no longer; the write was not sent."""


class LeaderElector:
    """One candidate for one Lease.

    Args:
        connect: returns the client for the Lease, without ``before_write``. Called and entered in
            the thread that sends the requests. The client needs its own credentials: those of a
            plugin belong to one event loop.
        identity: of this candidate. Unique to this process, also over restarts: two candidates with
            one identity would each mistake the other's lease for their own.
        clock: monotonic seconds, at about the same speed on all machines.
        now: the time of day, written for people.
        on_change: called with True when a term begins, before the work starts, and with False
            when it ends, both on the loop that works. Must not raise.
        loops: runs the event loop for the requests until its block is left.
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
        self._lock = LeaseLock(namespace, name, identity)
        self._times = times
        self._clock = clock
        self._rng = rng or random.Random()  # noqa: S311 - jitter
        self._on_change = on_change
        self._loops = loops
        self._there: asyncio.AbstractEventLoop | None = None
        self._term: Term | None = None
        self._candidacy = Candidacy(
            connect, self._lock, times=times, clock=clock, now=now, rng=self._rng
        )

    @property
    def leading(self) -> bool:
        """Whether this candidate may write now."""
        return self._term is not None and self._term.holds

    @property
    def holder(self) -> str | None:
        """Return the holder when the Lease was last read: "" if free, None without a Lease."""
        return self._candidacy.holder

    @property
    def transitions(self) -> int:
        """Return how often the holder had changed by then."""
        return self._candidacy.transitions

    def check(self) -> None:
        """Raise unless this candidate is the leader; for ``Client.before_write``.

        Raises:
            NotLeading: the lease is held by another, was not renewed in time, or the event loop was
                blocked for too long.
        """
        if not self.leading:
            lease, identity = f"{self._lock.namespace}/{self._lock.name}", self._lock.identity
            raise NotLeading(f"not the leader: lease {lease} is not held by {identity}")

    def beat(self) -> None:
        """Record a heartbeat of the loop that works; timers do so as well, but later."""
        if self._term is not None:
            self._term.beat()

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait for the lease, then run ``work()`` while it is renewed.

        When the work ends, this returns or raises its exception. When the lease is lost, the work
        is cancelled and awaited, an exception of it is logged, and the next term calls ``work()``
        again. Cancelling this cancels and awaits the work. At the end the lease is released, which
        may take ``times.call`` seconds.
        """
        with self._loops() as self._there:
            try:
                await self._in_thread(self._candidacy.open)
                while True:
                    term = await self._acquire()
                    if await self._lead(term, work):
                        return
            finally:
                try:
                    await self.release()
                finally:
                    await self._in_thread(self._candidacy.close)

    async def release(self) -> None:
        """Release the lease, so that another candidate can take it at once; ``run`` ends so.

        ``check`` raises from now on. A failure is logged; the lease then expires.
        """
        self._end_term()
        if not self._candidacy.claimed:
            return
        self._candidacy.claimed = False
        try:
            async with asyncio.timeout(self._times.call):
                await self._in_thread(self._candidacy.release)
        except (KubeError, TimeoutError) as error:
            log.warning("could not release the lease: %s", error_text(error))

    async def _in_thread(self, request: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine in the thread that sends the requests, and await its end."""
        assert self._there is not None
        return await run_on(self._there, request)

    async def _acquire(self) -> Term:
        """Wait until the lease is taken; return the term."""
        candidacy, times = self._candidacy, self._times
        refusals = Backoff(base=times.retry, cap=times.duration, rng=self._rng)
        while True:
            delay = candidacy.pause()
            try:
                sent = await self._in_thread(candidacy.attempt)
                if sent is not None and (term := self._begin_term(sent)) is not None:
                    return term
                refusals.reset()
            except Conflict:
                log.debug("another candidate was faster")
            except ApiError as error:
                candidacy.log_failure(error)
                delay = max(delay, refusals.next(error))
            except (KubeError, TimeoutError) as error:
                candidacy.log_failure(error)
            await asyncio.sleep(candidacy.until_free(delay))

    async def _lead(self, term: Term, work: Callable[[], Awaitable[None]]) -> bool:
        """Run the work until the term is over (False) or the work has ended (True)."""
        working = asyncio.ensure_future(work())
        renewal = self._in_thread(partial(self._candidacy.renew_until_over, term))
        renewing = asyncio.create_task(renewal, name="lease renewal")
        with _heartbeats(term, self._times.heartbeat) as over:
            try:
                # `over` ends the wait even if the thread does not notice the end of the term.
                ends = {working, renewing, over}
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            finally:
                by_itself, lost = working.done(), not term.holds
                # Before the cancellation, so that the work cannot write while it is cancelled.
                self._end_term()
                await _stop(renewing, working)
                error = None if working.cancelled() else working.exception()
                if error is not None and (lost or not by_itself):
                    trace = None if isinstance(error, NotLeading) else error
                    log.warning("the work failed while its term ended: %s", error, exc_info=trace)
        if not renewing.cancelled():
            renewing.result()
        if by_itself and not (lost and error):
            working.result()
            return True
        return False

    def _begin_term(self, sent: float) -> Term | None:
        """Return the term of a claim sent at ``sent``, None if it has already expired."""
        term = Term(self._clock, self._times.renew_deadline, sent)
        if not term.holds:
            return None
        self._term = term
        log.info("became the leader: holding lease %s/%s", self._lock.namespace, self._lock.name)
        if self._on_change is not None:
            self._on_change(True)
        return term

    def _end_term(self) -> None:
        if self._term is None:
            return
        self._term.end()
        self._term = None
        log.info("stopped leading")
        if self._on_change is not None:
            self._on_change(False)


@contextmanager
def _heartbeats(term: Term, period: float) -> Iterator[asyncio.Future[None]]:
    """Record heartbeats of the running loop until the block is left.

    Yields a future that is done when a heartbeat finds that the term is over.
    """
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    timers: list[asyncio.TimerHandle] = []

    def beat() -> None:
        # A timer, not a task: a task that sleeps is woken one iteration later, and an iteration of
        # a slow loop may take seconds.
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
    """Cancel tasks and await them, even if the caller is cancelled meanwhile."""

    def cancel() -> None:
        for task in tasks:
            task.cancel()

    cancel()
    await ended(tasks, cancel)
