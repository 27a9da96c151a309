"""The way from an empty directory to a ready cluster.

Every wait is for a condition, has a deadline, and ends at once when a component dies; then the
error carries the end of that component's log.
"""

import functools
import http.client
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml

from kudo_cluster import components, health, kubeconfig, stages
from kudo_cluster.api import Api
from kudo_cluster.binaries import Binaries
from kudo_cluster.components import Component, Ports
from kudo_cluster.errors import ApiError, ClusterError, PortTakenError, StartError
from kudo_cluster.layout import Layout
from kudo_cluster.pki import Authority, signing_key, write_private
from kudo_cluster.ports import LOOPBACK
from kudo_cluster.progress import Progress
from kudo_cluster.state import Running, State
from kudo_cluster.supervision import Supervision

READY_TIMEOUT = 90.0
CA = "ca"
WEBHOOK_CA = "webhook-ca"
_POLL = 0.05
_TAIL = 20
_TEMPORARY = {http.HTTPStatus.TOO_MANY_REQUESTS, http.HTTPStatus.CONFLICT}
_RBAC = Path(__file__).parent / "rbac.yaml"


def prepare(layout: Layout, ports: Ports, *, name: str, stock_stages: Path) -> str:
    """Write everything the components read, and return the API server's URL."""
    layout.pki.mkdir(mode=0o700)
    authority = Authority.create("kudo-cluster")
    authority.pair.write(layout.pki, CA)
    Authority.create("kudo-cluster-webhooks").pair.write(layout.pki, WEBHOOK_CA)
    authority.server("kube-apiserver", components.SERVER_HOSTS).write(layout.pki, "server")
    authority.client("kudo-cluster-setup", "system:masters").write(layout.pki, "setup")
    private, public = signing_key()
    write_private(layout.pki / "service-account.key", private)
    (layout.pki / "service-account.pub").write_bytes(public)
    server = f"https://{LOOPBACK}:{ports.apiserver}"
    kubeconfig.write_all(layout.root, cluster=name, server=server, authority=authority)
    stages.write(stock_stages, layout.stages)
    return server


def setup_api(layout: Layout, server: str) -> Api:
    """Return the API server as the set-up sees it: with every right."""
    pki = layout.pki
    return Api(server, ca=pki / f"{CA}.crt", certificate=pki / "setup.crt", key=pki / "setup.key")


class Startup:
    """One attempt to start a cluster with given ports."""

    def __init__(
        self, layout: Layout, ports: Ports, binaries: Binaries, supervision: Supervision
    ) -> None:
        self._layout = layout
        self._ports = ports
        self._binaries = binaries
        self._supervision = supervision
        self._running: list[Running] = []
        self._deadline = time.monotonic() + READY_TIMEOUT

    def run(self, name: str, server: str, progress: Progress) -> State:
        """Start every component and wait until pods can be created, scheduled and made ready."""
        layout, ports = self._layout, self._ports
        progress("starting etcd and kube-apiserver")
        self._start(components.storage(layout, ports))
        self._start(components.apiserver(layout, ports))
        self._wait_until_healthy()
        progress("starting kube-controller-manager, kube-scheduler and kwok")
        self._start(components.controller_manager(layout, ports))
        self._start(components.scheduler(layout, ports))
        self._start(components.kwok(layout, ports))
        api = setup_api(layout, server)
        self._apply(api, "the access rules", _manifests(_RBAC))
        self._apply(api, "a node", [node("node-1")])
        self._wait_until_healthy()
        self._wait("the first node", lambda: node_problem(api, "node-1"))
        self._wait("a service account", lambda: _service_account_problem(api))
        # A foreign program on one of our ports may have answered in place of ours.
        self._check_alive()
        started = State(
            name=name,
            server=server,
            supervisor=self._supervision.process,
            components=tuple(self._running),
            binaries={program: str(path) for program, path in self._binaries.paths.items()},
        )
        started.write(layout.root)
        return started

    def _start(self, component: Component) -> None:
        program = self._binaries.path(component.name)
        process = self._supervision.start(
            [str(program), *component.arguments],
            self._layout.log(component.name),
            # HOME, because kwok looks there for settings that are none of this cluster's business.
            {"PATH": "/usr/bin:/bin", "HOME": str(self._layout.root)},
        )
        self._running.append(
            Running(component.name, port=component.port, health=component.health, process=process)
        )

    def _apply(self, api: Api, what: str, manifests: Iterable[dict[str, Any]]) -> None:
        for manifest in manifests:
            self._wait(what, functools.partial(api.apply, manifest))

    def _wait_until_healthy(self) -> None:
        ca = self._layout.pki / f"{CA}.crt"
        for running in self._running:
            self._wait(running.name, functools.partial(health.problem, running.health, ca))

    def _wait(self, what: str, attempt: Callable[[], str | None]) -> None:
        """Repeat the attempt until it returns no problem."""
        while (problem := _problem(attempt)) is not None:
            self._check_alive()
            if time.monotonic() > self._deadline:
                raise self._late(what, problem)
            time.sleep(_POLL)

    def _check_alive(self) -> None:
        for running in self._running:
            if not running.process.alive:
                log = self._layout.log(running.name)
                tail = _tail(log)
                kind = PortTakenError if "address already in use" in tail else StartError
                raise kind(running.name, log, "died while starting", tail)

    def _late(self, what: str, problem: str) -> ClusterError:
        reason = f"is not ready after {READY_TIMEOUT:.0f} s ({problem})"
        log = self._layout.log(what)
        if not log.exists():
            return ClusterError(f"{what} {reason}")
        return StartError(what, log, reason, _tail(log))


def _problem(attempt: Callable[[], str | None]) -> str | None:
    """Count as a problem, not as the end, what a busy or starting server may cause."""
    try:
        return attempt()
    except (OSError, http.client.HTTPException) as error:
        return str(error) or type(error).__name__
    except ApiError as error:
        if error.status not in _TEMPORARY and error.status < http.HTTPStatus.INTERNAL_SERVER_ERROR:
            raise
        return str(error)


def node(name: str) -> dict[str, Any]:
    """Return the manifest of a simulated node."""
    resources = {"cpu": "64", "memory": "512Gi", "pods": "5000"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "type": "kwok",
            },
        },
        "status": {"allocatable": resources, "capacity": resources},
    }


def node_problem(api: Api, name: str) -> str | None:
    """Return why no pod can be scheduled to the node yet; None if one can."""
    found = api.get(f"/api/v1/nodes/{name}")
    if found is None:
        return "it does not exist"
    conditions = {c["type"]: c["status"] for c in found["status"].get("conditions", ())}
    if conditions.get("Ready") != "True":
        return "it is not Ready"
    taints = [taint["key"] for taint in found["spec"].get("taints", ())]
    return f"it is tainted with {', '.join(taints)}" if taints else None


def _service_account_problem(api: Api) -> str | None:
    # Without it no pod can be created in the namespace.
    found = api.get("/api/v1/namespaces/default/serviceaccounts/default")
    return None if found is not None else "the namespace default has none"


def _manifests(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def _tail(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    return "\n".join(lines[-_TAIL:]) or "(empty)"
