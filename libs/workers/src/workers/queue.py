"""The queue of jobs that wait for a worker: bounded, and fair to tenants (round robin).

It depends on no processes and no clock. A tenant that sends many jobs waits for its own; the next
free worker goes to the tenant that got one least recently.
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from workers.errors import PoolBusy


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


T = TypeVar("T", bound=Waiting)


class FairQueue(Generic[T]):
    """First in, first out for each tenant, and round robin over tenants."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        # The tenant whose turn is next comes first.
        self._tenants: OrderedDict[str, deque[T]] = OrderedDict()
        self._held: Counter[str] = Counter()
        self._jobs = 0

    def __len__(self) -> int:
        return self._jobs

    def waiting(self) -> dict[str, int]:
        """Return how many jobs of each tenant wait."""
        return {tenant: len(jobs) for tenant, jobs in self._tenants.items()}

    def put(self, job: T) -> None:
        """Add a job at the end of those of its tenant.

        Raises:
            PoolBusy: the queue is full.
        """
        own = self._tenants.get(job.tenant, ())
        if (
            len(own) >= self._bounds.tenant_jobs
            or self._held[job.tenant] + job.size > self._bounds.tenant_bytes
        ):
            raise PoolBusy(
                "too much work of this namespace is waiting for a worker: try again later"
            )
        if self._jobs >= self._bounds.jobs or self._held.total() + job.size > self._bounds.bytes:
            raise PoolBusy("too much work is waiting for a worker: try again later")
        self._tenants.setdefault(job.tenant, deque()).append(job)
        self._held[job.tenant] += job.size
        self._jobs += 1

    def take(self, may_run: Callable[[str], bool]) -> T | None:
        """Remove and return the next job of the first tenant that may run one; None if none may."""
        for tenant, jobs in self._tenants.items():
            if may_run(tenant):
                job = jobs[0]
                self.discard(job)
                if tenant in self._tenants:
                    self._tenants.move_to_end(tenant)
                return job
        return None

    def discard(self, job: T) -> None:
        """Remove a job, if it is still waiting."""
        jobs = self._tenants.get(job.tenant)
        if jobs is None or job not in jobs:
            return
        jobs.remove(job)
        self._held[job.tenant] -= job.size
        self._jobs -= 1
        # Nothing is kept of tenants that have nothing waiting: there may be very many of them.
        if not jobs:
            del self._tenants[job.tenant]
            del self._held[job.tenant]
