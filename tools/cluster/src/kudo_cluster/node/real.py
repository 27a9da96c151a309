"""A real node: containerd, kubelet, kube-proxy and CoreDNS, in namespaces of their own.

It needs root, and Debian packages. The control plane runs on this machine, outside of the
namespaces. A veth pair connects both: the machine reaches pods and ClusterIPs, and pods reach the
API server but nothing beyond this machine. CoreDNS listens on the node's address instead of a
ClusterIP, so it needs neither kube-proxy nor a pod. It answers for Services, for pods of headless
Services by their hostnames, and for addresses of pods. Names outside of the cluster do not exist.
"""

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from string import Template
from typing import Any

import yaml

from kudo_cluster.control_plane import identities, network
from kudo_cluster.control_plane.api import Api
from kudo_cluster.control_plane.components import Component
from kudo_cluster.control_plane.identities import Authority, Identity, path_of
from kudo_cluster.control_plane.network import NodeNetwork
from kudo_cluster.control_plane.startup import CA, NODE, Startup
from kudo_cluster.errors import ClusterError
from kudo_cluster.layout import Layout
from kudo_cluster.processes.process import Process, Supervision
from kudo_cluster.processes.sandbox import PATH, Sandbox
from kudo_cluster.programs import images
from kudo_cluster.programs.binaries import Binaries

PACKAGES = {
    "busybox": "busybox-static",
    "conntrack": "conntrack",
    "containerd": "containerd",
    "ctr": "containerd",
    "ip": "iproute2",
    "iptables": "iptables",
    "nsenter": "util-linux",
    "runc": "runc",
    "unshare": "util-linux",
}
"""The Debian package of each program that is not built from source."""
CNI_PACKAGE = "containernetworking-plugins"
CNI_PLUGINS = ("host-local", "loopback", "portmap", "ptp")
_CNI_DIRECTORIES = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))


def check(user: int | None = None) -> None:
    """Raise ClusterError unless this machine can run a real node; the message says what to do."""
    if (os.geteuid() if user is None else user) != 0:
        raise ClusterError(
            "a real node needs root for its containers, network and mounts. Run the command as "
            "root, or use the profile control-plane, which simulates its nodes"
        )
    if missing := missing_packages(program):
        raise ClusterError(
            f"a real node needs programs that are not installed. On Debian and Ubuntu: "
            f"apt-get install --yes --no-install-recommends {' '.join(missing)}"
        )


def program(name: str) -> Path | None:
    """Return the path of a program in the PATH of the cluster's processes."""
    path = shutil.which(name, path=PATH)
    return None if path is None else Path(path)


def cni_directory(directories: Iterable[Path] = _CNI_DIRECTORIES) -> Path | None:
    """Return the directory with all CNI plugins, None without one."""
    complete = (d for d in directories if all((d / name).is_file() for name in CNI_PLUGINS))
    return next(complete, None)


def missing_packages(
    find: Callable[[str], Path | None], directories: Iterable[Path] = _CNI_DIRECTORIES
) -> list[str]:
    """Return the Debian packages to install, sorted."""
    missing = {package for name, package in PACKAGES.items() if find(name) is None}
    if cni_directory(directories) is None:
        missing.add(CNI_PACKAGE)
    return sorted(missing)


CGROUP_PREFIX = "kudo-node-"
"""Prefix of a node's control group; sandbox.sh appends the pid of the node's first process."""
_CGROUPS = Path("/sys/fs/cgroup")
_DOMAIN = "cluster.local"
_COREFILE = Path(__file__).with_name("Corefile")
_DNS_RBAC = Path(__file__).with_name("dns-rbac.yaml")
_DNS_IDENTITY = Identity("kudo-dns")
_DNS_PORT = 8181
_CONTAINERD = Path(__file__).with_name("containerd.toml")
_SOCKET = "/run/containerd/containerd.sock"
# Fixed ports: nothing else listens on the node's address.
_CONTAINERD_PORT = 1338
_KUBELET_PORT = 10248
_PROXY_PORT = 10256


class RealNode:
    """The node of the profile `node`."""

    programs = "a real node"

    def __init__(self, binaries: Binaries) -> None:
        self._kubelet = binaries.path("kubelet")
        self._sandbox: Sandbox | None = None
        self._network: NodeNetwork | None = None

    @property
    def sandbox(self) -> Process | None:
        """The first process of the node's namespaces."""
        return None if self._sandbox is None else self._sandbox.process

    def prepare(self, layout: Layout, supervision: Supervision) -> NodeNetwork:
        """Create the namespaces and the veth pair, and write the settings of the programs."""
        sweep_cgroups()
        # The programs of the node are in several directories of one cache.
        cache = self._kubelet.parents[1]
        self._sandbox = Sandbox.start(layout, supervision, cache)
        self._network = network.connect(self._sandbox.process.pid)
        write_settings(layout, self._network, self._sandbox.snapshotter)
        return self._network

    def server_arguments(self, layout: Layout) -> tuple[str, ...]:
        """Return arguments for access to the kubelet, and for the endpoint of the API server."""
        return (
            "--endpoint-reconciler-type=lease",
            "--kubelet-preferred-address-types=InternalIP",
            f"--kubelet-client-certificate={layout.pki / 'setup.crt'}",
            f"--kubelet-client-key={layout.pki / 'setup.key'}",
        )

    def start(self, startup: Startup, api: Api) -> None:
        """Start containerd and CoreDNS, import the first image, then start kubelet and kube-proxy.

        The kubelet registers its node.
        """
        assert self._sandbox is not None
        assert self._network is not None
        layout, inside = startup.layout, self._sandbox.nsenter
        startup.start(containerd(layout, self._network, inside))
        _start_dns(startup, api, self._network, inside)
        startup.wait_until_healthy()
        busybox = program("busybox")
        assert busybox is not None
        archive = layout.node / "busybox.tar"
        images.write_busybox(busybox, archive)
        images.load(archive, nsenter=inside, snapshotter=self._sandbox.snapshotter)
        startup.start(kubelet(layout, self._network, inside))
        startup.start(kube_proxy(layout, self._network, inside))


def installed() -> dict[str, Path]:
    """Return the programs of a real node that are installed on the machine."""
    path = program("containerd")
    return {} if path is None else {"containerd": path}


def sweep_cgroups(root: Path = _CGROUPS) -> None:
    """Remove the control groups of all real nodes whose first process has ended.

    The kernel does not remove them. They are empty and cost little, but they would accumulate.
    """
    # cgroup v2 has one hierarchy, v1 one for each controller.
    for tree in (*root.glob(f"{CGROUP_PREFIX}*"), *root.glob(f"*/{CGROUP_PREFIX}*")):
        if Path("/proc", tree.name.removeprefix(CGROUP_PREFIX)).exists():
            continue
        for directory, _, _ in os.walk(tree, topdown=False):
            # Another process may remove it at the same time, and a process that ends stays in its
            # group for a moment.
            with contextlib.suppress(OSError):
                Path(directory).rmdir()


def containerd(layout: Layout, net: NodeNetwork, nsenter: tuple[str, ...]) -> Component:
    """Return the component containerd."""
    return Component(
        name="containerd",
        arguments=(f"--config={layout.node / 'containerd.toml'}",),
        port=_CONTAINERD_PORT,
        health=f"http://{net.node}:{_CONTAINERD_PORT}/v1/metrics",
        nsenter=nsenter,
    )


def kubelet(layout: Layout, net: NodeNetwork, nsenter: tuple[str, ...]) -> Component:
    """Return the component kubelet."""
    return Component(
        name="kubelet",
        arguments=(
            f"--config={layout.node / 'kubelet.json'}",
            f"--kubeconfig={path_of(layout.root, 'admin')}",
            f"--hostname-override={NODE}",
            f"--node-ip={net.node}",
        ),
        port=_KUBELET_PORT,
        health=f"http://{net.node}:{_KUBELET_PORT}/healthz",
        nsenter=nsenter,
    )


def kube_proxy(layout: Layout, net: NodeNetwork, nsenter: tuple[str, ...]) -> Component:
    """Return the component kube-proxy."""
    return Component(
        name="kube-proxy",
        arguments=(
            f"--kubeconfig={path_of(layout.root, 'admin')}",
            f"--hostname-override={NODE}",
            "--proxy-mode=iptables",
            f"--cluster-cidr={net.pods}",
            # This limit can only be changed in the machine's own network namespace.
            "--conntrack-max-per-core=0",
            f"--healthz-bind-address={net.node}:{_PROXY_PORT}",
        ),
        port=_PROXY_PORT,
        health=f"http://{net.node}:{_PROXY_PORT}/healthz",
        nsenter=nsenter,
    )


def _start_dns(startup: Startup, api: Api, net: NodeNetwork, nsenter: tuple[str, ...]) -> None:
    """Give CoreDNS its identity and its rights, and start it without waiting."""
    server = f"https://{net.server}:{startup.ports.apiserver}"
    authority = Authority.read(startup.layout.pki, CA)
    path = _dns_kubeconfig(startup.layout)
    identities.write_kubeconfig(
        path, _DNS_IDENTITY, cluster="node", server=server, authority=authority
    )
    with _DNS_RBAC.open(encoding="utf-8") as rights:
        startup.apply(api, "the RBAC rules of the DNS", list(yaml.safe_load_all(rights)))
    startup.start(coredns(startup.layout, net, nsenter))


def coredns(layout: Layout, net: NodeNetwork, nsenter: tuple[str, ...]) -> Component:
    """Return the component coredns; it is healthy once it knows the Services of the cluster."""
    return Component(
        name="coredns",
        arguments=("-conf", str(layout.node / "Corefile")),
        port=_DNS_PORT,
        health=f"http://{net.node}:{_DNS_PORT}/ready",
        nsenter=nsenter,
    )


def _dns_kubeconfig(layout: Layout) -> Path:
    return layout.node / "dns.kubeconfig"


def write_settings(layout: Layout, net: NodeNetwork, snapshotter: str) -> None:
    """Write the settings of containerd, of the pod network and of the kubelet."""
    node = layout.node
    cni_settings = node / "cni"
    cni_settings.mkdir()
    text = Template(_CONTAINERD.read_text(encoding="utf-8")).substitute(
        ROOT=node / "containerd",
        SOCKET=_SOCKET,
        HEALTH=f"{net.node}:{_CONTAINERD_PORT}",
        SANDBOX_IMAGE=images.SANDBOX,
        SNAPSHOTTER=snapshotter,
        CNI=cni_directory(),
        CNI_SETTINGS=cni_settings,
    )
    (node / "containerd.toml").write_text(text, encoding="utf-8")
    _write_json(cni_settings / "10-pods.conflist", _pod_network(net))
    _write_json(node / "kubelet.json", _kubelet_settings(layout, net))
    corefile = Template(_COREFILE.read_text(encoding="utf-8")).substitute(
        ADDRESS=net.node,
        READY_PORT=_DNS_PORT,
        DOMAIN=_DOMAIN,
        KUBECONFIG=_dns_kubeconfig(layout),
    )
    (node / "Corefile").write_text(corefile, encoding="utf-8")


def _pod_network(net: NodeNetwork) -> dict[str, Any]:
    addresses = {
        "type": "host-local",
        "ranges": [[{"subnet": net.pods}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    # A veth pair for each pod (ptp) instead of a bridge: traffic between pods then passes the rules
    # of kube-proxy without the kernel module br_netfilter.
    ptp = {"type": "ptp", "ipam": addresses}
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "0.4.0", "name": "pods", "plugins": [ptp, ports]}


def _kubelet_settings(layout: Layout, net: NodeNetwork) -> dict[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": net.node,
        "healthzBindAddress": net.node,
        "healthzPort": _KUBELET_PORT,
        "containerRuntimeEndpoint": f"unix://{_SOCKET}",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": False},
            "x509": {"clientCAFile": str(layout.pki / f"{CA}.crt")},
        },
        "authorization": {"mode": "AlwaysAllow"},
        "clusterDNS": [net.node],
        "clusterDomain": _DOMAIN,
        "podCIDR": net.pods,
        "podLogsDir": str(layout.logs / "pods"),
        # A volume is updated within this time after its ConfigMap.
        "syncFrequency": "5s",
        # Do not evict pods from a full disk, and accept swap: this is for tests.
        "evictionHard": {"nodefs.available": "0%", "imagefs.available": "0%"},
        "imageGCHighThresholdPercent": 100,
        "failSwapOn": False,
        # The machine may have cgroup v1 or v2, and no systemd.
        "failCgroupV1": False,
        "cgroupDriver": "cgroupfs",
        "cgroupsPerQOS": False,
        "enforceNodeAllocatable": [],
        "localStorageCapacityIsolation": False,
        "oomScoreAdj": 0,
    }


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2), encoding="utf-8")
