"""Two reconcilers on one cluster, the first of which leads."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from kubeio.resource import LEASES, ROLE_BINDINGS, ROLES
from tests.integration.ha.support import Pair
from tests.support.cluster.clients import client_as
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
        await grant_lease(world)
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


async def grant_lease(world: World) -> None:
    """Let the reconciler have a Lease in the namespace, as the chart does in that of KUDO."""
    role = {
        "apiVersion": f"{ROLES.group}/v1",
        "kind": "Role",
        "metadata": {"name": "leases"},
        "rules": [
            {
                "apiGroups": [LEASES.group],
                "resources": [LEASES.plural],
                "verbs": ["get", "create", "update"],
            }
        ],
    }
    binding = {
        "apiVersion": f"{ROLES.group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "leases"},
        "roleRef": {"apiGroup": ROLES.group, "kind": "Role", "name": "leases"},
        "subjects": [{"apiGroup": ROLES.group, "kind": "User", "name": "kudo-reconciler"}],
    }
    async with client_as(world, "admin") as admin:
        await admin.create(ROLES, role, namespace=world.namespace)
        await admin.create(ROLE_BINDINGS, binding, namespace=world.namespace)
