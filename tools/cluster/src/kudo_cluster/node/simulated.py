"""Simulated nodes: kwok updates the status of their pods; no container runs.

A stage changes the status of a simulated pod. The stock stages, copied from kwok's module when it
is built, make every pod ready and every Job complete at once. Our stages (stages.yaml) add pods
that fail or never start; ``adapt`` excludes those pods from the stock stages and adds delays by
annotation. The pod selects its stages:

    annotation kwok.kudo.dev/ready-delay: "1.5s"   pending for that long, then ready
    annotation kwok.kudo.dev/run-for: "3s"         a Job's pod runs for that long before it ends
    annotation kwok.kudo.dev/exit-code: "1"        its containers end with that code
    annotation kwok.kudo.dev/termination-message   what they have written to their termination log
    an image whose name contains never-pulls       waits with ImagePullBackOff for ever

Durations are Go's, such as "500ms" or "2s". A pod with restartPolicy Always does not fail but goes
into CrashLoopBackOff: after run-for if that is set, else without having been ready.

A node with the annotation kwok.kudo.dev/not-ready is not Ready until it is removed. The node
lifecycle controller of Kubernetes then taints the node, and evicts pods when their tolerations end
(after 300 seconds by default). ``set_ready`` changes the condition Ready of the pods as well:
Kubernetes marks them only if heartbeats stop, and a kubelet, which would report them as ready
again, is not there.
"""

import http
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from kudo_cluster.control_plane import components, startup
from kudo_cluster.control_plane.api import Api
from kudo_cluster.control_plane.network import LoopbackNetwork
from kudo_cluster.control_plane.startup import NODE, Startup
from kudo_cluster.errors import ApiError, ClusterError
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
_SAYS_NOTHING = {
    "key": '.metadata.annotations["kwok.kudo.dev/termination-message"]',
    "operator": "DoesNotExist",
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
    "pod-complete": [_SUCCEEDS, _SAYS_NOTHING],
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


TIMEOUT = 60.0
"""Seconds; the node lifecycle controller looks at nodes every five."""
TAINT = "node.kubernetes.io/not-ready"
_POLL = 0.05
_GONE = {http.HTTPStatus.NOT_FOUND, http.HTTPStatus.CONFLICT}
"""Answers for a pod that was deleted, or replaced by another one of its name."""
_Pod = dict[str, Any]


def set_ready(api: Api, name: str, *, ready: bool) -> None:
    """Make a node Ready, or not, and wait until its pods are so as well.

    Raises:
        ClusterError: there is no such node, or nothing came of it in time.
    """
    if api.get(_path(name)) is None:
        names = (node["metadata"]["name"] for node in _list(api, "/api/v1/nodes"))
        raise ClusterError(f"no node {name}; there are {', '.join(names)}")
    mark = None if ready else "true"
    api.patch(_path(name), {"metadata": {"annotations": {NOT_READY: mark}}})
    if ready:
        _wait(name, lambda: startup.node_problem(api, name))
    else:
        _wait(name, lambda: _taint_problem(api, name))
    _mark_pods(api, name, ready=ready)


def _path(name: str) -> str:
    return f"/api/v1/nodes/{name}"


def _list(api: Api, path: str) -> list[Any]:
    obj = api.get(path)
    items: list[Any] = obj["items"] if obj else []
    return items


def _pods(api: Api, node: str) -> list[_Pod]:
    """Return the pods of a node that run and are not being deleted."""
    pods = _list(api, f"/api/v1/pods?fieldSelector=spec.nodeName%3D{node},status.phase%3DRunning")
    return [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]


def _condition(pod: _Pod, kind: str) -> str:
    conditions = pod["status"].get("conditions", ())
    return next((condition["status"] for condition in conditions if condition["type"] == kind), "")


def _taint_problem(api: Api, name: str) -> str | None:
    """Return whether new pods would still be scheduled to the node, or running ones stay on it."""
    node = api.get(_path(name)) or {"spec": {}}
    taints = [taint["effect"] for taint in node["spec"].get("taints", ()) if taint["key"] == TAINT]
    missing = {"NoSchedule", "NoExecute"} - set(taints)
    return f"it is not tainted with {', '.join(sorted(missing))}" if missing else None


def _mark_pods(api: Api, name: str, *, ready: bool) -> None:
    """Set the condition Ready of the pods of a node, as far as their containers are ready."""
    status = "True" if ready else "False"
    for pod in _pods(api, name):
        if _condition(pod, "ContainersReady") != "True" or _condition(pod, "Ready") == status:
            continue
        metadata = pod["metadata"]
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/status"
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        condition = {"type": "Ready", "status": status, "lastTransitionTime": now}
        # The uid keeps a new pod of the same name from being changed.
        patch = {"metadata": {"uid": metadata["uid"]}, "status": {"conditions": [condition]}}
        try:
            api.patch(path, patch)
        except ApiError as error:
            if error.status not in _GONE:
                raise


def _wait(name: str, problem: Callable[[], str | None]) -> None:
    deadline = time.monotonic() + TIMEOUT
    while (lacking := problem()) is not None:
        if time.monotonic() > deadline:
            raise ClusterError(f"node {name}: {lacking} after {TIMEOUT:.0f} s")
        time.sleep(_POLL)
