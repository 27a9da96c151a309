"""The world over the API server in memory, in simulated time.

The reconciler is the real one, on the loop of the test; so are the commands of `kubectl kudo`. Both
webhooks judge by their real rules. There is no RBAC, no kubectl and no kubelet.
"""

import copy
import itertools
import logging
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final

from kubeio.client import Client
from kudo.api.crds import definitions
from kudo_cluster.control_plane.identities import Role
from kudo_reconciler.settings import Settings
from tests.support.apiserver.cluster import MemoryCluster
from tests.support.build import Json
from tests.support.cluster import interface
from tests.support.cluster.clients import new_namespace
from tests.support.cluster.commands import Done
from tests.support.cluster.waiting import wait_until
from tests.support.instance_admission import RECONCILER, Addressing, InstanceAdmission
from tests.support.world.applying import applied
from tests.support.world.command_line import run_command
from tests.support.world.outcomes import is_of_job_task, outcome
from tests.support.world.replica import Replica

NAMESPACE: Final = "scenario"
_DEFINITIONS: Final = tuple(definitions().values())
_SETTINGS: Final = replace(Settings.read([], {}), digest_key=b"the key of the installation")
"""A real installation has a key, too."""
_USERS: Final[dict[Role, str]] = {
    "admin": "kudo-admin",
    "reconciler": RECONCILER,
    "user": "kudo-user",
    "webhook": "kudo-webhook",
}


@dataclass
class MemoryReconciler:
    """The reconciler; a process leads as soon as it has started."""

    cluster: MemoryCluster
    settings: Settings = _SETTINGS
    replica: Replica | None = None
    _rng: Random = field(default_factory=lambda: Random(1))

    async def start(self) -> None:
        if self.replica is not None:
            return
        client, transport = self.cluster.client(user=RECONCILER, finish_writes=True)
        replica = Replica.start(client, transport, self._rng, self._uid, self.settings)
        self.replica = replica
        replica.candidate.begin()

        async def synced() -> bool:
            assert not replica.main.done(), replica.main
            return replica.app.synced

        await wait_until(synced, lambda: "the caches of the reconciler")

    async def stop(self) -> None:
        if self.replica is None:
            return
        replica, self.replica = self.replica, None
        replica.app.queue.close()
        await replica.main
        await replica.process.kill()

    async def kill(self) -> None:
        if self.replica is None:
            return
        replica, self.replica = self.replica, None
        await replica.process.kill()

    def _uid(self) -> str:
        return str(uuid.UUID(int=self._rng.getrandbits(128), version=4))


class MemoryWorld(interface.World):
    """A namespace of a cluster in memory that has no others."""

    def __init__(self, cluster: MemoryCluster, admission: InstanceAdmission) -> None:
        self.cluster, self.admission = cluster, admission
        self.namespace = NAMESPACE
        self.client, _ = cluster.client(user=_USERS["user"])
        self._reconciler = MemoryReconciler(cluster)

    @classmethod
    @asynccontextmanager
    async def running(cls) -> AsyncIterator["MemoryWorld"]:
        """Yield a world whose reconciler works; it must not have logged an error of its own."""
        numbers = itertools.count(1)
        admission = Addressing(lambda: str(uuid.UUID(int=next(numbers), version=4)))
        cluster = MemoryCluster.start(
            admission=admission, crds=_DEFINITIONS, namespaces=(NAMESPACE, "default", "kudo-system")
        )
        cluster.workloads.outcome, cluster.workloads.progress = outcome, True
        cluster.workloads.has_pod = is_of_job_task
        admission.storage = cluster.server.storage
        world = cls(cluster, admission)
        with _no_error_logged():
            await world.reconciler.start()
            try:
                yield world
            finally:
                await world.reconciler.kill()

    @property
    def reconciler(self) -> MemoryReconciler:
        return self._reconciler

    async def elsewhere(self) -> "MemoryWorld":
        another = copy.copy(self)
        another.namespace = await new_namespace(self.client)
        return another

    async def apply(self, *objects: Json) -> Done:
        return await applied(self.cluster, _USERS["user"], self.namespace, objects)

    async def kudo(self, *arguments: str) -> Done:
        return await run_command(
            [f"--namespace={self.namespace}", *arguments], self.cluster, _USERS["user"]
        )

    @asynccontextmanager
    async def client_as(self, who: Role) -> AsyncIterator[Client]:
        client, _ = self.cluster.client(user=_USERS[who])
        async with client:
            yield client

    @asynccontextmanager
    async def without_webhooks(self) -> AsyncIterator[None]:
        self.admission.mutating = self.admission.validating = False
        try:
            yield
        finally:
            self.admission.mutating = self.admission.validating = True

    @asynccontextmanager
    async def without_mutating_webhook(self) -> AsyncIterator[None]:
        self.admission.mutating = False
        try:
            yield
        finally:
            self.admission.mutating = True

    @asynccontextmanager
    async def unreachable_webhook(self) -> AsyncIterator[None]:
        self.admission.reachable = False
        try:
            yield
        finally:
            self.admission.reachable = True

    async def events_written(self) -> None:
        async def written() -> bool:
            replica = self.reconciler.replica
            return replica is None or not replica.events_waiting

        await wait_until(written, lambda: "the events to be written")


class _Errors(logging.Handler):
    """Keeps what is logged as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else getattr(record, "fault", "")
        self.texts.append(f"{record.getMessage()}: {error!r}")


@contextmanager
def _no_error_logged() -> Iterator[None]:
    logger, errors = logging.getLogger("kudo_reconciler"), _Errors()
    logger.addHandler(errors)
    try:
        yield
    finally:
        logger.removeHandler(errors)
    assert not errors.texts, errors.texts
