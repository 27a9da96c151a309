"""CPU time by group of processes: which of them took the cores while others were measured."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from kudo_cluster import state
from kudo_cluster.installation import Installation, Service

Seconds = Mapping[str, float]
"""CPU seconds by group."""

_TICKS: Final = os.sysconf("SC_CLK_TCK")
GROUPS: Final = (
    "API server, etcd",
    "webhook",
    "webhook workers",
    "reconciler",
    "reconciler workers",
    "measurer",
    "rest",
)
"""`rest` is everything else on the machine: other parts of the cluster, and other people's work."""


@dataclass(frozen=True, slots=True)
class Groups:
    """The processes of each group.

    Attributes:
        api: Those of the API server and its store; none where the cluster is not ours.
        webhook, reconciler: The main process of each service.
        measurer: The process that measures; what it has started directly counts with it.
    """

    api: tuple[int, ...]
    webhook: int
    reconciler: int
    measurer: int

    @classmethod
    def of(cls, installation: Installation) -> Self:
        """Find the processes of an installation whose services run."""
        found = state.read(installation.cluster.directory)
        components = () if found is None else found.components
        api = [one.process.pid for one in components if one.name in ("etcd", "kube-apiserver")]
        webhook, reconciler = _pid(installation.webhook), _pid(installation.reconciler)
        return cls(tuple(api), webhook, reconciler, os.getpid())

    def read(self) -> Seconds:
        """Return what each group has used since it started, in ticks of 10 ms."""
        ours = (
            sum(map(own, self.api)),
            own(self.webhook),
            below(self.webhook),
            own(self.reconciler),
            below(self.reconciler),
            own(self.measurer) + below(self.measurer),
        )
        return dict(zip(GROUPS, (*ours, _busy() - sum(ours)), strict=True))


def between(before: Seconds, after: Seconds) -> Seconds:
    """Return what was used from one reading to another."""
    return {group: after[group] - before[group] for group in GROUPS}


def mean(readings: Sequence[Seconds]) -> Seconds:
    return {group: sum(one[group] for one in readings) / len(readings) for group in GROUPS}


def own(pid: int) -> float:
    """Return the CPU seconds of a process, user and system; 0 if it has ended."""
    fields = _stat(pid)
    return sum(map(int, fields[11:13])) / _TICKS if fields else 0.0


def below(pid: int) -> float:
    """Return the CPU seconds of the direct children of a process, also of those it has reaped."""
    # A worker that is reaped between two readings moves from the first part to the second.
    fields = _stat(pid)
    reaped = sum(map(int, fields[13:15])) / _TICKS if fields else 0.0
    return reaped + sum(map(own, _children(pid)))


def _children(pid: int) -> list[int]:
    # `children` of the first thread would not do: any thread may have started one.
    files = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for file in files for child in file.read_text("ascii").split()]


def _stat(pid: int) -> list[str]:
    """Return the fields of a process after its name, which may itself hold spaces."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return []
    return text.rpartition(")")[2].split()


def _busy() -> float:
    """Return the CPU seconds of the whole machine that were not idle."""
    head = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, head.split()[1:9])
    return (user + nice + system + irq + softirq + steal) / _TICKS


def _pid(service: Service) -> int:
    assert service.process is not None
    return service.process.pid
