"""The limits of one job, and the errors of worker processes: why a job ended without an answer.

WorkerError
├── LimitExceeded   the job exceeded a limit; the same job would exceed it again
├── JobFailed       the handler raised an exception, or its process died
└── PoolBusy        too much is waiting already, or the pool is stopping; try again later

No message quotes data of a tenant; `LimitExceeded.at` may.
"""

from dataclasses import dataclass
from typing import Literal

LimitName = Literal["cpu", "wall", "memory", "answer", "payload"]
Outcome = Literal["ok", LimitName, "failed", "busy", "cancelled"]
"""How a call ended, for metrics: `ok`, or the limit that was exceeded, or without an answer."""

_TEXTS = {
    "cpu": "it needed more than {0:g} s of CPU",
    "wall": "it took more than {0:g} s",
    "memory": "it needed more than the {1:g} MiB of memory of a worker",
    "answer": "its result is larger than {1:g} MiB",
    "payload": "its input is larger than {1:g} MiB",
}


class WorkerError(Exception):
    """Root of everything that a pool raises on purpose.

    Attributes:
        outcome: The same, for metrics.
    """

    outcome: Outcome


class LimitExceeded(WorkerError):
    """A job exceeded a limit and was ended.

    Attributes:
        limit: Name of the limit.
        maximum: The limit's value: seconds for cpu and wall, else bytes.
        at: The part of the job that its handler reported last, at most 255 bytes; empty if it
            reported none.
    """

    def __init__(self, limit: LimitName, maximum: float, at: str = "") -> None:
        self.limit: LimitName = limit
        self.outcome = limit
        self.maximum = maximum
        self.at = at
        super().__init__(_TEXTS[limit].format(maximum, maximum / (1 << 20)))


class JobFailed(WorkerError):
    """The handler raised an unexpected exception, or the process died; a retry may help."""

    outcome: Outcome = "failed"


class PoolBusy(WorkerError):
    """The job was not started; retry later."""

    outcome: Outcome = "busy"


_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one job.

    Attributes:
        cpu: Seconds of CPU (RLIMIT_CPU, which the kernel counts in full seconds: a job ends up to
            one second later).
        wall: Seconds from handing the job to a worker to its answer, whatever it waits for.
        memory: Bytes of address space of a worker (RLIMIT_AS), its own code included.
        answer: Bytes of an answer.
        payload: Bytes of the input of a job.
    """

    cpu: float = 10.0
    wall: float = 20.0
    memory: int = 192 * _MIB
    answer: int = 8 * _MIB
    payload: int = 8 * _MIB
