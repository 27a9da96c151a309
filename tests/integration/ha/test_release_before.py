"""This release beside the one before: both webhooks admit, and the reconcilers lead in turn."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from kubeio.client import Client
from kubeio.errors import NotFound
from kubeio.resource import Resource
from kudo_cluster.control_plane.network import free_ports
from kudo_cluster.installation import LOOPBACK, Service
from tests.integration.ha.balancing import balanced
from tests.integration.ha.conftest import grant_lease
from tests.integration.ha.release_before import Release
from tests.integration.ha.support import Pair, metric
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.changes import delete
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World
from tests.support.world.inventories import granted, unique

__all__ = ["granted", "unique"]
pytestmark = [pytest.mark.campaign, pytest.mark.usefixtures("granted")]

PRIORITIES = Resource(
    "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False
)
NOW, BEFORE = 0, 1
SHORT_LEASE = ("--lease-duration=6", "--lease-renew-deadline=4", "--lease-retry=0.5")


@dataclass(frozen=True)
class Both:
    """Two releases that run side by side; the first of each is this one.

    Attributes:
        ports: Of both webhooks; the first one that accepts a connection gets it.
    """

    reconcilers: Pair
    webhooks: tuple[Service, Service]
    ports: list[int]

    async def let_lead(self, release: int) -> None:
        """Have the other release take over, and then run both again.

        The leader is killed. Its webhook ends as in an update, so that the API server connects to
        the other one, and stays with it.
        """
        leaving, other = self.reconcilers.first, self.reconcilers.second
        if release == NOW:
            leaving, other = other, leaving
        webhook = self.webhooks[1 - release]
        asked = await asyncio.to_thread(metric, webhook, "kudo_admission_requests_total")
        assert asked, f"the {webhook.name} was never asked"
        self.ports.reverse()
        await asyncio.to_thread(leaving.kill)
        await asyncio.to_thread(webhook.stop)
        await self.reconcilers.until_leads(other)
        await asyncio.to_thread(leaving.start)
        await asyncio.to_thread(webhook.start)


@pytest.fixture(scope="session")
def before(tmp_path_factory: pytest.TempPathFactory) -> Release:
    root = Path(__file__).parents[3]
    return Release.unpack(root, tmp_path_factory.mktemp("release-before"))


@pytest.fixture
async def both(world: World, before: Release) -> AsyncIterator[Both]:
    installation = world.installation
    await grant_lease(world)
    lease = (f"--lease-namespace={world.namespace}", *SHORT_LEASE)
    reconcilers = Pair(
        installation.another_reconciler("reconciler-now", *lease),
        before.runs(installation.another_reconciler("reconciler-before", *lease)),
    )
    now, former, *probes = free_ports(4)
    webhooks = (
        another_webhook(world, "webhook-now", now, probes[0]),
        before.runs(another_webhook(world, "webhook-before", former, probes[1])),
    )
    started = [*webhooks, reconcilers.first, reconcilers.second]
    for service in started:
        # The former ones are none of the programs that are forked.
        service.supervision = installation.supervision
    await asyncio.to_thread(installation.reconciler.stop)
    await asyncio.to_thread(installation.webhook.stop)
    try:
        ports = [now, former]
        async with balanced(LOOPBACK, port_of(installation.webhook), ports):
            for service in started[:3]:
                await asyncio.to_thread(service.start)
            await reconcilers.until_leads(reconcilers.first)
            await asyncio.to_thread(reconcilers.second.start)
            yield Both(reconcilers, webhooks, ports)
    finally:
        for service in started:
            await asyncio.to_thread(service.kill)
        await asyncio.to_thread(installation.webhook.start)
        await asyncio.to_thread(installation.reconciler.start)


def port_of(webhook: Service) -> int:
    (port,) = (one.removeprefix("--port=") for one in webhook.command if "--port=" in one[:7])
    return int(port)


def another_webhook(world: World, name: str, port: int, probe_port: int) -> Service:
    webhook = world.installation.webhook
    command = [*webhook.command, f"--port={port}", f"--probe-port={probe_port}"]
    return Service(
        name,
        command,
        world.installation.directory / f"{name}.log",
        probe_port,
        webhook.supervision,
        environment=dict(webhook.environment),
    )


def operator(shared: str) -> Json:
    """Return a version whose plans share a PriorityClass and then wait for a Deployment."""
    annotations = {"kudo.dev/delete-with-instance": "true"}
    priority = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": shared, "annotations": annotations},
        "value": 7,
    }
    named = {
        "job.yaml": json.dumps(build.job("@job")),
        "slow.yaml": json.dumps(build.deployment("@slow", ready_delay="4s")),
        "config.yaml": build.template(build.config_map("@config", size="{{ .Params.SIZE }}")),
    }
    return build.operator_version(
        "both-1",
        templates={
            "shared.yaml": build.template(priority),
            **{name: text.replace('"@', '"{{ .Name }}-') for name, text in named.items()},
        },
        tasks=[
            build.task(name, "Apply", f"{name}.yaml")
            for name in ("shared", "job", "slow", "config")
        ],
        plans={
            "deploy": build.plan({name: [name] for name in ("shared", "job", "slow", "config")}),
            "resize": build.plan({"slow": ["slow"], "config": ["config"]}),
        },
        parameters=[build.parameter("SIZE", "1", trigger="resize")],
    )


async def create(world: World, names: Sequence[str]) -> None:
    done = await world.apply(*(build.instance(name, "both-1") for name in names))
    assert done.code == 0, done.output


async def resize(world: World, names: Sequence[str], size: str) -> None:
    for name in names:
        await world.patch(name, {"parameters": {"SIZE": size}})


async def until_complete(world: World, names: Sequence[str], plan: str) -> None:
    for name in names:
        await world.until_complete(name, plan)


async def until_running(world: World, name: str, plan: str) -> None:
    await world.until(
        name,
        lambda i: (i["status"]["planStatus"].get(plan) or {}).get("status") == "IN_PROGRESS",
        f"plan {plan} to run",
    )


async def remove(world: World, names: Sequence[str]) -> None:
    for name in names:
        await delete(world, name)
    for name in names:
        await world.until_gone(INSTANCES, name)


@pytest.mark.parametrize("number", [3, 34])
async def test_plans_run_and_objects_are_shared_whichever_release_leads(
    world: World, both: Both, admin: Client, unique: str, number: int
) -> None:
    first, late = [f"i{n:02}" for n in range(number)], ["late0", "late1"]
    done = await world.apply(operator(unique))
    assert done.code == 0, done.output

    # Begun by this release, and ended by the former one.
    await create(world, first)
    await until_running(world, first[0], "deploy")
    await both.let_lead(BEFORE)
    await until_complete(world, first, "deploy")
    await create(world, late)
    await until_complete(world, late, "deploy")
    uid = await uid_of(admin, unique)

    # Those that a full list has, and such that it lacks.
    gone, left = first[:-1], first[-1:]
    await remove(world, gone[::2])
    assert await uid_of(admin, unique) == uid

    # Begun by the former one, and ended by this release.
    await resize(world, [*gone[1::2], *left, *late], "2")
    await until_running(world, late[0], "resize")
    await both.let_lead(NOW)
    await until_complete(world, [*gone[1::2], *left, *late], "resize")
    await resize(world, left, "3")
    await until_complete(world, left, "resize")
    await remove(world, [*gone[1::2], *late])
    assert await uid_of(admin, unique) == uid

    # The former one leads once more: what this one has recorded is enough for it.
    await both.let_lead(BEFORE)
    await create(world, late)
    await until_complete(world, late, "deploy")
    await remove(world, left)
    assert await uid_of(admin, unique) == uid
    await both.let_lead(NOW)
    await remove(world, late)

    async def is_gone() -> bool:
        return await uid_of(admin, unique) is None

    await wait_until(is_gone, lambda: f"PriorityClass {unique} to be gone")


async def uid_of(admin: Client, name: str) -> str | None:
    try:
        return str((await admin.get(PRIORITIES, name))["metadata"]["uid"])
    except NotFound:
        return None
