"""The start of a cluster: certificates, kubeconfigs, components, RBAC, nodes.

Each wait is for a condition, with a deadline. It ends at once when a component dies, with an error
that has the end of the component's log.
"""

import functools
import http.client
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

import yaml

from kudo_cluster.control_plane import components, identities
from kudo_cluster.control_plane.api import Api, health_problem
from kudo_cluster.control_plane.components import Component, Ports
from kudo_cluster.control_plane.identities import Authority, signing_key, write_private
from kudo_cluster.control_plane.network import Network
from kudo_cluster.errors import ApiError, ClusterError, PortTakenError, StartError
from kudo_cluster.layout import Layout
from kudo_cluster.processes.process import Process, Supervision
from kudo_cluster.processes.sandbox import PATH
from kudo_cluster.programs.binaries import Binaries
from kudo_cluster.progress import Progress
from kudo_cluster.state import Running, State

READY_TIMEOUT = 90.0
NODE = "node-1"
"""The name of the first node of every cluster."""
CA = "ca"
WEBHOOK_CA = "webhook-ca"
_POLL = 0.05
_TAIL = 20
_TEMPORARY = {http.HTTPStatus.TOO_MANY_REQUESTS, http.HTTPStatus.CONFLICT}
_RBAC = tuple(Path(__file__).parents[1] / name for name in ("rbac.yaml", "chart-rbac.yaml"))


class Nodes(Protocol):
    """The nodes of a cluster, by profile."""

    @property
    def programs(self) -> str:
        """The programs of the nodes, for progress output."""

    @property
    def sandbox(self) -> Process | None:
        """The first process in the namespaces of a real node, None without one."""

    def prepare(self, layout: Layout, supervision: Supervision) -> Network:
        """Write the files of the programs; return the addresses of the cluster."""

    def server_arguments(self, layout: Layout) -> tuple[str, ...]:
        """Return the arguments of the API server that the nodes need."""

    def start(self, startup: "Startup", api: Api) -> None:
        """Start the programs, and register the node unless a program does."""


def prepare(layout: Layout, ports: Ports, network: Network, *, name: str) -> str:
    """Write the files of the control plane; return the URL of the API server."""
    # It holds the keys of the authorities: no other user of the machine may read them.
    layout.pki.mkdir(mode=0o700)
    authority = Authority.create("kudo-cluster")
    authority.pair.write(layout.pki, CA)
    Authority.create("kudo-cluster-webhooks").pair.write(layout.pki, WEBHOOK_CA)
    authority.server("kube-apiserver", components.server_hosts(network)).write(layout.pki, "server")
    authority.client("kudo-cluster-setup", "system:masters").write(layout.pki, "setup")
    private, public = signing_key()
    write_private(layout.pki / "service-account.key", private)
    (layout.pki / "service-account.pub").write_bytes(public)
    server = f"https://{network.server}:{ports.apiserver}"
    identities.write_kubeconfigs(layout.root, cluster=name, server=server, authority=authority)
    return server


def setup_api(layout: Layout, server: str) -> Api:
    """Return a client with all rights, for the setup."""
    pki = layout.pki
    return Api(server, ca=pki / f"{CA}.crt", certificate=pki / "setup.crt", key=pki / "setup.key")


class Startup:
    """One attempt to start a cluster, with fixed ports."""

    def __init__(
        self,
        layout: Layout,
        ports: Ports,
        binaries: Binaries,
        supervision: Supervision,
        nodes: Nodes,
    ) -> None:
        self.layout = layout
        self.ports = ports
        self._binaries = binaries
        self._supervision = supervision
        self._nodes = nodes
        self._running: list[Running] = []
        self._deadline = time.monotonic() + READY_TIMEOUT

    def run(
        self,
        name: str,
        progress: Progress,
        crds: Path | None = None,
        server_arguments: tuple[str, ...] = (),
    ) -> State:
        """Start all components and wait until pods can be created, scheduled and become ready.

        Args:
            name: Of the cluster.
            progress: Receives a line for each step.
            crds: A file of CRDs that the controllers know from their start.
            server_arguments: More arguments of the API server.
        """
        layout, ports, nodes = self.layout, self.ports, self._nodes
        network = nodes.prepare(layout, self._supervision)
        server = prepare(layout, ports, network, name=name)
        progress("starting etcd and kube-apiserver")
        # Both at once: the API server waits for etcd by itself.
        self.start(components.storage(layout, ports))
        extra = (*nodes.server_arguments(layout), *server_arguments)
        self.start(components.apiserver(layout, ports, network, extra))
        self.wait_until_healthy()
        api = setup_api(layout, server)
        # Before the controllers: the garbage collector looks for new kinds every 30 seconds only.
        if crds is not None:
            self._create(api, _manifests(crds))
        progress(f"starting kube-controller-manager, kube-scheduler and {nodes.programs}")
        self.start(components.controller_manager(layout, ports))
        self.start(components.scheduler(layout, ports))
        for file in _RBAC:
            self.apply(api, "the RBAC rules", _manifests(file))
        nodes.start(self, api)
        self.wait_until_healthy()
        self._wait("the first node", lambda: node_problem(api, NODE))
        self._wait("a service account", lambda: _service_account_problem(api))
        # Another process that took one of the ports may have answered the health checks.
        self._check_alive()
        started = State(
            name=name,
            server=server,
            supervisor=self._supervision.process,
            components=tuple(self._running),
            binaries={program: str(path) for program, path in self._binaries.paths.items()},
            sandbox=nodes.sandbox,
        )
        started.write(layout.root)
        return started

    def start(self, component: Component) -> None:
        """Start a component without waiting."""
        program = self._binaries.path(component.name)
        process = self._supervision.start(
            [*component.nsenter, str(program), *component.arguments],
            self.layout.log(component.name),
            # HOME, since kwok would read settings from the caller's. GOGC=200 halves the garbage
            # collections: short-lived clusters rather save CPU than memory.
            {"PATH": PATH, "HOME": str(self.layout.root), "GOGC": "200"},
        )
        self._running.append(
            Running(component.name, port=component.port, health=component.health, process=process)
        )

    def apply(self, api: Api, what: str, manifests: Iterable[dict[str, Any]]) -> None:
        """Apply objects, retrying until the API server accepts them; `what` is for errors."""
        for manifest in manifests:
            self._wait(what, functools.partial(api.apply, manifest))

    def _create(self, api: Api, crds: list[dict[str, Any]]) -> None:
        """Create CRDs and wait until their objects are served."""
        # All are created before the first wait, since the API server needs a moment for each.
        self.apply(api, "the CRDs", crds)
        for crd in crds:
            self._wait("the CRDs", functools.partial(crd_problem, api, crd["metadata"]["name"]))

    def wait_until_healthy(self) -> None:
        """Wait until every component that was started is healthy."""
        ca = self.layout.pki / f"{CA}.crt"
        for running in self._running:
            self._wait(running.name, functools.partial(health_problem, running.health, ca))

    def _wait(self, what: str, attempt: Callable[[], str | None]) -> None:
        """Repeat an attempt until it returns None."""
        while (problem := _problem(attempt)) is not None:
            self._check_alive()
            if time.monotonic() > self._deadline:
                raise self._late(what, problem)
            time.sleep(_POLL)

    def _check_alive(self) -> None:
        for running in self._running:
            if not running.process.alive:
                log = self.layout.log(running.name)
                tail = _tail(log)
                # A port that was free when it was picked may be taken when the component listens.
                kind = PortTakenError if "address already in use" in tail else StartError
                raise kind(running.name, log, "died while starting", tail)

    def _late(self, what: str, problem: str) -> ClusterError:
        reason = f"is not ready after {READY_TIMEOUT:.0f} s ({problem})"
        log = self.layout.log(what)
        if not log.exists():
            return ClusterError(f"{what} {reason}")
        return StartError(what, log, reason, _tail(log))


def _problem(attempt: Callable[[], str | None]) -> str | None:
    """Return the problem of an attempt, also for errors of a server that starts or is busy."""
    try:
        return attempt()
    except (OSError, http.client.HTTPException) as error:
        return str(error) or type(error).__name__
    except ApiError as error:
        # Anything else is refused again however often it is sent.
        if error.status not in _TEMPORARY and error.status < http.HTTPStatus.INTERNAL_SERVER_ERROR:
            raise
        return str(error)


def node_problem(api: Api, name: str) -> str | None:
    """Return why pods cannot be scheduled to the node yet, None if they can."""
    node = api.get(f"/api/v1/nodes/{name}")
    if node is None:
        return "it does not exist"
    conditions = {c["type"]: c["status"] for c in node["status"].get("conditions", ())}
    if conditions.get("Ready") != "True":
        return "it is not Ready"
    taints = [taint["key"] for taint in node["spec"].get("taints", ())]
    return f"it is tainted with {', '.join(taints)}" if taints else None


def crd_problem(api: Api, name: str) -> str | None:
    """Return why objects of a CRD are not served yet, None if they are."""
    crd = api.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
    if crd is None:
        return f"{name} does not exist"
    spec = crd["spec"]
    path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}"
    resources = (api.get(path) or {}).get("resources", ())
    served = any(resource["name"] == spec["names"]["plural"] for resource in resources)
    return None if served else f"{name} is not served"


def _service_account_problem(api: Api) -> str | None:
    # Pods of a namespace cannot be created before its default service account.
    account = api.get("/api/v1/namespaces/default/serviceaccounts/default")
    return None if account is not None else "the namespace default has none"


def _manifests(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def _tail(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    return "\n".join(lines[-_TAIL:]) or "(empty)"
