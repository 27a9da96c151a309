"""The programs of one cluster: their order, their ports and their command lines.

Everything listens on the loopback interface only; beside a real node the API server listens on the
cable to it instead. The settings suit a cluster that is thrown away: etcd does not wait for the
disk, nobody elects a leader, and clients are hardly throttled.
"""

from dataclasses import dataclass, fields
from pathlib import Path

from kudo_cluster.control_plane.kubeconfig import path_of
from kudo_cluster.control_plane.network import Network, service_of_the_server
from kudo_cluster.control_plane.ports import LOOPBACK, free_ports
from kudo_cluster.layout import Layout


@dataclass(frozen=True, slots=True)
class Ports:
    """One port for each listener of a cluster."""

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
    """A program to run: what to execute and where it says that it is well.

    Attributes:
        entrance: what stands before the program so that it runs in other namespaces.
    """

    name: str
    arguments: tuple[str, ...]
    port: int
    health: str
    entrance: tuple[str, ...] = ()


def server_hosts(network: Network) -> tuple[str, ...]:
    """Return the addresses and names under which the API server is called."""
    names = ("kubernetes", "kubernetes.default", "kubernetes.default.svc")
    local = (LOOPBACK, "::1", "localhost", network.server, service_of_the_server(network))
    return (*dict.fromkeys(local), *names, "kubernetes.default.svc.cluster.local")


def storage(layout: Layout, ports: Ports) -> Component:
    """Describe etcd."""
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
    """Describe kube-apiserver; `extra` are the arguments that the cluster's nodes ask for."""
    pki = layout.pki
    return Component(
        name="kube-apiserver",
        arguments=(
            f"--etcd-servers=http://{LOOPBACK}:{ports.etcd}",
            f"--bind-address={network.server}",
            f"--secure-port={ports.apiserver}",
            # Said, because a machine without a default route is fine too.
            f"--advertise-address={network.server}",
            *_serving(pki),
            f"--client-ca-file={pki / 'ca.crt'}",
            f"--service-account-key-file={pki / 'service-account.pub'}",
            f"--service-account-signing-key-file={pki / 'service-account.key'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-cluster-ip-range={network.services}",
            "--authorization-mode=RBAC",
            # Off by default, but on in some distributions: whoever makes an object block its
            # owner's deletion needs update on the owner's finalizers. Without it, that right's
            # absence would show only there.
            "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
            "--allow-privileged=true",
            "--profiling=false",
            *extra,
        ),
        port=ports.apiserver,
        health=f"https://{network.server}:{ports.apiserver}/readyz",
    )


def controller_manager(layout: Layout, ports: Ports) -> Component:
    """Describe kube-controller-manager."""
    pki = layout.pki
    return Component(
        name="kube-controller-manager",
        arguments=(
            *_client(layout, ports.controller_manager),
            f"--service-account-private-key-file={pki / 'service-account.key'}",
            f"--root-ca-file={pki / 'ca.crt'}",
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
            # Nobody renews the leases of simulated nodes; their pods must not become NotReady.
            "--node-monitor-grace-period=24h",
        ),
        port=ports.controller_manager,
        health=f"https://{LOOPBACK}:{ports.controller_manager}/healthz",
    )


def scheduler(layout: Layout, ports: Ports) -> Component:
    """Describe kube-scheduler."""
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
    """Describe kwok, which plays the nodes."""
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
