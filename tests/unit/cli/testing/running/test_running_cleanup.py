"""The order in which what a case has made is deleted."""

import asyncio
from pathlib import Path

from kubeio import jsonpatch
from kubeio.resource import CLUSTER_ROLES, NAMESPACES
from kubeio.types import JsonObject
from kudo_harness.running.cleanup import Cleanup
from kudo_harness.running.clusters import Cluster, Clusters
from kudo_harness.running.processes import Processes
from kudo_harness.running.record import Record
from tests.support.apiserver.cluster import MemoryCluster
from tests.support.apiserver.storage import Revision, StorageName

KUBECONFIG = Path("kubeconfig")


async def test_a_volume_that_a_claim_of_the_namespace_uses_is_waited_for_at_the_end(
    tmp_path: Path,
) -> None:
    """Any cluster-scoped object stands for the volume: what counts is its finalizer."""
    memory = MemoryCluster.start()
    client, _ = memory.client()
    namespace = await client.create(NAMESPACES, {"metadata": {"name": "case"}})
    volume = await client.create(
        CLUSTER_ROLES,
        {
            "apiVersion": CLUSTER_ROLES.api_version,
            "kind": CLUSTER_ROLES.kind,
            "metadata": {"name": "volume", "finalizers": ["kubernetes.io/pv-protection"]},
        },
    )
    released: list[asyncio.Future[JsonObject]] = []

    def release(name: StorageName, revision: Revision) -> None:
        is_deleted = "deletionTimestamp" in revision.new["metadata"]
        if name == ("", "namespaces") and is_deleted and not released:
            change = [jsonpatch.remove("/metadata/finalizers")]
            patching = client.json_patch(CLUSTER_ROLES, "volume", change)
            released.append(asyncio.ensure_future(patching))

    memory.server.storage.listeners.append(release)
    record = Record.start(tmp_path)
    record.begin()
    for resource, obj in ((NAMESPACES, namespace), (CLUSTER_ROLES, volume)):
        metadata = obj["metadata"]
        made = record.will_create(
            resource, "", metadata["name"], scope="case", kubeconfig=KUBECONFIG
        )
        record.created(made, metadata["name"], metadata["uid"])
    async with Clusters(tmp_path, "tests", Cluster.of(client, KUBECONFIG)) as clusters:
        cleanup = Cleanup(record, clusters, Processes(record), wait=False)
        assert await cleanup.clean("case", seconds=5) == []
    assert record.objects == {}
    assert len(await asyncio.gather(*released)) == 1
