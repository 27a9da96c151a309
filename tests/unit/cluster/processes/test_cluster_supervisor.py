"""The supervisor: what it starts ends with it, and it ends with whoever it serves.

Shell commands stand for the components.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kudo_cluster.errors import ClusterError
from kudo_cluster.processes import process as supervision
from kudo_cluster.processes.process import Process, Supervision, wait_until_gone

_SLEEP = ["/bin/sleep", "1000"]
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "GREETING": "hello"}


def _start(supervised: Supervision, directory: Path, *command: str) -> Process:
    return supervised.start(list(command), directory / "log", _ENVIRONMENT)


def test_stopping_ends_the_supervisor_and_its_children(tmp_path: Path) -> None:
    supervised = Supervision(tmp_path / "supervisor.log", remove=None)
    children = [_start(supervised, tmp_path, *_SLEEP) for _ in range(3)]
    assert all(child.alive for child in children)
    supervised.stop()
    assert not supervised.process.alive
    assert not any(child.alive for child in children)
    assert (tmp_path / "supervisor.log").read_text() == ""


def test_stopping_ends_what_a_child_started_and_left_behind(tmp_path: Path) -> None:
    supervised = Supervision(tmp_path / "supervisor.log", remove=None)
    # A session of its own: neither a signal to the child nor one to its group reaches it.
    command = f"setsid sleep 1000 & echo $! > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid"
    child = _start(supervised, tmp_path, "/bin/sh", "-c", command)
    assert wait_until_gone([child], timeout=60) == []
    orphan = Process.of(int((tmp_path / "pid").read_text()))
    supervised.stop()
    assert not orphan.alive


def test_stopping_removes_the_directory_it_was_told_to(tmp_path: Path) -> None:
    directory = tmp_path / "throw-away"
    directory.mkdir()
    Supervision(directory / "supervisor.log", remove=directory).stop()
    assert not directory.exists()
    assert tmp_path.exists()


def test_output_goes_to_the_log_and_the_environment_is_the_given_one(tmp_path: Path) -> None:
    supervised = Supervision(tmp_path / "supervisor.log", remove=None)
    child = _start(supervised, tmp_path, "/bin/sh", "-c", "echo $GREETING; echo bad >&2; env")
    assert wait_until_gone([child], timeout=60) == []
    supervised.stop()
    lines = (tmp_path / "log").read_text().splitlines()
    assert lines[:2] == ["hello", "bad"]
    assert not [line for line in lines if line.startswith("HOME=")]


def test_a_program_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    supervised = Supervision(tmp_path / "supervisor.log", remove=None)
    with pytest.raises(ClusterError, match="cannot start /no/such/program"):
        _start(supervised, tmp_path, "/no/such/program")
    supervised.stop()


def test_a_killed_supervisor_takes_its_children_along(tmp_path: Path) -> None:
    directory = tmp_path / "throw-away"
    directory.mkdir()
    supervised = Supervision(tmp_path / "supervisor.log", remove=directory)
    child = _start(supervised, tmp_path, *_SLEEP)
    supervised.process.signal(signal.SIGKILL)
    assert wait_until_gone([supervised.process, child], timeout=60) == []
    with pytest.raises(ClusterError, match="supervisor of the cluster has died"):
        _start(supervised, tmp_path, *_SLEEP)
    supervised.stop()
    assert not directory.exists()


def test_a_terminated_supervisor_takes_its_children_along(tmp_path: Path) -> None:
    supervised = Supervision(tmp_path / "supervisor.log", remove=None)
    child = _start(supervised, tmp_path, *_SLEEP)
    supervised.process.signal(signal.SIGTERM)
    assert wait_until_gone([supervised.process, child], timeout=60) == []
    supervised.stop()


def test_a_detached_supervisor_goes_on_until_it_is_told_to_stop(tmp_path: Path) -> None:
    # Only another process can show that it outlives the one that started it.
    program = f"""
import json
from pathlib import Path
from kudo_cluster.processes.process import Supervision

supervised = Supervision(Path({str(tmp_path)!r}) / "supervisor.log", remove=None)
child = supervised.start({_SLEEP}, Path({str(tmp_path)!r}) / "log", {{}})
supervised.detach()
print(json.dumps([supervised.process.pid, child.pid]))
"""
    output = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, check=True, text=True
    )
    assert output.stderr == ""
    processes = [Process.of(pid) for pid in json.loads(output.stdout)]
    processes[0].signal(signal.SIGTERM)
    assert wait_until_gone(processes, timeout=60) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_parent_that_ends_takes_all_along_even_if_its_fork_holds_the_pipe(
    tmp_path: Path, number: signal.Signals
) -> None:
    program = f"""
import json, os, sys, time
from pathlib import Path
from kudo_cluster.processes.process import Supervision

supervised = Supervision(Path({str(tmp_path)!r}) / "supervisor.log", remove=None)
child = supervised.start({_SLEEP}, Path({str(tmp_path)!r}) / "log", {{}})
fork = os.fork()
if fork == 0:
    time.sleep(1000)
print(json.dumps([supervised.process.pid, child.pid, fork]), flush=True)
while True:  # an interrupt that comes right before a sleep is noticed after it
    time.sleep(0.1)
"""
    command = [sys.executable, "-c", program]
    # An interrupt makes the parent say where it was.
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as parent:
        assert parent.stdout is not None
        *ours, fork = [Process.of(pid) for pid in json.loads(parent.stdout.readline())]
        parent.send_signal(number)
        parent.wait()
        try:
            assert wait_until_gone(ours, timeout=60) == []
            assert fork.alive
        finally:
            fork.signal(signal.SIGKILL)


def test_a_supervisor_whose_parent_is_gone_already_ends_at_once() -> None:
    somebody_else = os.getppid()
    command = [sys.executable, "-I", "-S", str(supervision._PROGRAM), str(somebody_else)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as supervisor:
        assert supervisor.wait(timeout=60) == 0
