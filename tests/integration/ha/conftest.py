"""Two reconcilers on one cluster, the first of which leads."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from tests.integration.ha.support import Pair
from tests.support.cluster.world import World

# Its loop can be made to stand still.
PROGRAM = Path(__file__).with_name("standing_reconciler.py")
Start = Callable[..., AbstractAsyncContextManager[Pair]]


@pytest.fixture
def two_reconcilers(world: World) -> Start:
    """Return a function that runs two in place of the one, given their options."""

    @asynccontextmanager
    async def started(*options: str) -> AsyncIterator[Pair]:
        installation = world.installation
        await asyncio.to_thread(installation.reconciler.stop)
        lease = f"--lease-namespace={world.namespace}"
        await _grant_lease(world)
        first = installation.another_reconciler("reconciler-first", lease, *options)
        first.command[:1] = [sys.executable, str(PROGRAM)]
        # It is none of the programs that are forked.
        first.supervision = installation.supervision
        second = installation.another_reconciler("reconciler-second", lease, *options)
        pair = Pair(first, second)
        try:
            await asyncio.to_thread(first.start)
            await pair.until_leads(first)
            await asyncio.to_thread(second.start)
            yield pair
        finally:
            for one in (first, second):
                one.send_signal(signal.SIGCONT)
                await asyncio.to_thread(one.kill)
            await asyncio.to_thread(installation.reconciler.start)

    return started


async def _grant_lease(world: World) -> None:
    """Let the reconciler have a Lease in the namespace, as the chart does in that of KUDO."""
    admin = f"--kubeconfig={world.installation.cluster.kubeconfig('admin')}"
    rule = ("--resource=leases.coordination.k8s.io", "--verb=get,create,update")
    subject = ("--role=leases", "--user=kudo-reconciler")
    for arguments in (("role", "leases", *rule), ("rolebinding", "leases", *subject)):
        done = await world.kubectl(admin, "create", *arguments)
        assert done.code == 0, done.output
