"""What a Job task costs, beside an Apply of the same Job."""

import asyncio
import json
from collections import Counter

from kubeio.resource import SERVICE_ACCOUNTS
from kubeio.types import JsonObject
from tests.support import build
from tests.support.apiserver.controllers.workloads import Outcome
from tests.unit.reconciler.scenes.scene import STRICT, Scene, play

_READS = frozenset({"GET"})
_APPLIED: JsonObject = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "{{ .Name }}-backup-{{ .PlanName }}"},
    "spec": {
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": "busybox", "command": ["backup"]}],
            }
        }
    },
}
_OF_KIND = {
    "Apply": build.task("backup", "Apply", "job.yaml"),
    "Job": build.task("backup", "Job", job={"image": "busybox", "command": ["backup"]}),
}
_PLANS = ("deploy", "second", "third")


def version(kind: str) -> JsonObject:
    """Return a version whose plans apply a Job of their own each, or run it as a Job task."""
    return build.stored_version(
        tasks=[_OF_KIND[kind]],
        templates={"job.yaml": json.dumps(_APPLIED)},
        plans={name: build.serial(["backup"]) for name in _PLANS},
    )


def costs(kind: str) -> list[Counter[str]]:
    """Return the requests of each plan, one after the other; watches are left out."""
    found: list[Counter[str]] = []

    async def body(scene: Scene) -> None:
        scene.life.cluster.workloads.outcome = lambda _: Outcome(seconds=5)
        await scene.life.put_version(version(kind))
        await asyncio.sleep(10)
        for plan in _PLANS:
            scene.network.seen.clear()
            if plan == "deploy":
                await scene.life.user.create("i", {})
                await scene.until_idle("i")
            else:
                await scene.run("i", plan)
            await asyncio.sleep(20)
            assert scene.entry("i", plan)["status"] == "COMPLETE"
            found.append(
                Counter(
                    f"{one.method} {one.path.split('/namespaces/ns/')[-1].split('/')[0]}"
                    for one in scene.network.seen
                    if "/namespaces/ns/" in one.path and "watch" not in one.query
                )
            )

    play(body)
    return found


def test_every_request_for_a_job_is_sent_as_the_account_of_the_instance() -> None:
    async def body(scene: Scene) -> None:
        scene.life.cluster.workloads.outcome = lambda _: Outcome(seconds=60)
        account: JsonObject = {"metadata": {"name": "worker", "namespace": "ns"}}
        await scene.admin.create(SERVICE_ACCOUNTS, account)
        await scene.life.put_version(version("Job"))
        await scene.life.user.create("i", {}, {"serviceAccountName": "worker"})
        await asyncio.sleep(20)
        await scene.life.user.change("i", {"run": "cancel"})
        await scene.until_idle("i")
        await scene.run("i", "second")
        assert scene.entry("i", "second")["status"] == "COMPLETE"
        sent = [
            (one.method, one.user)
            for one in scene.network.seen
            if {"jobs", "pods"} & {*one.path.split("/")} and "/namespaces/ns/" in one.path
        ]
        assert {method for method, _ in sent} == {"GET", "POST", "DELETE"}
        assert {user for _, user in sent} == {"system:serviceaccount:ns:worker"}

    play(body, STRICT, "--watch=deployments.apps")


def writes(requests: Counter[str]) -> int:
    return sum(n for what, n in requests.items() if what.partition(" ")[0] not in _READS)


def test_a_job_task_costs_at_most_one_write_more_than_an_apply_of_the_same_job() -> None:
    applied, run = costs("Apply"), costs("Job")
    more = [
        writes(of_job) - writes(of_apply) for of_apply, of_job in zip(applied, run, strict=True)
    ]
    assert max(more) <= 1, (applied, run)


def test_the_requests_of_a_job_task() -> None:
    first, second, third = costs("Job")
    assert (first["POST jobs"], first["DELETE jobs"], first["POST inventories"]) == (1, 0, 0)
    # The Job of the former run goes, and nothing else is added from run to run.
    assert (second["POST jobs"], second["DELETE jobs"]) == (1, 1)
    assert (second["GET jobs"], second["GET pods"]) == (1, 1)
    assert third == second
