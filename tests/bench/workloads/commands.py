"""The command line, cold: each command in a new process, its bytecode compiled before.

Beside it stand an interpreter that does nothing, and kubectl for the same question.
"""

import asyncio
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from typing import Final

from tests.bench.figures import Figure
from tests.bench.rounds import Values, alternating
from tests.bench.workloads.batch import run_batch
from tests.bench.workloads.follow import ended
from tests.bench.workloads.installed import Installed, keys
from tests.bench.workloads.reports import REFERENCE
from tests.bench.workloads.versions import CONFIG_MAP, config_map_version
from tests.bench.workloads.workload import creating, requests_of
from tests.bench.world import program

_TIMES: Final = 10
"""Runs of each command in a round; the fastest counts: everything else is the machine."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of one run of a command."""

    wall: float
    cpu: float


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
        "python -c pass": [sys.executable, "-c", "pass"],
        "kubectl get instances": [kubectl, "get", "instances.kudo.dev", *inside],
        "kubectl-kudo --help": [kudo, "--help"],
        "kubectl-kudo version": [kudo, "version"],
        "kubectl-kudo get instances": [kudo, "get", "instances", *inside],
        "kubectl-kudo plan status": [kudo, "plan", "status", f"--instance={key[1]}", *inside],
    }
    found = await alternating(
        installed.options.rounds,
        {name: partial(_fastest, command) for name, command in commands.items()},
    )
    return [_figure(name, rounds) for name, rounds in found.items()]


async def _fastest(command: list[str]) -> Cost:
    return await asyncio.to_thread(lambda: min((_run(command) for _ in range(_TIMES)), key=_wall))


def _wall(cost: Cost) -> float:
    return cost.wall


def _run(command: list[str]) -> Cost:
    """Run a command once.

    Raises:
        RuntimeError: it failed.
    """
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "KUBECONFIG": os.devnull}
    began = time.perf_counter()
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    with process:
        assert process.stderr is not None
        text = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit code {process.returncode}: {text}")
    return Cost(wall, used.ru_utime + used.ru_stime)


def _figure(name: str, rounds: list[Cost]) -> Figure:
    wall = Values(tuple(one.wall for one in rounds))
    cpu = Values(tuple(one.cpu for one in rounds))
    return Figure(
        f"command line: {name}",
        REFERENCE,
        f"{wall.told(0, factor=1e3, unit='ms')}, CPU {cpu.told(0, factor=1e3, unit='ms')}",
        ok=True,
        values={"wall": wall.values, "cpu": cpu.values},
    )
