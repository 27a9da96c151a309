"""The command line, cold: each command in a new process, its bytecode compiled before.

Beside it stand an interpreter that does nothing, and kubectl for the same question.
"""

import asyncio
from functools import partial
from typing import Final

from tests.bench.figures import Figure
from tests.bench.measure.cold_start import BARE, Cost, cpu, fastest, multiples, wall
from tests.bench.rounds import alternating
from tests.bench.workloads.batch import run_batch
from tests.bench.workloads.follow import ended
from tests.bench.workloads.installed import Installed, keys
from tests.bench.workloads.reports import REFERENCE
from tests.bench.workloads.versions import CONFIG_MAP, config_map_version
from tests.bench.workloads.workload import creating, requests_of
from tests.bench.world import program

_BARE: Final = "python -c pass"
CLUSTER_COMMANDS: Final = 32.0
"""Multiples of a bare interpreter that a command with one request may take."""


async def bench(installed: Installed) -> list[Figure]:
    """Ask for an Instance that is deployed."""
    [namespace] = await installed.namespaces(config_map_version(), spread=1)
    [key] = keys([namespace], 1)
    async with installed.reconciler():
        requests = requests_of(installed, creating(CONFIG_MAP), [key])
        await run_batch(installed, requests, ended("deploy"))
    cluster = installed.installation.cluster
    kubeconfig = f"--kubeconfig={cluster.kubeconfig('user')}"
    kudo, kubectl = str(program("kubectl-kudo")), str(cluster.binary("kubectl"))
    inside = (kubeconfig, f"--namespace={namespace}")
    commands = {
        _BARE: [*BARE],
        "kubectl get instances": [kubectl, "get", "instances.kudo.dev", *inside],
        "kubectl-kudo --help": [kudo, "--help"],
        "kubectl-kudo version": [kudo, "version"],
        "kubectl-kudo get instances": [kudo, "get", "instances", *inside],
        "kubectl-kudo plan status": [kudo, "plan", "status", f"--instance={key[1]}", *inside],
    }
    found = await alternating(
        installed.options.rounds,
        {name: partial(_measure, command) for name, command in commands.items()},
    )
    references = [_figure(name, rounds) for name, rounds in found.items()]
    limited = [
        multiples(name, found[name], found[_BARE], CLUSTER_COMMANDS)
        for name in ("kubectl-kudo get instances", "kubectl-kudo plan status")
    ]
    return [*references, *limited]


async def _measure(command: list[str]) -> Cost:
    return await asyncio.to_thread(fastest, command)


def _figure(name: str, rounds: list[Cost]) -> Figure:
    return Figure(
        f"command line: {name}",
        REFERENCE,
        f"{wall(rounds).told(0, factor=1e3, unit='ms')}, "
        f"CPU {cpu(rounds).told(0, factor=1e3, unit='ms')}",
        ok=True,
        values={"wall": wall(rounds).values, "cpu": cpu(rounds).values},
    )
