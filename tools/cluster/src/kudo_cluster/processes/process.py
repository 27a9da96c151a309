"""Identity of processes that survives the reuse of pids.

The kernel may reuse the pid of a process that has ended. The pid and the start time in
``/proc/PID/stat`` identify a process until the next boot, which resets that clock, so the boot id
is part of the identity. Signals are sent through a pidfd that is opened before the identity is
checked, so they reach this process or none.

`Supervision` starts a supervisor process, and programs through it; it detaches or stops it. The
supervisor and all its children end when the pipe to it is closed, and so when this process ends,
for whatever reason.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kudo_cluster.errors import ClusterError

_POLL = 0.02


@dataclass(frozen=True, slots=True)
class Process:
    """One process on this machine: pid, start time in clock ticks since boot, and the boot."""

    pid: int
    started: int
    boot: str

    @classmethod
    def of(cls, pid: int) -> "Process":
        """Name the process that has this pid now; raises ProcessLookupError if there is none."""
        started = _start_time(pid)
        if started is None:
            raise ProcessLookupError(pid)
        return cls(pid=pid, started=started, boot=_boot_id())

    @property
    def alive(self) -> bool:
        """Tell whether it still runs, be it one thread of it; a zombie does not."""
        return self.boot == _boot_id() and _start_time(self.pid) == self.started

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal; returns False if the process is gone already."""
        try:
            # First the handle, then the check: what is checked is what the signal reaches.
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return False
        try:
            if not self.alive:
                return False
            signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            return False
        finally:
            os.close(handle)
        return True


def wait_until_gone(processes: Iterable[Process], timeout: float) -> list[Process]:
    """Wait for processes to end; return those that still run after ``timeout`` seconds."""
    deadline = time.monotonic() + timeout
    left = [process for process in processes if process.alive]
    while left and time.monotonic() < deadline:
        time.sleep(_POLL)
        left = [process for process in left if process.alive]
    return left


def _start_time(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command name is in parentheses and may contain spaces and parentheses.
    fields = stat.rpartition(")")[2].split()
    state, threads, started = fields[0], int(fields[17]), int(fields[19])
    # The first thread may be a zombie while other threads still hold files and ports.
    gone = state == "X" or (state == "Z" and threads <= 1)
    return None if gone else started


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


_PROGRAM = Path(__file__).with_name("supervisor.py")
_STOP_TIMEOUT = 30.0


class Supervision:
    """A running supervisor."""

    def __init__(self, log: Path, *, remove: Path | None) -> None:
        """Start a supervisor, which deletes the directory `remove` when it ends."""
        command = [sys.executable, "-I", "-S", str(_PROGRAM), str(os.getpid())]
        if remove is not None:
            command.append(f"--remove={remove}")
        with log.open("ab") as stderr:
            # Its own session: Ctrl-C in a terminal then reaches this process only, which stops it.
            self._popen = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
            )
        self._log = log
        self._remove = remove
        self._asking = threading.Lock()
        self.process = Process.of(self._popen.pid)

    def start(self, command: list[str], log: Path, environment: dict[str, str]) -> Process:
        """Start a program; raises ClusterError if it cannot be started.

        A program that ends at once is no error: the returned Process is not alive then.
        """
        request = {"command": command, "log": str(log), "environment": environment}
        answer = self._ask({"start": request})
        if "error" in answer:
            raise ClusterError(f"cannot start {command[0]}: {answer['error']}")
        pid = int(answer["pid"])
        try:
            return Process.of(pid)
        except ProcessLookupError:
            # It has ended already: an identity that no process has.
            return Process(pid=pid, started=-1, boot="")

    def detach(self) -> None:
        """Let the supervisor outlive this process."""
        self._ask({"detach": True})
        self._close_pipes()
        # The supervisor keeps running; without a returncode Popen would warn about it.
        self._popen.returncode = 0

    def stop(self) -> None:
        """End the supervisor and its children, and wait until all have ended."""
        self._close_pipes()
        try:
            # The end of its stdin ends it; it answers no more.
            self._popen.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            # The kernel kills its children then (PR_SET_PDEATHSIG).
            self.process.signal(signal.SIGKILL)
            self._popen.wait()
        if self._remove is not None:
            # Normally the supervisor has deleted it, unless it was killed.
            shutil.rmtree(self._remove, ignore_errors=True)

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        try:
            # One request at a time: two threads could read each other's answers.
            with self._asking:
                self._popen.stdin.write(json.dumps(request).encode() + b"\n")
                self._popen.stdin.flush()
                line = self._popen.stdout.readline()
        except BrokenPipeError:
            line = b""
        if not line:
            output = self._log.read_text(encoding="utf-8", errors="replace").strip()
            raise ClusterError(f"the supervisor of the cluster has died: {output or 'no output'}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _close_pipes(self) -> None:
        for pipe in (self._popen.stdin, self._popen.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                continue
