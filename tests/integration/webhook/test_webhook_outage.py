"""Two webhooks behind a balancer while users write: one stops, one is killed.

And one webhook, asked directly, whose certificate is renewed again and again.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.resource import Resource
from kudo_cluster.control_plane.network import free_ports
from kudo_cluster.installation import Installation
from tests.bench import reviews
from tests.bench.renewal import renew_under_load
from tests.integration.webhook.balancer import Balancer, Replica, balancing
from tests.support import build
from tests.support.cluster.resources import VERSIONS
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World
from tests.support.cluster.writers import PARAMETER, until_written, value_of, writing

GROUP = "admissionregistration.k8s.io"
CONFIGURATIONS = [
    Resource(
        GROUP, "v1", f"{kind}WebhookConfiguration", f"{kind.lower()}webhookconfigurations", False
    )
    for kind in ("Mutating", "Validating")
]
WRITERS = 6
CHANGES = 15
RENEWALS = 15


@dataclass(frozen=True)
class Pair:
    """Two replicas of the webhook, and the world that is served by them alone."""

    world: World
    version: str
    balancer: Balancer

    @property
    def victim(self) -> Replica:
        return self.balancer.replicas[0]

    async def victim_is_left(self) -> bool:
        """Return whether nobody is connected with the victim any more."""
        return self.victim.open == 0


@pytest.fixture
async def pair(world: World) -> AsyncIterator[Pair]:
    """Yield two running replicas; no reconciler runs, so that nobody else writes."""
    installation = world.installation
    replicas = [another_webhook(installation, f"webhook-{name}") for name in "ab"]
    version = await prepared(world)
    await asyncio.to_thread(installation.reconciler.stop)
    try:
        for replica in replicas:
            await asyncio.to_thread(replica.service.start)
        async with balancing(replicas) as balancer:
            await point_at(installation, f"https://127.0.0.1:{balancer.port}")
            await asyncio.to_thread(installation.webhook.stop)
            yield Pair(world, version, balancer)
    finally:
        await asyncio.to_thread(installation.webhook.start)
        await asyncio.to_thread(installation.register_webhook)
        for replica in replicas:
            await asyncio.to_thread(replica.service.kill)


def another_webhook(installation: Installation, name: str, *options: str) -> Replica:
    port, probe_port = free_ports(2)
    ports = [f"--port={port}", f"--probe-port={probe_port}", "--drain-seconds=1"]
    service = replace(
        installation.webhook,
        name=name,
        command=[*installation.webhook.command, *ports, *options],
        log=installation.directory / f"{name}.log",
        probe_port=probe_port,
        process=None,
    )
    return Replica(service, port)


async def prepared(world: World) -> str:
    """Create an OperatorVersion whose one plan every change runs anew."""
    version = build.operator_version(
        "writable",
        templates={"all.yaml": build.template(build.config_map("all"))},
        plans={"deploy": build.plan({"all": ["all"]})},
        parameters=[build.parameter(PARAMETER, "0")],
    )
    created = await world.apply(version)
    assert created.code == 0, created.output
    return "writable"


async def point_at(installation: Installation, url: str) -> None:
    """Have the API server ask another address."""
    async with Client(load_config(installation.cluster.kubeconfig("admin"))) as admin:
        for resource in CONFIGURATIONS:
            found = await admin.get(resource, "kudo-instance-admission")
            for hook in found["webhooks"]:
                path = hook["clientConfig"]["url"].rpartition("/")[2]
                hook["clientConfig"]["url"] = f"{url}/{path}"
            await admin.replace(resource, found)


@pytest.mark.smoke
async def test_no_write_fails_while_a_replica_stops(pair: Pair) -> None:
    async with writing(pair.world, pair.version, WRITERS) as writers:
        await until_written(writers, CHANGES)
        assert all(replica.connections for replica in pair.balancer.replicas)
        await asyncio.to_thread(pair.victim.service.stop)
        await until_written(writers, CHANGES)
    assert [str(f.error) for w in writers for f in w.failures] == []
    assert [fault for w in writers for fault in w.faults] == []


@pytest.mark.campaign
async def test_only_writes_in_flight_fail_when_a_replica_is_killed(pair: Pair) -> None:
    async with writing(pair.world, pair.version, WRITERS) as writers:
        await until_written(writers, CHANGES)
        assert all(replica.connections for replica in pair.balancer.replicas)
        await asyncio.to_thread(pair.victim.service.kill)
        await wait_until(pair.victim_is_left, lambda: "its connections to be closed")
        gone = time.monotonic()
        await until_written(writers, CHANGES)
    assert [fault for w in writers for fault in w.faults] == []
    for writer in writers:
        # That each went on afterwards is its retry.
        for failure in writer.failures:
            assert failure.began <= gone
            assert failure.error.status == 500
            assert "failed calling webhook" in str(failure.error)
            assert failure.after["spec"] == failure.before["spec"]
            assert value_of(await pair.world.instance(writer.name)) == str(writer.changes)


async def test_a_certificate_is_renewed_under_load_without_a_failed_request(
    world: World, tmp_path: Path
) -> None:
    cluster = world.installation.cluster
    _, _, authority = cluster.serving_certificate(tmp_path, "127.0.0.1")
    (tmp_path / "ca.crt").write_bytes(authority)
    pair = [f"--tls-cert={tmp_path / 'tls.crt'}", f"--tls-key={tmp_path / 'tls.key'}"]
    webhook = another_webhook(world.installation, "renewed", *pair, "--tls-poll=0.05")
    await world.client.create(
        VERSIONS, reviews.operator_version("asked"), namespace=world.namespace
    )
    reviews.write(tmp_path / "bodies", reviews.reviews(world.namespace, ["asked"]))
    await asyncio.to_thread(webhook.service.start)
    try:
        renewal = await renew_under_load(
            RENEWALS,
            lambda: cluster.serving_certificate(tmp_path, "127.0.0.1"),
            tmp_path / "tls.crt",
            port=webhook.port,
            ca=tmp_path / "ca.crt",
            bodies=tmp_path / "bodies",
        )
    finally:
        await asyncio.to_thread(webhook.service.kill)
    assert renewal.failures == []
    assert renewal.served == RENEWALS
    assert renewal.kept.latencies
    assert len(renewal.fresh.latencies) > 50
