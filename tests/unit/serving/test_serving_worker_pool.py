"""Options, readiness and metrics of a service's worker processes."""

import asyncio
import contextlib

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from kudo.jobs import check
from serving.probes import Probes
from serving.settings import parse
from serving.worker_pool import (
    WorkerMetrics,
    WorkerSettings,
    WorkerUsage,
    build_pool,
    worker_options,
)
from tests.support.pools import until
from workers import Bounds, Observation, Pool, PoolBusy


def read(*argv: str, **environ: str) -> WorkerSettings:
    values = parse(worker_options("X_"), prog="x", description="", argv=argv, environ=environ)
    return WorkerSettings.take(vars(values))


def sample(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    return registry.get_sample_value(name, labels)


def test_without_options_two_processes_and_a_spare_have_192_mib_each() -> None:
    assert read() == WorkerSettings(2, 192 << 20) == WorkerSettings()


@pytest.mark.parametrize(
    ("text", "value"),
    [("192Mi", 192 << 20), ("1Gi", 1 << 30), ("65536Ki", 64 << 20), ("100000000", 10**8)],
)
def test_memory_is_written_as_in_kubernetes(text: str, value: int) -> None:
    assert read("--worker-memory", text) == WorkerSettings(2, value)
    assert read(X_WORKER_MEMORY=text, X_WORKER_PROCESSES="5") == WorkerSettings(5, value)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--worker-processes=1", "'1' is no number of worker processes from 2 to 64"),
        ("--worker-processes=65", "'65' is no number of worker processes"),
        ("--worker-processes=two", "'two' is no number of worker processes"),
        ("--worker-memory=63Mi", "'63Mi' is too little memory"),
        ("--worker-memory=192MB", "'192MB' is no amount of memory, such as 192Mi"),
        ("--worker-memory=Mi", "'Mi' is no amount of memory"),
        ("--worker-memory=\u0663Gi", "is no amount of memory"),
    ],
)
def test_what_is_wrong_is_named(option: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read(option)
    assert text in capsys.readouterr().err


async def test_a_service_is_ready_once_a_process_is_and_tells_of_all() -> None:
    probes, registry = Probes(), CollectorRegistry()
    pool = build_pool("kudo.jobs", WorkerSettings(), registry, probes)
    assert probes.not_ready() == {"workers": "no worker process is ready"}
    running = asyncio.create_task(pool.run())
    await until(lambda: not probes.not_ready())
    while len(pool.pids) < 3:
        # The next is started as soon as jobs have all there are.
        jobs = [pool.call(check.NAME, check.encode_request([]), tenant=name) for name in "ab"]
        await asyncio.gather(*jobs)
    assert sample(registry, "kudo_worker_processes") == 3
    # No interpreter runs in less than a few MiB.
    assert (sample(registry, "kudo_worker_resident_memory_bytes") or 0) > 3 * (4 << 20)
    assert sample(registry, "kudo_worker_jobs_waiting") == 0
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    assert sample(registry, "kudo_worker_processes") == 0
    assert sample(registry, "kudo_worker_resident_memory_bytes") == 0


def test_a_job_that_no_process_took_has_waited_and_has_no_duration() -> None:
    registry = CollectorRegistry()
    metrics = WorkerMetrics(registry)
    metrics.observe(Observation("render", "ok", waited=0.25, seconds=0.5))
    metrics.observe(Observation("render", "busy", waited=0.0, seconds=0.0))
    assert sample(registry, "kudo_worker_jobs_total", job="render", outcome="ok") == 1
    assert sample(registry, "kudo_worker_jobs_total", job="render", outcome="busy") == 1
    assert sample(registry, "kudo_worker_job_wait_seconds_count") == 2
    assert sample(registry, "kudo_worker_job_duration_seconds_sum", job="render") == 0.5
    assert sample(registry, "kudo_worker_job_duration_seconds_count", job="render") == 1
    assert b"tenant" not in generate_latest(registry)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--namespace-worker-processes=2"], r"processes \(2\) must be below .* \(2\)"),
        (["--namespace-worker-jobs=512"], r"jobs \(512\) must be below --worker-jobs \(512\)"),
        (["--worker-job-memory=16Mi"], r"memory \(16777216\) must be below .* \(16777216\)"),
    ],
)
def test_one_namespace_may_not_take_everything(options: list[str], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        read(*options)


@pytest.mark.parametrize("text", ["7Mi", "2Gi", "8MB"])
def test_waiting_jobs_have_room_for_the_largest(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        read(f"--namespace-worker-job-memory={text}")
    assert "is no amount of memory" in capsys.readouterr().err


def test_limits_of_jobs_are_options() -> None:
    found = read(
        "--worker-processes=4",
        *("--namespace-worker-processes=2", "--worker-jobs=10", "--namespace-worker-jobs=9"),
        *("--worker-job-memory=9Mi", "--namespace-worker-job-memory=8Mi"),
    )
    assert found == WorkerSettings(4, 192 << 20, 2, Bounds(10, 9, 9 << 20, 8 << 20))


async def test_the_options_reach_the_pool() -> None:
    settings = WorkerSettings(3, share=1, bounds=Bounds(tenant_jobs=1))
    usage = WorkerUsage()
    pool = build_pool("kudo.jobs", settings, CollectorRegistry(), Probes(), usage)
    # No process is started, so jobs wait.
    waiting = asyncio.create_task(pool.call(check.NAME, b"", tenant="a"))
    await until(lambda: pool.waiting == 1)
    with pytest.raises(PoolBusy):
        await pool.call(check.NAME, b"", tenant="a")
    found = {one.name: dict(one.read()) for one in usage.measures(pool)}
    assert found == {
        "worker_jobs_running": {},
        "worker_jobs_waiting": {"a": 1},
        "worker_cpu_seconds": {},
        "worker_jobs_refused": {"a": 1},
    }
    waiting.cancel()


def test_cpu_and_refusals_are_summed_by_namespace() -> None:
    usage, pool = WorkerUsage(), Pool("kudo.jobs")
    usage.observe(Observation("render", "ok", 0.0, 1.0, "a", 0.75))
    usage.observe(Observation("render", "ok", 0.0, 1.0, "a", 0.5))
    usage.observe(Observation("render", "cpu", 0.0, 10.0, "b", 10.0))
    usage.observe(Observation("render", "cancelled", 0.0, 0.0, "c", 0.0))
    usage.observe(Observation("render", "failed", 0.0, 0.0, "c", 0.0))
    found = {one.name: dict(one.read()) for one in usage.measures(pool)}
    assert found["worker_cpu_seconds"] == {"a": 1.25, "b": 10.0}
    assert found["worker_jobs_refused"] == {"b": 1}
