"""`python -I -m worker_process MODULE PARENT MEMORY ANSWER [PATH ...]`: run jobs, one at a time.

MODULE holds the handlers, PARENT is the pid of the process that started this one, MEMORY and ANSWER
are bytes, and each PATH is a directory to import from. Requests come on standard input, answers go
to standard output; see `frames`. The process ends with its parent, with its standard input, or
when a limit is exceeded.
"""

import gc
import importlib
import math
import os
import resource
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from worker_process import confinement
from worker_process.channel import ANSWER, REQUEST, Kind, position

_GROWTH = 4
"""A process ends after a job if more than this part of its spare address space has stayed taken."""
_LEAST_SPARE = 16 << 20
_PAGE = resource.getpagesize()

Handler = Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class Channel:
    """The two pipes, on descriptors that no handler uses by accident."""

    requests: BinaryIO
    answers: int

    @classmethod
    def take(cls) -> "Channel":
        """Take over the standard streams, so that a `print` of a handler cannot corrupt a frame."""
        requests, answers = os.fdopen(os.dup(0), "rb"), os.dup(1)
        # Standard error is memory that the parent reads.
        position.share(2)
        nothing = os.open("/dev/null", os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        os.close(nothing)
        return cls(requests, answers)

    def receive(self) -> tuple[float, str, bytes] | None:
        """Return CPU seconds, handler and payload of the next job; None at the end."""
        header = self.requests.read(REQUEST.size)
        if len(header) < REQUEST.size:
            return None
        cpu, name, size = REQUEST.unpack(header)
        limit_cpu(cpu)
        return cpu, self.requests.read(name).decode(), self.requests.read(size)

    def send(self, kind: Kind, body: bytes = b"") -> None:
        """Send an answer."""
        self._write(ANSWER.pack(kind, len(body)))
        self._write(body)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self.answers, view) :]


@dataclass(frozen=True, slots=True)
class Size:
    """Measures the address space of this process."""

    statm: int
    largest: int

    @classmethod
    def watch(cls, memory: int) -> "Size":
        """Open /proc/self/statm, which is not possible after `lock`.

        Raises:
            ValueError: too little is left for jobs.
        """
        statm = os.open("/proc/self/statm", os.O_RDONLY)
        now = _address_space(statm)
        if memory - now < _LEAST_SPARE:
            raise ValueError(
                f"its handlers take {now >> 20} MiB of the {memory >> 20} MiB of memory that a "
                "worker process may have, which leaves too little for jobs: raise the limit"
            )
        return cls(statm, now + (memory - now) // _GROWTH)

    def too_large(self) -> bool:
        """Whether too little address space is left for another job."""
        return _address_space(self.statm) > self.largest


def _address_space(statm: int) -> int:
    return int(os.pread(statm, 100, 0).split()[0]) * _PAGE


def limit_cpu(seconds: float) -> None:
    """Limit the CPU time from now on; infinity lifts the limit.

    The kernel counts the CPU time of the whole life of a process, in full seconds, so the limit is
    set anew for each job and ends it up to a second late. SIGXCPU ends the process whatever it
    does. The hard limit stays infinite: it could never be raised for the next job.
    """
    soft = resource.RLIM_INFINITY
    if seconds != math.inf:
        used = resource.getrusage(resource.RUSAGE_SELF)
        soft = math.ceil(used.ru_utime + used.ru_stime + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))


def work(channel: Channel, handlers: Mapping[str, Handler], largest: int, size: Size) -> None:
    """Answer requests until they end, or until this process must not take another."""
    while (request := channel.receive()) is not None:
        _, name, payload = request
        del request
        kind, body = run(handlers, name, payload)
        del payload
        # The next job is another tenant's. After lack of memory there is none.
        if kind is not Kind.MEMORY:
            position.tell("")
        # Waiting for the next job and sending this answer are not part of a job.
        limit_cpu(math.inf)
        if kind is Kind.DONE and len(body) > largest:
            kind, body = Kind.TOO_LARGE, b""
        if kind is Kind.DONE and size.too_large():
            kind = Kind.LAST
        channel.send(kind, body)
        if kind in (Kind.LAST, Kind.MEMORY):
            return
        del body


def run(handlers: Mapping[str, Handler], name: str, payload: bytes) -> tuple[Kind, bytes]:
    """Run one job. The text of an exception may quote a tenant, so only its type is returned."""
    try:
        return Kind.DONE, handlers[name](payload)
    except MemoryError:
        return Kind.MEMORY, b""
    except Exception as error:  # noqa: BLE001 - the parent raises JobFailed for it
        return Kind.FAILED, type(error).__name__.encode()


def start(module: str, memory: int) -> tuple[Mapping[str, Handler], Size]:
    """Import the handlers and what they need, then lock the process down."""
    handlers = importlib.import_module(module)
    getattr(handlers, "prepare", lambda: None)()
    getattr(handlers, "report_to", lambda _: None)(position.tell)
    # What is there now stays: the collector need not look at it again, nor touch its pages.
    gc.collect()
    gc.freeze()
    size = Size.watch(memory)
    confinement.lock(memory)
    return handlers.HANDLERS, size


def main() -> None:
    """Start, report success or failure to the parent, and run jobs."""
    module, parent, memory, answer, *path = sys.argv[1:]
    confinement.give_way()
    confinement.die_with(int(parent))
    channel = Channel.take()
    sys.path += path
    try:
        handlers, size = start(module, int(memory))
    except Exception as error:  # noqa: BLE001 - told to the parent, which logs it
        channel.send(Kind.NOT_STARTED, f"{type(error).__name__}: {error}".encode()[:2000])
        raise SystemExit(1) from None
    channel.send(Kind.READY)
    work(channel, handlers, int(answer), size)


if __name__ == "__main__":
    main()
