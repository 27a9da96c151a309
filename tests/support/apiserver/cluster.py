"""An API server in memory with its controllers, in simulated time."""

import asyncio
import random
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from kubeio.client import Client
from kubeio.types import JsonObject
from tests.support.apiserver.controllers.collector import Collector
from tests.support.apiserver.controllers.workloads import Workloads
from tests.support.apiserver.network.faults import Network
from tests.support.apiserver.network.transport import CONFIG, MemoryTransport
from tests.support.apiserver.server import ApiServer
from tests.support.apiserver.types.kinds import CRD, NAMESPACE
from tests.support.apiserver.writes.admission import Admission
from tests.support.apiserver.writes.writing import Options, Target

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""The time at which a loop's clock is at 0."""
_SETUP: Final = Options(manager="setup", user="admin")


def moment() -> datetime:
    """Return the time by the running loop's clock."""
    return START + timedelta(seconds=asyncio.get_running_loop().time())


def rfc3339() -> str:
    return _rfc3339(int(asyncio.get_running_loop().time()))


@lru_cache(maxsize=16)
def _rfc3339(seconds: int) -> str:
    return (START + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class MemoryCluster:
    """The server, and the controllers that change what it holds."""

    server: ApiServer
    collector: Collector
    workloads: Workloads

    @classmethod
    def start(
        cls,
        *,
        seed: int = 0,
        admission: Admission | None = None,
        crds: Iterable[JsonObject] = (),
        namespaces: Iterable[str] = ("ns",),
    ) -> "MemoryCluster":
        """Start a cluster on the running loop."""
        server = ApiServer(rfc3339, random.Random(seed), admission)
        collector = Collector(server.storage, server.registry, server.deleter)
        workloads = Workloads(server.writer, server.registry)
        collector.start()
        workloads.start()
        for crd in crds:
            server.writer.create(Target(CRD), crd, _SETUP)
        for name in namespaces:
            server.writer.create(Target(NAMESPACE), {"metadata": {"name": name}}, _SETUP)
        return cls(server, collector, workloads)

    def client(
        self,
        *,
        user: str = "admin",
        timeout: float = 30.0,
        network: Network | None = None,
        finish_writes: bool = False,
    ) -> tuple[Client, MemoryTransport]:
        """Return a client of a process, and the way that its requests take."""
        transport = MemoryTransport(self.server, user=user, timeout=timeout, network=network)
        return Client(CONFIG, transport=transport, finish_writes=finish_writes), transport
