"""Two webhooks with built-in certificates, called by the API server under the name of a Service.

The mutating configuration calls the first, the validating one the second, so each write of an
Instance shakes hands with both.
"""

import asyncio
import base64
import datetime as dt
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.errors import KubeError
from kudo_cluster.control_plane.network import free_ports
from kudo_cluster.installation import Installation, Service
from tests.integration.webhook import as_service
from tests.integration.webhook.as_service import HOST, NAMESPACE, SECRETS
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.world import World

LEAF, AUTHORITY = "kudo-webhook-certificate", "kudo-webhook-certificate-ca"
_PAUSE = 0.4
"""Seconds between two writes of an Instance, and between two handshakes with both webhooks."""


@dataclass
class Replicas:
    """Both webhooks, and the cluster as its administrator sees it."""

    admin: Client
    first: Service
    second: Service
    ports: tuple[int, int]
    installation: Installation

    async def start(self) -> None:
        """Start those that do not run, at once, and wait until they are ready."""
        both = (self.first, self.second)
        for service in both:
            service.launch()
        await asyncio.gather(*(asyncio.to_thread(service.wait_ready) for service in both))

    async def secret(self, name: str) -> Json | None:
        return await as_service.secret(self.admin, name)

    async def stored(self, name: str) -> x509.Certificate | None:
        """Return the certificate in a Secret; None if there is none, or none to be read."""
        return await as_service.stored(self.admin, name)

    async def delete(self, name: str) -> None:
        await self.admin.delete(SECRETS, name, namespace=NAMESPACE)

    async def damage(self, name: str) -> None:
        """Put another key into a Secret than that of its certificate."""
        other = base64.b64encode(b"-----BEGIN PRIVATE KEY-----\n").decode()
        await self.admin.merge_patch(
            SECRETS, name, {"data": {"tls.key": other}}, namespace=NAMESPACE
        )

    async def bundles(self) -> list[list[x509.Certificate]]:
        """Return what each configuration trusts."""
        return await as_service.bundles(self.admin)

    async def served(self) -> list[x509.Certificate]:
        """Return what new connections to both are given."""
        return [await as_service.served(port) for port in self.ports]

    async def problem(self) -> str:
        """Return why a verifier with a stored caBundle refuses either webhook now, or nothing."""
        before = await self.bundles()
        served = await self.served()
        after = await self.bundles()
        problems = (
            _refusal(certificate, trusted)
            for certificate in served
            for trusted in zip(before, after, strict=True)
        )
        return next(filter(None, problems), "")

    async def register(self) -> None:
        """Create both configurations, without a caBundle."""
        await as_service.register(self.installation, self.admin, self.ports)


@asynccontextmanager
async def two_replicas(installation: Installation, *lifetimes: str) -> AsyncIterator[Replicas]:
    """Run two webhooks in place of the one; nothing is registered or started yet."""
    first_port, second_port, first_probe, second_probe = free_ports(4)
    first = _service(installation, "built-in-first", first_port, first_probe, lifetimes)
    second = _service(installation, "built-in-second", second_port, second_probe, lifetimes)
    async with (
        Client(load_config(installation.cluster.kubeconfig("admin"))) as admin,
        as_service.in_place_of_the_webhook(installation, admin),
    ):
        try:
            yield Replicas(admin, first, second, (first_port, second_port), installation)
        finally:
            for service in (first, second):
                await asyncio.to_thread(service.kill)
            for name in (LEAF, AUTHORITY):
                await as_service.discard(admin, SECRETS, name)


@dataclass
class Load:
    """Writes of Instances, and what became of them."""

    written: int = 0
    failures: list[str] = field(default_factory=list)


@asynccontextmanager
async def writing(world: World, replicas: Replicas) -> AsyncIterator[Load]:
    """Write Instances and shake hands all the while."""
    load = Load()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_write(world, load, name)) for name in ("i0", "i1", "i2")]
        tasks.append(group.create_task(_shake_hands(replicas, load)))
        try:
            yield load
        finally:
            for task in tasks:
                task.cancel()


async def _write(world: World, load: Load, name: str) -> None:
    for size in count():
        try:
            if size == 0:
                instance = build.instance(name, "op-1")
                await world.client.create(INSTANCES, instance, namespace=world.namespace)
            else:
                await world.patch(name, {"parameters": {"SIZE": str(size)}})
            load.written += 1
        except KubeError as error:
            load.failures.append(f"{dt.datetime.now(dt.UTC):%T}: {error}")
        # A steady load: what is shown is that no write fails, not how many the machine takes.
        await asyncio.sleep(_PAUSE)


async def _shake_hands(replicas: Replicas, load: Load) -> None:
    while True:
        if problem := await replicas.problem():
            load.failures.append(f"{dt.datetime.now(dt.UTC):%T}: {problem}")
        await asyncio.sleep(_PAUSE)


def _service(
    installation: Installation, name: str, port: int, probe: int, lifetimes: tuple[str, ...]
) -> Service:
    command = [one for one in installation.webhook.command if not one.startswith("--tls-")]
    command += [f"--port={port}", f"--probe-port={probe}", f"--certificate-secret={LEAF}"]
    command += [f"--certificate-namespace={NAMESPACE}", *lifetimes]
    log = installation.directory / f"{name}.log"
    return Service(name, command, log, probe, installation.webhook.supervision)


def _refusal(certificate: x509.Certificate, bundles: tuple[list[x509.Certificate], ...]) -> str:
    """Return why none of these states of a caBundle verifies the certificate."""
    problem = "there is no caBundle"
    for trusted in filter(None, bundles):
        verifier = PolicyBuilder().store(Store(trusted)).build_server_verifier(x509.DNSName(HOST))
        try:
            verifier.verify(certificate, [])
        except VerificationError as error:
            problem = str(error)
        else:
            return ""
    return problem
