"""Options, readiness and metrics of the worker processes of a service."""

from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from serving.namespaces import Measure, Tally
from serving.probes import Probes
from serving.settings import Option, Share, share_options, take_share, within
from workers import Bounds, Limits, Observation, Pool

_SECONDS = (
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    20.0,
)
_UNITS = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
_LEAST_MEMORY = 64 << 20
_JOBS = Share(Bounds().jobs, Bounds().tenant_jobs)
_LEAST_JOB_BYTES = Limits().payload
"""Fewer bytes would refuse the largest job for ever, and not only while others wait."""


def processes(text: str) -> int:
    """Convert a number of worker processes.

    Raises:
        ValueError: it is none from 2 to 64; a single one could be kept busy by one namespace.
    """
    if not text.isascii() or not text.isdigit() or not 2 <= int(text) <= 64:
        raise ValueError(f"{text!r} is no number of worker processes from 2 to 64")
    return int(text)


def memory(text: str) -> int:
    """Convert an amount of memory, in bytes or as Kubernetes writes it, such as 192Mi.

    Raises:
        ValueError: it is none, or less than a process needs to start.
    """
    value = _amount(text)
    if value < _LEAST_MEMORY:
        raise ValueError(f"{text!r} is too little memory for a worker process; the least is 64Mi")
    return value


def job_memory(text: str) -> int:
    """Convert an amount of memory for waiting jobs.

    Raises:
        ValueError: it is none, less than the largest job, or more than 1Gi.
    """
    value = _amount(text)
    if not _LEAST_JOB_BYTES <= value <= 1 << 30:
        raise ValueError(f"{text!r} is no amount of memory from 8Mi to 1Gi")
    return value


def _amount(text: str) -> int:
    digits, unit = (text[:-2], text[-2:]) if text[-2:] in _UNITS else (text, "")
    if not digits.isascii() or not digits.isdigit():
        raise ValueError(f"{text!r} is no amount of memory, such as 192Mi")
    return int(digits) * _UNITS.get(unit, 1)


def worker_options(env_prefix: str) -> tuple[Option, ...]:
    """Return the options of worker processes; `WorkerSettings.take` reads their values."""
    return (
        Option(
            "--worker-processes",
            env_prefix + "WORKER_PROCESSES",
            "Worker processes for what tenants sent, to parse or render it; one more is a spare.",
            default=2,
            type=processes,
        ),
        Option(
            "--worker-memory",
            env_prefix + "WORKER_MEMORY",
            "Address space of each of these processes, such as 192Mi; the spare has as much.",
            default=Limits().memory,
            type=memory,
        ),
        Option(
            "--namespace-worker-processes",
            env_prefix + "NAMESPACE_WORKER_PROCESSES",
            "Worker processes that one namespace may occupy; less than --worker-processes, "
            "without it one less.",
            type=within(1, 63),
        ),
        *share_options(env_prefix, "worker-jobs", _JOBS, "Jobs that wait for a worker", 100_000),
        Option(
            "--worker-job-memory",
            env_prefix + "WORKER_JOB_MEMORY",
            "Memory of the jobs that wait for a worker, of all namespaces.",
            default=Bounds().bytes,
            type=job_memory,
        ),
        Option(
            "--namespace-worker-job-memory",
            env_prefix + "NAMESPACE_WORKER_JOB_MEMORY",
            "The same of one namespace; less than --worker-job-memory.",
            default=Bounds().tenant_bytes,
            type=job_memory,
        ),
    )


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """The options of worker processes.

    Attributes:
        processes: Jobs at the same time, without the spare.
        memory: Bytes of address space of each process.
        share: Processes that one namespace may occupy; None for all but one.
        bounds: Limits of the jobs that wait.
    """

    processes: int = 2
    memory: int = Limits().memory
    share: int | None = None
    bounds: Bounds = field(default_factory=Bounds)

    @classmethod
    def take(cls, values: dict[str, Any]) -> "WorkerSettings":
        """Remove the values of `worker_options` from those of all options, and return them.

        Raises:
            ValueError: they contradict each other.
        """
        processes, share = values.pop("worker_processes"), values.pop("namespace_worker_processes")
        if share is not None and share >= processes:
            raise ValueError(
                f"--namespace-worker-processes ({share}) must be below "
                f"--worker-processes ({processes})"
            )
        return cls(processes, values.pop("worker_memory"), share, _bounds(values))


def _bounds(values: dict[str, Any]) -> Bounds:
    jobs = take_share(values, "worker-jobs")
    total, own = values.pop("worker_job_memory"), values.pop("namespace_worker_job_memory")
    if own >= total:
        raise ValueError(
            f"--namespace-worker-job-memory ({own}) must be below --worker-job-memory ({total})"
        )
    return Bounds(jobs.total, jobs.namespace, total, own)


def build_pool(
    handlers: str,
    settings: WorkerSettings,
    registry: CollectorRegistry,
    probes: Probes,
    usage: "WorkerUsage | None" = None,
    *,
    at_rest: int = 2,
) -> Pool:
    """Return the pool of a service, with metrics and readiness; its `run` starts the processes.

    Args:
        handlers: The module with the handlers of its jobs.
        settings: How many processes, and how large.
        registry: Receives the metrics.
        probes: Readiness waits for the first process.
        usage: Receives what each namespace uses.
        at_rest: Processes that are started before there are jobs for them.
    """
    metrics = WorkerMetrics(registry)
    usage = usage or WorkerUsage()

    def observe(seen: Observation) -> None:
        metrics.observe(seen)
        usage.observe(seen)

    pool = Pool(
        handlers,
        size=settings.processes,
        share=settings.share,
        bounds=settings.bounds,
        limits=Limits(memory=settings.memory),
        at_rest=at_rest,
        observe=observe,
    )
    metrics.follow(pool)
    probes.add("workers", lambda: pool.why_not_ready() or True)
    return pool


class WorkerUsage:
    """What each namespace has used of the worker processes, for `serving.namespaces`."""

    def __init__(self) -> None:
        self._cpu, self._refused = Tally(), Tally()

    def observe(self, seen: Observation) -> None:
        """Count a job."""
        if seen.cpu:
            self._cpu.add(seen.tenant, seen.cpu)
        if seen.outcome not in ("ok", "failed", "cancelled"):
            self._refused.add(seen.tenant)

    def measures(self, pool: Pool) -> list[Measure]:
        """Return the measures of the jobs of each namespace."""
        return [
            Measure("worker_jobs_running", pool.running_by_tenant),
            Measure("worker_jobs_waiting", pool.waiting_by_tenant),
            Measure.of("worker_cpu_seconds", self._cpu),
            Measure.of("worker_jobs_refused", self._refused),
        ]


class WorkerMetrics:
    """The metrics of a pool. Names of jobs are constants of the code, so no label is a tenant's."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._jobs = Counter(
            "kudo_worker_jobs_total",
            "Jobs of worker processes by how they ended.",
            ("job", "outcome"),
            registry=registry,
        )
        self._seconds = Histogram(
            "kudo_worker_job_duration_seconds",
            "Time that a job spent in a worker process.",
            ("job",),
            buckets=_SECONDS,
            registry=registry,
        )
        self._waits = Histogram(
            "kudo_worker_job_wait_seconds",
            "Time that a job waited for a worker process.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._waiting = Gauge(
            "kudo_worker_jobs_waiting",
            "Jobs that wait for a worker process.",
            registry=registry,
        )
        self._processes = Gauge(
            "kudo_worker_processes",
            "Worker processes that are ready, the spare included.",
            registry=registry,
        )
        self._resident = Gauge(
            "kudo_worker_resident_memory_bytes",
            "Memory in use by all worker processes.",
            registry=registry,
        )

    def follow(self, pool: Pool) -> None:
        """Report the state of a pool."""
        self._waiting.set_function(lambda: pool.waiting)
        self._processes.set_function(lambda: len(pool.pids))
        self._resident.set_function(pool.resident_memory)

    def observe(self, seen: Observation) -> None:
        """Count a job."""
        self._jobs.labels(seen.handler, seen.outcome).inc()
        self._waits.observe(seen.waited)
        # A job that no worker began has no duration.
        if seen.seconds:
            self._seconds.labels(seen.handler).observe(seen.seconds)
