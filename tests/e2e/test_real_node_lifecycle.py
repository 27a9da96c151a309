"""Real nodes come and go: side by side, and without a trace however they end."""

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kudo_cluster import Cluster, ClusterError, state
from kudo_cluster.node.real import CGROUP_PREFIX
from kudo_cluster.processes.process import Process, wait_until_gone
from kudo_cluster.progress import silent
from kudo_cluster.state import State
from tests.e2e.objects import pod
from tests.support.cluster.kubectl import Kubectl, new_namespace
from tests.support.loops.lacking import in_vain

_PATIENCE = 60.0
_MEMORY = {"name": "memory", "emptyDir": {"medium": "Memory"}}


@pytest.fixture
def another(node_cluster: Cluster) -> Iterator[Cluster]:
    """Start a second real node beside the session's."""
    with Cluster.start(name="another", profile="node", progress=silent) as started:
        yield started


@dataclasses.dataclass(frozen=True)
class Traces:
    """All that a cluster with a running pod has on this machine."""

    directory: Path
    inhabitants: list[Process]
    device: str
    group: str

    def gone(self) -> bool:
        """Tell whether the kernel has let go of everything."""
        alive = [process for process in self.inhabitants if process.alive]
        return not alive and self.device not in _devices() and not _mounts(self.directory)


def _busy(cluster: Cluster, cache: Path) -> Traces:
    """Run a pod, with a volume that is a mount, and note what there is now."""
    before = pod("busy", "sleep", "infinity", volumes=[_MEMORY])
    before["spec"]["containers"][0]["volumeMounts"] = [{"name": "memory", "mountPath": "/memory"}]
    kubectl = Kubectl(cluster, cache)
    kubectl.wait("create", "serviceaccount/default")
    kubectl.apply(before)
    kubectl.wait("condition=Ready", "pod/busy")
    traces = _traces(cluster.directory, cluster.state)
    # The first process, containerd, CoreDNS, kubelet, kube-proxy, a shim and two containers.
    assert len(traces.inhabitants) >= 8
    assert traces.device in _devices()
    assert list(Path("/sys/fs/cgroup").glob(f"**/{traces.group}"))
    return traces


def _traces(directory: Path, found: State) -> Traces:
    assert found.sandbox is not None
    group = f"{CGROUP_PREFIX}{found.sandbox.pid}"
    inhabitants = _inhabitants(found.sandbox, f"/{group}/")
    return Traces(directory, inhabitants, f"kudo-{found.server.split('.')[2]}", group)


def _inhabitants(sandbox: Process, group: str) -> list[Process]:
    """Return every process on a node: in its namespaces, or in a control group of a container."""
    home = Path(f"/proc/{sandbox.pid}/ns/pid").readlink()
    inhabitants = []
    for path in Path("/proc").glob("[0-9]*"):
        # It may have ended, or be one that not even root may look into; ours are not.
        with contextlib.suppress(OSError):
            if (path / "ns/pid").readlink() == home or group in (path / "cgroup").read_text():
                inhabitants.append(Process.of(int(path.name)))
    return inhabitants


def _devices() -> list[str]:
    listed = subprocess.run(["ip", "-json", "link"], capture_output=True, check=True)
    return [link["ifname"] for link in json.loads(listed.stdout)]


def _mounts(directory: Path) -> list[str]:
    lines = Path("/proc/mounts").read_text().splitlines()
    return [line for line in lines if f" {directory}/" in line]


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < deadline, in_vain(_PATIENCE, condition)
        time.sleep(0.05)


def test_two_real_nodes_run_side_by_side(
    kubectl: Kubectl, another: Cluster, tmp_path: Path
) -> None:
    with new_namespace(another, tmp_path / "there") as there:
        for where, words in ((kubectl, "here"), (there, "there")):
            where.apply(pod("speaker", "echo", words))
        for where, words in ((kubectl, "here"), (there, "there")):
            where.wait("jsonpath={.status.phase}=Succeeded", "pod/speaker")
            assert where("logs", "speaker") == f"{words}\n"


def test_a_stopped_node_leaves_nothing_behind(another: Cluster, tmp_path: Path) -> None:
    traces = _busy(another, tmp_path)
    another.stop()
    assert not [process for process in traces.inhabitants if process.alive]
    assert not another.directory.exists()
    _until(traces.gone)
    assert not list(Path("/sys/fs/cgroup").glob(f"**/{traces.group}"))


def test_a_node_dies_with_its_killed_supervisor(another: Cluster, tmp_path: Path) -> None:
    traces = _busy(another, tmp_path)
    another.state.supervisor.signal(signal.SIGKILL)
    _until(traces.gone)
    another.stop()
    assert not another.directory.exists()


def test_a_node_dies_with_its_killed_parent(node_cluster: Cluster, tmp_path: Path) -> None:
    program = """
import threading
from kudo_cluster import Cluster

print(Cluster.start(profile="node").directory, flush=True)
threading.Event().wait()
"""
    command = [sys.executable, "-c", program]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as parent:
        assert parent.stdout is not None
        directory = Path(parent.stdout.readline().strip())
        traces = _busy(Cluster.attach(directory), tmp_path)
        parent.kill()
    _until(traces.gone)
    _until(lambda: not directory.exists())


def test_a_node_starts_again_where_one_has_died(node_cluster: Cluster, tmp_path: Path) -> None:
    directory = tmp_path / "cluster"
    with Cluster.start(directory, profile="node", progress=silent) as first:
        traces = _busy(first, tmp_path / "cache")
        first.state.supervisor.signal(signal.SIGKILL)
        assert wait_until_gone(first.state.processes, _PATIENCE) == []
        with pytest.raises(ClusterError, match="has died, or a process of it"):
            Cluster.attach(directory)
        with Cluster.start(directory, profile="node", progress=silent) as second:
            _busy(second, tmp_path / "cache")
    _until(traces.gone)


def test_a_node_on_the_command_line_lives_until_it_is_stopped(
    node_cluster: Cluster, tmp_path: Path
) -> None:
    def kudo_cluster(*arguments: str, code: int = 0) -> str:
        command = [sys.executable, "-m", "kudo_cluster", *arguments, "--name=mine"]
        environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    try:
        assert "cluster mine runs at https://10.245." in kudo_cluster("up", "--profile=node")
        assert "cluster mine (node) runs already" in kudo_cluster("up", "--profile=node")
        status = kudo_cluster("status")
        assert (status.count("healthy"), status.count("running")) == (8, 2)
        directory = Path(kudo_cluster("kubeconfig").strip()).parent.parent
        found = state.read(directory)
        assert found is not None
        traces = _traces(directory, found)
        assert found.sandbox is not None
        found.sandbox.signal(signal.SIGKILL)
        assert wait_until_gone(traces.inhabitants, _PATIENCE) == []
        assert "dead" in kudo_cluster("status", code=1)
    finally:
        kudo_cluster("down")
    assert not directory.exists()
    _until(traces.gone)
