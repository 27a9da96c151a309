"""Simulated nodes: kwok updates the status of their pods; no container runs."""

from typing import Any

from kudo_cluster.control_plane import components
from kudo_cluster.control_plane.api import Api
from kudo_cluster.control_plane.network import LoopbackNetwork
from kudo_cluster.control_plane.startup import NODE, Startup
from kudo_cluster.layout import Layout
from kudo_cluster.node import stages
from kudo_cluster.processes.supervision import Supervision
from kudo_cluster.programs.binaries import Binaries


class SimulatedNodes:
    """The nodes of the profile `control-plane`."""

    programs = "kwok"
    sandbox = None

    def __init__(self, binaries: Binaries) -> None:
        self._stock_stages = binaries.stock_stages

    def prepare(self, layout: Layout, supervision: Supervision) -> LoopbackNetwork:  # noqa: ARG002 - nothing is started yet
        """Write the stages of kwok."""
        stages.write(self._stock_stages, layout.stages)
        return LoopbackNetwork()

    def server_arguments(self, layout: Layout) -> tuple[str, ...]:  # noqa: ARG002 - the same for all
        """Return arguments without an endpoint of the API server, which no pod calls."""
        return ("--endpoint-reconciler-type=none",)

    def start(self, startup: Startup, api: Api) -> None:
        """Start kwok and register the first node."""
        startup.start(components.kwok(startup.layout, startup.ports))
        startup.apply(api, "a node", [manifest(NODE)])


def manifest(name: str) -> dict[str, Any]:
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
