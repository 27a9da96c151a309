"""The jobs that wait for a worker: bounded, fair to tenants, and reported if none gets a worker.

See `fair_queue` for the order.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from workers.errors import PoolBusy
from workers.fair_queue import FairQueue, Usage

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


T = TypeVar("T", bound=Waiting)


class JobQueue(Generic[T]):
    """Bounded; first in, first out for each tenant, and round robin over tenants."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._jobs: FairQueue[T] = FairQueue()
        self._bytes = Usage()

    @property
    def waiting(self) -> Usage:
        """How many jobs wait."""
        return self._jobs.waiting

    def put(self, job: T) -> None:
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

    def take(self, may_run: Callable[[str], bool] = lambda _: True) -> T | None:
        """Remove and return the next job of the first tenant that may run one; None if none may."""
        job = self._jobs.take(may_run)
        if job is not None:
            self._bytes.remove(job.tenant, job.size)
        return job

    def discard(self, job: T) -> None:
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
