"""The identity of processes: a recycled pid or another boot is somebody else."""

import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from kudo_cluster.processes import Process, wait_until_gone

Child = subprocess.Popen[bytes]


@pytest.fixture
def child() -> Iterator[Child]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as started:
        yield started
        started.kill()


def test_this_process_is_alive() -> None:
    assert Process.of(os.getpid()).alive


def test_a_pid_without_a_process_has_no_identity(child: Child) -> None:
    child.kill()
    child.wait()
    with pytest.raises(ProcessLookupError):
        Process.of(child.pid)


def test_a_signal_reaches_the_process_it_is_meant_for(child: Child) -> None:
    process = Process.of(child.pid)
    assert process.signal(signal.SIGKILL)
    assert child.wait(timeout=60) == -signal.SIGKILL
    assert not process.signal(signal.SIGKILL)


def test_a_zombie_is_not_alive(child: Child) -> None:
    process = Process.of(child.pid)
    process.signal(signal.SIGKILL)
    assert wait_until_gone([process], timeout=60) == []


@pytest.mark.parametrize("change", [{"started": 1}, {"boot": "another"}])
def test_a_stranger_with_the_same_pid_is_never_signalled(
    child: Child, change: dict[str, int | str]
) -> None:
    stranger = dataclasses.replace(Process.of(child.pid), **change)  # type: ignore[arg-type]
    assert not stranger.alive
    assert not stranger.signal(signal.SIGKILL)
    assert Process.of(child.pid).alive


def test_a_command_name_with_spaces_and_parentheses_does_not_confuse(child: Child) -> None:
    # The kernel puts the name, unescaped, in front of the field that holds the start time.
    renaming = "from pathlib import Path; Path('/proc/self/comm').write_text(') R 1 (x'); input()"
    command = [sys.executable, "-c", f"{renaming}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as renamed:
        assert Process.of(renamed.pid).alive
        renamed.kill()


def test_waiting_returns_what_still_runs() -> None:
    process = Process.of(os.getpid())
    assert wait_until_gone([process], timeout=0) == [process]
