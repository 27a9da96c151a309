"""Kills what a plan and a database consist of."""

import asyncio
import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from kudo_cluster.installation import Installation
from tests.support import instances
from tests.support.build import Json

SERVER = "mariadbd"


def processes(containers: Iterable[str], program: str = SERVER) -> list[int]:
    """Return the pids of a program in containers of this machine.

    Args:
        containers: Their IDs, which are in the names of their control groups.
        program: Name of the program.
    """
    wanted, found = set(containers), []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (path / "comm").read_text().strip() == program:
                groups = (path / "cgroup").read_text()
                found += [int(path.name)] if any(one in groups for one in wanted) else []
    return found


def kill_servers(containers: Iterable[str]) -> int:
    """Kill database servers with SIGKILL, all at once; return how many there were."""
    found = processes(containers)
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return len(found)


def half_done(instance: Json, plan: str) -> bool:
    """Return whether a plan runs and half of its steps have ended."""
    if instances.status_of(instance, plan) != "IN_PROGRESS":
        return False
    steps = list(instances.steps(instance, plan).values())
    return steps.count("COMPLETE") * 2 >= len(steps) - 1


async def crash_services(installation: Installation, *, webhook: bool) -> int:
    """Kill the reconciler, start it again, and return how many processes were killed.

    Args:
        installation: Of KUDO.
        webhook: Kill the webhook as well, which is away until the reconciler is back.
    """
    if webhook:
        await asyncio.to_thread(installation.webhook.kill)
    await asyncio.to_thread(installation.reconciler.kill)
    await asyncio.to_thread(installation.reconciler.start)
    if webhook:
        await asyncio.to_thread(installation.webhook.start)
    return 2 if webhook else 1
