"""Limits of one job."""

from dataclasses import dataclass

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
