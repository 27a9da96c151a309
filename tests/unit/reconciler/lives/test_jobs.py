"""Job tasks: the Job of a run is created once, waited for, and its end is told."""

import asyncio
from typing import Any

import pytest

from kubeio.resource import JOBS
from kubeio.types import JsonObject
from tests.support import build
from tests.support.apiserver import status
from tests.support.apiserver.network.faults import Fate
from tests.support.apiserver.server import Request
from tests.unit.reconciler.lives.jobs import (
    answer,
    create,
    end,
    ended,
    entry,
    install,
    job_task,
    jobs,
    pod_of,
    row,
    run_again,
    run_of,
    set_pod,
    until,
    version,
)
from tests.unit.reconciler.lives.life import Life, passes


def test_a_job_is_created_once_and_the_plan_goes_on_when_it_is_complete() -> None:
    async def body(life: Life) -> None:
        await install(life, deploy=build.serial(["backup"], ["waits"]))
        [job] = jobs(life)
        assert run_of(job) == entry(life)["uid"]
        assert row(life)["jobUid"] == job["metadata"]["uid"]
        assert row(life)["message"].startswith(f'job "{job["metadata"]["name"]}" still running')
        await end(life, job)
        assert row(life)["status"] == "COMPLETE"
        assert "jobUid" not in row(life)
        assert row(life, step=1)["status"] == "IN_PROGRESS"
        assert [job["metadata"]["uid"]] == [one["metadata"]["uid"] for one in jobs(life)]

    passes(body, "admitted")


READ_ONLY = (
    "mount a volume where it writes, or set spec.containers[].securityContext."
    "readOnlyRootFilesystem: false in the podTemplate of the task"
)


@pytest.mark.parametrize(
    ("ending", "message"),
    [
        (ended(3), "container main ended with exit code 3"),
        (
            ended(3, "no such bucket:\n\x1b[31mnightly"),
            "container main ended with exit code 3: no such bucket: [31mnightly",
        ),
        (ended(137, reason="OOMKilled"), "container main ended with exit code 137 (OOMKilled)"),
        (
            ended(1, "/data: Read-only file system"),
            f"container main ended with exit code 1: /data: Read-only file system; {READ_ONLY}",
        ),
        ({"phase": "Succeeded"}, "BackoffLimitExceeded: it has failed too often"),
    ],
)
def test_a_failed_job_ends_the_plan_with_exit_code_and_termination_message(
    ending: JsonObject, message: str
) -> None:
    async def body(life: Life) -> None:
        await install(life)
        [job] = jobs(life)
        await pod_of(life, job, ending)
        await end(
            life, job, "Failed", reason="BackoffLimitExceeded", message="it has failed too often"
        )
        failed = entry(life)
        assert failed["status"] == "FATAL_ERROR"
        assert row(life)["message"].endswith(f"job {job['metadata']['name']} failed: {message}")
        assert failed["uid"] == run_of(jobs(life)[0]), "it stays to be looked at"

    passes(body, "admitted")


def test_outputs_of_a_program_that_fails_are_in_no_message() -> None:
    async def body(life: Life) -> None:
        await install(life, job_task(outputs=["file"]))
        [job] = jobs(life)
        await pod_of(life, job, ended(3, '{"file": "db.sql"}'))
        await end(life, job, "Failed", reason="BackoffLimitExceeded")
        assert row(life)["message"].endswith("container main ended with exit code 3")

    passes(body, "admitted")


def test_a_job_that_takes_too_long_is_told_so_and_not_how_it_was_stopped() -> None:
    async def body(life: Life) -> None:
        await install(life, job_task(activeDeadlineSeconds=5))
        [job] = jobs(life)
        await pod_of(life, job, ended(143))
        await end(life, job, "Failed", reason="DeadlineExceeded", message="it took too long")
        assert row(life)["message"].endswith("failed: DeadlineExceeded: it took too long")

    passes(body, "admitted")


@pytest.mark.parametrize("crash", [False, True])
def test_a_job_that_is_gone_before_its_end_was_seen_is_not_created_again(crash: bool) -> None:
    async def body(life: Life) -> None:
        await install(life)
        [job] = jobs(life)
        if crash:
            await life.crash(0)
            await asyncio.sleep(1)
        await life.user.client.delete(JOBS, job["metadata"]["name"], namespace="ns")
        await asyncio.sleep(60)
        assert entry(life)["status"] == "FATAL_ERROR"
        message = row(life)["message"]
        assert f"job {job['metadata']['name']} was deleted before its end was seen" in message
        assert "whether its program ran to its end is not known" in message
        assert not jobs(life)
        assert "JobResultUnknown" in {one["reason"] for one in life.observed.events.values()}

    passes(body, "admitted")


def test_a_job_that_somebody_has_created_again_is_not_taken_for_the_one_of_the_run() -> None:
    async def body(life: Life) -> None:
        await install(life)
        [job] = jobs(life)
        await life.crash(0)
        name = job["metadata"]["name"]
        await life.user.client.delete(JOBS, name, namespace="ns")
        metadata = {k: v for k, v in job["metadata"].items() if k not in ("uid", "resourceVersion")}
        await life.user.client.create(JOBS, {**job, "metadata": metadata, "status": {}})
        await asyncio.sleep(60)
        assert (
            f"job {name} was deleted, and somebody has created another one"
            in (row(life)["message"])
        )

    passes(body, "admitted")


def test_a_job_whose_end_was_seen_may_be_deleted_at_once() -> None:
    async def body(life: Life) -> None:
        await install(life)
        [job] = jobs(life)
        # The reconciler hears of both at the same time.
        answer(life, jobs=1.0)
        await end(life, job, after=0.0)
        await life.user.client.delete(JOBS, job["metadata"]["name"], namespace="ns")
        await asyncio.sleep(10)
        assert entry(life)["status"] == "COMPLETE"

    passes(body, "admitted")


def test_a_job_of_that_name_which_is_not_ours_is_an_error() -> None:
    async def body(life: Life) -> None:
        await install(life)
        [job] = jobs(life)
        await life.hand_over(5.0)
        name = job["metadata"]["name"]
        await life.user.client.merge_patch(
            JOBS, name, {"metadata": {"labels": None, "ownerReferences": None}}, namespace="ns"
        )
        await asyncio.sleep(60)
        assert f"job {name} exists, and is not the one of this run" in row(life)["message"]

    passes(body, "admitted")


def test_each_run_has_a_job_and_those_of_the_last_run_and_the_last_failed_one_stay() -> None:
    async def body(life: Life) -> None:
        await install(life)
        made: list[Any] = []
        for number, kind in enumerate(("Complete", "Failed", "Complete", "Complete", "Complete")):
            if number:
                await run_again(life, uid=f"u{number}")
            job = jobs(life)[-1]
            assert run_of(job) == entry(life)["uid"]
            await end(life, job, kind, reason="BackoffLimitExceeded")
            made.append(job["metadata"]["name"])
        assert len(set(made)) == 5
        assert [job["metadata"]["name"] for job in jobs(life)] == [made[1], made[4]]

    passes(body, "admitted")


def test_more_jobs_stay_if_the_task_says_so() -> None:
    async def body(life: Life) -> None:
        await install(life, job_task(keep=3))
        made: list[Any] = []
        for number in range(5):
            if number:
                await run_again(life, uid=f"u{number}")
            await end(life, jobs(life)[-1])
            made.append(jobs(life)[-1]["metadata"]["name"])
        assert [job["metadata"]["name"] for job in jobs(life)] == made[2:]

    passes(body, "admitted")


def test_all_jobs_go_that_are_kept_no_more() -> None:
    async def body(life: Life) -> None:
        await install(life, job_task(keep=4))
        for number in range(4):
            if number:
                await run_again(life, uid=f"u{number}")
            await end(life, jobs(life)[-1])
        assert len(jobs(life)) == 4
        await life.put_version(version(job_task()))
        await asyncio.sleep(10)
        await run_again(life, uid="last")
        assert [run_of(job) for job in jobs(life)] == [entry(life)["uid"]]

    passes(body, "admitted")


def test_a_job_that_went_with_its_instance_is_not_created_again_for_nobody() -> None:
    async def body(life: Life) -> None:
        creations: list[str] = []

        def fate(request: Request) -> Fate | None:
            if request.method != "POST" or not request.path.endswith("/jobs"):
                return None
            creations.append(request.path)
            return Fate(lost="answer")

        answer(life, fate, instances=30.0, jobs=30.0)
        await create(life)
        await until(lambda: bool(jobs(life)))
        await life.user.delete("i")
        await asyncio.sleep(60)
        assert len(creations) == 1

    passes(body, "admitted")


def test_nothing_is_told_of_a_job_that_went_with_its_instance() -> None:
    async def body(life: Life) -> None:
        await install(life)
        answer(life, instances=30.0)
        await life.user.delete("i")
        await asyncio.sleep(60)
        assert not jobs(life)
        reasons = {event["reason"] for event in life.observed.events.values()}
        assert "JobResultUnknown" not in reasons

    passes(body, "admitted")


@pytest.mark.parametrize(
    ("state", "advice"),
    [
        (
            {"reason": "ImagePullBackOff", "message": "Back-off pulling image"},
            "check the name and tag of the image",
        ),
        (
            {
                "reason": "CreateContainerConfigError",
                "message": "container has runAsNonRoot and image will run as root",
            },
            "spec.securityContext.runAsNonRoot: false allows root",
        ),
    ],
)
def test_what_a_job_waits_for_is_told(state: JsonObject, advice: str) -> None:
    async def body(life: Life) -> None:
        await install(life)
        [job] = jobs(life)
        statuses = [{"name": "main", "image": "busybox", "state": {"waiting": state}}]
        await pod_of(life, job, {"phase": "Pending", "containerStatuses": statuses})
        await asyncio.sleep(10)
        waits, message = f'job "{job["metadata"]["name"]}" still running', row(life)["message"]
        assert message.startswith(f"{waits}; pod ns/pod: container main: {state['reason']}")
        assert advice in message
        ready = [{"type": "Ready", "status": "True"}]
        running = {"phase": "Running", "containerStatuses": None, "conditions": ready}
        await set_pod(life, "pod", running)
        await asyncio.sleep(10)
        assert row(life)["message"] == waits

    passes(body, "admitted")


@pytest.mark.parametrize(
    ("method", "path", "text"),
    [
        ("GET", "/jobs", "cannot list the jobs of task backup"),
        ("GET", "/pods", "cannot list the pods of task backup"),
        ("POST", "/jobs", "failed to create job i-backup-"),
    ],
)
def test_a_missing_right_is_named_and_waited_for(method: str, path: str, text: str) -> None:
    async def body(life: Life) -> None:
        refused = status.forbidden(status.Names("", "things", "x"), "may not")

        def fate(request: Request) -> Fate | None:
            mine = request.method == method and request.path.endswith(f"/namespaces/ns{path}")
            return Fate(refused=refused) if mine else None

        answer(life, fate)
        await install(life)
        assert entry(life)["status"] == "IN_PROGRESS"
        assert (row(life)["status"], text in row(life)["message"]) == ("ERROR", True)
        answer(life)
        await asyncio.sleep(120)
        assert len(jobs(life)) == 1

    passes(body, "admitted")


def test_a_job_that_the_api_server_rejects_ends_the_plan() -> None:
    async def body(life: Life) -> None:
        cause = status.Cause("FieldValueInvalid", "must be a number", "spec.template.spec")

        def fate(request: Request) -> Fate | None:
            creates = request.method == "POST" and request.path.endswith("/jobs")
            return Fate(refused=status.invalid("Job", "batch", "x", cause)) if creates else None

        answer(life, fate)
        await install(life)
        assert entry(life)["status"] == "FATAL_ERROR"
        assert "failed to create job i-backup-" in row(life)["message"]
        assert "JobTaskError" in {one["reason"] for one in life.observed.events.values()}

    passes(body, "admitted")


@pytest.mark.parametrize("lost", ["request", "answer"])
def test_a_creation_without_an_answer_makes_one_job(lost: Any) -> None:
    async def body(life: Life) -> None:
        left = [True]

        def fate(request: Request) -> Fate | None:
            creates = request.method == "POST" and request.path.endswith("/jobs")
            return Fate(lost=lost) if creates and left and left.pop() else None

        answer(life, fate)
        await install(life)
        await asyncio.sleep(30)
        [job] = jobs(life)
        assert row(life)["jobUid"] == job["metadata"]["uid"]

    passes(body, "admitted")
