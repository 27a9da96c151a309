"""What a worker process has, and what the kernel keeps from it."""

import asyncio
import json
import logging
import os
import resource
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.pools import HANDLERS, gone, running, until
from tests.unit.cancelling import cancel_at_each_await
from workers import JobFailed, LimitExceeded, Limits, Pool, process

_REFUSED = (
    *("open", "socket", "pipe", "fork", "exec", "spawn", "unlink"),
    *("signal to the service", "limits of the service", "memory of the service"),
)

ON_SHARED = pytest.mark.asyncio(loop_scope="session")

_SERVICE = """
import asyncio, sys
from pathlib import Path
from workers import Pool

async def main():
    pool = Pool("trials", at_rest=3, settling=0, path=[Path(sys.argv[1])])
    async with asyncio.TaskGroup() as group:
        group.create_task(pool.run())
        while len(pool.pids) < 3:
            await asyncio.sleep(0.005)
        group.create_task(pool.call("burn", b"", tenant="a"))
        await pool.call("pid", b"", tenant="b")
        print(*pool.pids, flush=True)

asyncio.run(main())
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def pool() -> AsyncIterator[Pool]:
    """Processes for jobs that leave nothing behind, or end theirs."""
    async with running(settled=False) as shared:
        yield shared


async def test_a_process_inherits_nothing_from_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUDO_SECRET", "of the service")
    reading, writing = os.pipe()
    os.set_inheritable(reading, True)
    try:
        async with running(settled=False) as pool:
            found = json.loads(await pool.call("prepared", b"", tenant="a"))
    finally:
        os.close(reading)
        os.close(writing)
    kinds = sorted(target.partition(":")[0] for target in found["descriptors"].values())
    # Of the memory that tells the position, Python keeps a descriptor of its own.
    assert kinds == ["/dev/null", "/dev/null", "/dev/null", "/memfd", "socket", "socket"]
    # Python sets this one itself where there is no locale.
    assert set(found["environment"]) <= {"LC_CTYPE"}
    assert found["directory"] == "/"
    # The lowest priority, and the first to go without memory.
    assert (found["nice"], found["oom"]) == (19, "1000")
    # No event loop.
    assert not {"asyncio", "logging", "ssl"} & set(found["modules"])


async def test_the_limits_are_hard_ones() -> None:
    async with running(settled=False, limits=Limits(memory=100 << 20)) as pool:
        found = json.loads(await pool.call("limits", b"", tenant="a"))
    memory = found.pop("RLIMIT_AS")
    assert memory == [100 << 20, 100 << 20]
    assert set(map(tuple, found.values())) == {(0, 0)}
    assert len(found) == 4


@ON_SHARED
async def test_a_job_can_open_start_and_touch_nothing(pool: Pool) -> None:
    answers = {trial: await pool.call("attempt", trial.encode(), tenant="a") for trial in _REFUSED}
    refusals = {b"PermissionError", b"OSError", b"BlockingIOError"}
    assert {trial: answer for trial, answer in answers.items() if answer not in refusals} == {}


@ON_SHARED
async def test_a_job_can_neither_start_a_thread_nor_raise_a_limit(pool: Pool) -> None:
    assert await pool.call("attempt", b"thread", tenant="a") == b"RuntimeError"
    assert await pool.call("attempt", b"more files", tenant="a") == b"ValueError"


async def test_system_calls_are_filtered_on_the_machines_that_we_know() -> None:
    expected = "2" if os.uname().machine in ("x86_64", "aarch64") else "0"
    async with running() as pool:
        for pid in pool.pids:
            assert status(pid)["Seccomp"] == expected
            assert status(pid)["NoNewPrivs"] == "1"


async def test_a_job_that_burns_cpu_is_ended_by_the_kernel() -> None:
    async with running(settled=False, limits=Limits(cpu=0.2, wall=300)) as pool:
        with pytest.raises(LimitExceeded, match=r"more than 0\.2 s of CPU") as caught:
            await pool.call("burn", b"", tenant="a")
    assert (caught.value.limit, caught.value.maximum) == ("cpu", 0.2)


async def test_the_cpu_limit_is_one_of_each_job_and_not_of_the_process() -> None:
    async with running(settled=False, limits=Limits(cpu=1, wall=300)) as pool:
        # Each uses the larger part of a limit that the process exceeds, also in full seconds.
        answers = {await pool.call("burn_for", b"0.6", tenant="a") for _ in range(4)}
    assert len(answers) == 1


async def test_a_job_that_takes_memory_is_told_so() -> None:
    async with running(settled=False, limits=Limits(memory=64 << 20)) as pool:
        with pytest.raises(LimitExceeded, match="64 MiB of memory") as caught:
            await pool.call("hog", b"", tenant="a")
    assert (caught.value.limit, caught.value.maximum) == ("memory", 64 << 20)


@ON_SHARED
@pytest.mark.parametrize("handler", ["abort", "follow_null"])
async def test_dying_so_is_what_c_libraries_do_without_memory(handler: str, pool: Pool) -> None:
    with pytest.raises(LimitExceeded) as caught:
        await pool.call(handler, b"", tenant="a")
    assert caught.value.limit == "memory"


async def test_a_job_that_only_waits_is_killed_by_the_wall_clock() -> None:
    async with running() as pool:
        before = pool.pids
        with pytest.raises(LimitExceeded, match=r"more than 0\.3 s$") as caught:
            await pool.call("sleep", b"", tenant="a", wall=0.3)
        await until(lambda: len(before - pool.pids) == 1)
        assert all(gone(pid) for pid in before - pool.pids)
    assert caught.value.limit == "wall"


async def test_an_error_of_a_limit_has_the_part_that_the_job_was_working_on() -> None:
    async with running(limits=Limits(memory=64 << 20, wall=300)) as pool:
        # A call may have less CPU than the limit.
        with pytest.raises(LimitExceeded, match=r"0\.2 s of CPU") as caught:
            await pool.call("burn_at", "part ü".encode(), tenant="a", cpu=0.2)
        assert (caught.value.limit, caught.value.at) == ("cpu", "part ü")
        with pytest.raises(LimitExceeded) as caught:
            await pool.call("hog_at", "ü".encode() * 1000, tenant="a")
        assert (caught.value.limit, caught.value.at) == ("memory", "ü" * 127)


async def test_the_part_of_one_job_is_not_that_of_the_next() -> None:
    async with running() as pool:
        for _ in range(3):
            assert await pool.call("told", b"of another tenant", tenant="b") == b"of another tenant"
        with pytest.raises(LimitExceeded) as caught:
            await pool.call("sleep", b"", tenant="a", wall=0.3)
        assert caught.value.at == ""


async def test_answers_and_payloads_are_bounded_and_the_process_goes_on() -> None:
    async with running(limits=Limits(answer=1000, payload=2000)) as pool:
        before = pool.pids
        assert len(await pool.call("large", b"1000", tenant="a")) == 1000
        with pytest.raises(LimitExceeded) as caught:
            await pool.call("large", b"1001", tenant="a")
        assert caught.value.limit == "answer"
        with pytest.raises(LimitExceeded) as caught:
            await pool.call("echo", bytes(2001), tenant="a")
        assert caught.value.limit == "payload"
        assert pool.pids == before


@ON_SHARED
async def test_large_payloads_and_answers_pass_the_pipes_whole(pool: Pool) -> None:
    payload = os.urandom(1 << 20) * 8
    assert await pool.call("echo", payload, tenant="a") == payload


@ON_SHARED
async def test_of_an_exception_only_the_type_is_told(pool: Pool) -> None:
    with pytest.raises(JobFailed) as caught:
        await pool.call("fail", b"a password", tenant="a")
    assert str(caught.value) == "job 'fail' failed: ValueError"
    assert await pool.call("echo", b"next", tenant="a") == b"next"


@ON_SHARED
async def test_an_unknown_handler_and_a_process_that_leaves_are_faults_of_ours(pool: Pool) -> None:
    with pytest.raises(JobFailed, match="KeyError"):
        await pool.call("nobody", b"", tenant="a")
    with pytest.raises(JobFailed, match="exit code 3"):
        await pool.call("leave", b"", tenant="a")


@ON_SHARED
async def test_what_a_handler_prints_or_reads_breaks_no_frame(pool: Pool) -> None:
    assert await pool.call("noisy", b"answer", tenant="a") == b"answer"
    assert await pool.call("echo", b"next", tenant="a") == b"next"


async def test_a_process_that_has_grown_is_replaced_after_its_answer() -> None:
    async with running(limits=Limits(memory=128 << 20)) as pool:
        small = int(await pool.call("grow", str(1 << 20).encode(), tenant="a"))
        assert small in pool.pids
        large = int(await pool.call("grow", str(64 << 20).encode(), tenant="a"))
        await until(lambda: large not in pool.pids)
        await until(lambda: len(pool.pids) == 3)


async def test_no_process_outlives_a_service_that_is_killed() -> None:
    service = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _SERVICE, str(HANDLERS)), stdout=asyncio.subprocess.PIPE
    )
    assert service.stdout is not None
    async with asyncio.timeout(60):
        pids = [int(pid) for pid in (await service.stdout.readline()).split()]
    # One of them never reads its input again, so its closing alone would not end it.
    assert len(pids) == 3
    service.kill()
    await service.wait()
    await until(lambda: all(map(gone, pids)))


async def test_a_last_answer_is_read_whole_although_its_process_has_ended() -> None:
    async with running(limits=Limits(memory=128 << 20), settled=False) as pool:
        before = pool.pids
        answer = await pool.call("grow_and_answer", str(64 << 20).encode(), tenant="a")
        assert len(answer) == 3 << 20
        await until(lambda: bool(pool.pids) and not pool.pids & before)


async def test_a_process_that_closes_its_socket_and_goes_on_is_killed_by_the_wall_clock() -> None:
    async with running() as pool:
        before = pool.pids
        with pytest.raises(LimitExceeded) as caught:
            await pool.call("close_and_sleep", b"", tenant="a", wall=0.3)
        await until(lambda: len(before & pool.pids) == 2 and len(pool.pids) == 3)
    assert caught.value.limit == "wall"


async def test_a_process_that_reads_no_payload_is_killed_by_the_wall_clock() -> None:
    async with running(settled=False) as pool:
        (stopped,) = pool.pids
        os.kill(stopped, signal.SIGSTOP)
        with pytest.raises(LimitExceeded) as caught:
            await pool.call("echo", bytes(2 << 20), tenant="a", wall=0.3)
        await until(lambda: bool(pool.pids) and stopped not in pool.pids)
    assert (caught.value.limit, gone(stopped)) == ("wall", True)


async def test_an_end_that_nobody_reports_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_LOOK_SECONDS", 0.05)
    # Only pidfds are watched so; sockets are not.
    monkeypatch.setattr(asyncio.get_running_loop(), "add_reader", lambda *_: None)
    async with running(settled=False) as pool:
        (killed,) = pool.pids
        os.kill(killed, signal.SIGKILL)
        await until(lambda: bool(pool.pids) and killed not in pool.pids)
        assert await pool.call("echo", b"x", tenant="a") == b"x"


async def test_an_end_that_somebody_else_has_collected_is_noticed() -> None:
    async with running(settled=False) as pool:
        (killed,) = pool.pids
        os.kill(killed, signal.SIGKILL)
        # On the loop: as long as it stands, the pool cannot collect the end before this does.
        os.waitpid(killed, 0)  # noqa: ASYNC222
        await until(lambda: bool(pool.pids) and killed not in pool.pids)
        assert await pool.call("echo", b"x", tenant="a") == b"x"


async def test_a_process_that_the_kernel_does_not_end_is_replaced(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(process, "_LOOK_SECONDS", 0.05)
    async with running() as pool:
        before = pool.pids
        with monkeypatch.context() as kernel:
            kernel.setattr(subprocess.Popen, "kill", lambda _: None)
            with pytest.raises(LimitExceeded):
                await pool.call("sleep", b"", tenant="a", wall=0.1)
            await until(lambda: len(pool.pids - before) == 1)
        (left,) = before - pool.pids
        assert not gone(left)
        os.kill(left, signal.SIGKILL)
        # It is reaped all the same: a process that nobody waits for stays as a zombie.
        await until(lambda: not Path(f"/proc/{left}").exists())
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [record.__dict__["pid"] for record in errors] == [left]


async def test_a_start_that_is_cancelled_at_any_await_leaves_nothing() -> None:
    def ours() -> tuple[int, str]:
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii")
        return len(list(Path("/proc/self/fd").iterdir())), children

    async def start() -> None:
        worker = await process.Worker.start("trials", Limits(), [HANDLERS])
        await worker.end()

    before = ours()
    awaits = await cancel_at_each_await(start, lambda: until(lambda: ours() == before))
    assert awaits > 2


async def test_no_core_is_dumped_and_our_own_limits_stay() -> None:
    before = {
        name: resource.getrlimit(name) for name in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS)
    }
    async with running(settled=False) as pool:
        await pool.call("echo", b"", tenant="a")
    assert {name: resource.getrlimit(name) for name in before} == before


def status(pid: int) -> dict[str, str]:
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    lines = (line.partition(":") for line in text.splitlines())
    return {name: value.strip() for name, _, value in lines}
