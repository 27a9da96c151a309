"""A local Kubernetes cluster: start it, use it, stop it.

etcd, kube-apiserver, kube-controller-manager and kube-scheduler run as plain processes of the
caller, on free ports. The nodes come in two profiles:

* ``control-plane``, without root: kwok simulates them. Pods are scheduled and become ready, but no
  container runs (node/stages.py says how to make them slow, or fail).
* ``node``, with root: one real node, on which containers run (node/real.py).

A cluster started here dies with the process that started it, unless it was detached; then
``attach`` finds it again.
"""

import signal
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, get_args

from kudo_cluster import state
from kudo_cluster.control_plane import kubeconfig, startup
from kudo_cluster.control_plane.components import Ports
from kudo_cluster.control_plane.kubeconfig import Role
from kudo_cluster.control_plane.pki import Authority
from kudo_cluster.control_plane.startup import Nodes, Startup
from kudo_cluster.errors import ClusterError, PortTakenError
from kudo_cluster.layout import Layout
from kudo_cluster.node import cgroups, needs, real, simulated
from kudo_cluster.node.real import RealNode
from kudo_cluster.node.simulated import SimulatedNodes
from kudo_cluster.processes.process import wait_until_gone
from kudo_cluster.processes.sandbox import Sandbox
from kudo_cluster.processes.supervision import Supervision
from kudo_cluster.programs import binaries, images
from kudo_cluster.progress import Progress, announce
from kudo_cluster.state import State

Profile = Literal["control-plane", "node"]
PROFILES: tuple[Profile, ...] = get_args(Profile)
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
        cls,
        directory: Path | None = None,
        *,
        name: str = "test",
        profile: Profile = "control-plane",
        progress: Progress = announce,
    ) -> Self:
        """Start a cluster and return when pods can run in it.

        Args:
            directory: keeps the cluster's files, and its logs after the end; without one they lie
                in a temporary directory that disappears with the cluster.
            name: appears in the kubeconfigs, as ``kudo-NAME``.
            profile: what the nodes are: simulated, or one real node, which needs root and the
                packages that node/needs.py lists.
            progress: receives a line for each step, by default on standard error. The first build
                of the programs takes minutes.

        Raises:
            ClusterError: if the machine lacks something, a program cannot be built, a component
                dies or is not ready in time, or a cluster runs in the directory already.
        """
        if sys.platform != "linux":
            raise ClusterError("a local cluster needs Linux: /proc and signals on a parent's death")
        found = obtain(profile, progress)
        for number in range(1, _ATTEMPTS + 1):
            try:
                return cls._start_once(directory, name, profile, found, progress)
            except PortTakenError as error:
                if number == _ATTEMPTS:
                    raise
                progress(f"{error.component} found its port taken: trying others")
        raise AssertionError

    @classmethod
    def _start_once(
        cls,
        directory: Path | None,
        name: str,
        profile: Profile,
        found: binaries.Binaries,
        progress: Progress,
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
                nodes: Nodes = RealNode(found) if profile == "node" else SimulatedNodes(found)
                attempt = Startup(layout, Ports.pick(), found, supervision, nodes)
                running = attempt.run(name, progress)
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

    @property
    def reconciler_user(self) -> str:
        """The user name in the reconciler's client certificate."""
        return kubeconfig.IDENTITIES["reconciler"].user

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

    def import_image(self, archive: Path) -> None:
        """Give a real node an image; a pod then asks for it by the name in the archive.

        Args:
            archive: a file in Docker's format, as ``buildah push IMAGE docker-archive:FILE:NAME``
                writes it. A name without a host is completed as it is for a pod, so a pod finds
                ``NAME`` by this name, with the imagePullPolicy IfNotPresent or Never.

        Raises:
            ClusterError: the nodes are simulated, or the archive cannot be read.
        """
        if self._state.sandbox is None:
            raise ClusterError(f"the nodes of cluster {self.name} are simulated: they run no image")
        sandbox = Sandbox.read(self._layout)
        images.load(archive, entrance=sandbox.entrance, snapshotter=sandbox.snapshotter)

    def add_node(self, name: str = "node-1") -> None:
        """Add a simulated node and wait until pods can be scheduled to it."""
        if self._state.sandbox is not None:
            raise ClusterError(f"cluster {self.name} has one real node: no other can be added")
        api = startup.setup_api(self._layout, self.server)
        api.apply(simulated.manifest(name))
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


def obtain(profile: Profile, progress: Progress) -> binaries.Binaries:
    """Find or build the programs of a profile; raises ClusterError if the machine lacks any."""
    if profile == "control-plane":
        return binaries.obtain(progress)
    needs.check()
    return binaries.obtain(progress, node=True).with_paths(real.installed())


def kill(found: State) -> None:
    """End the processes of a cluster and wait for that; raises ClusterError if one stays."""
    found.supervisor.signal(signal.SIGTERM)
    left = wait_until_gone(found.processes, _STOP_TIMEOUT)
    for process in left:
        process.signal(signal.SIGKILL)
    if left := wait_until_gone(left, _STOP_TIMEOUT):
        pids = ", ".join(str(process.pid) for process in left)
        raise ClusterError(f"these processes of cluster {found.name} do not end: {pids}")
    if found.sandbox is not None:
        cgroups.sweep()


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
