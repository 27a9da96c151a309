"""Faults of steps on a real API server: each is caused, seen, and undone."""

import asyncio
import sys
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubeio.client import Client
from kubeio.errors import ApiError, NotFound
from kubeio.resource import CONFIG_MAPS, DEPLOYMENTS, NAMESPACES, PODS
from kudo_harness.faults.step_faults import StepFaults
from kudo_harness.host import HarnessError
from kudo_harness.suite import Fault, SuiteRequest, load_suite
from kudo_harness.target import RunningCluster, Target
from tests.integration.harness.local.objects import (
    await_available,
    create_ready,
    deployment,
    pod_uids,
)
from tests.support.cluster.clients import new_namespace
from tests.support.cluster.resources import INSTANCES, NODES, POLICIES
from tests.support.cluster.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="session")

LONG = 600
"""Seconds of faults that the end of the step undoes."""


def faults(folder: Path, text: str) -> tuple[Fault, ...]:
    """Read the faults of a step."""
    step = folder / "e2e" / "a" / "00-a.yaml"
    step.parent.mkdir(parents=True)
    head = "apiVersion: kuttl.dev/v1beta1\nkind: TestStep\nfaults:\n"
    step.write_text(head + textwrap.dedent(text))
    suite = load_suite(SuiteRequest(test_dirs=(str(folder / "e2e"),)))
    options = suite.test_dirs[0].cases[0].steps[0].options
    assert options is not None
    return options.faults


@asynccontextmanager
async def step(
    target: Target, namespace: str, found: tuple[Fault, ...]
) -> AsyncIterator[tuple[StepFaults, list[str]]]:
    """Run a step: `before` at its beginning; the body calls `after`."""
    said: list[str] = []
    async with StepFaults(found, target, namespace, said.append) as running:
        await running.before(60)
        yield running, said


def config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


async def policies(client: Client, namespace: str) -> list[dict[str, Any]]:
    found = (await client.list(POLICIES)).items
    owned = [one for one in found if one["metadata"].get("ownerReferences")]
    return [one for one in owned if one["metadata"]["ownerReferences"][0]["name"] == namespace]


async def refusal(client: Client, namespace: str, name: str) -> str:
    """Return why a ConfigMap is not created; empty if it is."""
    try:
        await client.create(CONFIG_MAPS, config_map(name), namespace=namespace)
    except ApiError as error:
        return error.message
    return ""


async def test_pods_are_deleted_and_replaced(
    target: Target, namespace: str, tmp_path: Path
) -> None:
    client = target.client
    await create_ready(client, namespace, deployment("db", 2))
    await create_ready(client, namespace, deployment("web", 1))
    db, web = await pod_uids(client, namespace, "db"), await pod_uids(client, namespace, "web")
    found = faults(tmp_path, "- deletePods: {labels: {app: db}}")
    async with step(target, namespace, found) as (running, said):
        await running.after(60)
    assert said == ["fault: 2 pods with app=db deleted"]
    await await_available(client, namespace, "db", lambda n: n == 2)
    assert not await pod_uids(client, namespace, "db") & db
    assert await pod_uids(client, namespace, "web") == web


async def test_pods_that_a_plan_has_yet_to_create_are_awaited(
    target: Target, namespace: str, tmp_path: Path
) -> None:
    found = faults(tmp_path, "- deletePods: {labels: {app: late}}")
    async with step(target, namespace, found) as (running, said):
        waiting = asyncio.create_task(running.after(60))
        await create_ready(target.client, namespace, deployment("late", 1))
        await waiting
    assert said == ["fault: 1 pod with app=late deleted"]


async def test_pods_of_another_namespace_are_deleted(
    target: Target, namespace: str, tmp_path: Path
) -> None:
    other = await new_namespace(target.client)
    await create_ready(target.client, other, deployment("db", 1))
    before = await pod_uids(target.client, other, "db")
    text = f"- deletePods: {{labels: {{app: db}}, namespace: {other}}}\n  when: before"
    async with step(target, namespace, faults(tmp_path, text)) as (running, _):
        await await_available(target.client, other, "db", lambda n: n == 1)
        assert not await pod_uids(target.client, other, "db") & before
        await running.after(60)


async def test_a_fault_that_cannot_happen_is_told_with_its_line_and_the_reason(
    target: Target, namespace: str, tmp_path: Path
) -> None:
    found = faults(
        tmp_path,
        """\
        - restart: webhook
          when:
            apiVersion: v1
            kind: ConfigMap
            metadata: {name: state}
            data: {ready: "true"}
        """,
    )
    state = config_map("state") | {"data": {"ready": "no"}}
    await target.client.create(CONFIG_MAPS, state, namespace=namespace)
    async with step(target, namespace, found) as (running, said):
        with pytest.raises(HarnessError) as caught:
            await running.after(0.5)
    assert said == []
    text = str(caught.value).replace(f"{tmp_path}/", "")
    assert text.startswith("e2e/a/00-a.yaml:4: the fault was not caused within 0 s: when does not")
    assert "00-a.yaml:9" in text


async def test_the_reconciler_is_restarted_while_a_plan_runs(
    started: RunningCluster, target: Target, namespace: str, tmp_path: Path, package: Path
) -> None:
    found = faults(
        tmp_path,
        """\
        - restart: reconciler
          when:
            apiVersion: kudo.dev/v1beta1
            kind: Instance
            metadata: {name: tea}
            status: {planStatus: {deploy: {status: IN_PROGRESS}}}
        """,
    )
    before = (await started.logs())["reconciler"].count('"starting"')
    async with step(target, namespace, found) as (running, said):
        await install(target, namespace, package)
        await running.after(60)
    assert said == ["fault: reconciler restarted"]
    assert (await started.logs())["reconciler"].count('"starting"') == before + 1

    async def complete() -> bool:
        tea = await target.client.get(INSTANCES, "tea", namespace=namespace)
        status: str = tea["status"]["planStatus"]["deploy"]["status"]
        return status == "COMPLETE"

    await wait_until(complete, lambda: "the plan to end")


async def install(target: Target, namespace: str, package: Path) -> None:
    program = str(Path(sys.executable).with_name("kubectl-kudo"))
    where = (f"--kubeconfig={target.kubeconfig}", f"--namespace={namespace}")
    process = await asyncio.create_subprocess_exec(
        program, "install", str(package), "--instance=tea", *where
    )
    assert await process.wait() == 0


async def test_a_node_is_not_ready_for_a_while(
    target: Target, namespace: str, tmp_path: Path
) -> None:
    client = target.client
    await create_ready(client, namespace, deployment("web", 1, nodeSelector={"zone": "b"}))
    found = faults(tmp_path, "- nodeNotReady: {name: node-2, seconds: 1}\n  when: before")
    async with step(target, namespace, found) as (running, said):
        node = await client.get(NODES, "node-2")
        assert node["spec"]["taints"]
        await await_available(client, namespace, "web", lambda n: n == 0)
        await running.after(60)
    assert said == ["fault: node node-2 not ready for 1 s", f"fault: over: {said[0][7:]}"]
    assert not (await client.get(NODES, "node-2"))["spec"].get("taints")
    await await_available(client, namespace, "web", lambda n: n == 1)


async def test_writes_of_a_kind_are_refused_in_the_namespace_for_a_while(
    target: Target, namespace: str, tmp_path: Path
) -> None:
    client, other = target.client, await new_namespace(target.client)
    await client.create(CONFIG_MAPS, config_map("old"), namespace=namespace)
    found = faults(
        tmp_path,
        """\
        - refuseWrites:
            {apiVersion: v1, kind: ConfigMap, seconds: 1, reason: the quota is used up}
          when: before
        """,
    )
    async with step(target, namespace, found) as (running, said):
        assert "the quota is used up" in await refusal(client, namespace, "new")
        patch = {"data": {"a": "b"}}
        with pytest.raises(ApiError, match="the quota is used up"):
            await client.merge_patch(CONFIG_MAPS, "old", patch, namespace=namespace)
        assert await refusal(client, other, "new") == ""
        await client.create(DEPLOYMENTS, deployment("web", 0), namespace=namespace)
        await client.delete(CONFIG_MAPS, "old", namespace=namespace)
        await running.after(60)
        assert await refusal(client, namespace, "new") == ""
    assert said == ["fault: writes of ConfigMap refused for 1 s", f"fault: over: {said[0][7:]}"]
    assert await policies(client, namespace) == []


async def test_refused_writes_end_with_the_step(
    target: Target, namespace: str, tmp_path: Path
) -> None:
    text = f"- refuseWrites: {{apiVersion: apps/v1, kind: Deployment, seconds: {LONG}}}"
    found = faults(tmp_path, f"{text}\n  when: before")
    client = target.client
    async with step(target, namespace, found):
        with pytest.raises(ApiError, match=r"refused by a fault of a test \(.*00-a.yaml:4\)"):
            await client.create(DEPLOYMENTS, deployment("web", 1), namespace=namespace)
        await client.create(CONFIG_MAPS, config_map("a"), namespace=namespace)
        assert await policies(client, namespace)
    await client.create(DEPLOYMENTS, deployment("web", 1), namespace=namespace)
    assert await policies(client, namespace) == []


async def test_refused_writes_end_with_the_namespace(
    target: Target, namespace: str, tmp_path: Path
) -> None:
    client = target.client
    text = f"- refuseWrites: {{apiVersion: v1, kind: Pod, seconds: {LONG}}}\n  when: before"
    async with step(target, namespace, faults(tmp_path, text)):
        assert await policies(client, namespace)
        await client.delete(NAMESPACES, namespace)

        async def gone() -> bool:
            try:
                await client.get(NAMESPACES, namespace)
            except NotFound:
                return not await policies(client, namespace)
            return False

        # As after the harness was killed: nobody but Kubernetes deletes the policy.
        await wait_until(gone, lambda: "the namespace and the policy to be gone")


async def test_a_kind_that_is_not_namespaced_or_not_served_is_an_error(
    target: Target, namespace: str, tmp_path: Path
) -> None:
    text = "- refuseWrites: {apiVersion: v1, kind: Node, seconds: 1}\n  when: before"
    with pytest.raises(HarnessError, match=r"00-a.yaml:4: Node is cluster-scoped; only writes"):
        async with step(target, namespace, faults(tmp_path, text)):
            pass
    text = "- refuseWrites: {apiVersion: v2, kind: Pod, seconds: 1}\n  when: before"
    with pytest.raises(HarnessError, match=r"00-a.yaml:4: .*no kind 'Pod' in 'v2'"):
        async with step(target, namespace, faults(tmp_path / "b", text)):
            pass


async def test_a_service_that_runs_in_pods_is_restarted_by_deleting_them(
    target: Target, namespace: str, tmp_path: Path
) -> None:
    labels = {"app.kubernetes.io/name": "kudo", "app.kubernetes.io/component": "reconciler"}
    obj = deployment("kudo-reconciler", 2)
    obj["spec"]["selector"] = {"matchLabels": labels}
    obj["spec"]["template"]["metadata"] = {"labels": labels}
    await create_ready(target.client, namespace, obj)

    async def pods() -> set[str]:
        found = (await target.client.list(PODS, namespace=namespace)).items
        return {pod["metadata"]["uid"] for pod in found}

    before = await pods()
    elsewhere = replace(target, local=None)
    found = faults(tmp_path, "- restart: reconciler")
    async with step(elsewhere, namespace, found) as (running, said):
        await running.after(60)
    assert said == ["fault: reconciler restarted"]
    assert not await pods() & before
    found = faults(tmp_path / "b", "- restart: webhook")
    async with step(elsewhere, namespace, found) as (running, _):
        with pytest.raises(HarnessError, match="no pod of the webhook of KUDO"):
            await running.after(60)
