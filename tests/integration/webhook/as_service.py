"""Webhooks that the API server calls under the name of their Service.

Nodes are simulated here, so the Service is an alias of this machine; the name that certificates are
verified for is that of the Service all the same.
"""

import asyncio
import base64
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

import yaml
from cryptography import x509

from kubeio.client import Client
from kubeio.errors import KubeError, NotFound
from kubeio.resource import Resource
from kudo_cluster.installation import Installation
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.registration import CONFIGURATION, CONFIGURATIONS, restore, unregister
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

NAMESPACE, SERVICE = "kudo-system", "kudo-webhook"
HOST = f"{SERVICE}.{NAMESPACE}.svc"

SECRETS = Resource("", "v1", "Secret", "secrets", namespaced=True)
SERVICES = Resource("", "v1", "Service", "services", namespaced=True)


@asynccontextmanager
async def in_place_of_the_webhook(installation: Installation, admin: Client) -> AsyncIterator[None]:
    """Have the Service, and no configuration but the one that is registered in the block."""
    await unregister(admin)
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": SERVICE, "namespace": NAMESPACE},
        "spec": {"type": "ExternalName", "externalName": "127.0.0.1"},
    }
    await admin.apply(SERVICES, service, field_manager="test")
    try:
        yield
    finally:
        await unregister(admin)
        await restore(installation, admin)
        await discard(admin, SERVICES, SERVICE)


async def register(
    installation: Installation,
    admin: Client,
    ports: tuple[int, int],
    annotations: Mapping[str, str] | None = None,
) -> None:
    """Create the mutating and the validating configuration, without a caBundle."""
    port_of = dict(zip(CONFIGURATIONS, ports, strict=True))
    for configuration in yaml.safe_load_all(installation.configurations):
        resource = next(one for one in port_of if one.kind == configuration["kind"])
        configuration["metadata"]["annotations"] = dict(annotations or {})
        for webhook in configuration["webhooks"]:
            path = webhook["clientConfig"]["url"].rpartition("/")[2]
            target = {"namespace": NAMESPACE, "name": SERVICE, "port": port_of[resource]}
            webhook["clientConfig"] = {"service": {**target, "path": f"/{path}"}}
        await admin.create(resource, configuration)


async def until_judging(world: World) -> None:
    """Wait until the API server asks the webhooks; OperatorVersion `op-1` must exist."""

    async def judged() -> bool:
        try:
            made = await world.client.create(
                INSTANCES, build.instance("x", "op-1"), namespace=world.namespace, dry_run=True
            )
        except KubeError:
            return False
        return bool(made["spec"].get("planExecution", {}).get("uid"))

    await wait_until(judged, lambda: "the API server to ask the webhooks")


async def bundles(admin: Client) -> list[list[x509.Certificate]]:
    """Return what each configuration trusts."""
    found = [await admin.get(resource, CONFIGURATION) for resource in CONFIGURATIONS]
    return [
        _certificates(webhook["clientConfig"].get("caBundle", ""))
        for configuration in found
        for webhook in configuration["webhooks"]
    ]


async def secret(admin: Client, name: str) -> Json | None:
    try:
        return await admin.get(SECRETS, name, namespace=NAMESPACE)
    except NotFound:
        return None


async def stored(admin: Client, name: str) -> x509.Certificate | None:
    """Return the certificate in a Secret; None if there is none, or none to be read."""
    found = await secret(admin, name)
    try:
        text = base64.b64decode((found or {})["data"]["tls.crt"])
        return x509.load_pem_x509_certificate(text)
    except (KeyError, ValueError):
        return None


async def served(port: int) -> x509.Certificate:
    """Return the certificate that a new connection is given."""
    return await asyncio.to_thread(_served, port)


async def discard(admin: Client, resource: Resource, name: str) -> None:
    with suppress(NotFound):
        await admin.delete(resource, name, namespace=NAMESPACE)


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
