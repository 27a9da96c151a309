"""Processes are kept warm, shared fairly, and replaced without anybody waiting."""

import asyncio
import contextlib
import logging
import os
import signal
from pathlib import Path

import pytest

from tests.support.pools import HANDLERS, gone, running, until
from tests.unit.cancelling import cancel_at_each_await
from workers import JobFailed, LimitExceeded, Limits, Observation, Pool, PoolBusy
from workers.queue import Bounds

_GATED = """
import os, pathlib
from trials import HANDLERS

def prepare():
    gate = pathlib.Path(__file__).with_name("gate")
    if gate.exists():
        gate.read_bytes()
"""


class Gate:
    """Stops the starts of processes: they read from a FIFO that nobody has opened to write."""

    def __init__(self, directory: Path) -> None:
        self._fifo = directory / "gate"

    def shut(self) -> None:
        os.mkfifo(self._fifo)

    def open(self) -> None:
        writing = os.open(self._fifo, os.O_RDWR)
        self._fifo.unlink()
        os.close(writing)


@pytest.fixture
def gated(tmp_path: Path) -> Gate:
    (tmp_path / "gated.py").write_text(_GATED)
    (tmp_path / "trials.py").symlink_to(HANDLERS / "trials.py")
    return Gate(tmp_path)


async def test_jobs_of_two_tenants_run_at_the_same_time() -> None:
    async with running() as pool:
        async with asyncio.TaskGroup() as group:
            one = group.create_task(pool.call("burn_for", b"0.2", tenant="a"))
            two = group.create_task(pool.call("burn_for", b"0.2", tenant="b"))
        assert one.result() != two.result()


async def test_one_tenant_never_holds_all_workers() -> None:
    async with running() as pool:
        waiting = [asyncio.create_task(pool.call("sleep", b"", tenant="greedy")) for _ in range(5)]
        await until(lambda: pool.waiting == 4)
        assert await pool.call("echo", b"b", tenant="other") == b"b"
        assert pool.waiting == 4
        await cancel(*waiting)


async def test_cancelling_a_call_kills_the_process_that_works_on_it() -> None:
    async with running() as pool:
        before = pool.pids
        call = asyncio.create_task(pool.call("sleep", b"", tenant="a"))
        await until(lambda: pool.waiting == 0)
        await pool.call("echo", b"", tenant="b")
        await cancel(call)
        await until(lambda: len(before - pool.pids) == 1)
        assert all(gone(pid) for pid in before - pool.pids)
        await until(lambda: len(pool.pids) == 3)


async def test_cancelling_a_call_that_waits_costs_no_process() -> None:
    async with running() as pool:
        before = pool.pids
        working = asyncio.create_task(pool.call("sleep", b"", tenant="a"))
        waiting = asyncio.create_task(pool.call("sleep", b"", tenant="a"))
        await until(lambda: pool.waiting == 1)
        await cancel(waiting)
        assert pool.waiting == 0
        assert pool.pids == before
        await cancel(working)


async def test_a_call_cancelled_as_it_gets_its_worker_gives_it_back() -> None:
    calls: list[asyncio.Task[bytes]] = []

    # Called in the turn of the loop in which the next in the queue has got a worker.
    def cancel_the_last(_: Observation) -> None:
        calls[-1].cancel()

    async with running(observe=cancel_the_last) as pool:
        before = pool.pids
        calls += [asyncio.create_task(pool.call("sleep", b"", tenant=tenant)) for tenant in "abc"]
        await until(lambda: pool.waiting == 1)
        await cancel(calls[0])
        await asyncio.gather(calls[2], return_exceptions=True)
        assert calls[2].cancelled()
        async with asyncio.timeout(60):
            assert await pool.call("echo", b"x", tenant="c") == b"x"
        assert len(before - pool.pids) <= 1
        await cancel(calls[1])


async def test_a_killed_process_is_replaced_while_others_are_served(
    gated: Gate, tmp_path: Path
) -> None:
    async with running(handlers="gated", path=tmp_path) as pool:
        gated.shut()
        with pytest.raises(LimitExceeded):
            await pool.call("sleep", b"", tenant="hostile", wall=0.3)
        # Its next job waits for the start that it has caused; others do not.
        again = asyncio.create_task(pool.call("echo", b"again", tenant="hostile"))
        for tenant in ("b", "c", "b"):
            assert await pool.call("echo", b"x", tenant=tenant) == b"x"
        await until(lambda: len(pool.pids) == 2)
        assert (pool.waiting, len(pool.pids), pool.ready) == (1, 2, True)
        gated.open()
        async with asyncio.timeout(60):
            assert await again == b"again"
        assert len(pool.pids) == 3


async def test_a_job_whose_process_is_killed_from_outside_runs_once_more(tmp_path: Path) -> None:
    async with running() as pool:
        call = asyncio.create_task(pool.call("burn_for", b"0.5", tenant="a"))
        await until(lambda: bool(working(pool)))
        (victim,) = working(pool)
        os.kill(victim, signal.SIGKILL)
        async with asyncio.timeout(60):
            assert int(await call) != victim
        await until(lambda: len(pool.pids) == 3)


async def test_a_job_whose_process_is_always_killed_fails() -> None:
    async with running() as pool:
        call = asyncio.create_task(pool.call("burn", b"", tenant="a"))
        # A victim has its job for a moment longer than it lives.
        victims: set[int] = set()
        for _ in range(2):
            await until(lambda: not victims.issuperset(working(pool)))
            (victim,) = {*working(pool)} - victims
            victims.add(victim)
            os.kill(victim, signal.SIGKILL)
        with pytest.raises(JobFailed, match="killed twice"):
            await call


async def test_an_idle_process_that_is_killed_is_replaced_unnoticed() -> None:
    async with running() as pool:
        before = pool.pids
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(60):
            answers = [await pool.call("echo", b"x", tenant=tenant) for tenant in "abc"]
        assert answers == [b"x"] * 3
        await until(lambda: len(pool.pids) == 3)
        assert not pool.pids & before


async def test_more_than_may_wait_is_turned_away(caplog: pytest.LogCaptureFixture) -> None:
    async with running(bounds=Bounds(tenant_jobs=2)) as pool:
        calls = [asyncio.create_task(pool.call("sleep", b"", tenant="a")) for _ in range(3)]
        await until(lambda: pool.waiting == 2)
        with pytest.raises(PoolBusy, match="of this namespace"):
            await pool.call("echo", b"", tenant="a")
        assert await pool.call("echo", b"", tenant="b") == b""
        await cancel(*calls)


async def test_when_the_pool_ends_no_process_is_left_and_calls_may_be_tried_again() -> None:
    async with running() as pool:
        pids = pool.pids
        calls = [asyncio.create_task(pool.call("sleep", b"", tenant=tenant)) for tenant in "aabbc"]
        await until(lambda: pool.waiting == 3)
    async with asyncio.timeout(60):
        ended = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(error) for error in ended] == [PoolBusy] * 5
    assert all(map(gone, pids))
    assert not pool.ready
    with pytest.raises(PoolBusy, match="stopping"):
        await pool.call("echo", b"", tenant="a")


async def test_jobs_that_come_before_the_first_process_is_warm_wait_for_it() -> None:
    pool = Pool("trials", path=[HANDLERS])
    assert not pool.ready
    running_pool = asyncio.create_task(pool.run())
    async with asyncio.timeout(60):
        assert await pool.call("echo", b"early", tenant="a") == b"early"
    assert pool.pids
    await cancel(running_pool)


async def test_until_a_service_has_settled_a_process_is_started_when_none_is_idle() -> None:
    pool = Pool("trials", settling=3600, path=[HANDLERS])
    running_pool = asyncio.create_task(pool.run())
    await until(lambda: pool.ready)
    # Answers have gone to and fro by now: the pool has had the time to start another.
    assert await pool.call("echo", b"x", tenant="a") == b"x"
    await until(lambda: len(pool.pids) == 2)
    before = pool.pids
    assert await pool.call("echo", b"x", tenant="a") == b"x"
    assert starts() == {"worker process 0", "worker process 1"}
    jobs = [asyncio.create_task(pool.call("sleep", b"", tenant=tenant)) for tenant in "ab"]
    await until(lambda: len(pool.pids) == 3)
    assert pool.pids > before
    await cancel(*jobs, running_pool)


async def test_before_its_first_job_an_unsettled_pool_has_one_process() -> None:
    pool = Pool("trials", settling=3600, path=[HANDLERS])
    running_pool = asyncio.create_task(pool.run())
    await until(lambda: pool.ready)
    assert starts() == {"worker process 0"}
    await cancel(running_pool)


async def test_a_settled_pool_without_jobs_has_two_processes() -> None:
    pool = Pool("trials", settling=0, path=[HANDLERS])
    running_pool = asyncio.create_task(pool.run())
    await until(lambda: len(pool.pids) == 2)
    # As above: the pool has had the time to start another.
    for _ in range(2):
        assert await pool.call("echo", b"x", tenant="a") == b"x"
    assert starts() == {"worker process 0", "worker process 1"}
    await cancel(running_pool)


async def test_a_limit_that_leaves_jobs_no_memory_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pool = Pool("trials", path=[HANDLERS], limits=Limits(memory=20 << 20))
    task = asyncio.create_task(pool.run())
    await until(lambda: bool(caplog.records))
    assert "MiB of the 20 MiB of memory" in caplog.records[0].__dict__["error"]
    await cancel(task)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("raise RuntimeError('broken')", "RuntimeError: broken"),
        ("import os; os._exit(4)", "it ended with exit code 4"),
    ],
)
async def test_handlers_that_cannot_be_loaded_are_logged_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, told: str
) -> None:
    module = tmp_path / "broken.py"
    module.write_text(text)
    pool = Pool("broken", path=[tmp_path])
    task = asyncio.create_task(pool.run())
    await until(lambda: len(caplog.records) >= 2)
    assert not pool.ready
    assert caplog.records[0].levelno == logging.ERROR
    assert caplog.records[0].__dict__["error"] == told
    module.write_text("HANDLERS = {}")
    await until(lambda: bool(pool.pids))
    await cancel(task)


async def test_every_call_is_observed_once(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[Observation] = []
    limits = Limits(wall=1, answer=10, payload=10)
    async with running(limits=limits, observe=seen.append) as pool:
        calls = [
            ("echo", b""),
            ("large", b"11"),
            ("sleep", b""),
            ("fail", b""),
            ("echo", bytes(11)),
        ]
        for handler, payload in calls:
            await asyncio.gather(pool.call(handler, payload, tenant="a"), return_exceptions=True)
        cancelled = asyncio.create_task(pool.call("burn", b"", tenant="a"))
        await until(lambda: bool(working(pool)))
        await cancel(cancelled)
    with pytest.raises(PoolBusy):
        await pool.call("echo", b"", tenant="a")
    assert [(o.handler, o.outcome) for o in seen] == [
        ("echo", "ok"),
        ("large", "answer"),
        ("sleep", "wall"),
        ("fail", "failed"),
        ("echo", "payload"),
        ("burn", "cancelled"),
        ("echo", "busy"),
    ]
    assert seen[2].seconds >= 1
    assert seen[4].seconds == 0


def test_a_pool_that_one_tenant_could_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="use at least 2"):
        Pool("trials", size=1)


def starts() -> set[str]:
    """Return the names of what keeps processes running."""
    names = {task.get_name() for task in asyncio.all_tasks()}
    return {name for name in names if name.startswith("worker process")}


def working(pool: Pool) -> list[int]:
    """Return the processes that have a job."""
    return [worker.pid for worker in pool._running]


async def cancel(*tasks: "asyncio.Task[object]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_tenant_has_its_share_of_the_processes_and_no_more() -> None:
    async with running(size=3, share=1) as pool:
        sleeping = [asyncio.create_task(pool.call("sleep", b"", tenant="a")) for _ in range(2)]
        await until(lambda: pool.waiting == 1)
        assert pool.running_by_tenant() == {"a": 1}
        assert pool.waiting_by_tenant() == {"a": 1}
        # Two more would be free.
        for tenant in "bc":
            assert await pool.call("echo", b"x", tenant=tenant) == b"x"
        assert pool.waiting_by_tenant() == {"a": 1}
        await cancel(*sleeping)
        assert pool.waiting_by_tenant() == {}


@pytest.mark.parametrize("share", [0, 2, 3])
def test_a_share_leaves_one_process_to_others(share: int) -> None:
    with pytest.raises(ValueError, match=f"a share of {share} of 2 workers; use 1 to 1"):
        Pool("trials", size=2, share=share)


async def test_a_job_is_observed_with_its_tenant_and_its_cpu_time() -> None:
    seen: list[Observation] = []
    async with running(observe=seen.append) as pool:
        await pool.call("burn_for", b"0.3", tenant="busy")
        await pool.call("echo", b"", tenant="idle")
        with pytest.raises(LimitExceeded):
            await pool.call("sleep", b"", tenant="hostile", wall=0.2)
        with pytest.raises(LimitExceeded):
            await pool.call("echo", b"x" * (pool.limits.payload + 1), tenant="large")
    busy, idle, hostile, large = seen
    assert (busy.tenant, idle.tenant, hostile.tenant) == ("busy", "idle", "hostile")
    assert 0.3 <= busy.cpu <= busy.seconds
    assert 0 < idle.cpu < 0.2
    # Nobody can ask a process that was killed.
    assert hostile.cpu == pytest.approx(hostile.seconds)
    assert large.cpu == 0


@pytest.mark.parametrize(
    ("handler", "payload", "fewest"),
    # An end is noticed at once; what is large comes in pieces.
    [("large", b"500000", 3), ("echo", bytes(500_000), 3), ("leave", b"", 2)],
)
async def test_a_call_cancelled_at_any_await_gives_its_place_back(
    handler: str, payload: bytes, fewest: int
) -> None:
    async def call() -> None:
        with contextlib.suppress(JobFailed):
            await pool.call(handler, payload, tenant="a")

    async def two_more_run_at_once() -> None:
        async with asyncio.timeout(10), asyncio.TaskGroup() as group:
            for tenant in "ab":
                group.create_task(pool.call("echo", b"x", tenant=tenant))
        assert pool.running_by_tenant() == {}

    async with running() as pool:
        assert await cancel_at_each_await(call, two_more_run_at_once) >= fewest
        await until(lambda: len(pool.pids) == 3)
        assert not any(map(gone, pool.pids))


async def test_a_pool_that_gives_no_job_a_worker_is_not_ready_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running(patience=0.0) as pool:
        calls = [asyncio.create_task(pool.call("sleep", b"", tenant=tenant)) for tenant in "ab"]
        await until(lambda: len(working(pool)) == 2)
        assert not pool.why_not_ready()
        calls.append(asyncio.create_task(pool.call("sleep", b"", tenant="c")))
        await until(lambda: not pool.ready)
        state = "processes: 3, with a job: 2, jobs waiting: 1"
        assert pool.why_not_ready() == f"no job got a worker process for 0 s: {state}"
        logged = [record.__dict__.get("why") for record in caplog.records]
        assert pool.why_not_ready() in logged
        # Nobody waits any more, but whoever came would.
        await cancel(calls[2])
        assert pool.why_not_ready()
        await cancel(calls[0])
        await until(lambda: pool.ready)
        await cancel(calls[1])


async def test_a_tenant_that_waits_for_its_own_jobs_makes_no_pool_unready() -> None:
    async with running(size=3, share=1, patience=0.0) as pool:
        calls = [asyncio.create_task(pool.call("sleep", b"", tenant="a")) for _ in range(2)]
        await until(lambda: pool.waiting == 1)
        # Answers have gone to and fro: the time has passed.
        assert await pool.call("echo", b"x", tenant="b") == b"x"
        assert pool.ready
        await cancel(*calls)
