"""Starting, stopping, attaching, and what happens when something dies.

They run beside the session's cluster. Whatever a signal does is shown on the supervisor, with
programs that start faster: tests/unit/cluster/processes/test_cluster_supervisor.py.
"""

import dataclasses
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kudo_cluster import Cluster, ClusterError, StartError, state
from kudo_cluster.control_plane import components
from kudo_cluster.control_plane.components import Component, Ports
from kudo_cluster.control_plane.network import Network
from kudo_cluster.layout import Layout
from kudo_cluster.processes.process import wait_until_gone
from kudo_cluster.progress import silent

if TYPE_CHECKING:
    from tests.support.cluster.kubectl import Kubectl


_PATIENCE = 60.0


@pytest.fixture(scope="module")
def another(cluster: Cluster) -> Iterator[Cluster]:
    """Start a cluster beside the session's, in a thread that ends."""
    started: list[Cluster] = []
    thread = threading.Thread(
        target=lambda: started.append(Cluster.start(name="another", progress=silent))
    )
    thread.start()
    thread.join()
    [another] = started
    with another:
        yield another


def test_two_clusters_run_side_by_side(
    kubectl: "Kubectl", another: Cluster, tmp_path: Path
) -> None:
    there = dataclasses.replace(kubectl, cluster=another, cache=tmp_path / "there")
    there("create", "configmap", "only-there", "--namespace=default")
    here = kubectl.run("get", "configmap", "only-there", "--namespace=default")
    assert "NotFound" in here.stderr
    assert there.run("get", "namespace", kubectl.namespace).returncode != 0
    ports = [running.port for c in (kubectl.cluster, another) for running in c.state.components]
    assert len(set(ports)) == len(ports) == 10


def test_the_clusters_of_two_tests_do_not_trust_each_other(
    kubectl: "Kubectl", another: Cluster, tmp_path: Path
) -> None:
    crossed = dataclasses.replace(kubectl, cache=tmp_path / "crossed")
    failed = crossed.run("get", "pods", f"--server={another.server}")
    assert "certificate" in failed.stderr


def test_a_cluster_outlives_the_thread_that_started_it_and_gets_more_nodes(
    kubectl: "Kubectl", another: Cluster, tmp_path: Path
) -> None:
    # The kernel counts the thread that forked as the parent.
    there = dataclasses.replace(kubectl, cluster=another, cache=tmp_path / "there")
    another.add_node("node-2")
    names = [node["metadata"]["name"] for node in there.get("nodes")["items"]]
    assert names == ["node-1", "node-2"]
    assert another.state.alive


def test_leaving_an_attached_cluster_does_not_stop_it(another: Cluster) -> None:
    with Cluster.attach(another.directory) as attached:
        assert attached.ca_pem == another.ca_pem
    assert another.state.alive


def test_a_named_directory_keeps_its_logs_and_can_be_used_again(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The first cluster in it is stopped by who attached, the second loses its supervisor.

    A port that was taken in between is no obstacle.
    """
    pick = Ports.pick
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        picks = [dataclasses.replace(pick(), apiserver=port), pick()]
        monkeypatch.setattr(Ports, "pick", lambda: picks.pop(0) if picks else pick())
        lines: list[str] = []
        with Cluster.start(tmp_path, progress=lines.append) as first:
            assert "the port of kube-apiserver is taken: trying other ports" in lines
            assert first.server != f"https://127.0.0.1:{port}"
            attached = Cluster.attach(tmp_path)
            assert attached.server == first.server
            with pytest.raises(ClusterError, match=r"runs in .* already"):
                Cluster.start(tmp_path, progress=silent)
            attached.stop()
            assert not any(process.alive for process in first.state.processes)
    assert (tmp_path / "logs" / "kube-apiserver.log").exists()
    with Cluster.start(tmp_path, progress=silent) as second:
        assert second.state.alive
        second.state.supervisor.signal(signal.SIGKILL)
        assert wait_until_gone(second.state.processes, _PATIENCE) == []


_PARENT = """
import sys, threading
from kudo_cluster import Cluster

cluster = Cluster.start(name="orphan")
print(cluster.directory, flush=True)
threading.Event().wait()
"""


def test_a_cluster_dies_with_its_killed_parent(cluster: Cluster) -> None:
    with _parent(_PARENT) as parent:
        directory = Path(_line(parent))
        found = state.read(directory)
        assert found is not None
        assert found.alive
        parent.kill()
        parent.wait()
    assert wait_until_gone(found.processes, _PATIENCE) == []
    _wait_until(lambda: not directory.exists())


def test_a_parent_killed_while_starting_leaves_nothing_behind(
    cluster: Cluster, tmp_path: Path
) -> None:
    program = f"""
import sys
from pathlib import Path
from kudo_cluster import Cluster

Cluster.start(Path({str(tmp_path)!r}), progress=lambda line: print(line, flush=True))
"""
    with _parent(program) as parent:
        _line(parent)
        log = tmp_path / "logs" / "etcd.log"
        _wait_until(log.exists)
        parent.kill()
        parent.wait()
    _wait_until(lambda: not _processes_of(tmp_path))


def test_a_component_that_dies_while_starting_is_named_with_its_log(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    describe = components.apiserver

    def broken(layout: Layout, ports: Ports, network: Network, extra: tuple[str, ...]) -> Component:
        good = describe(layout, ports, network, extra)
        return dataclasses.replace(good, arguments=(*good.arguments, "--no-such-flag"))

    monkeypatch.setattr(components, "apiserver", broken)
    with pytest.raises(StartError, match="unknown flag: --no-such-flag") as failed:
        Cluster.start(tmp_path, progress=silent)
    assert failed.value.component == "kube-apiserver"
    assert failed.value.log.exists()
    assert not _processes_of(tmp_path)


class CommandLine:
    """Runs kudo-cluster in processes of its own, with a home of its own."""

    def __init__(self, home: Path) -> None:
        self._environment = {**os.environ, "XDG_STATE_HOME": str(home)}

    def __call__(self, *arguments: str, code: int = 0) -> str:
        command = [sys.executable, "-m", "kudo_cluster", *arguments]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout


def test_a_cluster_on_the_command_line_lives_until_it_is_stopped(
    cluster: Cluster, tmp_path: Path
) -> None:
    kudo_cluster = CommandLine(tmp_path)
    try:
        assert "cluster mine runs at https://127.0.0.1:" in kudo_cluster("up", "--name=mine")
        assert "runs already" in kudo_cluster("up", "--name=mine")
        assert kudo_cluster("status", "--name=mine").count("healthy") == 5
        path = Path(kudo_cluster("kubeconfig", "--name=mine", "--user=reconciler").strip())
        assert path.name == "reconciler.kubeconfig"
        found = state.read(path.parent.parent)
        assert found is not None
        (kwok,) = (running for running in found.components if running.name == "kwok")
        kwok.process.signal(signal.SIGKILL)
        assert wait_until_gone([kwok.process], _PATIENCE) == []
        assert re.search(r"kwok .* dead", kudo_cluster("status", "--name=mine", code=1))
    finally:
        kudo_cluster("down", "--name=mine")
    assert not any(process.alive for process in found.processes)
    assert not path.parent.parent.exists()
    kudo_cluster("status", "--name=mine", code=1)


def _parent(program: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", program]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def _line(parent: "subprocess.Popen[str]") -> str:
    assert parent.stdout is not None
    line = parent.stdout.readline().strip()
    assert line
    return line


def _processes_of(directory: Path) -> list[Any]:
    """Find processes by their command line, which names the cluster's directory."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            arguments = entry.read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if f"{directory}/".encode() in arguments:
            found.append(json.dumps(arguments.decode().split("\0")))
    return found


def _wait_until(condition: Callable[[], bool]) -> None:
    """Wait for something that has no event of its own, looking again and again."""
    waiting = threading.Event()
    for _ in range(int(_PATIENCE / 0.05)):
        if condition():
            return
        waiting.wait(0.05)
    raise AssertionError
