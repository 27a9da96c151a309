"""A local Kubernetes control plane with simulated nodes: start it, use it, stop it.

etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok run as plain processes of the
caller, on the loopback interface and on free ports, without containers and without root. Nodes are
simulated: pods are scheduled and become ready, but no container runs (stages.py says how to make
them slow, or fail).

A cluster started here dies with the process that started it, unless it was detached; then
``attach`` finds it again.
"""

import signal
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from kudo_cluster import binaries, kubeconfig, startup, state
from kudo_cluster.components import Ports
from kudo_cluster.errors import ClusterError, PortTakenError
from kudo_cluster.kubeconfig import Role
from kudo_cluster.layout import Layout
from kudo_cluster.pki import Authority
from kudo_cluster.processes import wait_until_gone
from kudo_cluster.progress import Progress, announce
from kudo_cluster.startup import Startup
from kudo_cluster.state import State
from kudo_cluster.supervision import Supervision

_ATTEMPTS = 3
_STOP_TIMEOUT = 20.0
_NODE_TIMEOUT = 30.0
_POLL = 0.05


class Cluster:
    """A running cluster.

    As a context manager it stops the cluster at the end of the block if it started it; one that it
    merely attached to goes on.
    """

    def __init__(self, layout: Layout, found: State, supervision: Supervision | None) -> None:
        """Use ``Cluster.start`` or ``Cluster.attach`` instead."""
        self._layout = layout
        self._state = found
        self._supervision = supervision

    @classmethod
    def start(
        cls, directory: Path | None = None, *, name: str = "test", progress: Progress = announce
    ) -> Self:
        """Start a cluster and return when pods can run in it.

        Args:
            directory: keeps the cluster's files, and its logs after the end; without one they lie
                in a temporary directory that disappears with the cluster.
            name: appears in the kubeconfigs, as ``kudo-NAME``.
            progress: receives a line for each step, by default on standard error. The first build
                of the programs takes minutes.

        Raises:
            ClusterError: if a program cannot be built, a component dies or is not ready in time,
                or a cluster runs in the directory already.
        """
        if sys.platform != "linux":
            raise ClusterError("a local cluster needs Linux: /proc and signals on a parent's death")
        found = binaries.obtain(progress)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return cls._start_once(directory, name, found, progress)
            except PortTakenError as error:
                if attempt == _ATTEMPTS:
                    raise
                progress(f"{error.component} found its port taken: trying others")
        raise AssertionError

    @classmethod
    def _start_once(
        cls, directory: Path | None, name: str, found: binaries.Binaries, progress: Progress
    ) -> Self:
        temporary = directory is None
        if directory is None:
            directory = Path(tempfile.mkdtemp(prefix=f"kudo-cluster-{name}-"))
        layout = Layout(directory.absolute())
        with layout.locked():
            _make_room(layout, progress)
            # From here on the supervisor cleans up, also if this process is killed.
            supervision = Supervision(
                layout.log("supervisor"), remove=layout.root if temporary else None
            )
            try:
                ports = Ports.pick()
                server = startup.prepare(layout, ports, name=name, stock_stages=found.stock_stages)
                running = Startup(layout, ports, found, supervision).run(name, server, progress)
            except BaseException:
                supervision.stop()
                raise
        return cls(layout, running, supervision)

    @classmethod
    def attach(cls, directory: Path) -> Self:
        """Return the cluster that runs in a directory; raises ClusterError if none does."""
        layout = Layout(directory.absolute())
        found = state.read(layout.root)
        if found is None:
            raise ClusterError(f"no cluster runs in {layout.root}")
        if not found.alive:
            raise ClusterError(f"the cluster in {layout.root} is not, or only in part, running")
        return cls(layout, found, None)

    @property
    def name(self) -> str:
        """The name given at the start."""
        return self._state.name

    @property
    def directory(self) -> Path:
        """Where the cluster keeps its files."""
        return self._layout.root

    @property
    def server(self) -> str:
        """The API server's URL."""
        return self._state.server

    @property
    def ca_pem(self) -> bytes:
        """The authority that signed the API server's certificate."""
        return (self._layout.pki / f"{startup.CA}.crt").read_bytes()

    @property
    def state(self) -> State:
        """The processes of the cluster."""
        return self._state

    def kubeconfig(self, role: Role = "admin") -> Path:
        """Return the kubeconfig of an identity; raises ValueError for an unknown one."""
        if role not in kubeconfig.ROLES:
            raise ValueError(f"no identity {role!r}; there are {', '.join(kubeconfig.ROLES)}")
        return kubeconfig.path_of(self.directory, role)

    def binary(self, name: str) -> Path:
        """Return the path of a program that belongs to this cluster, such as kubectl."""
        try:
            return Path(self._state.binaries[name])
        except KeyError:
            known = ", ".join(self._state.binaries)
            raise ClusterError(f"no program {name}; there are {known}") from None

    def serving_certificate(self, directory: Path, *hosts: str) -> tuple[Path, Path, bytes]:
        """Sign a certificate for a webhook that runs on this machine.

        Args:
            directory: receives tls.crt and tls.key, replacing older ones.
            hosts: the IP addresses and DNS names under which the API server calls it; 127.0.0.1 and
                localhost if none are given.

        Returns:
            The certificate's path, the key's path, and the authority for a caBundle in PEM.
        """
        authority = Authority.read(self._layout.pki, startup.WEBHOOK_CA)
        pair = authority.server("webhook", hosts or ("127.0.0.1", "localhost"))
        certificate, key = pair.write(directory, "tls")
        return certificate, key, authority.pair.certificate

    def add_node(self, name: str = "node-1") -> None:
        """Add a simulated node and wait until pods can be scheduled to it."""
        api = startup.setup_api(self._layout, self.server)
        api.apply(startup.node(name))
        deadline = time.monotonic() + _NODE_TIMEOUT
        while (problem := startup.node_problem(api, name)) is not None:
            if time.monotonic() > deadline:
                raise ClusterError(f"node {name}: {problem} after {_NODE_TIMEOUT:.0f} s")
            time.sleep(_POLL)

    def detach(self) -> None:
        """Let the cluster outlive this process; afterwards ``stop`` is the only end."""
        if self._supervision is not None:
            self._supervision.detach()
            self._supervision = None

    def stop(self) -> None:
        """Kill every process and return when they are gone. Stopping twice is no error.

        A temporary directory is deleted; one that the caller named keeps its files.
        """
        if self._supervision is not None:
            self._supervision.stop()
            self._supervision = None
        kill(self._state)

    def __enter__(self) -> Self:
        """Return the cluster."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the cluster if it was started here and not detached."""
        if self._supervision is not None:
            self.stop()


def kill(found: State) -> None:
    """End the processes of a cluster and wait for that; raises ClusterError if one stays."""
    found.supervisor.signal(signal.SIGTERM)
    left = wait_until_gone(found.processes, _STOP_TIMEOUT)
    for process in left:
        process.signal(signal.SIGKILL)
    if left := wait_until_gone(left, _STOP_TIMEOUT):
        pids = ", ".join(str(process.pid) for process in left)
        raise ClusterError(f"these processes of cluster {found.name} do not end: {pids}")


def _make_room(layout: Layout, progress: Progress) -> None:
    """Remove what a dead cluster left behind; raises ClusterError if it is not dead."""
    earlier = state.read(layout.root)
    if earlier is not None:
        if earlier.alive:
            raise ClusterError(f"cluster {earlier.name} runs in {layout.root} already")
        progress(f"cluster {earlier.name} has died in {layout.root}: removing what is left of it")
        kill(earlier)
    layout.claim()
    layout.logs.mkdir(mode=0o700)
