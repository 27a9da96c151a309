"""A namespace of a real cluster, and what only that can do: kubectl, and the installation.

The interface that it shares with the API server in memory is `tests.support.cluster.interface`.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.errors import ApiError
from kudo_cluster.control_plane.identities import Role
from kudo_cluster.installation import Installation, Service
from tests.support import build
from tests.support.build import Json
from tests.support.cluster import interface
from tests.support.cluster.clients import CALL_SECONDS, new_namespace
from tests.support.cluster.commands import Done, environment, run
from tests.support.cluster.resources import CONFIG_MAPS, INSTANCES, OPERATORS, VERSIONS
from tests.support.cluster.waiting import events_written
from tests.support.cluster.webhooks import without_mutating_webhook, without_webhooks
from tests.support.prefork import Prefork

_APPLIED = {
    (kind.api_version, kind.kind): kind for kind in (INSTANCES, OPERATORS, VERSIONS, CONFIG_MAPS)
}
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True)
class World(interface.World):
    """A namespace, and the ways to act in it."""

    installation: Installation
    client: Client
    namespace: str
    programs: Prefork | None = None
    reconcilers: tuple[Service, ...] = ()

    async def elsewhere(self) -> "World":
        return replace(self, namespace=await new_namespace(self.client))

    async def kubectl(self, *arguments: str, text: str | None = None) -> Done:
        cluster = self.installation.cluster
        command = [
            str(cluster.binary("kubectl")),
            f"--kubeconfig={cluster.kubeconfig('user')}",
            f"--cache-dir={cluster.directory / 'kubectl-cache'}",
            f"--namespace={self.namespace}",
        ]
        return await run([*command, *arguments], text=text)

    async def apply(self, *objects: Json) -> Done:
        """Write objects as plain `kubectl apply` does, and by it as soon as it has to say more.

        New objects of known kinds are created with what kubectl leaves on them. Starting kubectl
        would cost more than all the rest; it is started for what exists and for what is refused.
        """
        warnings: list[str] = []
        before, self.client.on_warning = self.client.on_warning, warnings.append
        try:
            for number, obj in enumerate(objects):
                if not await self._created(obj):
                    return await self.kubectl_apply(*objects[number:])
        finally:
            self.client.on_warning = before
        return Done(0, "", "".join(f"Warning: {text}\n" for text in warnings))

    async def kubectl_apply(self, *objects: Json) -> Done:
        """Write objects with kubectl itself."""
        return await self.kubectl("apply", "-f", "-", text=build.as_list(objects))

    async def _created(self, obj: Json) -> bool:
        """Create an object as `kubectl apply` does; return False if kubectl has to do it."""
        resource = _APPLIED.get((obj["apiVersion"], obj["kind"]))
        if resource is None or "namespace" in obj["metadata"]:
            return False
        metadata = {"annotations": {}, "namespace": self.namespace, **obj["metadata"]}
        applied = json.dumps({**obj, "metadata": metadata})
        annotations = {**metadata["annotations"], _LAST_APPLIED: applied}
        try:
            await self.client.raw(
                "POST",
                resource.path(self.namespace),
                query={"fieldManager": "kubectl-client-side-apply", "fieldValidation": "Strict"},
                body={**obj, "metadata": {**metadata, "annotations": annotations}},
            )
        except ApiError:
            return False
        return True

    async def kudo(self, *arguments: str) -> Done:
        """Run `kubectl kudo` as the user."""
        cluster = self.installation.cluster
        command = [
            str(Path(sys.executable).with_name("kubectl-kudo")),
            f"--kubeconfig={cluster.kubeconfig('user')}",
            f"--namespace={self.namespace}",
        ]
        if self.programs is None:
            return await run([*command, *arguments])
        ended = await asyncio.to_thread(
            self.programs.run, [*command, *arguments], text=None, environment=environment()
        )
        return Done(ended.code, ended.stdout, ended.stderr)

    @property
    def reconciler(self) -> "ServiceProcess":
        return ServiceProcess(self.installation.reconciler)

    @asynccontextmanager
    async def client_as(self, who: Role) -> AsyncIterator[Client]:
        kubeconfig = self.installation.cluster.kubeconfig(who)
        async with Client(load_config(kubeconfig), timeout=CALL_SECONDS) as client:
            yield client

    def without_webhooks(self) -> AbstractAsyncContextManager[None]:
        return without_webhooks(self)

    def without_mutating_webhook(self) -> AbstractAsyncContextManager[None]:
        return without_mutating_webhook(self)

    @asynccontextmanager
    async def unreachable_webhook(self) -> AsyncIterator[None]:
        self.installation.webhook.kill()
        try:
            yield
        finally:
            self.installation.webhook.start()

    async def events_written(self) -> None:
        await events_written(*self.reconcilers)


@dataclass(frozen=True)
class ServiceProcess:
    """The process of a service, as scenarios end and start it."""

    service: Service

    async def start(self) -> None:
        self.service.start()

    async def stop(self) -> None:
        self.service.stop()

    async def kill(self) -> None:
        self.service.kill()
