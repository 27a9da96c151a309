"""A local Kubernetes cluster: start, attach, stop.

etcd, kube-apiserver, kube-controller-manager and kube-scheduler run as processes of the caller, on
free ports. There are two profiles of nodes:

* ``control-plane``, without root: kwok simulates the nodes. Pods are scheduled and become ready,
  but no container runs (node/simulated.py has annotations that delay pods or make them fail).
* ``node``, with root: one real node, on which containers run (node/real.py).

A cluster ends with the process that started it, unless it was detached; ``attach`` finds a detached
one.
"""

import signal
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, get_args

from kudo_cluster import state
from kudo_cluster.control_plane import identities, startup
from kudo_cluster.control_plane.components import Ports
from kudo_cluster.control_plane.identities import Authority, Role
from kudo_cluster.control_plane.startup import Nodes, Startup
from kudo_cluster.errors import ClusterError, PortTakenError
from kudo_cluster.layout import Layout
from kudo_cluster.node import real, simulated
from kudo_cluster.node.real import RealNode, sweep_cgroups
from kudo_cluster.node.simulated import SimulatedNodes
from kudo_cluster.processes.process import Supervision, wait_until_gone
from kudo_cluster.processes.sandbox import Sandbox
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

    As a context manager it stops a cluster that it started; one that it attached to keeps running.
    """

    def __init__(self, layout: Layout, started: State, supervision: Supervision | None) -> None:
        """Use ``Cluster.start`` or ``Cluster.attach`` instead."""
        self._layout = layout
        self._state = started
        self._supervision = supervision

    @classmethod
    def start(
        cls,
        directory: Path | None = None,
        *,
        name: str = "test",
        profile: Profile = "control-plane",
        crds: Path | None = None,
        server_arguments: tuple[str, ...] = (),
        progress: Progress = announce,
    ) -> Self:
        """Start a cluster and wait until it can run pods.

        Args:
            directory: of the cluster's files; the logs stay there after the end. Without one, a
                temporary directory is used, which is deleted with the cluster.
            name: in the kubeconfigs, as ``kudo-NAME``.
            profile: simulated nodes, or one real node, which needs root and the packages that
                node/real.py lists.
            crds: file of CRDs to create first. The garbage collector looks for new kinds every 30
                seconds only, and until then keeps the objects of deleted owners of such a kind.
            server_arguments: more arguments of kube-apiserver, such as ``--feature-gates=...``.
            progress: receives a line for each step; prints to stderr by default. The first build of
                the programs takes minutes.

        Raises:
            ClusterError: a requirement of this machine is missing, a program cannot be built, a
                component dies or is not ready in time, or the directory has a running cluster.
        """
        if sys.platform != "linux":
            raise ClusterError("a local cluster needs Linux (/proc and parent-death signals)")
        # Once for all attempts: a build takes minutes.
        programs = obtain(profile, progress)
        for number in range(1, _ATTEMPTS + 1):
            try:
                return cls._start_once(
                    directory, name, profile, crds, server_arguments, programs, progress
                )
            # Between picking a port and listening on it another process can take it.
            except PortTakenError as error:
                if number == _ATTEMPTS:
                    raise
                progress(f"the port of {error.component} is taken: trying other ports")
        raise AssertionError

    @classmethod
    def _start_once(
        cls,
        directory: Path | None,
        name: str,
        profile: Profile,
        crds: Path | None,
        server_arguments: tuple[str, ...],
        programs: binaries.Binaries,
        progress: Progress,
    ) -> Self:
        temporary = directory is None
        if directory is None:
            directory = Path(tempfile.mkdtemp(prefix=f"kudo-cluster-{name}-"))
        layout = Layout(directory.absolute())
        # Another start in this directory would take these files for leftovers.
        with layout.locked():
            _remove_leftovers(layout, progress)
            # From here on the supervisor removes everything, even if this process is killed.
            supervision = Supervision(
                layout.log("supervisor"), remove=layout.root if temporary else None
            )
            try:
                nodes: Nodes = RealNode(programs) if profile == "node" else SimulatedNodes(programs)
                attempt = Startup(layout, Ports.pick(), programs, supervision, nodes)
                running = attempt.run(name, progress, crds, server_arguments)
            except BaseException:
                supervision.stop()
                raise
        return cls(layout, running, supervision)

    @classmethod
    def attach(cls, directory: Path) -> Self:
        """Return the running cluster of a directory; raises ClusterError without one."""
        layout = Layout(directory.absolute())
        started = state.read(layout.root)
        if started is None:
            raise ClusterError(f"no cluster runs in {layout.root}")
        if not started.alive:
            raise ClusterError(f"the cluster in {layout.root} has died, or a process of it")
        return cls(layout, started, None)

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
        """The CA of the API server's certificate, as PEM."""
        return (self._layout.pki / f"{startup.CA}.crt").read_bytes()

    @property
    def state(self) -> State:
        """The processes of the cluster."""
        return self._state

    def kubeconfig(self, role: Role = "admin") -> Path:
        """Return the kubeconfig of an identity; raises ValueError for an unknown one."""
        if role not in identities.ROLES:
            raise ValueError(f"no identity {role!r}; choose one of {', '.join(identities.ROLES)}")
        return identities.path_of(self.directory, role)

    def binary(self, name: str) -> Path:
        """Return the path of a program of this cluster, such as kubectl."""
        try:
            return Path(self._state.binaries[name])
        except KeyError:
            names = ", ".join(self._state.binaries)
            raise ClusterError(f"no program {name}; choose one of {names}") from None

    @property
    def reconciler_user(self) -> str:
        """The user name in the reconciler's client certificate."""
        return identities.IDENTITIES["reconciler"].user

    def serving_certificate(self, directory: Path, *hosts: str) -> tuple[Path, Path, bytes]:
        """Issue a certificate for a webhook that runs on this machine.

        Args:
            directory: receives tls.crt and tls.key; existing files are replaced.
            hosts: IP addresses and DNS names at which the API server calls the webhook; by default
                127.0.0.1 and localhost.

        Returns:
            Paths of certificate and key, and the CA for a caBundle as PEM.
        """
        authority = Authority.read(self._layout.pki, startup.WEBHOOK_CA)
        pair = authority.server("webhook", hosts or ("127.0.0.1", "localhost"))
        certificate, key = pair.write(directory, "tls")
        return certificate, key, authority.pair.certificate

    def import_image(self, archive: Path) -> None:
        """Import an image into a real node; pods use the name that it has in the archive.

        Args:
            archive: a file in Docker's format, as ``buildah push IMAGE docker-archive:FILE:NAME``
                writes it. containerd completes a name without a host as it does for pods, so a pod
                can use ``NAME`` with the imagePullPolicy IfNotPresent or Never.

        Raises:
            ClusterError: the nodes are simulated, or the archive cannot be read.
        """
        if self._state.sandbox is None:
            raise ClusterError(f"the nodes of cluster {self.name} are simulated and run no images")
        sandbox = Sandbox.read(self._layout)
        images.load(archive, nsenter=sandbox.nsenter, snapshotter=sandbox.snapshotter)

    def add_node(self, name: str = "node-1") -> None:
        """Add a simulated node and wait until pods can be scheduled to it."""
        if self._state.sandbox is not None:
            raise ClusterError(f"cluster {self.name} has a real node: cannot add a simulated one")
        api = startup.setup_api(self._layout, self.server)
        api.apply(simulated.manifest(name))
        deadline = time.monotonic() + _NODE_TIMEOUT
        while (problem := startup.node_problem(api, name)) is not None:
            if time.monotonic() > deadline:
                raise ClusterError(f"node {name}: {problem} after {_NODE_TIMEOUT:.0f} s")
            time.sleep(_POLL)

    def set_node_ready(self, name: str, *, ready: bool) -> None:
        """Make a simulated node Ready, or not, and wait until its pods are so as well.

        Raises:
            ClusterError: there is no such node, or it is a real one.
        """
        if self._state.sandbox is not None:
            raise ClusterError(f"cluster {self.name} has a real node, which cannot be made unready")
        simulated.set_ready(startup.setup_api(self._layout, self.server), name, ready=ready)

    def remove(self) -> None:
        """Delete the files of a cluster that was stopped."""
        self._layout.remove()

    def detach(self) -> None:
        """Let the cluster outlive this process; only ``stop`` ends it then."""
        if self._supervision is not None:
            self._supervision.detach()
            self._supervision = None

    def stop(self) -> None:
        """Kill all processes and wait for their end. Stopping twice is no error.

        A temporary directory is deleted; one that the caller chose keeps its files.
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
    """Find or build the programs of a profile; raises ClusterError if a requirement is missing."""
    if profile == "control-plane":
        return binaries.obtain(progress)
    real.check()
    return binaries.obtain(progress, node=True).with_paths(real.installed())


def kill(started: State) -> None:
    """End the processes of a cluster and await that; raises ClusterError if one does not end."""
    # The supervisor ends the components itself; what is left after that has lost it.
    started.supervisor.signal(signal.SIGTERM)
    left = wait_until_gone(started.processes, _STOP_TIMEOUT)
    for process in left:
        process.signal(signal.SIGKILL)
    if left := wait_until_gone(left, _STOP_TIMEOUT):
        pids = ", ".join(str(process.pid) for process in left)
        raise ClusterError(f"these processes of cluster {started.name} did not end: {pids}")
    if started.sandbox is not None:
        # Namespaces take everything else with them; control groups outlive their processes.
        sweep_cgroups()


def _remove_leftovers(layout: Layout, progress: Progress) -> None:
    """Remove the files of a dead cluster; raises ClusterError if it still runs."""
    earlier = state.read(layout.root)
    if earlier is not None:
        if earlier.alive:
            raise ClusterError(f"cluster {earlier.name} runs in {layout.root} already")
        progress(f"cluster {earlier.name} has died in {layout.root}: removing its files")
        # The supervisor has died; single components may still run.
        kill(earlier)
    layout.claim()
    layout.logs.mkdir(mode=0o700)
