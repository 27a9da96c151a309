"""The requests of a candidate for its Lease, and the last state that it read.

All requests are sent on the loop that the client belongs to. There are no locks: one loop at a time
uses a Candidacy (see `loops`), except that ``holder`` and ``transitions`` may be read
anywhere.
"""

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from kubeio.errors import Conflict, Forbidden, KubeError, NotFound
from kubeio.leader_election.lease import JITTER, LeaseTimes, Record, Term, claimed, released
from kubeio.resource import LEASES, Resource
from kubeio.types import JsonObject

log = logging.getLogger(__name__)


class LeaseApi(Protocol):
    """The methods of a ``Client`` that the election uses."""

    async def get(
        self, resource: Resource, name: str, *, namespace: str | None = None
    ) -> JsonObject: ...

    async def create(self, resource: Resource, obj: JsonObject) -> JsonObject: ...

    async def replace(self, resource: Resource, obj: JsonObject) -> JsonObject: ...


Connect = Callable[[], AbstractAsyncContextManager[LeaseApi]]
"""Returns a client; called and entered on the loop that sends the requests."""


@dataclass(frozen=True, slots=True)
class LeaseLock:
    """Namespace and name of a Lease, and the identity of a candidate (client-go: LeaseLock)."""

    namespace: str
    name: str
    identity: str


class _Lost(Exception):
    """Another identity holds the lease."""


class Candidacy:
    """Takes, renews and releases a Lease for one candidate.

    Attributes:
        holder: the holder when the Lease was last read: "" if free, None if there was no Lease.
        transitions: how often the holder had changed by then.
        claimed: whether this candidate may hold it: a write was sent, and no release since.
    """

    def __init__(
        self,
        connect: Connect,
        lock: LeaseLock,
        *,
        times: LeaseTimes,
        clock: Callable[[], float],
        now: Callable[[], datetime],
        rng: random.Random,
    ) -> None:
        self.holder: str | None = None
        self.transitions = 0
        self.claimed = False
        self._connect = connect
        self._lock = lock
        self._times = times
        self._clock = clock
        self._now = now
        self._rng = rng
        self._open = AsyncExitStack()
        self._client: LeaseApi | None = None
        self._record: Record | None = None
        self._existed = False
        self._logged = ""

    async def open(self) -> None:
        """Open the client, on the running loop."""
        self._client = await self._open.enter_async_context(self._connect())

    async def close(self) -> None:
        """Close the client, on the loop that opened it."""
        self._client = None
        await self._open.aclose()

    async def attempt(self) -> float | None:
        """Take the lease if it is free; return when the write was sent, None if it is not free.

        Raises:
            KubeError: a request failed; after a Conflict another candidate was faster.
            TimeoutError: a request took too long.
        """
        await self._read()
        sent = await self._claim() if self._free_in() <= 0.0 else None
        self._logged = ""
        return sent

    async def renew_until_over(self, term: Term) -> None:
        """Renew the lease until its term is over; log the reason."""
        due = self._clock() + self.pause()
        while True:
            # Wakes at the end of the term, too, which a heartbeat may have moved meanwhile.
            await asyncio.sleep(max(0.0, min(due - self._clock(), term.remaining)))
            remaining = term.remaining
            if remaining <= 0.0:
                log.warning("%s", self._why_over(term))
                return
            if self._clock() < due:
                continue
            due = self._clock() + self.pause()
            try:
                async with asyncio.timeout(remaining):
                    term.renewed(await self._renew(term))
                self._logged = ""
            except _Lost:
                log.warning("lost the lease; it is now held by %r", self.holder)
                term.end()
                return
            except (KubeError, TimeoutError) as error:
                self.log_failure(error)

    async def release(self) -> None:
        """Release the lease if this candidate holds it."""
        # Twice: a renewal that was cancelled may still arrive and change the resourceVersion.
        for _ in range(2):
            await self._read()
            record = self._record
            if record is None or record.lease is None or record.holder != self._lock.identity:
                return
            lease = {**record.lease, "spec": released(record, self._now())}
            try:
                await self._api.replace(LEASES, lease)
            except Conflict:
                continue
            log.info("released the lease")
            return

    def pause(self) -> float:
        """Return the seconds until the next read or renewal."""
        return self._times.retry * (1 + self._rng.uniform(0.0, JITTER))

    def until_free(self, delay: float) -> float:
        """Return ``delay``, or less if the lease expires before."""
        free_in = self._free_in() if self._record else delay
        if not 0.0 < free_in < delay:
            return delay
        return free_in + self._rng.uniform(0.0, JITTER) * self._times.retry

    def log_failure(self, error: Exception) -> None:
        """Log an error, unless it is the one that was logged last."""
        text = error_text(error)
        if text == self._logged:
            return
        self._logged = text
        if isinstance(error, Forbidden):
            text += "; grant get, create and update on leases in that namespace"
        lock = self._lock
        log.warning("cannot read or write lease %s/%s: %s", lock.namespace, lock.name, text)

    def _why_over(self, term: Term) -> str:
        if term.loop_blocked:
            return (
                "lost the lease: the event loop was blocked for longer than the renew deadline "
                f"({self._times.renew_deadline:g} s)"
            )
        return "lost the lease: it was not renewed in time"

    def _free_in(self) -> float:
        """Return the seconds for which the lease, as last read, must not be taken."""
        assert self._record is not None
        return self._record.since + self._wait_before_taking(self._record) - self._clock()

    def _wait_before_taking(self, record: Record) -> float:
        if record.holder == self._lock.identity or record.released:
            return 0.0
        if record.lease is None:
            return self._times.duration if self._existed else 0.0
        # During an upgrade that changes the times, the leader may still use longer ones.
        return max(self._times.duration, record.seconds)

    async def _renew(self, term: Term) -> float:
        """Renew the lease; take it again if it was changed or deleted, unless another holds it."""
        try:
            return await self._claim()
        except (Conflict, NotFound):
            await self._read()
        # Only within the term does a missing Lease prove that nobody else has held it meanwhile.
        if self.holder not in (None, self._lock.identity) or not term.holds:
            raise _Lost
        return await self._claim()

    @property
    def _api(self) -> LeaseApi:
        assert self._client is not None
        return self._client

    async def _read(self) -> None:
        lock = self._lock
        try:
            async with asyncio.timeout(self._times.call):
                lease = await self._api.get(LEASES, lock.name, namespace=lock.namespace)
        except NotFound:
            self._observe(None)
        else:
            self._observe(lease)

    async def _claim(self) -> float:
        """Write this identity into the Lease as last read; return when the write was sent."""
        record, lock = self._record, self._lock
        assert record is not None
        spec = claimed(record, lock.identity, self._times.duration, self._now())
        metadata = {"name": lock.name, "namespace": lock.namespace}
        lease = {**(record.lease or {"metadata": metadata}), "spec": spec}
        write = self._api.create if record.lease is None else self._api.replace
        self.claimed = True
        sent = self._clock()
        async with asyncio.timeout(self._times.call):
            answer = await write(LEASES, lease)
        self._observe(answer)
        return sent

    def _observe(self, lease: JsonObject | None) -> None:
        record = Record(lease, self._clock())
        self.holder, self.transitions = record.holder, record.transitions
        self._existed = self._existed or lease is not None
        if self._record is None or self._record.version != record.version:
            self._record = record


def error_text(error: Exception) -> str:
    """Return the text of an error; a TimeoutError has none of its own."""
    return str(error) or "no answer in time"
