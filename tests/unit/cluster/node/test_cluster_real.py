"""The programs of a real node as they are described; the e2e tests start them."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kudo_cluster.control_plane.components import Component, Ports, apiserver
from kudo_cluster.control_plane.network import NodeNetwork
from kudo_cluster.layout import Layout
from kudo_cluster.node import real

_NET = NodeNetwork(5)
_INSIDE = ("nsenter", "--target=4711")


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path)
    layout.node.mkdir()
    real.write_settings(layout, _NET, "native")
    return layout


def _json(path: Path) -> Any:
    return json.loads(path.read_text())


@pytest.mark.parametrize("describe", [real.containerd, real.coredns, real.kubelet, real.kube_proxy])
def test_the_programs_run_inside_and_are_asked_on_the_cable(
    layout: Layout, describe: Callable[[Layout, NodeNetwork, tuple[str, ...]], Component]
) -> None:
    component = describe(layout, _NET, _INSIDE)
    assert component.nsenter == _INSIDE
    assert component.health.startswith(f"http://10.245.5.2:{component.port}/")


def test_the_api_server_listens_on_the_cable_alone(layout: Layout) -> None:
    component = apiserver(layout, Ports.pick(), _NET, ("--more",))
    assert "--bind-address=10.245.5.1" in component.arguments
    assert "--service-cluster-ip-range=10.96.5.0/24" in component.arguments
    assert component.arguments[-1] == "--more"
    assert "0.0.0.0" not in " ".join(component.arguments)


def test_containerd_keeps_everything_with_the_cluster(layout: Layout) -> None:
    settings = tomllib.loads((layout.node / "containerd.toml").read_text())
    cri = settings["plugins"]["io.containerd.grpc.v1.cri"]
    assert settings["root"] == str(layout.node / "containerd")
    assert cri["containerd"]["snapshotter"] == "native"
    assert cri["cni"]["conf_dir"] == str(layout.node / "cni")


def test_pods_get_addresses_of_their_node(layout: Layout) -> None:
    (cable, _) = _json(layout.node / "cni" / "10-pods.conflist")["plugins"]
    assert cable["ipam"]["ranges"] == [[{"subnet": "10.244.5.0/24"}]]
    assert _json(layout.node / "kubelet.json")["podCIDR"] == "10.244.5.0/24"


def test_pods_ask_the_dns_of_their_node(layout: Layout) -> None:
    assert _json(layout.node / "kubelet.json")["clusterDNS"] == ["10.245.5.2"]
    corefile = (layout.node / "Corefile").read_text()
    assert corefile.count("bind 10.245.5.2\n") == 2
    assert "$" not in corefile


def test_only_clients_of_the_cluster_may_speak_to_the_kubelet(layout: Layout) -> None:
    authentication = _json(layout.node / "kubelet.json")["authentication"]
    assert authentication["anonymous"] == {"enabled": False}
    assert authentication["x509"] == {"clientCAFile": str(layout.pki / "ca.crt")}
