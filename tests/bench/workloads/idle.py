"""1,000 idle Instances of 4 pods for two minutes: requests, CPU and memory of the reconciler."""

import asyncio
from functools import partial
from typing import Final

from prometheus_client.parser import text_string_to_metric_families as parsed

from tests.bench.figures import Figure
from tests.bench.measure.processes import cpu_between, pid_of
from tests.bench.measure.requests import RequestCounts
from tests.bench.memory import PODS_EACH, create_with_pods, dummy_version, mebibytes, resident, said
from tests.bench.workloads.installed import Installed, keys
from tests.bench.workloads.reports import REFERENCE
from tests.bench.workloads.workload import RECONCILER
from tests.bench.world import each
from tests.support.cluster.waiting import events_written, wait_until

_INSTANCES: Final = 1000
_SECONDS: Final = 120.0
_DEADLINE: Final = 600.0
_MAX_MEMORY: Final = 260 * 2**20
_WRITES: Final = ("POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION")
_OTHERS: Final = frozenset({"leases", "nodes", "nodes/status"})
"""Renewed by everybody all the time: the Lease, and the nodes with theirs."""


async def bench(installed: Installed) -> list[Figure]:
    """Leave the reconciler alone with Instances that stand."""
    count = installed.options.count(_INSTANCES)
    namespaces = await installed.namespaces(dummy_version())
    installed.progress(f"idle: creating {count} Instances and {PODS_EACH} pods for each")
    await each(partial(create_with_pods, installed.client, *key) for key in keys(namespaces, count))
    async with installed.reconciler(profile="idle-reconciler"):
        service = installed.installation.reconciler
        await wait_until(
            partial(_all_are_ready, installed, count), lambda: "idle Instances", _DEADLINE
        )
        await events_written(service)
        installed.progress(f"idle: {_SECONDS:.0f} s")
        lists, counts, cpu = await _lists(installed), await installed.requests(), installed.cpu()
        await asyncio.sleep(_SECONDS)
        cpu, memory = cpu_between(cpu, installed.cpu()), resident(pid_of(service))
        lists = await _lists(installed) - lists
        counts = (await installed.requests()).since(counts)
    writes = _writes(counts)
    a_minute = sum(writes.counts.values()) / (_SECONDS / 60)
    name = f"idle: {count} Instances of {PODS_EACH} pods"
    return [
        Figure(
            f"{name}, LISTs of the reconciler in {_SECONDS:.0f} s", "0", f"{lists:.0f}", lists == 0
        ),
        Figure(
            f"{name}, writes a minute of anybody, besides Leases and nodes",
            "< 1",
            f"{a_minute:.1f}" + "".join(f"; {one}" for one in writes.each(1)),
            a_minute < 1,
            values={"writes": a_minute},
        ),
        Figure(
            f"{name}, RSS of the reconciler with its workers",
            f"<= {mebibytes(_MAX_MEMORY)}",
            said(memory),
            memory.now <= _MAX_MEMORY,
            values={"bytes": memory.now, "shared once": memory.shared_once},
        ),
        Figure(
            f"{name}, CPU of the reconciler",
            REFERENCE,
            f"{cpu[RECONCILER] / _SECONDS:.2%} of a core",
            ok=True,
            values={"seconds": cpu[RECONCILER]},
        ),
    ]


def _writes(counts: RequestCounts) -> RequestCounts:
    return RequestCounts(
        {
            one: n
            for one, n in counts.counts.items()
            if one.verb in _WRITES and one.resource not in _OTHERS
        }
    )


async def _all_are_ready(installed: Installed, count: int) -> bool:
    return f'kudo_instances{{state="ready"}} {count}.0' in await _metrics(installed)


async def _lists(installed: Installed) -> float:
    """Return how many pages of lists the reconciler has asked for, by its own count."""
    text = await _metrics(installed)
    return sum(
        sample.value
        for family in parsed(text)
        for sample in family.samples
        if sample.name == "kudo_api_requests_total" and sample.labels["verb"] == "LIST"
    )


async def _metrics(installed: Installed) -> str:
    _, text = await asyncio.to_thread(installed.installation.reconciler.get, "/metrics")
    return text
