"""Simulated nodes whose containers can be asked for files.

A second kwok, which manages no node, plays the kubelet of all of them: a command that is run in the
container `waiter` of any pod runs on this machine. So a pod finds under its mount path what the
test has put there, as if its init container had made it.
"""

import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from kubeio.client import Client
from kubeio.connection.config import load_config
from kudo_cluster import Cluster
from kudo_cluster.control_plane.network import free_ports
from kudo_cluster.layout import Layout
from tests.integration.pipe.pipes import Kubelet, Pipes, serve_from
from tests.support.cluster.world import World

EXEC = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterExec
metadata:
  name: waiter
spec:
  execs:
  - containers: [waiter]
    local: {}
"""


@pytest.fixture(scope="session")
def running_kubelet(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kubelet]:
    config = tmp_path_factory.mktemp("kwok") / "exec.yaml"
    config.write_text(EXEC)
    (port,) = free_ports(1)
    command = [
        str(cluster.binary("kwok")),
        f"--kubeconfig={cluster.kubeconfig('admin')}",
        f"--config={Layout(cluster.directory).stages}",  # it does not start without any
        f"--config={config}",
        f"--server-address=127.0.0.1:{port}",
        "--manage-nodes-with-label-selector=kudo.dev/no-such-label=true",
    ]
    with (config.parent / "kwok.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            yield Kubelet(port, process)
        finally:
            process.kill()
            process.wait()


@pytest.fixture
def kubelet(running_kubelet: Kubelet) -> Iterator[Kubelet]:
    """Yield what runs commands in containers, which goes on after a test that paused it."""
    try:
        yield running_kubelet
    finally:
        running_kubelet.process.send_signal(signal.SIGCONT)


@pytest.fixture
def exec_port(running_kubelet: Kubelet) -> int:
    return running_kubelet.port


@pytest.fixture
async def pipes(world: World, exec_port: int, tmp_path: Path) -> AsyncIterator[Pipes]:
    """Yield a namespace, and a folder that is the shared volume of all pipe pods in it."""
    admin = world.installation.cluster.kubeconfig("admin")
    async with Client(load_config(admin)) as client:
        await serve_from(client, exec_port)
        yield Pipes(world, client, tmp_path)
