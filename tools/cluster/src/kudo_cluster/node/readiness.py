"""Makes a simulated node Ready or not, and waits until Kubernetes has drawn the consequences.

kwok sets the condition Ready of the node by an annotation (stages.yaml). The node lifecycle
controller of Kubernetes then taints the node, and evicts pods when their tolerations end (after 300
seconds by default). The condition Ready of the pods is changed here: Kubernetes marks them only if
heartbeats stop, and a kubelet, which would report them as ready again, is not there.
"""

import http
import time
from collections.abc import Callable
from typing import Any

from kudo_cluster.control_plane import startup
from kudo_cluster.control_plane.api import Api
from kudo_cluster.errors import ApiError, ClusterError
from kudo_cluster.node.simulated import NOT_READY

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
