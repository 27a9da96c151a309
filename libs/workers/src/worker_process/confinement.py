"""Confines this process for good to what a job needs: limits and a seccomp filter of system calls.

The limits hold for root as well, but for RLIMIT_NPROC, which the kernel does not apply to root;
there, and for what no limit covers (starting another program, signals to the service, its memory),
the system call filter holds. See docs/design/20261122.workers.md for what bounds a worker.

A system call that is not listed fails with EPERM, as a missing permission does: opening files,
sockets, starting programs and threads, signals to other processes, reading their memory. Only the
usual two architectures are known; on others, and on kernels without seccomp, the limits alone hold.
"""

import contextlib
import ctypes
import errno
import os
import resource
import signal
import struct
from collections.abc import Iterator
from pathlib import Path

_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2

# Classic BPF, as linux/filter.h has it.
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000 | errno.EPERM
# Offsets in struct seccomp_data; arguments are 64 bits wide, in little endian on both machines.
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16


# Audit number of the architecture, and the column of the numbers below.
_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_CALLS = {
    "brk": (12, 214),
    "clock_getres": (229, 114),
    "clock_gettime": (228, 113),
    "clock_nanosleep": (230, 115),
    "close": (3, 57),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "fstat": (5, 80),
    "futex": (202, 98),
    "getpid": (39, 172),
    "getrandom": (318, 278),
    "getrusage": (98, 165),
    "gettid": (186, 178),
    "gettimeofday": (96, 169),
    "lseek": (8, 62),
    "madvise": (28, 233),
    "membarrier": (324, 283),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "mremap": (25, 216),
    "munmap": (11, 215),
    "nanosleep": (35, 101),
    "pread64": (17, 67),
    "read": (0, 63),
    "restart_syscall": (219, 128),
    "rseq": (334, 293),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sched_yield": (24, 124),
    "set_robust_list": (273, 99),
    "sigaltstack": (131, 132),
    "sysinfo": (99, 179),
    "times": (100, 153),
    "write": (1, 64),
    "writev": (20, 66),
}
"""Allowed whatever their arguments: numbers of the kernel's tables for both architectures."""
# Allowed for this process alone, by the first argument: what `setrlimit` and `abort` call.
_PRLIMIT64, _TGKILL = (302, 261), (234, 131)


class _Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def filter_calls() -> bool:
    """Filter the system calls of this process from now on; needs no_new_privs.

    Returns:
        Whether it was possible.
    """
    machine = _MACHINES.get(os.uname().machine)
    if machine is None:
        return False
    code = b"".join(_instructions(*machine, pid=os.getpid()))
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    zero = ctypes.c_ulong(0)
    mode = ctypes.c_ulong(_SECCOMP_MODE_FILTER)
    return bool(prctl(_PR_SET_SECCOMP, mode, ctypes.byref(program), zero, zero) == 0)


def _instructions(audit: int, column: int, *, pid: int) -> Iterator[bytes]:
    yield _instruction(_LOAD, _ARCHITECTURE)
    yield _instruction(_EQUAL, audit, if_true=1)
    yield _instruction(_RETURN, _FAIL)
    yield _instruction(_LOAD, _NUMBER)
    for numbers in _CALLS.values():
        yield _instruction(_EQUAL, numbers[column], if_false=1)
        yield _instruction(_RETURN, _ALLOW)
    # Limits are set for pid 0, which means this process; a signal names it.
    for numbers, own in ((_PRLIMIT64, 0), (_TGKILL, pid)):
        yield _instruction(_EQUAL, numbers[column], if_false=4)
        yield _instruction(_LOAD, _FIRST_ARGUMENT)
        yield _instruction(_EQUAL, own, if_false=1)
        yield _instruction(_RETURN, _ALLOW)
        yield _instruction(_RETURN, _FAIL)
    yield _instruction(_RETURN, _FAIL)


def _instruction(code: int, value: int, *, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


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
    filter_calls()


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    zero = ctypes.c_ulong(0)
    if libc.prctl(option, ctypes.c_ulong(value), zero, zero, zero) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl {option}: {os.strerror(code)}")
