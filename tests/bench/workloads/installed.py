"""A cluster with KUDO on it: both services as processes, the webhook registered."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.errors import NotFound
from kudo_cluster import Cluster
from kudo_cluster.installation import Installation
from kudo_cluster.progress import Progress
from tests.bench.measure.processes import Cpu, cpu_of
from tests.bench.measure.requests import RequestCounts
from tests.bench.options import Options
from tests.bench.workloads.follow import Key
from tests.bench.world import api_metrics, each
from tests.support.build import Json
from tests.support.cluster.resources import NAMESPACES, VERSIONS
from tests.support.cluster.waiting import wait_until

_CRDS: Final = Path(__file__).resolve().parents[3] / "crds"
_NAMESPACES: Final = 10
"""Instances are spread over namespaces: one alone may not have all workers of the reconciler."""
_DEADLINE: Final = 600.0


@dataclass
class Installed:
    """A cluster with KUDO, and an administrator's client."""

    installation: Installation
    client: Client
    options: Options
    progress: Progress
    _numbers: "count[int]" = field(default_factory=count)

    def cpu(self) -> Cpu:
        found = self.installation
        return cpu_of(self._cluster.state, found.webhook, found.reconciler)

    async def requests(self) -> RequestCounts:
        """Return what the API server has answered so far."""
        return RequestCounts.parse(await api_metrics(self._cluster))

    @property
    def _cluster(self) -> Cluster:
        assert isinstance(self.installation.cluster, Cluster)
        return self.installation.cluster

    async def namespaces(self, *versions: Json, spread: int = _NAMESPACES) -> list[str]:
        """Create namespaces, each with OperatorVersions."""
        number = next(self._numbers)
        names = [f"bench-{number:03}-{place:02}" for place in range(spread)]
        await each(
            partial(self.client.create, NAMESPACES, {"metadata": {"name": name}}) for name in names
        )
        await each(
            partial(self.client.create, VERSIONS, version, namespace=name)
            for name in names
            for version in versions
        )
        return names

    async def clear(self, namespaces: Sequence[str]) -> None:
        """Delete namespaces, and wait until nothing of them is left."""
        await each(partial(self.client.delete, NAMESPACES, name) for name in namespaces)
        for name in namespaces:
            await wait_until(partial(self._is_gone, name), lambda: "a namespace to go", _DEADLINE)

    async def _is_gone(self, namespace: str) -> bool:
        try:
            await self.client.get(NAMESPACES, namespace)
        except NotFound:
            return True
        return False

    # The reconciler

    async def start_reconciler(self) -> None:
        await asyncio.to_thread(self.installation.reconciler.start)

    async def stop_reconciler(self) -> None:
        """Stop it in order: it gives its Lease back, so that the next one leads at once."""
        await asyncio.to_thread(self.installation.reconciler.stop)

    @asynccontextmanager
    async def reconciler(
        self, profile: str = "", options: Sequence[str] = ()
    ) -> AsyncIterator[None]:
        """Run the reconciler for the block only.

        Args:
            profile: Name of the profile, if profiles are wanted; empty for none.
            options: Of the reconciler, besides those that it always has.
        """
        profiles = self.options.profiles
        service = self.installation.reconciler
        usual = service.command
        service.command = [*usual, *options]
        try:
            with profiles.of_service(service, profile) if profile else contextlib.nullcontext():
                await self.start_reconciler()
                try:
                    yield
                finally:
                    await self.stop_reconciler()
        finally:
            service.command = usual


def keys(namespaces: Sequence[str], number: int, prefix: str = "instance") -> list[Key]:
    """Return keys of as many Instances, spread over namespaces; all names have the same length."""
    spread = len(namespaces)
    return [(namespaces[place % spread], f"{prefix}-{place:05}") for place in range(number)]


@asynccontextmanager
async def installed(options: Options, progress: Progress) -> AsyncIterator[Installed]:
    """Yield a new cluster whose webhook runs; the reconciler is started by whoever needs it."""
    with _installation(progress) as installation:
        config = load_config(installation.cluster.kubeconfig("admin"))
        async with Client(config) as client:
            found = Installed(installation, client, options, progress)
            await found.stop_reconciler()
            yield found


@contextmanager
def _installation(progress: Progress) -> Iterator[Installation]:
    with (
        Cluster.start(name="bench", progress=progress) as cluster,
        Installation.start(cluster, crds=_CRDS, progress=progress) as installation,
    ):
        yield installation
