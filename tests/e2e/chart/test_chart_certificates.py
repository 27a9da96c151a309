"""The way by cert-manager in the cluster; a stand-in of ours does its part, on its real CRDs."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator

import pytest
from cryptography import x509

from kubeio.client import Client
from tests.e2e.chart.plans import WRITTEN, apply, written
from tests.e2e.chart.release import USUAL, Release
from tests.support.cert_manager import cert_manager, install_crds, renew
from tests.support.cluster.registration import CONFIGURATION
from tests.support.cluster.site import CONFIGURATION_KINDS
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World
from tests.support.cluster.writers import until_written, writing
from tools.chart.helm import NAMESPACE

_LEAF, _AUTHORITY = "kudo-webhook-tls", "kudo-webhook-ca"
_PORT = 9443


@pytest.fixture(params=[True, False], ids=["merging", "replacing"])
async def certified(
    request: pytest.FixtureRequest, release: Release, admin: Client
) -> AsyncIterator[Release]:
    """Yield the release with certificates of cert-manager, after it had built-in ones."""
    await install_crds(admin)
    async with cert_manager(admin, merging=request.param):
        values = {**USUAL, "tls": {"mode": "certManager"}}
        await asyncio.to_thread(release.upgrade, values)
        yield release
        # The usual certificates again, while somebody still injects the others.
        await asyncio.to_thread(release.settle)
    # cert-manager leaves them to people.
    release.kubectl("delete", "secret", _LEAF, _AUTHORITY)


def served(release: Release) -> set[bytes]:
    """Return what the pods of the webhook give to a new connection."""
    pods = release.pods("webhook")
    found = (ssl.get_server_certificate((pod["status"]["podIP"], _PORT)) for pod in pods)
    return {ssl.PEM_cert_to_DER_cert(text) for text in found}


def stored(release: Release, secret: str, key: str = "tls.crt") -> str:
    return str(release.kubectl.get("secret", secret)["data"][key])


def in_secret(release: Release) -> set[bytes]:
    text = base64.b64decode(stored(release, _LEAF)).decode()
    return {ssl.PEM_cert_to_DER_cert(text)}


def trusted(release: Release) -> frozenset[x509.Certificate]:
    """Return what both configurations trust."""
    found = [release.kubectl.get(kind, CONFIGURATION) for kind in CONFIGURATION_KINDS]
    bundles = {hook["clientConfig"]["caBundle"] for one in found for hook in one["webhooks"]}
    return frozenset.intersection(*map(certificates, bundles))


def certificates(encoded: str) -> frozenset[x509.Certificate]:
    return frozenset(x509.load_pem_x509_certificates(base64.b64decode(encoded)))


async def test_certificates_of_cert_manager_are_served_trusted_and_renewed_without_a_failed_write(
    certified: Release, world: World, admin: Client
) -> None:
    async def settled() -> bool:
        authority = await asyncio.to_thread(stored, certified, _LEAF, "ca.crt")
        return certificates(authority) <= await asyncio.to_thread(trusted, certified)

    await wait_until(settled, lambda: "the authority in the caBundles")

    async def alone() -> bool:
        return not await asyncio.to_thread(certified.leaving, "webhook")

    # They serve the built-in certificates, whose authority cert-manager may have taken out.
    await wait_until(alone, lambda: "the replaced pods to be gone")
    await apply(world, written())
    before = served(certified)
    assert before == in_secret(certified)

    async def renewed() -> bool:
        now = await asyncio.to_thread(served, certified)
        return not now & before and now == await asyncio.to_thread(in_secret, certified)

    async with writing(world, WRITTEN, 2) as writers:
        await until_written(writers, 3)
        await renew(admin, NAMESPACE, "kudo-webhook")
        await wait_until(renewed, lambda: "both pods to serve the new certificate", seconds=180)
        await until_written(writers, 3)
    assert [str(failure.error) for writer in writers for failure in writer.failures] == []
