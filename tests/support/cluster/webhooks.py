"""Takes the webhook configurations of an installation away for a while."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from kubeio.client import Client
from kubeio.errors import ApiError
from kudo_cluster.control_plane.identities import Role
from kudo_cluster.installation import Installation
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.commands import Done
from tests.support.cluster.registration import restore, unregister
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.waiting import wait_until

_PROBE = "webhook-probe"


class Installed(Protocol):
    """A namespace of a cluster where an installation has registered its webhooks."""

    @property
    def installation(self) -> Installation: ...
    @property
    def client(self) -> Client: ...
    @property
    def namespace(self) -> str: ...
    async def apply(self, *objects: Json) -> Done: ...
    def client_as(self, who: Role, /) -> AbstractAsyncContextManager[Client]: ...


@asynccontextmanager
async def without_webhooks(world: Installed) -> AsyncIterator[None]:
    """Take both webhook configurations away, and put them back whatever happens."""
    async with world.client_as("admin") as admin:
        await unregister(admin)
        try:
            await _until_judged(world, judged=False)
            yield
        finally:
            await restore(world.installation, admin)
            await _until_judged(world, judged=True)


@asynccontextmanager
async def without_mutating_webhook(world: Installed) -> AsyncIterator[None]:
    """Take the mutating configuration away, and put it back whatever happens."""
    async with world.client_as("admin") as admin:
        path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
        await admin.raw("DELETE", f"{path}/kudo-instance-admission")
        try:
            await _until_mutated(world, mutated=False)
            yield
        finally:
            await restore(world.installation, admin)
            await _until_mutated(world, mutated=True)


async def _until_judged(world: Installed, *, judged: bool) -> None:
    """Wait until the API server has noticed that the webhooks came or went."""

    async def noticed() -> bool:
        return await _refusal(world, build.instance(_PROBE, "no-such-version")) is judged

    await wait_until(noticed, lambda: "the API server to notice the webhook configurations")


async def _until_mutated(world: Installed, *, mutated: bool) -> None:
    version = build.operator_version(_PROBE, templates={}, plans={"deploy": {"phases": []}})
    await world.apply(version)

    async def noticed() -> bool:
        return await _refusal(world, build.instance(_PROBE, _PROBE)) is not mutated

    await wait_until(noticed, lambda: "the API server to notice the mutating configuration")


async def _refusal(world: Installed, instance: Json) -> bool:
    """Return whether creating the Instance would be refused."""
    try:
        await world.client.create(INSTANCES, instance, namespace=world.namespace, dry_run=True)
    except ApiError:
        return True
    return False
