"""The way by cert-manager: certs/cert-manager.yaml as it is, on cert-manager's CRDs.

cert-manager itself is not run: `tests.support.cert_manager` stands in for it. What the kubelet does
for a mounted Secret (files behind a symlink that is swapped) is done here, too. Former authorities
stay in the caBundles, as since cert-manager 1.19, unless a test asks for the way before.
"""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from cryptography import x509

from kubeio.client import Client
from kudo_cluster.control_plane.network import free_ports
from kudo_cluster.installation import Service
from tests.integration.conftest import ROOT
from tests.integration.webhook import as_service
from tests.integration.webhook.as_service import NAMESPACE, SECRETS
from tests.support import build
from tests.support.cert_manager import cert_manager, renew
from tests.support.cluster.commands import run
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World
from tests.support.cluster.writers import PARAMETER, until_written, writing

MANIFEST = ROOT / "certs" / "cert-manager.yaml"
LEAF, AUTHORITY = "kudo-webhook-tls", "kudo-webhook-ca"
_INJECT = {"cert-manager.io/inject-ca-from": f"{NAMESPACE}/kudo-webhook"}


@dataclass
class Served:
    """A webhook that serves what cert-manager issues."""

    admin: Client
    port: int
    merging: bool

    async def certificate(self) -> x509.Certificate:
        return await as_service.served(self.port)

    async def trusted(self) -> list[x509.Certificate]:
        """Return what the configurations trust, once it is the same."""
        found: list[list[x509.Certificate]] = []

        async def agreed() -> bool:
            found[:] = await as_service.bundles(self.admin)
            return found[0] == found[1]

        await wait_until(agreed, lambda: "configurations that trust the same")
        return found[0]


@pytest.fixture
async def served(
    request: pytest.FixtureRequest, world: World, admin: Client, tmp_path: Path
) -> AsyncIterator[Served]:
    """Yield a webhook whose certificate and registration are cert-manager's.

    Its parameter says whether former authorities stay trusted; they do without one.
    """
    merging = getattr(request, "param", True)
    await asyncio.to_thread(world.installation.reconciler.stop)
    await world.apply(
        build.operator_version(
            "op-1",
            templates={
                "c.yaml": build.template(build.config_map("c", value="{{ .Params.VALUE }}"))
            },
            plans={"deploy": build.plan({"c": ["c"]})},
            parameters=[build.parameter(PARAMETER, "0")],
        )
    )
    port, probe = free_ports(2)
    service = _service(world, tmp_path, port, probe)
    async with (
        as_service.in_place_of_the_webhook(world.installation, admin),
        cert_manager(admin, merging=merging),
        _manifest(world),
        _mounted(admin, LEAF, tmp_path),
    ):
        await as_service.register(world.installation, admin, (port, port), _INJECT)
        await asyncio.to_thread(service.start)
        try:
            await as_service.until_judging(world)
            yield Served(admin, port, merging)
        finally:
            await asyncio.to_thread(service.kill)


def _service(world: World, folder: Path, port: int, probe: int) -> Service:
    installation = world.installation
    command = [one for one in installation.webhook.command if not one.startswith("--tls-")]
    command += [f"--port={port}", f"--probe-port={probe}", "--tls-poll=0.2"]
    command += [f"--tls-cert={folder}/tls.crt", f"--tls-key={folder}/tls.key"]
    log = installation.directory / "cert-manager-webhook.log"
    return Service("webhook", command, log, probe, installation.webhook.supervision)


@asynccontextmanager
async def _manifest(world: World) -> AsyncIterator[None]:
    """Apply the manifest that we ship, and take away what came of it."""
    cluster = world.installation.cluster
    kubectl = [str(cluster.binary("kubectl")), f"--kubeconfig={cluster.kubeconfig('admin')}"]
    applied = await run([*kubectl, "apply", "-f", str(MANIFEST)])
    assert applied.code == 0, applied.output
    try:
        yield
    finally:
        await run([*kubectl, "delete", "--ignore-not-found", "-f", str(MANIFEST)])
        secrets = [LEAF, AUTHORITY]
        await run([*kubectl, "-n", NAMESPACE, "delete", "--ignore-not-found", "secret", *secrets])


@asynccontextmanager
async def _mounted(admin: Client, secret: str, folder: Path) -> AsyncIterator[None]:
    """Keep a Secret mounted in a folder; the block begins when its files are there."""
    mounted = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        mounting = group.create_task(_mount(admin, secret, folder, mounted))
        try:
            async with asyncio.timeout(60):
                await mounted.wait()
            yield
        finally:
            mounting.cancel()


async def _mount(admin: Client, secret: str, folder: Path, mounted: asyncio.Event) -> None:
    written = None
    for number in count():
        found = await as_service.secret(admin, secret)
        if found is not None and found["data"] != written:
            written = found["data"]
            _swap(folder, f"..{number}", written)
            mounted.set()
        await asyncio.sleep(0.1)


def _swap(folder: Path, version: str, data: dict[str, str]) -> None:
    (folder / version).mkdir()
    for name, text in data.items():
        (folder / version / name).write_bytes(base64.b64decode(text))
        link = folder / name
        if not link.is_symlink():
            link.symlink_to(f"..data/{name}")
    (folder / "..data_tmp").symlink_to(version)
    (folder / "..data_tmp").replace(folder / "..data")


async def test_our_certificate_is_issued_served_and_trusted(served: Served) -> None:
    certificate = await served.certificate()
    assert certificate == await as_service.stored(served.admin, LEAF)
    authority = await as_service.stored(served.admin, AUTHORITY)
    assert authority in await served.trusted()
    certificate.verify_directly_issued_by(authority)


@pytest.mark.parametrize(
    "served",
    [
        pytest.param(True, id="merging"),
        pytest.param(False, id="replacing", marks=pytest.mark.campaign),
    ],
    indirect=True,
)
async def test_a_renewed_certificate_and_authority_are_served_without_a_failed_write(
    world: World, served: Served
) -> None:
    before, authority = await served.certificate(), await served.trusted()

    async def leaf_renewed() -> bool:
        return before != await served.certificate()

    async def authority_renewed() -> bool:
        return authority != [await as_service.stored(served.admin, AUTHORITY)]

    async def bundle_renewed() -> bool:
        return await as_service.stored(served.admin, AUTHORITY) in await served.trusted()

    async with writing(world, "op-1", 3) as writers:
        await until_written(writers, 3)
        await renew(served.admin, NAMESPACE, "kudo-webhook")
        await wait_until(leaf_renewed, lambda: "a new certificate")
        await until_written(writers, 5)
        await renew(served.admin, NAMESPACE, "kudo-webhook-ca")
        await wait_until(authority_renewed, lambda: "a new authority")
        await renew(served.admin, NAMESPACE, "kudo-webhook")
        await wait_until(bundle_renewed, lambda: "a new caBundle")
        await until_written(writers, 10)
    assert [failure.error for writer in writers for failure in writer.failures] == []
    renewed = await as_service.stored(served.admin, AUTHORITY)
    assert renewed is not None
    assert {*await served.trusted()} == {renewed, *(authority if served.merging else [])}
    assert [one.public_key() for one in authority] == [renewed.public_key()]


@pytest.mark.campaign
async def test_a_lost_secret_is_issued_anew_and_served(world: World, served: Served) -> None:
    before = await served.certificate()
    await served.admin.delete(SECRETS, LEAF, namespace=NAMESPACE)

    async def renewed() -> bool:
        return before != await served.certificate()

    async with writing(world, "op-1", 2) as writers:
        await wait_until(renewed, lambda: "another certificate")
        await until_written(writers, 5)
    assert [failure.error for writer in writers for failure in writer.failures] == []


@pytest.mark.campaign
async def test_an_authority_that_leaked_is_taken_out_of_a_merged_bundle_as_documented(
    world: World, served: Served
) -> None:
    former, before = await as_service.stored(served.admin, AUTHORITY), await served.certificate()

    async def another_authority() -> bool:
        return await as_service.stored(served.admin, AUTHORITY) not in {None, former}

    async def another_leaf() -> bool:
        return await served.certificate() != before and len(await served.trusted()) == 2

    await served.admin.delete(SECRETS, AUTHORITY, namespace=NAMESPACE)
    await wait_until(another_authority, lambda: "another authority")
    await served.admin.delete(SECRETS, LEAF, namespace=NAMESPACE)
    await wait_until(another_leaf, lambda: "another certificate, and two authorities in the bundle")
    authority = await as_service.stored(served.admin, AUTHORITY)
    assert {*await served.trusted()} == {former, authority}

    done = await run(["bash", "-euc", f"{as_admin(world)}\n{documented('leaked')}"])
    assert done.code == 0, done.output

    assert await served.trusted() == [authority]
    # Once another certificate is served, whoever keeps the bundle has seen what was written.
    before = await served.certificate()
    await renew(served.admin, NAMESPACE, "kudo-webhook")

    async def renewed() -> bool:
        return await served.certificate() != before

    await wait_until(renewed, lambda: "a renewed certificate")
    assert await served.trusted() == [authority]


def as_admin(world: World) -> str:
    """Return shell code after which `kubectl` is that of the administrator."""
    cluster = world.installation.cluster
    program = cluster.binary("kubectl")
    return f'kubectl() {{ "{program}" --kubeconfig="{cluster.kubeconfig("admin")}" "$@"; }}'


def documented(word: str) -> str:
    """Return the commands in certs/README.md that follow a word."""
    text = (ROOT / "certs" / "README.md").read_text(encoding="utf-8")
    return text.partition(word)[2].split("```")[1]
