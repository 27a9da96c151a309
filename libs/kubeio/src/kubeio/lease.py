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

Timers only make things happen in time. Whether we lead is asked of the clock with each write
(``Leadership.check``), so a process that was frozen past its deadline writes nothing when it
goes on.

What is left open: a candidate that finds no Lease at its very start creates it and leads. If a
Lease was deleted by hand moments before, its leader may go on until its next renewal.
"""

import asyncio
import logging
import math
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from kubeio.backoff import Backoff
from kubeio.errors import ApiError, Conflict, Forbidden, KubeError, NotFound
from kubeio.lease_record import LEASES, Record, claimed, released
from kubeio.resource import Resource
from kubeio.types import JsonObject

log = logging.getLogger(__name__)

_JITTER = 0.2  # of `retry`: candidates that started together do not stay together
_NEVER = -math.inf
# Stands still for nobody: time.monotonic leaves out what a machine slept through.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def elapsed() -> float:
    """Return seconds that pass also while the machine is suspended, where the system has them."""
    return time.clock_gettime(_CLOCK)


def utc_now() -> datetime:
    """Return the time of day."""
    return datetime.now(UTC)


class NotLeading(KubeError):
    """A write was asked for by who does not hold the lease, or no longer; nothing was sent."""


class _Lost(Exception):
    """Somebody else holds the lease, or was made to."""


class LeaseApi(Protocol):
    """What an election needs of a ``Client``."""

    async def get(
        self, resource: Resource, name: str, *, namespace: str | None = None
    ) -> JsonObject: ...

    async def create(self, resource: Resource, obj: JsonObject) -> JsonObject: ...

    async def replace(self, resource: Resource, obj: JsonObject) -> JsonObject: ...


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """All in seconds; the same for all candidates, but while they are being replaced.

    Attributes:
        duration: without a renewal for so long, a leader is followed by another candidate.
        renew_deadline: without a renewal for so long, a leader stops.
        retry: between two looks at the Lease, and between two renewals.

    Raises:
        ValueError: a leader would not stop before it is followed, or could renew only once.
    """

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry: float = 2.0

    def __post_init__(self) -> None:
        longest_retry = self.retry * (1 + _JITTER)
        if not 0 < self.retry < math.inf:
            raise ValueError(f"the retry period ({self.retry:g} s) must be more than 0 s")
        if not self.renew_deadline > longest_retry:
            raise ValueError(
                f"the renew deadline ({self.renew_deadline:g} s) must be more than "
                f"{1 + _JITTER:g} times the retry period ({longest_retry:g} s)"
            )
        if not self.renew_deadline < self.duration < math.inf:
            raise ValueError(
                f"the lease duration ({self.duration:g} s) must be more than "
                f"the renew deadline ({self.renew_deadline:g} s)"
            )

    @property
    def call(self) -> float:
        """Return how long one request may take, so that a second one has a chance."""
        return self.renew_deadline / 2


class Leadership:
    """One candidate for one Lease.

    Args:
        client: used for the Lease alone, so that no other traffic delays a renewal, and without
            a write guard.
        namespace: of the Lease.
        name: of the Lease.
        identity: who we are. Unique to this process, over restarts too: two candidates of one
            name would each take the other's lease for their own.
        times: how long a lease lasts.
        clock: seconds that only grow, at about the speed of other machines' clocks.
        now: the time of day, for what people read.
        rng: source of jitter.
        on_change: called with True when a term begins, before the work does, and with False
            when it ends. Must not raise.

    Attributes:
        holder: who held the Lease when last seen: "" nobody, None if there was no Lease.
        transitions: how often it had changed hands by then.
    """

    def __init__(
        self,
        client: LeaseApi,
        *,
        namespace: str,
        name: str,
        identity: str,
        times: LeaseTimes = LeaseTimes(),
        clock: Callable[[], float] = elapsed,
        now: Callable[[], datetime] = utc_now,
        rng: random.Random | None = None,
        on_change: Callable[[bool], None] | None = None,
    ) -> None:
        self.holder: str | None = None
        self.transitions = 0
        self._client = client
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._times = times
        self._clock = clock
        self._now = now
        self._rng = rng or random.Random()  # noqa: S311 - jitter
        self._on_change = on_change
        self._deadline = _NEVER
        self._record: Record | None = None
        self._existed = False
        self._claimed = False
        self._complaint = ""

    @property
    def leading(self) -> bool:
        """Whether we may write now, by our own clock."""
        return self._clock() < self._deadline

    def check(self) -> None:
        """Let a leader pass; made for ``Client.before_write``.

        Raises:
            NotLeading: the lease is not ours, or was not renewed in time.
        """
        if not self.leading:
            lease = f"{self._namespace}/{self._name}"
            raise NotLeading(f"not the leader: lease {lease} is not held by {self._identity}")

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait for the lease, then work while it is renewed.

        Work that ends ends this, too, with what it raised. When the lease is lost, the work is
        cancelled and awaited, and the next term begins with ``work()`` anew; what it raises then
        is logged. Cancelling this cancels and awaits the work. In the end a lease that is held is
        released, for which ``times.call`` seconds are allowed.
        """
        try:
            while True:
                await self._campaign()
                if await self._lead(work):
                    return
        finally:
            await self.release()

    async def release(self) -> None:
        """Let others have the lease at once; ``run`` does it when it ends.

        Nothing can be written from here on. Failure is logged: the lease then runs out.
        """
        self._end_term()
        if not self._claimed:
            return
        self._claimed = False
        try:
            async with asyncio.timeout(self._times.call):
                await self._clear()
        except (KubeError, TimeoutError) as error:
            log.warning("the lease could not be released: %s", _words(error))

    # Becoming the leader

    async def _campaign(self) -> None:
        """Return as the leader."""
        refusals = Backoff(base=self._times.retry, cap=self._times.duration, rng=self._rng)
        while True:
            delay = self._pause()
            try:
                if await self._attempt():
                    return
                refusals.reset()
                self._complaint = ""
            except Conflict:
                log.debug("another candidate was faster")
            except ApiError as error:
                self._complain(error)
                delay = max(delay, refusals.next(error.retry_after))
            except (KubeError, TimeoutError) as error:
                self._complain(error)
            await asyncio.sleep(self._until_free(delay))

    async def _attempt(self) -> bool:
        """Take the lease if it is free; returns whether we lead."""
        await self._read()
        return self._free_in() <= 0.0 and self._begin_term(await self._claim())

    def _free_in(self) -> float:
        """Return for how many seconds the lease, as last seen, must not be taken."""
        assert self._record is not None
        return self._record.since + self._patience(self._record) - self._clock()

    def _patience(self, record: Record) -> float:
        if record.holder == self._identity or record.released:
            return 0.0
        if record.lease is None:
            return self._times.duration if self._existed else 0.0
        # During an upgrade that changes the times, its leader may still have longer ones.
        return max(self._times.duration, record.seconds)

    def _until_free(self, delay: float) -> float:
        """Return a shorter delay if the lease runs out before."""
        free_in = self._free_in() if self._record else delay
        if not 0.0 < free_in < delay:
            return delay
        return free_in + self._rng.uniform(0.0, _JITTER) * self._times.retry

    # Being the leader

    async def _lead(self, work: Callable[[], Awaitable[None]]) -> bool:
        """Work until the lease is lost (False), or the work has ended (True)."""
        working = asyncio.ensure_future(work())
        renewing = asyncio.create_task(self._renew_until_lost(), name="lease renewal")
        try:
            await asyncio.wait({working, renewing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            by_itself, lost = working.done(), not self.leading
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

    async def _renew_until_lost(self) -> None:
        due = self._clock() + self._pause()
        while True:
            await asyncio.sleep(max(0.0, min(due, self._deadline) - self._clock()))
            remaining = self._deadline - self._clock()
            if remaining <= 0.0:
                log.warning("the lease was not renewed in time")
                return
            due = self._clock() + self._pause()
            try:
                async with asyncio.timeout(remaining):
                    self._extend_term(await self._renew())
            except _Lost:
                log.warning("the lease was taken away; its holder is %r", self.holder)
                self._end_term()
                return
            except (KubeError, TimeoutError) as error:
                self._complain(error)

    async def _renew(self) -> float:
        """Renew the lease, whatever happened to it but that it is another's."""
        try:
            return await self._claim()
        except (Conflict, NotFound):
            await self._read()
        # Only within the term does a missing Lease mean that nobody else has had it.
        if self.holder not in (None, self._identity) or not self.leading:
            raise _Lost
        return await self._claim()

    def _begin_term(self, sent: float) -> bool:
        self._complaint = ""
        self._deadline = sent + self._times.renew_deadline
        if not self.leading:
            return False
        log.info("leading: lease %s/%s is held", self._namespace, self._name)
        if self._on_change is not None:
            self._on_change(True)
        return True

    def _extend_term(self, sent: float) -> None:
        self._complaint = ""
        # A term that has run out is over, even if nobody else had the lease in between.
        if self.leading:
            self._deadline = sent + self._times.renew_deadline

    def _end_term(self) -> None:
        if self._deadline == _NEVER:
            return
        self._deadline = _NEVER
        log.info("not leading any more")
        if self._on_change is not None:
            self._on_change(False)

    # The object

    async def _read(self) -> None:
        try:
            async with asyncio.timeout(self._times.call):
                lease = await self._client.get(LEASES, self._name, namespace=self._namespace)
        except NotFound:
            self._observe(None)
        else:
            self._observe(lease)

    async def _claim(self) -> float:
        """Write our name into the Lease as last seen; returns when that was sent."""
        record = self._record
        assert record is not None
        spec = claimed(record, self._identity, self._times.duration, self._now())
        metadata = {"name": self._name, "namespace": self._namespace}
        lease = {**(record.lease or {"metadata": metadata}), "spec": spec}
        write = self._client.create if record.lease is None else self._client.replace
        self._claimed = True
        sent = self._clock()
        async with asyncio.timeout(self._times.call):
            answer = await write(LEASES, lease)
        self._observe(answer)
        return sent

    async def _clear(self) -> None:
        # Twice: a renewal of ours may still be on its way when it is cancelled.
        for _ in range(2):
            await self._read()
            record = self._record
            if record is None or record.lease is None or record.holder != self._identity:
                return
            lease = {**record.lease, "spec": released(record, self._now())}
            try:
                await self._client.replace(LEASES, lease)
            except Conflict:
                continue
            log.info("the lease is released")
            return

    def _observe(self, lease: JsonObject | None) -> None:
        record = Record(lease, self._clock())
        self.holder, self.transitions = record.holder, record.transitions
        self._existed = self._existed or lease is not None
        if self._record is None or self._record.version != record.version:
            self._record = record

    def _pause(self) -> float:
        return self._times.retry * (1 + self._rng.uniform(0.0, _JITTER))

    def _complain(self, error: Exception) -> None:
        """Log what is wrong, once until it has changed."""
        text = _words(error)
        if text == self._complaint:
            return
        self._complaint = text
        if isinstance(error, Forbidden):
            text += "; a candidate must be able to get, create and update leases there"
        log.warning("the lease %s/%s is out of reach: %s", self._namespace, self._name, text)


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


def _words(error: Exception) -> str:
    return str(error) or "no answer in time"
