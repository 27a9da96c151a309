"""The components of a cluster: ports, arguments and health URLs.

All components listen on the loopback interface only, except that with a real node the API server
listens on the veth pair to it. The settings suit short-lived clusters: etcd does not fsync, there
is no leader election, and client limits are high.
"""

from dataclasses import dataclass, fields
from pathlib import Path

from kudo_cluster.control_plane.identities import path_of
from kudo_cluster.control_plane.network import LOOPBACK, Network, free_ports, service_of_the_server
from kudo_cluster.layout import Layout


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of a cluster, one for each listener."""

    etcd: int
    etcd_peer: int
    apiserver: int
    controller_manager: int
    scheduler: int
    kwok: int

    @classmethod
    def pick(cls) -> "Ports":
        """Pick free ports."""
        return cls(*free_ports(len(fields(cls))))


@dataclass(frozen=True, slots=True)
class Component:
    """A program to run: its arguments, its port and the URL of its health.

    Attributes:
        nsenter: command prefix that runs the program in other namespaces, () for none.
    """

    name: str
    arguments: tuple[str, ...]
    port: int
    health: str
    nsenter: tuple[str, ...] = ()


def server_hosts(network: Network) -> tuple[str, ...]:
    """Return the addresses and names of the API server, for its certificate."""
    names = ("kubernetes", "kubernetes.default", "kubernetes.default.svc")
    local = (LOOPBACK, "::1", "localhost", network.server, service_of_the_server(network))
    return (*dict.fromkeys(local), *names, "kubernetes.default.svc.cluster.local")


def storage(layout: Layout, ports: Ports) -> Component:
    """Return the component etcd."""
    client, peer = f"http://{LOOPBACK}:{ports.etcd}", f"http://{LOOPBACK}:{ports.etcd_peer}"
    return Component(
        name="etcd",
        arguments=(
            f"--data-dir={layout.etcd}",
            "--unsafe-no-fsync",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--log-level=warn",
        ),
        port=ports.etcd,
        health=f"{client}/health",
    )


def apiserver(
    layout: Layout, ports: Ports, network: Network, extra: tuple[str, ...] = ()
) -> Component:
    """Return the component kube-apiserver; `extra` are arguments that the nodes need."""
    pki = layout.pki
    return Component(
        name="kube-apiserver",
        arguments=(
            f"--etcd-servers=http://{LOOPBACK}:{ports.etcd}",
            f"--bind-address={network.server}",
            f"--secure-port={ports.apiserver}",
            # Explicit, since the default needs a default route on this machine.
            f"--advertise-address={network.server}",
            *_serving(pki),
            f"--client-ca-file={pki / 'ca.crt'}",
            f"--service-account-key-file={pki / 'service-account.pub'}",
            f"--service-account-signing-key-file={pki / 'service-account.key'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-cluster-ip-range={network.services}",
            "--authorization-mode=RBAC",
            # Off by default, but on in some distributions: to set blockOwnerDeletion, update of the
            # owner's finalizers is required. With it, tests notice if that right is missing.
            "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
            "--allow-privileged=true",
            "--profiling=false",
            *extra,
        ),
        port=ports.apiserver,
        health=f"https://{network.server}:{ports.apiserver}/readyz",
    )


def controller_manager(layout: Layout, ports: Ports) -> Component:
    """Return the component kube-controller-manager."""
    pki = layout.pki
    return Component(
        name="kube-controller-manager",
        arguments=(
            *_client(layout, ports.controller_manager),
            f"--service-account-private-key-file={pki / 'service-account.key'}",
            f"--root-ca-file={pki / 'ca.crt'}",
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
            # Nobody renews the Leases of simulated nodes, whose pods must not become NotReady.
            "--node-monitor-grace-period=24h",
        ),
        port=ports.controller_manager,
        health=f"https://{LOOPBACK}:{ports.controller_manager}/healthz",
    )


def scheduler(layout: Layout, ports: Ports) -> Component:
    """Return the component kube-scheduler."""
    return Component(
        name="kube-scheduler",
        arguments=(
            *_client(layout, ports.scheduler),
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
        ),
        port=ports.scheduler,
        health=f"https://{LOOPBACK}:{ports.scheduler}/healthz",
    )


def kwok(layout: Layout, ports: Ports) -> Component:
    """Return the component kwok, which simulates the nodes."""
    return Component(
        name="kwok",
        arguments=(
            f"--kubeconfig={path_of(layout.root, 'admin')}",
            "--manage-all-nodes=true",
            f"--config={layout.stages}",
            f"--server-address={LOOPBACK}:{ports.kwok}",
        ),
        port=ports.kwok,
        health=f"http://{LOOPBACK}:{ports.kwok}/healthz",
    )


def _serving(pki: Path) -> tuple[str, str]:
    return f"--tls-cert-file={pki / 'server.crt'}", f"--tls-private-key-file={pki / 'server.key'}"


def _client(layout: Layout, port: int) -> tuple[str, ...]:
    return (
        f"--kubeconfig={path_of(layout.root, 'admin')}",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={port}",
        *_serving(layout.pki),
        "--leader-elect=false",
        "--profiling=false",
    )
