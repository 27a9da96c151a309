"""The runbook of examples/lifecycle: it looks, acts, waits for a person if it has to, goes on."""

import asyncio
import json
from pathlib import Path
from typing import Any

from kubeio.resource import DEPLOYMENTS, SERVICES, STATEFUL_SETS
from kubeio.types import JsonObject
from kudo.packages.convert import to_objects
from kudo.packages.reader import read_package
from tests.support.apiserver.controllers.workloads import MESSAGE, Outcome
from tests.unit.reconciler.lives.jobs import end, entry, jobs, pod_of, run_again, until
from tests.unit.reconciler.lives.life import Life, passes

VERSION = Path(__file__).parents[4] / "examples" / "lifecycle" / "v2"
OTHER: JsonObject = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "other", "labels": {"heritage": "kudo", "kudo.dev/instance": "i"}},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "other"}},
        "template": {
            "metadata": {"labels": {"app": "other"}},
            "spec": {"containers": [{"name": "httpd", "image": "busybox"}]},
        },
    },
}
"""Has the labels that the Check selects, and no pod yet."""


async def install(life: Life) -> None:
    """Create the Instance, which waits until all Deployments with its labels have their pods."""
    life.network.calm = True
    life.cluster.workloads.outcome = lambda obj: (
        Outcome("stuck", 1e6)
        if obj["kind"] == "Job" or obj["metadata"]["name"] == "other"
        else Outcome()
    )
    life.cluster.workloads.has_pod = lambda _: False
    version = to_objects(read_package(VERSION), "ns").operator_version.to_wire()
    version["metadata"]["name"] = "v1"
    # What simulated pods say of themselves; here `answer` does.
    templates = version["spec"]["templates"]
    assert templates["job-pod.yaml"].count(MESSAGE) == 1
    templates["job-pod.yaml"] = templates["job-pod.yaml"].replace(MESSAGE, "example.com/message")
    await life.put_version(version)
    await life.user.client.create(DEPLOYMENTS, OTHER, namespace="ns")
    await life.user.create("i", {})
    await asyncio.sleep(10)
    for name in ("i", "i-store"):
        # The API server does that when a Service is created.
        address = {"spec": {"clusterIP": "10.1.0.1"}}
        await life.user.client.merge_patch(SERVICES, name, address, namespace="ns")
    await asyncio.sleep(60)


async def answer(life: Life, task: str, **outputs: str) -> None:
    """Have the program of a task end well."""
    of_task = [job for job in jobs(life) if job["metadata"]["labels"]["kudo.dev/job-of"] == task]
    job = of_task[-1]
    name = f"pod-{job['metadata']['name']}"
    state = {"exitCode": 0, "message": json.dumps(outputs) if outputs else ""}
    statuses = [{"name": "main", "state": {"terminated": state}}]
    await pod_of(life, job, {"phase": "Succeeded", "containerStatuses": statuses}, name=name)
    await end(life, job)


def steps(life: Life, plan: str) -> dict[str, Any]:
    found = [step for phase in entry(life, plan)["phases"] for step in phase["steps"]]
    return {step["name"]: step for step in found}


async def deploy(life: Life) -> None:
    seen: JsonObject = {"status": {"observedGeneration": 1, "availableReplicas": 2}}
    await life.user.client.merge_patch(
        DEPLOYMENTS, "other", seen, namespace="ns", subresource="status"
    )
    await asyncio.sleep(60)
    await answer(life, "ask")
    await until(lambda: entry(life)["status"] == "COMPLETE")


def front(life: Life) -> bool:
    objects = life.cluster.server.storage.table(("apps", "deployments")).objects
    return ("ns", "i-front") in objects


def test_the_page_is_asked_for_when_all_deployments_have_their_pods() -> None:
    async def body(life: Life) -> None:
        await install(life)
        settled = steps(life, "deploy")["settled"]
        assert settled["status"] == "IN_PROGRESS"
        assert settled["message"].startswith("until is not true yet: ")
        assert jobs(life) == []
        await deploy(life)

    passes(body, "admitted")


def test_a_book_that_could_be_mended_is_opened_again_without_anybody() -> None:
    async def body(life: Life) -> None:
        await install(life)
        await deploy(life)
        await run_again(life, "repair")
        assert not front(life)
        await answer(life, "mend", entries="3", broken="0", at="77")
        await until(lambda: entry(life, "repair")["status"] == "COMPLETE")
        assert steps(life, "repair")["by-hand"]["skipped"]
        assert front(life)

    passes(body, "admitted")


def test_entries_that_nobody_can_read_wait_for_who_has_seen_this_run() -> None:
    async def body(life: Life) -> None:
        await install(life)
        await deploy(life)
        await run_again(life, "repair")
        await answer(life, "mend", entries="3", broken="2", at="77")
        await asyncio.sleep(60)
        by_hand = steps(life, "repair")["by-hand"]
        assert by_hand["message"] == "mend 2 entries, then set annotation mended=77"
        await agree(life, "76")
        assert steps(life, "repair")["by-hand"]["status"] == "IN_PROGRESS"
        assert not front(life)
        await agree(life, "77")
        await until(lambda: entry(life, "repair")["status"] == "COMPLETE")
        assert front(life)

    passes(body, "admitted")


async def agree(life: Life, mended: str) -> None:
    patch = {"metadata": {"annotations": {"mended": mended}}}
    await life.user.client.merge_patch(STATEFUL_SETS, "i-store", patch, namespace="ns")
    await asyncio.sleep(60)
