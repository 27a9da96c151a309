"""Workloads of the cluster in memory get their status, and KUDO's rules of health understand it."""

import asyncio
from typing import Any

import pytest

from kubeio.client import Client
from kubeio.resource import Resource
from kubeio.types import JsonObject
from kudo.objects.health import HEALTHY, State, health_of
from tests.support.apiserver.cluster import MemoryCluster
from tests.support.apiserver.controllers.workloads import Outcome
from tests.support.loops.virtual_loop import run_virtually

DEPLOYMENT = Resource("apps", "v1", "Deployment", "deployments", namespaced=True)
JOB = Resource("batch", "v1", "Job", "jobs", namespaced=True)
POD = Resource("", "v1", "Pod", "pods", namespaced=True)
KINDS = (
    DEPLOYMENT,
    Resource("apps", "v1", "StatefulSet", "statefulsets", namespaced=True),
    Resource("apps", "v1", "DaemonSet", "daemonsets", namespaced=True),
    Resource("apps", "v1", "ReplicaSet", "replicasets", namespaced=True),
    JOB,
    POD,
)


def workload(**spec: Any) -> JsonObject:
    return {"metadata": {"name": "w", "namespace": "ns"}, "spec": spec}


async def read(client: Client, resource: Resource) -> JsonObject:
    return await client.get(resource, "w", namespace="ns")


@pytest.mark.parametrize("resource", KINDS, ids=lambda one: one.kind)
def test_a_workload_becomes_healthy_after_a_while(resource: Resource) -> None:
    async def main() -> None:
        cluster = MemoryCluster.start()
        client, _ = cluster.client()
        async with client:
            await client.create(resource, workload(replicas=2))
            await asyncio.sleep(0.9)
            assert health_of(await read(client, resource)).state is State.WAITING
            await asyncio.sleep(0.2)
            assert health_of(await read(client, resource)) == HEALTHY

    run_virtually(main())


@pytest.mark.parametrize("resource", [JOB, POD], ids=lambda one: one.kind)
def test_a_workload_can_fail_for_good(resource: Resource) -> None:
    async def main() -> None:
        cluster = MemoryCluster.start()
        cluster.workloads.outcome = lambda _: Outcome("failed", 5.0)
        client, _ = cluster.client()
        async with client:
            await client.create(resource, workload())
            await asyncio.sleep(6)
            assert health_of(await read(client, resource)).state is State.FAILED

    run_virtually(main())


def test_a_change_is_rolled_out_anew() -> None:
    async def main() -> None:
        cluster = MemoryCluster.start()
        client, _ = cluster.client()
        async with client:
            await client.create(DEPLOYMENT, workload(replicas=1))
            await asyncio.sleep(2)
            cluster.workloads.outcome = lambda _: Outcome("stuck")
            patch = {"spec": {"replicas": 3}}
            await client.merge_patch(DEPLOYMENT, "w", patch, namespace="ns")
            assert health_of(await read(client, DEPLOYMENT)).state is State.WAITING
            await asyncio.sleep(60)
            found = await read(client, DEPLOYMENT)
            assert health_of(found).state is State.WAITING
            assert found["status"]["updatedReplicas"] == 3

    run_virtually(main())


def test_what_is_stuck_becomes_healthy_and_what_failed_stays_so() -> None:
    async def main() -> None:
        cluster = MemoryCluster.start()
        client, _ = cluster.client()
        async with client:
            cluster.workloads.outcome = lambda obj: Outcome(
                "failed" if obj["kind"] == "Job" else "stuck"
            )
            await client.create(JOB, workload())
            await asyncio.sleep(2)
            await client.create(DEPLOYMENT, workload())
            cluster.workloads.make_healthy()
            await asyncio.sleep(2)
            assert health_of(await read(client, DEPLOYMENT)).state is State.HEALTHY
            assert health_of(await read(client, JOB)).state is State.FAILED

    run_virtually(main())
