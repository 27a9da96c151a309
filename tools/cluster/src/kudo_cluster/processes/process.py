"""Identity of processes that survives the reuse of pids.

The kernel may reuse the pid of a process that has ended. The pid and the start time in
``/proc/PID/stat`` identify a process until the next boot, which resets that clock, so the boot id
is part of the identity. Signals are sent through a pidfd that is opened before the identity is
checked, so they reach this process or none.
"""

import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

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
