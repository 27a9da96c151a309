"""Simulated nodes: kwok updates the status of their pods; no container runs.

A stage changes the status of a simulated pod. The stock stages, copied from kwok's module when it
is built, make every pod ready and every Job complete at once. Our stages (stages.yaml) add pods
that fail or never start; ``adapt`` excludes those pods from the stock stages and adds delays by
annotation. The pod selects its stages:

    annotation kwok.kudo.dev/ready-delay: "1.5s"   pending for that long, then ready
    annotation kwok.kudo.dev/run-for: "3s"         a Job's pod runs for that long before it ends
    annotation kwok.kudo.dev/exit-code: "1"        its containers end with that code
    an image whose name contains never-pulls       waits with ImagePullBackOff for ever

A node with the annotation kwok.kudo.dev/not-ready is not Ready until it is removed.

Durations are Go's, such as "500ms" or "2s". A pod with restartPolicy Always does not fail but goes
into CrashLoopBackOff: after run-for if that is set, else without having been ready.
"""

from pathlib import Path
from typing import Any

import yaml

from kudo_cluster.control_plane import components
from kudo_cluster.control_plane.api import Api
from kudo_cluster.control_plane.network import LoopbackNetwork
from kudo_cluster.control_plane.startup import NODE, Startup
from kudo_cluster.layout import Layout
from kudo_cluster.processes.process import Supervision
from kudo_cluster.programs.binaries import Binaries

ANNOTATION_PREFIX = "kwok.kudo.dev/"
NOT_READY = f"{ANNOTATION_PREFIX}not-ready"
"""Annotation of a node that is not Ready."""
_OWN = Path(__file__).parent / "stages.yaml"

_PULLS = {
    "key": '.spec.containers[].image | contains("never-pulls")',
    "operator": "NotIn",
    "values": ["true"],
}
_SUCCEEDS = {
    "key": '.metadata.annotations["kwok.kudo.dev/exit-code"] // "0"',
    "operator": "In",
    "values": ["0"],
}
_CRASHES_AT_ONCE = {
    "key": '.spec.restartPolicy == "Always"'
    ' and (.metadata.annotations["kwok.kudo.dev/exit-code"] // "0") != "0"'
    ' and .metadata.annotations["kwok.kudo.dev/run-for"] == null',
    "operator": "NotIn",
    "values": ["true"],
}
_HAS_TO_BE_READY = {
    "key": f'.metadata.annotations["{NOT_READY}"]',
    "operator": "DoesNotExist",
}
_EXTRA_CONDITIONS: dict[str, list[dict[str, Any]]] = {
    # Of the stages that fit, kwok takes one at random: a heartbeat would keep the node Ready.
    "node-heartbeat-with-lease": [_HAS_TO_BE_READY],
    "node-initialize": [_HAS_TO_BE_READY],
    "pod-ready": [_PULLS, _CRASHES_AT_ONCE],
    "pod-complete": [_SUCCEEDS],
}
_DELAYS = {"pod-ready": "ready-delay", "pod-complete": "run-for"}


def adapt(stage: dict[str, Any]) -> dict[str, Any]:
    """Return a stock stage that leaves out what our stages do, and honours the delays."""
    name = stage["metadata"]["name"]
    if name not in _EXTRA_CONDITIONS:
        return stage
    spec = dict(stage["spec"])
    conditions = [*spec["selector"]["matchExpressions"], *_EXTRA_CONDITIONS[name]]
    spec["selector"] = {**spec["selector"], "matchExpressions": conditions}
    if name in _DELAYS:
        annotation = f'.metadata.annotations["{ANNOTATION_PREFIX}{_DELAYS[name]}"]'
        spec["delay"] = {"durationMilliseconds": 0, "durationFrom": {"expressionFrom": annotation}}
    return {**stage, "spec": spec}


def write_stages(stock: Path, destination: Path) -> None:
    """Write all stages into one file, for --config of kwok."""
    documents = [
        adapt(document)
        for path in sorted(stock.glob("*.yaml"))
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8"))
    ]
    unknown = _EXTRA_CONDITIONS.keys() - {document["metadata"]["name"] for document in documents}
    if unknown:
        raise ValueError(f"{stock} lacks the stages {', '.join(sorted(unknown))}")
    documents += yaml.safe_load_all(_OWN.read_text(encoding="utf-8"))
    destination.write_text(yaml.safe_dump_all(documents, sort_keys=False), encoding="utf-8")


class SimulatedNodes:
    """The nodes of the profile `control-plane`."""

    programs = "kwok"
    sandbox = None

    def __init__(self, binaries: Binaries) -> None:
        self._stock_stages = binaries.stock_stages

    def prepare(self, layout: Layout, supervision: Supervision) -> LoopbackNetwork:  # noqa: ARG002 - nothing is started yet
        """Write the stages of kwok."""
        write_stages(self._stock_stages, layout.stages)
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
