"""Two webhooks with built-in certificates, called by the API server under the name of a Service.

The mutating configuration calls the first, the validating one the second, so each write of an
Instance shakes hands with both. Nodes are simulated here, so the Service is an alias of this
machine; the name that certificates are verified for is that of the Service all the same.
"""

import asyncio
import base64
import datetime as dt
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import count

import yaml
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from kubeio.client import Client
from kubeio.config import load_config
from kubeio.errors import KubeError, NotFound
from kubeio.resource import Resource
from kudo_cluster.installation import Installation, Service
from kudo_cluster.ports import free_ports
from tests.integration.support import INSTANCES, Json, World, new_instance, wait_until

NAMESPACE, SERVICE = "kudo-system", "kudo-webhook"
LEAF, AUTHORITY = "kudo-webhook-certificate", "kudo-webhook-certificate-ca"
CONFIGURATION = "kudo-instance-admission"
HOST = f"{SERVICE}.{NAMESPACE}.svc"

SECRETS = Resource("", "v1", "Secret", "secrets", namespaced=True)
SERVICES = Resource("", "v1", "Service", "services", namespaced=True)
_GROUP = "admissionregistration.k8s.io"
CONFIGURATIONS = tuple(
    Resource(_GROUP, "v1", f"{kind}Configuration", f"{kind.lower()}configurations", False)
    for kind in ("MutatingWebhook", "ValidatingWebhook")
)


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
        try:
            return await self.admin.get(SECRETS, name, namespace=NAMESPACE)
        except NotFound:
            return None

    async def stored(self, name: str) -> x509.Certificate | None:
        """Return the certificate in a Secret; None if there is none, or none to be read."""
        found = await self.secret(name)
        try:
            text = base64.b64decode((found or {})["data"]["tls.crt"])
            return x509.load_pem_x509_certificate(text)
        except (KeyError, ValueError):
            return None

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
        found = [await self.admin.get(resource, CONFIGURATION) for resource in CONFIGURATIONS]
        return [
            _certificates(webhook["clientConfig"].get("caBundle", ""))
            for configuration in found
            for webhook in configuration["webhooks"]
        ]

    async def served(self) -> list[x509.Certificate]:
        """Return what new connections to both are given."""
        return [await asyncio.to_thread(_served, port) for port in self.ports]

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
        ports = dict(zip(CONFIGURATIONS, self.ports, strict=True))
        for configuration in yaml.safe_load_all(self.installation.configurations):
            resource = next(one for one in ports if one.kind == configuration["kind"])
            for webhook in configuration["webhooks"]:
                path = webhook["clientConfig"]["url"].rpartition("/")[2]
                target = {"namespace": NAMESPACE, "name": SERVICE, "port": ports[resource]}
                webhook["clientConfig"] = {"service": {**target, "path": f"/{path}"}}
            await self.admin.create(resource, configuration)

    async def until_judging(self, world: World) -> None:
        """Wait until the API server asks both webhooks."""

        async def judged() -> bool:
            try:
                made = await world.client.create(
                    INSTANCES, new_instance("x", "op-1"), namespace=world.namespace, dry_run=True
                )
            except KubeError:
                return False
            return bool(made["spec"].get("planExecution", {}).get("uid"))

        await wait_until(judged, lambda: "the API server to ask both webhooks")


@asynccontextmanager
async def two_replicas(installation: Installation, *lifetimes: str) -> AsyncIterator[Replicas]:
    """Run two webhooks in place of the one; nothing is registered or started yet."""
    first_port, second_port, first_probe, second_probe = free_ports(4)
    first = _service(installation, "built-in-first", first_port, first_probe, lifetimes)
    second = _service(installation, "built-in-second", second_port, second_probe, lifetimes)
    async with Client(load_config(installation.cluster.kubeconfig("admin"))) as admin:
        await asyncio.to_thread(installation.unregister_webhook)
        await _alias(admin)
        try:
            yield Replicas(admin, first, second, (first_port, second_port), installation)
        finally:
            for service in (first, second):
                await asyncio.to_thread(service.kill)
            await asyncio.to_thread(installation.unregister_webhook)
            await asyncio.to_thread(installation.register_webhook)
            await _clean(admin)


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
                instance = new_instance(name, "op-1")
                await world.client.create(INSTANCES, instance, namespace=world.namespace)
            else:
                await world.patch(name, {"parameters": {"SIZE": str(size)}})
            load.written += 1
        except KubeError as error:
            load.failures.append(f"{dt.datetime.now(dt.UTC):%T}: {error}")
        # A steady load, which leaves the machine some air.
        await asyncio.sleep(0.03)


async def _shake_hands(replicas: Replicas, load: Load) -> None:
    while True:
        if problem := await replicas.problem():
            load.failures.append(f"{dt.datetime.now(dt.UTC):%T}: {problem}")
        await asyncio.sleep(0.05)


def _service(
    installation: Installation, name: str, port: int, probe: int, lifetimes: tuple[str, ...]
) -> Service:
    command = [one for one in installation.webhook.command if not one.startswith("--tls-")]
    command += [f"--port={port}", f"--probe-port={probe}", f"--certificate-secret={LEAF}"]
    command += [f"--certificate-namespace={NAMESPACE}", *lifetimes]
    log = installation.directory / f"{name}.log"
    return Service(name, command, log, probe, installation.supervision)


async def _alias(admin: Client) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": SERVICE, "namespace": NAMESPACE},
        "spec": {"type": "ExternalName", "externalName": "127.0.0.1"},
    }
    await admin.apply(SERVICES, service, field_manager="test")


async def _clean(admin: Client) -> None:
    for resource, name in ((SERVICES, SERVICE), (SECRETS, LEAF), (SECRETS, AUTHORITY)):
        with _absent():
            await admin.delete(resource, name, namespace=NAMESPACE)


@contextmanager
def _absent() -> Iterator[None]:
    try:
        yield
    except NotFound:
        return


def _certificates(encoded: str) -> list[x509.Certificate]:
    text = base64.b64decode(encoded)
    return x509.load_pem_x509_certificates(text) if text else []


def _served(port: int) -> x509.Certificate:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname=HOST) as connection,
    ):
        der = connection.getpeercert(binary_form=True)
    assert der is not None
    return x509.load_der_x509_certificate(der)


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
