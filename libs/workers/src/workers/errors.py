"""How a job can end without an answer, as one tree.

WorkerError
├── LimitExceeded   the job needs more than it may; the same job would again
├── JobFailed       a fault of ours: the handler raised, or its process died
└── PoolBusy        too much is waiting already, or the pool is stopping; try again later

No text of a tenant is in any message; `LimitExceeded.at` may have one.
"""

from typing import Literal

LimitName = Literal["cpu", "wall", "memory", "answer", "payload"]
Outcome = Literal["ok", LimitName, "failed", "busy", "cancelled"]
"""How a call ended, for metrics: `ok`, or the limit that was exceeded, or without an answer."""

_TEXTS = {
    "cpu": "it needed more than {0:g} s of CPU",
    "wall": "it took more than {0:g} s",
    "memory": "it needed more than the {1:g} MiB of memory of a worker",
    "answer": "its result has more than {1:g} MiB",
    "payload": "its input has more than {1:g} MiB",
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
        limit: Which one.
        maximum: How much it may be: seconds for cpu and wall, else bytes.
        at: The part of the job that its handler told last, up to 255 bytes; empty if it told
            none.
    """

    def __init__(self, limit: LimitName, maximum: float, at: str = "") -> None:
        self.limit: LimitName = limit
        self.outcome = limit
        self.maximum = maximum
        self.at = at
        super().__init__(_TEXTS[limit].format(maximum, maximum / (1 << 20)))


class JobFailed(WorkerError):
    """The handler raised what it should not, or the process died; trying again may help."""

    outcome: Outcome = "failed"


class PoolBusy(WorkerError):
    """The job was not begun; trying again later helps."""

    outcome: Outcome = "busy"
