"""The identity of processes: a recycled pid or another boot is somebody else."""

import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kudo_cluster.control_plane.network import is_free
from kudo_cluster.processes.process import Process, wait_until_gone

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


def test_a_process_whose_first_thread_has_ended_lives_as_long_as_the_others() -> None:
    """The kernel shows it as a zombie, but its sockets stay open until the last thread ends."""
    program = """
import ctypes, socket, threading
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
threading.Thread(target=input).start()
ctypes.CDLL(None).syscall(ctypes.c_long(EXIT), ctypes.c_long(0))
""".replace("EXIT", {"x86_64": "60"}.get(os.uname().machine, "93"))
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as half:
        process = Process.of(half.pid)
        assert half.stdout is not None
        port = int(half.stdout.readline())
        stat = Path(f"/proc/{half.pid}/stat")
        while ") Z " not in stat.read_text():
            assert half.poll() is None
        assert process.alive
        assert not is_free(port)
        assert process.signal(signal.SIGKILL)
        assert wait_until_gone([process], timeout=60) == []
        assert is_free(port)


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
