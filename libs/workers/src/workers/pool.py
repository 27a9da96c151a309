"""Keeps worker processes warm and shares them between tenants.

The first process is started with the service, a second one once the service has settled. The others
follow when jobs have all there are: a service that never needs them is spared their memory.

Invariants: there are never more than `size + 1` processes, since a new one is started only after
the one that it replaces has been reaped (or killed, where the kernel does not end it); never more
than `size` jobs run; and one tenant never has more than its share of them, which is below `size`. A
tenant whose job ended its process counts as running it until the new one is ready: whoever kills
workers waits for their starts, and nobody else does. A job that ends, however it ends, gives its
place back without another `await`.
"""

import asyncio
import contextlib
import logging
import math
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from workers.errors import JobFailed, LimitExceeded, Limits, Outcome, PoolBusy, WorkerError
from workers.process import Killed, StartError, Worker
from workers.queue import Bounds, JobQueue, Shortage

log = logging.getLogger(__name__)

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TRIES = 2
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
"""Seconds between two failing starts."""
_AT_REST = 2
"""Processes without any job: one to take the next, and one for whoever comes meanwhile."""
_PATIENCE = 60.0
_SETTLING = 30.0
"""Seconds in which a service that has just started has better use for its CPU than a spare."""


@dataclass(frozen=True, slots=True)
class Observation:
    """How one job ended.

    Attributes:
        handler: Which job.
        outcome: `ok`, the name of the limit that was exceeded, `failed`, `busy` or `cancelled`.
        waited: Seconds until a worker took it, or until it ended without one.
        seconds: Seconds in a worker; 0 without one.
        tenant: Whose job it was.
        cpu: Seconds of CPU of the worker; if the job ended its process, `seconds` instead.
    """

    handler: str
    outcome: Outcome
    waited: float
    seconds: float
    tenant: str = ""
    cpu: float = 0.0


@dataclass(slots=True, eq=False)
class _Job:
    """A job that waits for a worker."""

    tenant: str
    size: int
    granted: "asyncio.Future[Worker]"
    worker: Worker | None = None


@dataclass(slots=True)
class _Times:
    """When a job came and when a worker took it, of a monotonic clock."""

    came: float = field(default_factory=time.monotonic)
    taken: float | None = None
    cpu_before: float | None = None
    cpu_after: float | None = None

    def begin(self, worker: Worker) -> None:
        self.taken = time.monotonic()
        self.cpu_before = worker.cpu_seconds()

    def end(self, worker: Worker) -> None:
        self.cpu_after = worker.cpu_seconds()

    def observe(self, handler: str, outcome: Outcome, tenant: str) -> Observation:
        now = time.monotonic()
        taken = now if self.taken is None else self.taken
        return Observation(
            handler, outcome, taken - self.came, now - taken, tenant, self._cpu(now - taken)
        )

    def _cpu(self, most: float) -> float:
        if self.cpu_before is None or self.cpu_after is None:
            return most
        # A pid may have become another's between the end of the process and our notice of it.
        return min(max(self.cpu_after - self.cpu_before, 0.0), most)


class Pool:
    """Worker processes for jobs of many tenants.

    Args:
        handlers: Module with `HANDLERS`, functions from bytes to bytes by name, and optionally
            `prepare()`, which is called once in each process before it is locked down: what
            handlers need later has to be imported and read there. If it has `report_to`, that is
            called with a function that takes the part of a job before it is worked on; the error
            of a limit has the last one.
        size: Jobs that run at the same time, at least 2; one more process is kept as a spare.
        share: Jobs of one tenant that run at the same time, below the size; by default one less.
        limits: What a job may use.
        bounds: Limits of the queue of jobs.
        at_rest: Processes that are started without a job. A job that takes the last idle one
            starts the next at once.
        settling: Seconds after the start of the first of them until the others are started.
        patience: Seconds without a worker for any job, though jobs wait, after which the pool is
            not ready; more than a job may take and a process to start.
        observe: Called once for each call, at its end; must not raise.
        path: Directories to import from, besides those of the interpreter.

    Raises:
        ValueError: the size is below 2, or the share is not below the size: one tenant could
            occupy the pool.
    """

    def __init__(
        self,
        handlers: str,
        *,
        size: int = 2,
        share: int | None = None,
        limits: Limits | None = None,
        bounds: Bounds | None = None,
        at_rest: int = _AT_REST,
        settling: float = _SETTLING,
        patience: float = _PATIENCE,
        observe: Callable[[Observation], None] | None = None,
        path: Sequence[Path] = (),
    ) -> None:
        if size < 2:
            raise ValueError(f"a pool of {size}: one tenant could occupy it; use at least 2")
        if share is not None and not 1 <= share < size:
            raise ValueError(f"a share of {share} of {size} workers; use 1 to {size - 1}")
        self.limits = limits or Limits()
        self._size, self._share = size, share or size - 1
        self._start = partial(Worker.start, handlers, self.limits, path)
        self._observe = observe or (lambda _: None)
        self._queue: JobQueue[_Job] = JobQueue(bounds or Bounds())
        self._workers: set[Worker] = set()
        # The one used last comes last and is used next: its caches are warm.
        self._idle: list[Worker] = []
        self._running: set[Worker] = set()
        # The tenant of each worker that has a job, or whose job has ended it until there is a new
        # one. What is used is counted from these, so that no counter can differ from them.
        self._places: dict[Worker, str] = {}
        self._at_rest = at_rest
        self._settling = settling
        self._all_taken = asyncio.Event()
        self._stopped = False
        self._shortage = Shortage(patience, self._describe)

    @property
    def ready(self) -> bool:
        """Whether a worker is running, so that a job need not wait for one to start."""
        return not self.why_not_ready()

    def why_not_ready(self) -> str:
        """Return why jobs cannot be expected to get a worker; empty if they can."""
        if not self._workers:
            return "no worker process is ready"
        return self._shortage.text

    def _describe(self) -> str:
        return (
            f"processes: {len(self._workers)}, with a job: {len(self._running)}, "
            f"jobs waiting: {self.waiting}"
        )

    @property
    def pids(self) -> frozenset[int]:
        """Pids of the running worker processes."""
        # Copied at once, since metrics are collected in a thread.
        return frozenset(worker.pid for worker in tuple(self._workers))

    @property
    def waiting(self) -> int:
        """Number of jobs that wait for a worker."""
        return self._queue.waiting.total

    def running_by_tenant(self) -> dict[str, int]:
        """Return how many workers each tenant occupies."""
        return dict(Counter(self._places.values()))

    def waiting_by_tenant(self) -> dict[str, int]:
        """Return how many jobs of each tenant wait for a worker."""
        return self._queue.waiting.by_tenant()

    def resident_memory(self) -> int:
        """Return the resident memory of all worker processes in bytes."""
        return sum(_resident(pid) for pid in self.pids)

    async def run(self) -> None:
        """Keep the processes running until cancelled; then end them and fail the waiting jobs."""
        settled = math.inf
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(self._size + 1):
                    if number:
                        await self._next_needed(settled if number < self._at_rest else math.inf)
                    started = asyncio.Event()
                    group.create_task(self._keep(started), name=f"worker process {number}")
                    # One after the other at the start of a service, whose first worker is ready
                    # sooner if it need not share the CPU. Later starts wait for no other's.
                    await started.wait()
                    settled = min(settled, time.monotonic() + self._settling)
        finally:
            self._stopped = True
            self._shortage.over()
            while (job := self._queue.take()) is not None:
                if not job.granted.done():
                    job.granted.set_exception(PoolBusy("the worker processes are stopping"))

    async def _next_needed(self, settled: float) -> None:
        """Return when jobs have all processes, at the latest at a time of the monotonic clock."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(settled - time.monotonic()):
                await self._all_taken.wait()
        self._all_taken.clear()

    async def call(
        self,
        handler: str,
        payload: bytes,
        *,
        tenant: str,
        cpu: float | None = None,
        wall: float | None = None,
    ) -> bytes:
        """Run a job in a worker and return its answer.

        Cancelling it ends the process that works on it. How long it waits for a worker is up to
        the caller (`asyncio.timeout`).

        Args:
            handler: Name of a handler.
            payload: What it is called with.
            tenant: Whose job it is.
            cpu: Seconds of CPU instead of the limit.
            wall: Seconds from the worker's start on it to the answer, instead of the limit.

        Raises:
            LimitExceeded: the job needs more than it may.
            JobFailed: the handler raised, or its process died.
            PoolBusy: too much is waiting, or the pool is stopping.
        """
        times = _Times()
        outcome: Outcome = "cancelled"
        run = partial(
            Worker.run,
            handler=handler,
            payload=payload,
            cpu=self.limits.cpu if cpu is None else cpu,
            wall=self.limits.wall if wall is None else wall,
        )
        try:
            if len(payload) > self.limits.payload:
                raise LimitExceeded("payload", self.limits.payload)
            answer = await self._try(run, tenant, len(payload), times)
            outcome = "ok"
            return answer
        except WorkerError as error:
            outcome = error.outcome
            raise
        finally:
            self._observe(times.observe(handler, outcome, tenant))

    async def _try(
        self,
        run: Callable[[Worker], Coroutine[None, None, bytes]],
        tenant: str,
        size: int,
        times: _Times,
    ) -> bytes:
        # A process that was killed from outside says nothing about its job, and handlers have no
        # effects. Only once more: a job may be the reason why the kernel ends processes.
        for _ in range(_TRIES):
            with contextlib.suppress(Killed):
                async with self._taken(tenant, size) as worker:
                    times.begin(worker)
                    try:
                        return await run(worker)
                    finally:
                        times.end(worker)
        raise JobFailed("its process was killed twice, perhaps for lack of memory in the container")

    @contextlib.asynccontextmanager
    async def _taken(self, tenant: str, size: int) -> AsyncIterator[Worker]:
        """Wait for a worker and hold it."""
        if self._stopped:
            raise PoolBusy("the worker processes are stopping")
        job = _Job(tenant, size, asyncio.get_running_loop().create_future())
        self._queue.put(job)
        try:
            self._hand_out()
            yield await job.granted
        finally:
            self._queue.discard(job)
            # Also if it is cancelled in the iteration of the loop in which it gets its worker.
            if job.worker is not None:
                self._give_back(job.worker)

    def _hand_out(self) -> None:
        while self._idle and len(self._running) < self._size:
            job = self._queue.take(self._may_run)
            if job is None:
                break
            # A cancelled one leaves the queue itself, in a later turn of the loop.
            if not job.granted.done():
                job.worker = worker = self._idle.pop()
                self._running.add(worker)
                self._places[worker] = job.tenant
                job.granted.set_result(worker)
                self._shortage.over()
                if not self._idle:
                    self._all_taken.set()
        if self._idle and len(self._running) < self._size:
            # Who waits now waits for its own share.
            self._shortage.over()
        elif self.waiting:
            self._shortage.begin()

    def _may_run(self, tenant: str) -> bool:
        return sum(other == tenant for other in self._places.values()) < self._share

    def _give_back(self, worker: Worker) -> None:
        self._running.discard(worker)
        if worker.usable:
            del self._places[worker]
            self._idle.append(worker)
        self._hand_out()

    async def _keep(self, started: asyncio.Event) -> None:
        """Keep one process running; `started` is set once it has started for the first time."""
        ended: Worker | None = None
        while True:
            worker = await self._started()
            started.set()
            if ended is not None:
                self._places.pop(ended, None)
            self._workers.add(worker)
            self._idle.append(worker)
            self._hand_out()
            try:
                code = await worker.wait()
                # Negative codes are signals: -9 by the pool or for lack of memory, -24 for CPU.
                # Without a code it is still there, and replaced all the same.
                level = logging.ERROR if code is None else logging.INFO
                log.log(
                    level, "a worker process has ended", extra={"pid": worker.pid, "code": code}
                )
            finally:
                self._workers.discard(worker)
                if worker in self._idle:
                    self._idle.remove(worker)
                await worker.end()
            ended = worker

    async def _started(self) -> Worker:
        pause = _FIRST_PAUSE
        while True:
            try:
                return await self._start()
            except StartError as error:
                log.error("a worker process cannot be started", extra={"error": str(error)})
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)


def _resident(pid: int) -> int:
    try:
        statm = Path(f"/proc/{pid}/statm").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(statm.split()[1]) * _PAGE
