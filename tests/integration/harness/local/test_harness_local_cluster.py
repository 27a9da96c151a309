"""`kudo-cluster run` through its client: KUDO on it, its nodes, and how it ends."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from kudo_cluster import state
from kudo_cluster.processes.process import wait_until_gone
from kudo_harness.host import HarnessError
from kudo_harness.target import RunningCluster, Target
from tests.integration.harness.local.objects import (
    await_available,
    create_ready,
    deployment,
    pod_uids,
)
from tests.support.cluster.resources import NODES
from tests.support.cluster.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="session")

_PATIENCE = 60.0
_STARTS = """
import asyncio, sys
from kudo_harness.target import RunningCluster
from tests.integration.harness.local.conftest import CRDS, plan_of

async def main():
    cluster = await RunningCluster.start(plan_of({}), CRDS)
    kept = await cluster.keep() if sys.argv[1:] == ["keep"] else ""
    print(cluster.directory, kept, sep="|", flush=True)
    if not kept:
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_the_nodes_are_as_planned(target: Target) -> None:
    nodes = (await target.client.list(NODES)).items
    assert {node["metadata"]["name"]: node["metadata"]["labels"].get("zone") for node in nodes} == {
        "node-1": None,
        "node-2": "b",
    }


async def test_installing_kudo_twice_changes_nothing(started: RunningCluster) -> None:
    before = (await started.logs())["reconciler"].count('"starting"')
    await started.install_kudo()
    logs = await started.logs()
    assert logs["reconciler"].count('"starting"') == before
    assert {"etcd", "kube-apiserver", "kwok", "reconciler", "webhook"} <= set(logs)


@pytest.mark.parametrize("service", ["webhook", "reconciler"])
async def test_a_service_is_killed_and_started_again(started: RunningCluster, service: str) -> None:
    before = (await started.logs())[service].count('"starting"')
    await started.restart(service)
    assert (await started.logs())[service].count('"starting"') == before + 1


async def test_a_node_that_is_not_ready_and_its_pods(
    started: RunningCluster, target: Target, namespace: str
) -> None:
    client = target.client
    web = deployment("web", 2, nodeSelector={"zone": "b"})
    await create_ready(client, namespace, web)
    await create_ready(client, namespace, deployment("other", 1, nodeName="node-1"))
    pods = await pod_uids(client, namespace, "web")
    await started.set_node_ready("node-2", ready=False)
    node = await client.get(NODES, "node-2")
    taints = {taint["key"] for taint in node["spec"]["taints"]}
    assert taints == {"node.kubernetes.io/not-ready"}
    await await_available(client, namespace, "web", lambda n: n == 0)
    await await_available(client, namespace, "other", lambda n: n == 1)
    await started.set_node_ready("node-2", ready=True)
    await await_available(client, namespace, "web", lambda n: n == 2)
    assert await pod_uids(client, namespace, "web") == pods


async def test_a_node_that_is_not_there_is_told(started: RunningCluster) -> None:
    with pytest.raises(HarnessError, match="no node node-3; there are node-1, node-2"):
        await started.set_node_ready("node-3", ready=False)


async def test_a_harness_that_ends_while_the_cluster_starts_leaves_nothing(tmp_path: Path) -> None:
    directory = tmp_path / "cluster"
    program = str(Path(sys.executable).with_name("kudo-cluster"))
    starting = await asyncio.create_subprocess_exec(
        program,
        "run",
        f"--dir={directory}",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert starting.stderr is not None
    assert b"starting etcd" in await starting.stderr.readline()
    # `communicate` alone would leave the input open.
    out, _ = await starting.communicate(b"")
    assert (starting.returncode, out) == (0, b"")
    assert not await asyncio.to_thread(directory.exists)


async def test_a_directory_in_which_a_cluster_runs_is_refused(started: RunningCluster) -> None:
    program = str(Path(sys.executable).with_name("kudo-cluster"))
    refused = await asyncio.create_subprocess_exec(
        program,
        "run",
        f"--dir={started.directory}",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert refused.stdout is not None
    answer = json.loads(await refused.stdout.readline())
    await refused.communicate(b"")
    assert answer == {"error": f"cluster run runs in {started.directory} already"}
    assert refused.returncode == 1
    assert "etcd" in await started.logs()


@pytest.mark.campaign
@pytest.mark.parametrize("how", ["killed", "keep"])
async def test_a_cluster_ends_when_the_harness_is_killed_unless_it_is_kept(how: str) -> None:
    harness = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _STARTS, how, stdout=asyncio.subprocess.PIPE
    )
    assert harness.stdout is not None
    directory_text, _, kept = (await harness.stdout.readline()).decode().strip().partition("|")
    directory = Path(directory_text)
    found = state.read(directory)
    assert found is not None
    if kept:
        assert await harness.wait() == 0
        assert found.alive
        os.kill(int(kept.removeprefix("kill ")), signal.SIGTERM)
    else:
        harness.kill()
        await harness.wait()
    assert await asyncio.to_thread(wait_until_gone, found.processes, _PATIENCE) == []

    async def removed() -> bool:
        return not await asyncio.to_thread(directory.exists)

    await wait_until(removed, lambda: f"{directory} to be removed")
