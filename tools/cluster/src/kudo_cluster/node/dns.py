"""The cluster DNS of a real node: CoreDNS, in the node's network namespace.

It listens on the node's address instead of a ClusterIP, so it needs neither kube-proxy nor a pod.
It answers for Services, for pods of headless Services by their hostnames, and for addresses of
pods. Names outside of the cluster do not exist.
"""

from pathlib import Path
from string import Template

import yaml

from kudo_cluster.control_plane import kubeconfig
from kudo_cluster.control_plane.api import Api
from kudo_cluster.control_plane.components import Component
from kudo_cluster.control_plane.kubeconfig import Identity
from kudo_cluster.control_plane.network import NodeNetwork
from kudo_cluster.control_plane.pki import Authority
from kudo_cluster.control_plane.startup import CA, Startup
from kudo_cluster.layout import Layout

DOMAIN = "cluster.local"
_COREFILE = Path(__file__).with_name("Corefile")
_RBAC = Path(__file__).with_name("dns-rbac.yaml")
_IDENTITY = Identity("kudo-dns")
_READY_PORT = 8181


def write_settings(layout: Layout, net: NodeNetwork) -> None:
    """Write the Corefile."""
    text = Template(_COREFILE.read_text(encoding="utf-8")).substitute(
        ADDRESS=net.node, READY_PORT=_READY_PORT, DOMAIN=DOMAIN, KUBECONFIG=_kubeconfig(layout)
    )
    (layout.node / "Corefile").write_text(text, encoding="utf-8")


def start(startup: Startup, api: Api, net: NodeNetwork, nsenter: tuple[str, ...]) -> None:
    """Give CoreDNS its identity and its rights, and start it without waiting."""
    server = f"https://{net.server}:{startup.ports.apiserver}"
    authority = Authority.read(startup.layout.pki, CA)
    path = _kubeconfig(startup.layout)
    kubeconfig.write(path, _IDENTITY, cluster="node", server=server, authority=authority)
    with _RBAC.open(encoding="utf-8") as rights:
        startup.apply(api, "the RBAC rules of the DNS", list(yaml.safe_load_all(rights)))
    startup.start(component(startup.layout, net, nsenter))


def component(layout: Layout, net: NodeNetwork, nsenter: tuple[str, ...]) -> Component:
    """Return the component coredns; it is healthy once it knows the Services of the cluster."""
    return Component(
        name="coredns",
        arguments=("-conf", str(layout.node / "Corefile")),
        port=_READY_PORT,
        health=f"http://{net.node}:{_READY_PORT}/ready",
        nsenter=nsenter,
    )


def _kubeconfig(layout: Layout) -> Path:
    return layout.node / "dns.kubeconfig"
