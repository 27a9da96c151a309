"""Runs with Job tasks that end: no Job of theirs works on, and no two of a task at a time."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kubeio.resource import JOBS
from kubeio.types import JsonObject
from tests.support import build
from tests.support.apiserver import status
from tests.support.apiserver.network.faults import Fate
from tests.support.apiserver.server import Request
from tests.support.apiserver.status import StatusError
from tests.unit.reconciler.lives.jobs import (
    answer,
    end,
    ended,
    entry,
    install,
    jobs,
    pod_of,
    row,
    run_again,
    run_of,
    set_pod,
    until,
)
from tests.unit.reconciler.lives.life import Life, passes

PARALLEL = build.shaped({"job": ["backup"], "other": ["fails"]}, phase="parallel")
"""One step fails at once, beside one with a Job."""


def deletes(request: Request, plural: str = "/jobs/") -> bool:
    return request.method == "DELETE" and plural in request.path


async def _cancel(life: Life) -> None:
    await life.user.change("i", {"run": "cancel"})


async def _restart(life: Life) -> None:
    await life.user.change("i", {"run": {"planName": "deploy", "uid": "again"}})


async def _delete(life: Life) -> None:
    await life.user.delete("i")


async def _time_passes(life: Life) -> None:
    del life
    await asyncio.sleep(30)


@pytest.mark.parametrize(
    ("happens", "reason"),
    [
        (_cancel, "cancelled by"),
        (_time_passes, "30s"),
        (_delete, "stopped: Instance is being deleted"),
    ],
)
@pytest.mark.parametrize("crash", [False, True])
def test_the_active_job_of_a_run_is_deleted_before_its_end_is_stored(
    happens: Callable[[Life], Awaitable[None]], reason: str, crash: bool
) -> None:
    async def body(life: Life) -> None:
        plan = {**build.serial(["backup"]), "timeout": "30s"}
        await install(life, deploy=plan, cleanup=build.serial(["waits"]))
        assert len(jobs(life)) == 1
        if crash:
            await life.crash(0)
        await happens(life)
        await until(lambda: entry(life)["status"] == "FATAL_ERROR")
        assert reason in entry(life)["message"]
        assert not jobs(life)
        # That it was deleted before is held against each write (`job_promises`).

    passes(body, "admitted")


def test_a_step_that_fails_takes_the_jobs_of_the_others_along() -> None:
    async def body(life: Life) -> None:
        await install(life, deploy=build.serial(["done"]), backup=PARALLEL)
        await life.user.change("i", {"run": {"planName": "backup", "uid": "u"}})
        await until(lambda: entry(life, "backup")["status"] == "FATAL_ERROR")
        assert not jobs(life)

    passes(body, "admitted")


@pytest.mark.parametrize("crash", [False, True])
@pytest.mark.parametrize("steps", [[["backup"]], [["done"], ["backup"]]])
def test_a_run_in_the_place_of_another_one_begins_without_its_job(
    steps: list[list[str]], crash: bool
) -> None:
    async def body(life: Life) -> None:
        await install(life, deploy=build.serial(*steps))
        [job] = jobs(life)
        if crash:
            await life.crash(0)
        await _restart(life)
        await until(lambda: entry(life)["uid"] != run_of(job))
        await asyncio.sleep(20)
        [new] = jobs(life)
        assert run_of(new) == entry(life)["uid"]
        await end(life, new)
        assert entry(life)["status"] == "COMPLETE"

    passes(body, "admitted")


def test_a_job_is_created_once_the_pods_of_former_ones_have_ended() -> None:
    async def body(life: Life) -> None:
        await install(life)
        [job] = jobs(life)
        await pod_of(life, job, {"phase": "Running"}, finalizers=["example.com/held"])
        await _restart(life)
        await asyncio.sleep(30)
        assert not jobs(life)
        assert row(life)["message"].endswith(
            "waits until pod pod of a former run of the task has ended"
        )
        await set_pod(life, "pod", ended(143))
        await asyncio.sleep(5)
        [new] = jobs(life)
        assert run_of(new) == entry(life)["uid"]
        assert row(life)["jobUid"] == new["metadata"]["uid"]

    passes(body, "admitted")


def test_a_former_job_that_is_held_by_a_finalizer_is_waited_for() -> None:
    async def body(life: Life) -> None:
        await install(life)
        [job] = jobs(life)
        name = job["metadata"]["name"]
        held: JsonObject = {"metadata": {"finalizers": ["example.com/held"]}}
        await life.user.client.merge_patch(JOBS, name, held, namespace="ns")
        await _restart(life)
        await asyncio.sleep(30)
        assert [run_of(one) for one in jobs(life)] == [run_of(job)]
        assert row(life)["message"].endswith(
            f"waits until job {name} of a former run of the task has ended"
        )
        let_go: JsonObject = {"metadata": {"finalizers": None}}
        await life.user.client.merge_patch(JOBS, name, let_go, namespace="ns")
        await asyncio.sleep(10)
        assert [run_of(one) for one in jobs(life)] == [entry(life)["uid"]]

    passes(body, "admitted")


def test_a_pod_that_nobody_runs_as_a_job_holds_nothing_up() -> None:
    async def body(life: Life) -> None:
        await install(life)
        [job] = jobs(life)
        await end(life, job)
        await pod_of(life, job, {"phase": "Running"}, name="copy", ownerReferences=[])
        await run_again(life)
        assert [run_of(job) for job in jobs(life)] == [entry(life)["uid"]] != [run_of(job)]

    passes(body, "admitted")


def test_the_same_task_at_two_places_runs_one_after_the_other() -> None:
    async def body(life: Life) -> None:
        plan = build.shaped({"a": ["backup"], "b": ["backup"]}, phase="parallel")
        await install(life, deploy=plan)
        [first] = jobs(life)
        steps = entry(life)["phases"][0]["steps"]
        [waiting] = [step for step in steps if "jobUid" not in step["tasks"][0]]
        name = first["metadata"]["name"]
        assert waiting["message"].endswith(
            f"waits until job {name} of the task in step phase1.a has ended"
        )
        await end(life, first)
        await asyncio.sleep(10)
        [second] = [job for job in jobs(life) if job["metadata"]["name"] != name]
        await end(life, second)
        assert entry(life)["status"] == "COMPLETE"

    passes(body, "admitted")


def test_nothing_is_created_while_the_instance_is_suspended() -> None:
    async def body(life: Life) -> None:
        await install(
            life,
        )
        await pod_of(life, jobs(life)[0], {"phase": "Running"}, finalizers=["example.com/held"])
        await _restart(life)
        await asyncio.sleep(10)
        await life.user.set("i", {"suspend": True})
        await set_pod(life, "pod", ended(143))
        await asyncio.sleep(60)
        assert not jobs(life)
        await life.user.set("i", {"suspend": False})
        await asyncio.sleep(10)
        assert len(jobs(life)) == 1

    passes(body, "admitted")


def test_the_job_of_a_suspended_instance_is_seen_to_end() -> None:
    async def body(life: Life) -> None:
        await install(life, deploy=build.serial(["backup"], ["waits"]))
        [job] = jobs(life)
        await life.user.set("i", {"suspend": True})
        await asyncio.sleep(10)
        await end(life, job)
        assert row(life)["status"] == "COMPLETE"
        await life.user.set("i", {"suspend": False})
        await asyncio.sleep(10)
        assert len(jobs(life)) == 1

    passes(body, "admitted")


@pytest.mark.parametrize(
    ("refused", "deletions"),
    [(status.internal_error("not now"), 4), (status.forbidden(status.Names(), "may not"), 1)],
)
def test_a_job_that_cannot_be_deleted_does_not_hold_the_end_and_an_event_tells(
    refused: StatusError, deletions: int
) -> None:
    async def body(life: Life) -> None:
        await install(life)
        life.observed.job_tasks.may_stay = True
        tried: list[str] = []

        def fate(request: Request) -> Fate | None:
            if not deletes(request):
                return None
            tried.append(request.path)
            return Fate(refused=refused)

        answer(life, fate)
        await _cancel(life)
        await until(lambda: entry(life)["status"] == "FATAL_ERROR", 20)
        # The idle Instance has tried it once more.
        assert deletions <= len(tried) <= deletions + 1
        [job] = jobs(life)
        [told] = [
            event for event in life.observed.events.values() if event["reason"] == "JobNotDeleted"
        ]
        assert f"kubectl delete job -n ns {job['metadata']['name']}" in told["message"]
        # The next run ends it. Its controller may be about to create a pod, so a second passes.
        deleted: list[float] = []

        def passes_by(request: Request) -> None:
            if deletes(request):
                deleted.append(asyncio.get_running_loop().time())
            elif request.method == "POST" and request.path.endswith("/jobs"):
                assert asyncio.get_running_loop().time() >= deleted[0] + 1

        answer(life, passes_by)
        await run_again(life)
        [new] = jobs(life)
        assert run_of(new) == entry(life)["uid"]
        assert deleted

    passes(body, "admitted")


def test_a_failed_run_is_not_attempted_again_while_its_jobs_are_deleted() -> None:
    async def body(life: Life) -> None:
        await install(life, deploy=build.serial(["done"]), backup=PARALLEL)
        answer(life, lambda request: Fate(after=5) if deletes(request) else None)
        await life.user.change("i", {"run": {"planName": "backup", "uid": "u"}})
        await until(lambda: entry(life, "backup")["status"] == "FATAL_ERROR")
        await asyncio.sleep(30)
        assert not jobs(life)
        reasons = {event["reason"] for event in life.observed.events.values()}
        assert "DummyTaskError" in reasons
        assert "JobResultUnknown" not in reasons

    passes(body, "admitted")


def test_a_job_that_a_former_process_creates_late_does_not_work_for_nobody() -> None:
    async def body(life: Life) -> None:
        await install(life)
        [job] = jobs(life)
        await end(life, job)
        late: JsonObject = {
            **job,
            "metadata": {
                **{k: v for k, v in job["metadata"].items() if k not in ("uid", "resourceVersion")},
                "name": "late",
            },
            "status": {},
        }
        await life.user.client.create(JOBS, late)
        await asyncio.sleep(5)
        assert [one["metadata"]["name"] for one in jobs(life)] == [job["metadata"]["name"]]

    passes(body, "admitted")
