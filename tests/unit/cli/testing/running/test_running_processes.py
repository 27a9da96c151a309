"""Commands as real processes: exit codes, time, output, groups."""

import asyncio
import os
from pathlib import Path

import pytest

from kudo_harness.commands import Process
from kudo_harness.findings import Place
from kudo_harness.running.processes import Ended, Processes
from kudo_harness.running.record import Record, is_running, process_started, read_record


@pytest.fixture
def processes(tmp_path: Path) -> Processes:
    return Processes(Record.start(tmp_path))


def _script(
    folder: Path, text: str, seconds: int | None = None, *, ignore: bool = False
) -> Process:
    return Process(
        argv=("sh", "-c", text),
        environment={"PATH": os.environ["PATH"]},
        folder=folder,
        seconds=seconds,
        background=False,
        ignore_failure=ignore,
        log_output=True,
        shown=text,
        place=Place("suite.yaml", 1),
    )


async def _run(processes: Processes, process: Process) -> tuple[Ended, list[str]]:
    lines: list[str] = []
    return await processes.run(process, lines.append, scope="one"), lines


async def test_a_command_that_succeeds_has_no_fault(processes: Processes, tmp_path: Path) -> None:
    ended, lines = await _run(processes, _script(tmp_path, "echo one; echo two >&2"))
    assert ended == Ended("", "one\ntwo")
    assert lines == ["one", "two"]
    assert processes.record.is_empty


async def test_an_exit_code_is_a_fault_unless_it_is_ignored(
    processes: Processes, tmp_path: Path
) -> None:
    assert (await _run(processes, _script(tmp_path, "exit 4")))[0].fault == "ended with exit code 4"
    assert (await _run(processes, _script(tmp_path, "exit 4", ignore=True)))[0].fault == ""


async def test_the_signal_that_ended_a_command_is_named(
    processes: Processes, tmp_path: Path
) -> None:
    ended, _ = await _run(processes, _script(tmp_path, "kill -9 $$"))
    assert ended.fault == "was ended by SIGKILL"


async def test_a_program_that_does_not_exist_is_a_fault(
    processes: Processes, tmp_path: Path
) -> None:
    place = Place("suite.yaml", 1)
    process = Process(("no-such-program",), {}, tmp_path, None, False, True, True, "x", place)
    ended, _ = await _run(processes, process)
    assert ended.fault == "cannot be started: No such file or directory: no-such-program"


async def test_a_command_is_stopped_with_its_children_when_its_time_is_over(
    tmp_path: Path,
) -> None:
    processes = Processes(Record.start(tmp_path), grace=0.2)
    text = "trap '' TERM; sleep 600 & echo $!; echo $$; wait; sleep 600"
    ended, lines = await _run(processes, _script(tmp_path, text, seconds=1))
    assert ended.fault == "did not end within 1 s and was stopped"
    assert not any(_alive(int(line)) for line in lines)
    assert processes.record.is_empty


async def test_a_command_ends_although_a_child_keeps_its_output_open(
    processes: Processes, tmp_path: Path
) -> None:
    ended, lines = await _run(processes, _script(tmp_path, "sleep 600 & echo $!"))
    assert ended.fault == ""
    child = int(lines[0])
    assert _alive(child)
    # What is left behind is stopped with the case.
    assert [one.scope for one in processes.record.groups_of(None)] == ["one"]
    await processes.stop_all("one")
    assert not _alive(child)
    assert processes.record.is_empty


async def test_a_cancelled_command_is_stopped(processes: Processes, tmp_path: Path) -> None:
    started = asyncio.Event()
    lines: list[str] = []

    def line(text: str) -> None:
        lines.append(text)
        started.set()

    process = _script(tmp_path, "echo $$; exec sleep 600")
    task = asyncio.create_task(processes.run(process, line, scope="one"))
    await started.wait()
    assert len(read_record(tmp_path).record.groups) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not _alive(int(lines[0]))
    assert read_record(tmp_path).record.is_empty


async def test_a_command_that_prints_for_ever_is_stopped_and_takes_no_memory(
    processes: Processes, tmp_path: Path
) -> None:
    ended, lines = await _run(processes, _script(tmp_path, "yes " + "x" * 100, seconds=1))
    assert ended.fault == "did not end within 1 s and was stopped"
    assert sum(map(len, lines)) < 2 * 1024 * 1024
    assert len(ended.tail) < 10_000


async def test_a_command_in_the_background_says_how_it_ended(
    processes: Processes, tmp_path: Path
) -> None:
    lines: list[str] = []
    ends: list[str] = []
    process = _script(tmp_path, "echo up; exit 2")
    started: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    await processes.supervise(process, lines.append, ends.append, started, scope="")
    assert started.result() == ""
    assert (lines, ends) == (["up"], ["ended with exit code 2"])


def _alive(process: int) -> bool:
    started = process_started(process)
    if not started or not is_running(process, started):
        return False
    # A killed child of nobody waits for init to read its exit code.
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
