"""Fair queue between tenants, and the bounded one of the jobs that wait for a worker.

`FairQueue` and `Usage` depend on no processes, no event loop and no clock. Whoever takes an item
counts it in a `Usage` for as long as it is in use, so that one tenant never has more than its
share. `Shortage` reports that no job gets a worker.
"""

import asyncio
import logging
import sys
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from workers.errors import PoolBusy

_IN_A_ROW = 15
"""So many items go before the rest of their tenant; then one of the rest is taken."""

T = TypeVar("T")


class Usage:
    """How much each tenant uses of something; tenants that use nothing are not kept.

    Args:
        limit: Of all tenants.
        tenant_limit: Of one tenant.

    Attributes:
        total: Of all tenants.
    """

    def __init__(self, limit: int = sys.maxsize, tenant_limit: int = sys.maxsize) -> None:
        self.total = 0
        self._limit, self._tenant_limit = limit, tenant_limit
        self._amounts: dict[str, int] = {}

    def __getitem__(self, tenant: str) -> int:
        return self._amounts.get(tenant, 0)

    def by_tenant(self) -> dict[str, int]:
        """Return how much each tenant uses."""
        return self._amounts.copy()

    def has_room(self, tenant: str) -> bool:
        """Return whether a tenant may use one more."""
        return self.total < self._limit and self[tenant] < self._tenant_limit

    def add(self, tenant: str, amount: int = 1) -> None:
        """Count that a tenant uses more; the limits are up to the caller."""
        self.total += amount
        used = self[tenant] + amount
        if used:
            self._amounts[tenant] = used
        else:
            # There may be very many tenants over time.
            self._amounts.pop(tenant, None)

    def remove(self, tenant: str, amount: int = 1) -> None:
        """Count that a tenant uses less."""
        self.add(tenant, -amount)


@dataclass(slots=True)
class _Items(Generic[T]):
    """The items of one tenant; dictionaries as ordered sets.

    Attributes:
        first: Items that go before the rest.
        rest: The other items.
        in_a_row: How many items of `first` were taken while others waited in `rest`.
    """

    first: OrderedDict[T, None] = field(default_factory=OrderedDict)
    rest: OrderedDict[T, None] = field(default_factory=OrderedDict)
    in_a_row: int = 0

    def next(self) -> T:
        # Without the limit, items that are put first again and again would keep the rest waiting
        # for ever.
        first = self.first and (not self.rest or self.in_a_row < _IN_A_ROW)
        self.in_a_row = self.in_a_row + 1 if first and self.rest else 0
        return (self.first if first else self.rest).popitem(last=False)[0]


class FairQueue(Generic[T]):
    """Items of many tenants; the next one is of the tenant that got one least recently.

    The next item of a tenant waits for one item at most of each other tenant, however many wait
    there. Each call takes constant time, however many wait; but `take` passes over tenants that may
    have none, of which there should be few: they have used their shares.

    Attributes:
        waiting: How many items wait.
    """

    def __init__(self) -> None:
        self.waiting = Usage()
        # The tenant whose turn is next comes first.
        self._tenants: OrderedDict[str, _Items[T]] = OrderedDict()

    def put(self, tenant: str, item: T, *, first: bool = False) -> None:
        """Add an item that does not wait yet, behind those of its tenant.

        Args:
            tenant: Whose it is.
            item: Something hashable.
            first: Whether it goes before those of its tenant that do not.
        """
        own = self._tenants.setdefault(tenant, _Items())
        (own.first if first else own.rest)[item] = None
        self.waiting.add(tenant)

    def take(self, may_have: Callable[[str], bool] = lambda _: True) -> T | None:
        """Remove and return the next item of the first tenant that may have one; None if none."""
        tenant = next(filter(may_have, self._tenants), None)
        if tenant is None:
            return None
        item = self._tenants[tenant].next()
        self._tenants.move_to_end(tenant)
        self._removed(tenant)
        return item

    def discard(self, tenant: str, item: T) -> bool:
        """Remove an item; return False if it does not wait."""
        own = self._tenants.get(tenant, _Items[T]())
        for items in (own.first, own.rest):
            if item in items:
                del items[item]
                self._removed(tenant)
                return True
        return False

    def _removed(self, tenant: str) -> None:
        self.waiting.remove(tenant)
        if not self.waiting[tenant]:
            del self._tenants[tenant]


log = logging.getLogger(__name__)


class Waiting(Protocol):
    """A job in the queue."""

    @property
    def tenant(self) -> str: ...

    @property
    def size(self) -> int:
        """Bytes of memory that the job holds while it waits."""
        ...


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of the queue of jobs.

    Attributes:
        jobs: Of all tenants.
        tenant_jobs: Of one tenant.
        bytes: Of payloads of all tenants.
        tenant_bytes: Of payloads of one tenant.
    """

    jobs: int = 512
    tenant_jobs: int = 64
    bytes: int = 64 << 20
    tenant_bytes: int = 16 << 20


Job = TypeVar("Job", bound=Waiting)


class JobQueue(Generic[Job]):
    """Bounded; first in, first out for each tenant, and round robin over tenants."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._jobs: FairQueue[Job] = FairQueue()
        self._bytes = Usage()

    @property
    def waiting(self) -> Usage:
        """How many jobs wait."""
        return self._jobs.waiting

    def put(self, job: Job) -> None:
        """Add a job at the end of those of its tenant.

        Raises:
            PoolBusy: the queue is full.
        """
        bounds, tenant = self._bounds, job.tenant
        if (
            self.waiting[tenant] >= bounds.tenant_jobs
            or self._bytes[tenant] + job.size > bounds.tenant_bytes
        ):
            raise PoolBusy(
                "too much work of this namespace is waiting for a worker: try again later"
            )
        if self.waiting.total >= bounds.jobs or self._bytes.total + job.size > bounds.bytes:
            raise PoolBusy("too much work is waiting for a worker: try again later")
        self._jobs.put(tenant, job)
        self._bytes.add(tenant, job.size)

    def take(self, may_run: Callable[[str], bool] = lambda _: True) -> Job | None:
        """Remove and return the next job of the first tenant that may run one; None if none may."""
        job = self._jobs.take(may_run)
        if job is not None:
            self._bytes.remove(job.tenant, job.size)
        return job

    def discard(self, job: Job) -> None:
        """Remove a job, if it is still waiting."""
        if self._jobs.discard(job.tenant, job):
            self._bytes.remove(job.tenant, job.size)


class Shortage:
    """The time in which no worker could be given to a job.

    Args:
        patience: Seconds until it is reported; a shorter one is usual.
        describe: Returns the state of the pool, for the report.

    Attributes:
        text: What is wrong; empty unless it lasts.
    """

    def __init__(self, patience: float, describe: Callable[[], str]) -> None:
        self.text = ""
        self._patience = patience
        self._describe = describe
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Record that a job waits for want of a worker; no effect if one does already."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._patience, self._report)

    def over(self) -> None:
        """Record that a worker was given to a job, or could be."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.text:
            log.info("jobs get worker processes again")
            self.text = ""

    def _report(self) -> None:
        self.text = f"no job got a worker process for {self._patience:g} s: {self._describe()}"
        log.error("no worker process for jobs", extra={"why": self.text})
