"""Processes named so that a recycled pid cannot be mistaken for them.

A pid alone is not an identity: once a process is gone, the kernel may give its number to a
stranger. Together with the start time in ``/proc/PID/stat`` it is one until the next boot, which
starts that clock anew, so the boot's id belongs to it. A signal goes through a pidfd that was
opened before the identity was checked, hence it reaches our process or nobody.
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
    """Wait for the processes to end and return those that still run after the timeout."""
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
    # The command's name stands in parentheses and may itself hold spaces and parentheses.
    fields = stat.rpartition(")")[2].split()
    state, threads, started = fields[0], int(fields[17]), int(fields[19])
    # Its first thread may be a zombie while others still end, and hold its files and ports.
    gone = state == "X" or (state == "Z" and threads <= 1)
    return None if gone else started


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
