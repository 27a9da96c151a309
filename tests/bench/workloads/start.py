"""The start of the reconciler where 2,000 Instances stand, until its first useful write.

That is the first status of a run that was scheduled while no reconciler ran. The process is started
anew in each round; the Lease was given back.
"""

import time
from typing import Final

from kubeio.watch import WatchEvent
from tests.bench.figures import Figure
from tests.bench.rounds import Values
from tests.bench.workloads.batch import run_batch
from tests.bench.workloads.follow import Key, ended, followed
from tests.bench.workloads.installed import Installed, keys
from tests.bench.workloads.versions import CONFIG_MAP, config_map_version
from tests.bench.workloads.workload import creating, requests_of
from tests.support.instances import status_of

_INSTANCES: Final = 2000
_TARGET: Final = 5.0


async def bench(installed: Installed) -> list[Figure]:
    """Start it in an empty cluster, deploy Instances, and start it again."""
    namespaces = await installed.namespaces(config_map_version())
    rounds = installed.options.rounds
    empty = await _starts(installed, [(namespaces[0], f"empty-{n}") for n in range(rounds)])
    count = installed.options.count(_INSTANCES)
    installed.progress(f"start: deploying {count} Instances")
    async with installed.reconciler():
        requests = requests_of(installed, creating(CONFIG_MAP), keys(namespaces, count))
        await run_batch(installed, requests, ended("deploy"))
    full = await _starts(installed, [(namespaces[0], f"full-{n}") for n in range(rounds)])
    return [
        Figure(
            f"start: from the start of the process to its first useful write, {count} Instances",
            f"<= {_TARGET:.0f} s",
            f"{full.told(unit='s')}; in an empty cluster {empty.told(unit='s')}",
            full.median <= _TARGET,
            values={"full": full.values, "empty": empty.values},
        )
    ]


async def _starts(installed: Installed, created: list[Key]) -> Values:
    """Return how long each start took; every one has an Instance to deploy."""
    return Values(tuple([await _start(installed, key) for key in created]))


async def _start(installed: Installed, key: Key) -> float:
    installed.progress(f"start: {key[1]}")
    await creating(CONFIG_MAP)(installed.client, key)
    async with (
        followed(installed.client, [key], _begun) as begun,
        followed(installed.client, [key], ended("deploy")) as complete,
    ):
        launched = time.perf_counter()
        async with installed.reconciler(profile="start-reconciler"):
            moments = await begun
            await complete
    return moments[key] - launched


def _begun(event: WatchEvent) -> bool:
    return status_of(event.object, "deploy") not in ("", "NEVER_RUN")
