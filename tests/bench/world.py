"""The cluster that benches run on: a real API server with KUDO's CRDs, and processes beside it."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kudo_cluster import Cluster
from kudo_cluster.control_plane.network import free_ports
from kudo_cluster.errors import ClusterError
from kudo_cluster.installation import Service
from kudo_cluster.processes.process import Supervision
from kudo_cluster.progress import Progress
from tests.bench.measure.profiling import Profiles

_CRDS = Path(__file__).resolve().parents[2] / "crds"
_AT_ONCE = 8

Call = Callable[[], Awaitable[object]]


@dataclass(frozen=True)
class World:
    """A running cluster without KUDO's services.

    Attributes:
        directory: For files and logs; goes with the cluster.
        supervision: Starts processes that end with this one.
        profiles: Where profiles of services go.
    """

    cluster: Cluster
    directory: Path
    supervision: Supervision
    progress: Progress
    profiles: Profiles = field(default_factory=Profiles)

    def service(self, name: str, command: list[str]) -> tuple[Service, int]:
        """Return a process that serves TLS and probes, not started yet, and its TLS port."""
        port, probe_port = free_ports(2)
        ports = [f"--port={port}", f"--probe-port={probe_port}"]
        pair = [f"--tls-cert={self.certificate}", f"--tls-key={self.key}"]
        log = self.directory / f"{name}.log"
        command = self.profiles.command(name, [*command, *ports, *pair])
        return Service(name, command, log, probe_port, self.supervision), port

    @property
    def certificate(self) -> Path:
        return self.directory / "tls.crt"

    @property
    def key(self) -> Path:
        return self.directory / "tls.key"

    @property
    def ca(self) -> Path:
        return self.directory / "ca.crt"

    def new_certificate(self) -> None:
        """Write another certificate and key of the same authority over those in use."""
        _, _, ca = self.cluster.serving_certificate(self.directory, "127.0.0.1")
        self.ca.write_bytes(ca)

    async def api_metrics(self) -> str:
        """Return what the API server says of itself."""
        return await api_metrics(self.cluster)


@contextmanager
def running_world(progress: Progress, profiles: Profiles | None = None) -> Iterator[World]:
    """Start a cluster with the CRDs and stop it at the end of the block."""
    with Cluster.start(name="bench", progress=progress) as cluster:
        _kubectl(cluster, "apply", "--server-side", f"--filename={_CRDS}")
        _kubectl(cluster, "wait", "--for=condition=Established", f"--filename={_CRDS}")
        directory = cluster.directory / "bench"
        directory.mkdir()
        supervision = Supervision(directory / "supervisor.log", remove=None)
        profiles = profiles or Profiles()
        world = World(cluster, directory, supervision, progress, profiles)
        world.new_certificate()
        try:
            yield world
        finally:
            supervision.stop()
            profiles.write_tables()


def _kubectl(cluster: Cluster, *arguments: str) -> str:
    command = [str(cluster.binary("kubectl")), f"--kubeconfig={cluster.kubeconfig('admin')}"]
    done = subprocess.run([*command, *arguments], check=False, capture_output=True, text=True)
    if done.returncode:
        raise ClusterError(f"kubectl {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout


async def api_metrics(cluster: Cluster) -> str:
    """Return what the API server of a cluster says of itself."""
    return await asyncio.to_thread(_kubectl, cluster, "get", "--raw", "/metrics")


def program(name: str) -> Path:
    """Return an installed command of the project."""
    return Path(sys.executable).with_name(name)


async def each(calls: Iterable[Call], *, at_once: int = _AT_ONCE) -> None:
    """Make calls, a few at a time."""
    waiting = iter(calls)

    async def work() -> None:
        for call in waiting:
            await call()

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(work())
