"""What a candidate asks of the API server about its Lease, and what it knows of it.

All requests are made on the loop that the client belongs to. Nothing here is locked: it is used by
one loop at a time (see `loop_thread`), but for ``holder`` and ``transitions``, which anybody may
read.
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
from kubeio.kinds import LEASES
from kubeio.leader_election.record import Record, claimed, released
from kubeio.leader_election.term import JITTER, LeaseTimes, Term
from kubeio.resource import Resource
from kubeio.types import JsonObject

log = logging.getLogger(__name__)


class LeaseApi(Protocol):
    """What an election needs of a ``Client``."""

    async def get(
        self, resource: Resource, name: str, *, namespace: str | None = None
    ) -> JsonObject: ...

    async def create(self, resource: Resource, obj: JsonObject) -> JsonObject: ...

    async def replace(self, resource: Resource, obj: JsonObject) -> JsonObject: ...


Connect = Callable[[], AbstractAsyncContextManager[LeaseApi]]
"""Returns a client; called and entered on the loop that makes the requests."""


@dataclass(frozen=True, slots=True)
class Place:
    """A Lease, and the name under which one candidate holds it."""

    namespace: str
    name: str
    identity: str


class _Lost(Exception):
    """Somebody else holds the lease, or was made to."""


class Candidacy:
    """One candidate for one Lease, as the API server sees it.

    Args:
        connect: makes the client.
        place: which Lease, and as whom.
        times: how long a lease lasts.
        clock: seconds that only grow.
        now: the time of day, for what people read.
        rng: source of jitter.

    Attributes:
        holder: who held the Lease when last seen: "" nobody, None if there was no Lease.
        transitions: how often it had changed hands by then.
        claimed: whether it may be ours: we have tried to take it and not given it up since.
    """

    def __init__(
        self,
        connect: Connect,
        place: Place,
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
        self._place = place
        self._times = times
        self._clock = clock
        self._now = now
        self._rng = rng
        self._open = AsyncExitStack()
        self._client: LeaseApi | None = None
        self._record: Record | None = None
        self._existed = False
        self._complaint = ""

    async def open(self) -> None:
        """Make the client, on the loop that runs this."""
        self._client = await self._open.enter_async_context(self._connect())

    async def close(self) -> None:
        """Close the client, on the loop that opened it."""
        self._client = None
        await self._open.aclose()

    async def attempt(self) -> float | None:
        """Take the lease if it is free; returns when that was sent, None if it is not.

        Raises:
            KubeError: a request failed; a Conflict says that another candidate was faster.
            TimeoutError: a request was not answered in time.
        """
        await self._read()
        sent = await self._claim() if self._free_in() <= 0.0 else None
        self._complaint = ""
        return sent

    async def renew_until_over(self, term: Term) -> None:
        """Renew the lease until its term is over; log why it is."""
        due = self._clock() + self.pause()
        while True:
            # The thread wakes for the end of the term, too; a heartbeat may have moved that.
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
                self._complaint = ""
            except _Lost:
                log.warning("the lease was taken away; its holder is %r", self.holder)
                term.end()
                return
            except (KubeError, TimeoutError) as error:
                self.complain(error)

    async def clear(self) -> None:
        """Give the lease up if it is ours."""
        # Twice: a renewal of ours may still be on its way when it is cancelled.
        for _ in range(2):
            await self._read()
            record = self._record
            if record is None or record.lease is None or record.holder != self._place.identity:
                return
            lease = {**record.lease, "spec": released(record, self._now())}
            try:
                await self._api.replace(LEASES, lease)
            except Conflict:
                continue
            log.info("the lease is released")
            return

    def pause(self) -> float:
        """Return the seconds until the next look or renewal."""
        return self._times.retry * (1 + self._rng.uniform(0.0, JITTER))

    def until_free(self, delay: float) -> float:
        """Return a shorter delay if the lease runs out before."""
        free_in = self._free_in() if self._record else delay
        if not 0.0 < free_in < delay:
            return delay
        return free_in + self._rng.uniform(0.0, JITTER) * self._times.retry

    def complain(self, error: Exception) -> None:
        """Log what is wrong, once until it has changed."""
        text = words(error)
        if text == self._complaint:
            return
        self._complaint = text
        if isinstance(error, Forbidden):
            text += "; a candidate must be able to get, create and update leases there"
        place = self._place
        log.warning("the lease %s/%s is out of reach: %s", place.namespace, place.name, text)

    def _why_over(self, term: Term) -> str:
        if term.loop_stood_still:
            return (
                "the lease is not renewed any more: the event loop has stood still for longer than "
                f"the renew deadline ({self._times.renew_deadline:g} s)"
            )
        return "the lease was not renewed in time"

    def _free_in(self) -> float:
        """Return for how many seconds the lease, as last seen, must not be taken."""
        assert self._record is not None
        return self._record.since + self._patience(self._record) - self._clock()

    def _patience(self, record: Record) -> float:
        if record.holder == self._place.identity or record.released:
            return 0.0
        if record.lease is None:
            return self._times.duration if self._existed else 0.0
        # During an upgrade that changes the times, its leader may still have longer ones.
        return max(self._times.duration, record.seconds)

    async def _renew(self, term: Term) -> float:
        """Renew the lease, whatever happened to it but that it is another's."""
        try:
            return await self._claim()
        except (Conflict, NotFound):
            await self._read()
        # Only within the term does a missing Lease mean that nobody else has had it.
        if self.holder not in (None, self._place.identity) or not term.holds:
            raise _Lost
        return await self._claim()

    @property
    def _api(self) -> LeaseApi:
        assert self._client is not None
        return self._client

    async def _read(self) -> None:
        place = self._place
        try:
            async with asyncio.timeout(self._times.call):
                lease = await self._api.get(LEASES, place.name, namespace=place.namespace)
        except NotFound:
            self._observe(None)
        else:
            self._observe(lease)

    async def _claim(self) -> float:
        """Write our name into the Lease as last seen; returns when that was sent."""
        record, place = self._record, self._place
        assert record is not None
        spec = claimed(record, place.identity, self._times.duration, self._now())
        metadata = {"name": place.name, "namespace": place.namespace}
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


def words(error: Exception) -> str:
    """Return the text of an error; that of a TimeoutError is empty."""
    return str(error) or "no answer in time"
