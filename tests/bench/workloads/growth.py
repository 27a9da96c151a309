"""Growth: what an Instance of one ConfigMap costs as one of 100, 500, 1,000, 2,000."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from tests.bench.figures import Figure
from tests.bench.measure.processes import pid_of
from tests.bench.memory import own_memory
from tests.bench.rounds import Values, alternating
from tests.bench.workloads.batch import Batch
from tests.bench.workloads.deploys import deploys
from tests.bench.workloads.installed import Installed
from tests.bench.workloads.reports import REFERENCE, own_requests
from tests.bench.workloads.workload import RECONCILER, Workload, measure_reconciler

_SIZES: Final = (100, 500, 1000, 2000)
_FROM: Final = 500
_LAST: Final = str(_SIZES[-1])
_MAX_GROWTH: Final = 1.1


@dataclass(frozen=True, slots=True)
class Grown:
    """What a batch of some size took.

    Attributes:
        memory: Bytes by which the reconciler's own process grew, for each Instance; its workers
            start when they like.
    """

    batch: Batch
    memory: float


async def bench(installed: Installed) -> list[Figure]:
    """Deploy each number of Instances with a reconciler that was started for it."""
    workloads = {str(size): deploys(size) for size in _SIZES}
    found = await alternating(
        installed.options.rounds,
        {name: partial(_measured, installed, workload) for name, workload in workloads.items()},
    )
    cpu = {
        name: Values(tuple(one.batch.cpu_each(RECONCILER) for one in rounds))
        for name, rounds in found.items()
    }
    requests = {
        name: Values(tuple(_requests(workloads[name], one.batch) for one in rounds))
        for name, rounds in found.items()
    }
    memory = {name: Values(tuple(one.memory for one in rounds)) for name, rounds in found.items()}
    return [
        _figure("CPU of the reconciler for an Instance", cpu, 1e3, "ms", _MAX_GROWTH),
        _figure("requests for an Instance", requests, 1.0, "", _MAX_GROWTH),
        _figure(
            "memory of the reconciler's process for an Instance", memory, 1 / 1024, "KiB", None
        ),
        _kinds(workloads[_LAST], found[_LAST][-1].batch),
    ]


async def _measured(installed: Installed, workload: Workload) -> Grown:
    installed.progress(f"growth: {workload.count} Instances")
    readings: list[int] = []

    @asynccontextmanager
    async def beside(_: str) -> AsyncIterator[None]:
        reconciler = installed.installation.reconciler
        readings.append(own_memory(pid_of(reconciler)))
        yield
        readings.append(own_memory(pid_of(reconciler)))

    batch = await measure_reconciler(installed, workload, beside)
    return Grown(batch, (readings[1] - readings[0]) / len(batch.latencies))


def _requests(workload: Workload, batch: Batch) -> float:
    return sum(own_requests(workload, batch).counts.values()) / len(batch.latencies)


def _kinds(workload: Workload, batch: Batch) -> Figure:
    counts = own_requests(workload, batch)
    return Figure(
        f"growth: requests for an Instance at {_LAST}, by kind",
        REFERENCE,
        ", ".join(counts.each(len(batch.latencies))),
        ok=True,
    )


def _figure(
    what: str, found: dict[str, Values], factor: float, unit: str, most: float | None
) -> Figure:
    growth = found[_LAST].over(found[str(_FROM)])
    each = ", ".join(f"{name}: {values.told(1, factor=factor)}" for name, values in found.items())
    return Figure(
        f"growth: {what}",
        REFERENCE if most is None else f"{_LAST} within {most} x {_FROM}",
        f"{growth.told()}; {unit} {each}",
        most is None or growth.median <= most,
        values={name: values.values for name, values in found.items()},
    )
