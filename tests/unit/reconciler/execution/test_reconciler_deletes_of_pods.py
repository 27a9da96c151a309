"""Pods of Pipe tasks are deleted as they were seen, and decided on again where they changed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import orjson
import pytest

from kubeio.cache.reflector import Timing
from kubeio.client import Client
from kubeio.errors import Conflict, NotFound
from kubeio.resource import PODS
from kudo.admission.tenancy import Tenancy
from kudo.api import JsonObject
from kudo.api.names import ANNOTATION_PLAN_UID
from kudo_reconciler.common.keys import Key
from kudo_reconciler.execution.tasks.pipe_pods import PipePods
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.tenancy.accounts import Accounts, Directory
from tests.support.apiserver.cluster import MemoryCluster
from tests.support.apiserver.server import Request
from tests.support.apiserver.types.kinds import POD
from tests.support.apiserver.writes.writing import Options, Target


def pod(run: str) -> JsonObject:
    metadata = {"name": "p", "namespace": "ns", "annotations": {ANNOTATION_PLAN_UID: run}}
    containers = [{"name": "c", "image": "c"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": containers},
    }


@dataclass
class Bench:
    """The pods over an API server in memory."""

    client: Client
    pods: PipePods
    sent: list[JsonObject]
    keeps_changing: bool = False

    async def delete(self, found: JsonObject) -> None:
        await self.pods.delete(found, client=self.client)

    async def is_gone(self) -> bool:
        try:
            await self.client.get(PODS, "p", namespace="ns")
        except NotFound:
            return True
        return False

    async def change(self, key: str, value: str) -> None:
        change = {"metadata": {"annotations": {key: value}}}
        await self.client.merge_patch(PODS, "p", change, namespace="ns")


@asynccontextmanager
async def bench() -> AsyncIterator[Bench]:
    cluster = MemoryCluster.start()
    sent: list[JsonObject] = []

    def note(request: Request) -> None:
        if request.method == "DELETE":
            sent.append(orjson.loads(request.body).get("preconditions"))
            if found.keeps_changing:
                change = {"metadata": {"annotations": {"example.org/n": str(len(sent))}}}
                cluster.server.writer.merge_patch(Target(POD, "ns", "p"), change, Options())

    client, _ = cluster.client()
    woken: list[Key] = []
    accounts = Accounts(client, Tenancy.COMPAT, ("kudo-system",), Directory(client))
    async with asyncio.TaskGroup() as group:
        pods = PipePods(accounts, Observer(client, group, woken.append, Timing()))
        found = Bench(client, pods, sent)
        cluster.server.authorize = note
        yield found


async def test_the_deletion_of_a_pod_names_uid_and_resource_version() -> None:
    async with bench() as found:
        made = await found.client.create(PODS, pod("A"))
        await found.delete(made)
        assert await found.is_gone()
        metadata = made["metadata"]
        assert found.sent == [
            {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
        ]


async def test_a_pod_whose_status_changed_meanwhile_is_deleted_all_the_same() -> None:
    async with bench() as found:
        made = await found.client.create(PODS, pod("A"))
        await found.change("example.org/kubelet", "was here")
        await found.delete(made)
        assert await found.is_gone()
        assert len(found.sent) == 2


async def test_a_pod_that_another_execution_has_by_now_stays() -> None:
    async with bench() as found:
        made = await found.client.create(PODS, pod("A"))
        await found.change(ANNOTATION_PLAN_UID, "B")
        await found.delete(made)
        assert not await found.is_gone()


async def test_a_pod_that_was_made_anew_meanwhile_stays() -> None:
    async with bench() as found:
        made = await found.client.create(PODS, pod("A"))
        await found.client.delete(PODS, "p", namespace="ns")
        await found.client.create(PODS, pod("A"))
        await found.delete(made)
        assert not await found.is_gone()


async def test_a_pod_that_is_gone_needs_no_deletion() -> None:
    async with bench() as found:
        made = await found.client.create(PODS, pod("A"))
        await found.client.delete(PODS, "p", namespace="ns")
        await found.delete(made)
        assert await found.is_gone()


async def test_a_pod_that_keeps_changing_is_left_to_another_attempt() -> None:
    async with bench() as found:
        made = await found.client.create(PODS, pod("A"))
        found.keeps_changing = True
        with pytest.raises(Conflict):
            await found.delete(made)
        assert not await found.is_gone()
