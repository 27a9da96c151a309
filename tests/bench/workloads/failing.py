"""200 healthy Instances, alone and beside one that fails.

The one fails in two ways: the reconciler tries a step of it again and again, with growing delays;
or its user runs the plan again as soon as it has ended in FATAL_ERROR. The second is load that its
user makes, and its row has no target.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import Final

from kubeio.watch import WatchEvent
from tests.bench.figures import Figure
from tests.bench.rounds import alternating
from tests.bench.workloads.batch import Batch
from tests.bench.workloads.deploys import deploys
from tests.bench.workloads.follow import followed
from tests.bench.workloads.installed import Installed
from tests.bench.workloads.reports import REFERENCE, rates
from tests.bench.workloads.versions import FATAL, RETRIED, failing_versions
from tests.bench.workloads.workload import Workload, creating, measure_reconciler, patching
from tests.support.instances import entry, idle, status_of

_INSTANCES: Final = 200
_MIN_SHARE: Final = 0.95
_NAME: Final = "failing"

Beside = Callable[[Installed, str], AbstractAsyncContextManager[None]]


async def bench(installed: Installed) -> list[Figure]:
    """Measure all three in each round."""
    workload = deploys(_INSTANCES, *failing_versions())
    found = await alternating(
        installed.options.rounds,
        {
            "alone": partial(_measured, installed, workload, lambda *_: nullcontext()),
            "retried": partial(_measured, installed, workload, _retried),
            "run again": partial(_measured, installed, workload, _run_again),
        },
    )
    return [
        _figure(found, "retried", "one whose step is retried", _MIN_SHARE),
        _figure(found, "run again", "one that its user runs again at once", None),
    ]


async def _measured(installed: Installed, workload: Workload, beside: Beside) -> Batch:
    installed.progress("failing: deploying healthy Instances")
    return await measure_reconciler(installed, workload, partial(beside, installed))


@asynccontextmanager
async def _retried(installed: Installed, namespace: str) -> AsyncIterator[None]:
    async with followed(installed.client, [(namespace, _NAME)], _has_failed_once) as failed:
        await creating(RETRIED)(installed.client, (namespace, _NAME))
        await failed
    yield


@asynccontextmanager
async def _run_again(installed: Installed, namespace: str) -> AsyncIterator[None]:
    await creating(FATAL)(installed.client, (namespace, _NAME))
    runs: list[str] = []
    task = asyncio.create_task(_run_for_ever(installed, namespace, runs))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
        installed.progress(f"failing: {len(runs)} runs failed meanwhile")


async def _run_for_ever(installed: Installed, namespace: str, runs: list[str]) -> None:
    """Change a parameter each time that the plan has failed."""
    key = (namespace, _NAME)
    while True:

        def failed(event: WatchEvent) -> bool:
            found = event.object
            uid = str(entry(found, "deploy").get("uid"))
            if not idle(found) or status_of(found, "deploy") != "FATAL_ERROR" or uid in runs:
                return False
            runs.append(uid)
            return True

        async with followed(installed.client, [key], failed) as following:
            change = {"parameters": {"VALUE": f"{len(runs)}"}}
            await patching(change)(installed.client, key)
            await following


def _has_failed_once(event: WatchEvent) -> bool:
    phases = entry(event.object, "deploy").get("phases") or []
    return any(step["status"] == "ERROR" for phase in phases for step in phase["steps"])


def _figure(found: dict[str, list[Batch]], name: str, what: str, least: float | None) -> Figure:
    alone, beside = rates(found["alone"]), rates(found[name])
    share = beside.over(alone)
    number = len(found["alone"][0].latencies)
    return Figure(
        f"failing: rate of {number} deploys beside {what}, over the rate alone",
        REFERENCE if least is None else f">= {least}",
        f"{share.told()}; {beside.told(1, unit='/s')} over {alone.told(1, unit='/s')}",
        least is None or share.median >= least,
        values={"alone": alone.values, "beside": beside.values},
    )
