"""Handlers that try what a job must not be able to do. Imported by worker processes alone."""

import ctypes
import json
import os
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

_PREPARED: dict[str, object] = {}
_TELL: list[Callable[[str], None]] = []
report_to = _TELL.append


def prepare() -> None:
    descriptors = [path for path in Path("/proc/self/fd").iterdir() if path.exists()]
    _PREPARED.update(
        descriptors={path.name: str(path.readlink()) for path in descriptors},
        environment=dict(os.environ),
        directory=str(Path.cwd()),
        nice=os.nice(0),
        oom=Path("/proc/self/oom_score_adj").read_text(encoding="ascii").strip(),
        modules=sorted(sys.modules),
    )


def prepared(_: bytes) -> bytes:
    return json.dumps(_PREPARED).encode()


def limits(_: bytes) -> bytes:
    names = ("RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_NPROC", "RLIMIT_CORE", "RLIMIT_AS")
    return json.dumps({n: resource.getrlimit(getattr(resource, n)) for n in names}).encode()


def echo(payload: bytes) -> bytes:
    return payload


def burn(_: bytes) -> bytes:
    while True:
        pass


def burn_for(payload: bytes) -> bytes:
    end = time.process_time() + float(payload)
    while time.process_time() < end:
        pass
    return str(os.getpid()).encode()


def burn_at(payload: bytes) -> bytes:
    _TELL[0]("a part before")
    _TELL[0](payload.decode())
    return burn(b"")


def hog_at(payload: bytes) -> bytes:
    _TELL[0](payload.decode())
    return hog(b"")


def told(payload: bytes) -> bytes:
    _TELL[0](payload.decode())
    return payload


def sleep(_: bytes) -> bytes:
    time.sleep(3600)
    return b""


def hog(_: bytes) -> bytes:
    kept = []
    while True:
        kept.append(bytearray(1 << 20))


def grow(payload: bytes) -> bytes:
    _PREPARED["kept"] = bytearray(int(payload))
    return str(os.getpid()).encode()


def grow_and_answer(payload: bytes) -> bytes:
    grow(payload)
    return bytes(3 << 20)


def close_and_sleep(_: bytes) -> bytes:
    os.closerange(0, 100)
    return sleep(b"")


def large(payload: bytes) -> bytes:
    return b"x" * int(payload)


def fail(payload: bytes) -> bytes:
    raise ValueError(payload.decode())


def noisy(payload: bytes) -> bytes:
    for stream in (sys.stdout, sys.stderr):
        stream.write("stray output\n" * 1000)
        stream.flush()
    return payload + sys.stdin.read().encode()


def pid(_: bytes) -> bytes:
    return str(os.getpid()).encode()


def abort(_: bytes) -> bytes:
    os.abort()


def follow_null(_: bytes) -> bytes:
    ctypes.string_at(0)
    return b""


def leave(_: bytes) -> bytes:
    sys.exit(3)


def _thread() -> None:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()


def _connect() -> None:
    socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()


def _write_memory() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, os.getppid(), None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


_TRIALS: dict[str, Callable[[], object]] = {
    "open": lambda: os.open("/etc/hostname", os.O_RDONLY),
    "socket": _connect,
    "pipe": os.pipe,
    "fork": os.fork,
    "thread": _thread,
    "exec": lambda: os.execv("/bin/true", ["true"]),
    "spawn": lambda: subprocess.Popen(["/bin/true"]),
    "unlink": lambda: Path("/tmp/there-is-no-such-file").unlink(),
    "signal to the service": lambda: os.kill(os.getppid(), 0),
    "limits of the service": lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CORE, (0, 0)),
    "more files": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
    "memory of the service": _write_memory,
}


def attempt(payload: bytes) -> bytes:
    """Answer with the name of the exception that a trial ends with."""
    try:
        _TRIALS[payload.decode()]()
    except (OSError, RuntimeError, ValueError) as error:
        return type(error).__name__.encode()
    return b"it worked"


HANDLERS = {
    handler.__name__: handler
    for handler in (
        *(prepared, limits, echo, burn, burn_for, sleep, hog, grow, large, fail, noisy, pid),
        *(grow_and_answer, close_and_sleep),
        *(abort, follow_null, leave, attempt, burn_at, hog_at, told),
    )
}
