"""Confines this process for good to what a job needs: limits and a system call filter.

The limits hold for root as well, but for RLIMIT_NPROC, which the kernel does not apply to root;
there, and for what no limit covers (starting another program, signals to the service, its memory),
the system call filter holds. See docs/design/20261122.workers.md for what bounds a worker.
"""

import contextlib
import ctypes
import os
import resource
import signal
from pathlib import Path

from worker_process import syscalls

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_LOWEST_PRIORITY = 19


def give_way() -> None:
    """Take the lowest CPU priority, and become the OOM killer's first choice."""
    os.nice(_LOWEST_PRIORITY)
    # /proc may be mounted read-only; the limits hold without it.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_bytes(b"1000")


def die_with(parent: int) -> None:
    """Have the kernel kill this process as soon as the one that started it has ended.

    Raises:
        SystemExit: it has ended already.
    """
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # The signal is sent when the parent ends, so a parent that ended before that is asked for.
    if os.getppid() != parent:
        raise SystemExit(0)


def lock(memory: int) -> None:
    """Set the permanent limits: no new files, sockets, processes or threads, no core dump.

    Args:
        memory: Bytes of address space.
    """
    for limit in (
        resource.RLIMIT_CORE,
        resource.RLIMIT_FSIZE,
        resource.RLIMIT_NPROC,
        resource.RLIMIT_NOFILE,
    ):
        resource.setrlimit(limit, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    syscalls.filter_calls()


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    zero = ctypes.c_ulong(0)
    if libc.prctl(option, ctypes.c_ulong(value), zero, zero, zero) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl {option}: {os.strerror(code)}")
