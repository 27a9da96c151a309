"""Outputs of Job tasks: what later steps see of them, when they are stored, how they are lost."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from kubeio.resource import CONFIG_MAPS, PODS
from kubeio.types import JsonObject
from tests.support import build
from tests.support.apiserver import status
from tests.support.apiserver.controllers.workloads import Outcome
from tests.support.apiserver.network.faults import UNHARMED, Fate
from tests.support.apiserver.server import Request
from tests.unit.reconciler.lives.jobs import (
    end,
    entry,
    job_task,
    jobs,
    pod_of,
    run_again,
    until,
    version,
)
from tests.unit.reconciler.lives.life import Life, passes
from tests.unit.reconciler.lives.network import RandomNetwork

DUMP = job_task("dump", outputs=["file", "bytes"])
NOTE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: note}\ndata: {%s}\n"
TEMPLATES = {
    "note.yaml": NOTE % 'last: "{{ .Outputs.dump.file }}"',
    "scripts/check.sh": "test -f {{ .Outputs.dump.file }}",
}
SECRET = "hunter2"


def succeeded(message: str) -> JsonObject:
    """Return the status of a pod whose program has written this termination message."""
    state = {"exitCode": 0, "reason": "Completed", "message": message}
    statuses = [{"name": "main", "state": {"terminated": state}}]
    return {"phase": "Succeeded", "containerStatuses": statuses}


async def begin(
    life: Life,
    *tasks: JsonObject,
    templates: Mapping[str, str] = TEMPLATES,
    parameters: Sequence[JsonObject] = (),
    **plans: JsonObject,
) -> None:
    """Create the Instance; no Job has a pod or ends by itself."""
    life.network.calm = True
    life.cluster.workloads.outcome = lambda _: Outcome("stuck", 1e6)
    life.cluster.workloads.has_pod = lambda _: False
    made = version(*tasks, **plans)
    made["spec"] |= {"templates": dict(templates), "parameters": [*parameters]}
    await life.put_version(made)
    await life.user.create("i", {})
    await asyncio.sleep(10)


async def complete(life: Life, message: str | None, task: str = "dump") -> JsonObject:
    """Have the Job of a task end, with a pod that has left this message; without one if None."""
    *_, job = [job for job in jobs(life) if job["metadata"]["labels"]["kudo.dev/job-of"] == task]
    if message is not None:
        await pod_of(life, job, succeeded(message), name=f"pod-{job['metadata']['name']}")
    await end(life, job)
    return job


def texts(**outputs: str) -> str:
    return json.dumps(outputs)


def steps(life: Life, plan: str = "deploy") -> list[Any]:
    return [step for phase in entry(life, plan)["phases"] for step in phase["steps"]]


def note(life: Life) -> Any:
    objects = life.cluster.server.storage.table(("", "configmaps")).objects
    return next((obj["data"] for (_, name), obj in objects.items() if name == "note"), None)


def told(life: Life) -> str:
    """Return everything that people read of the run: status and events."""
    return json.dumps([life.observed.instance("i"), *life.observed.events.values()])


def test_templates_scripts_and_conditions_of_later_steps_see_them() -> None:
    async def body(life: Life) -> None:
        env = [{"name": "SIZE", "value": '{{ index .Outputs "dump" "bytes" }}'}]
        check = build.task("check", "Job", job={"image": "i", "script": "scripts/check.sh"})
        check["spec"]["job"]["env"] = env
        plan = build.serial(["dump"], ["note"], ["check"], ["fails"])
        named = plan["phases"][0]["steps"]
        named[1]["when"] = "int(outputs.dump.bytes) == 12"
        named[3]["when"] = "outputs.dump.file != 'a.sql'"
        await begin(life, DUMP, build.task("note", "Apply", "note.yaml"), check, deploy=plan)
        await complete(life, texts(file="a.sql", bytes="12"))
        assert steps(life)[0]["outputs"] == {"dump": {"file": "a.sql", "bytes": "12"}}
        assert note(life) == {"last": "a.sql"}
        *_, job = jobs(life)
        [main] = job["spec"]["template"]["spec"]["containers"]
        assert main["command"][2] == "test -f a.sql"
        assert main["env"] == [{"name": "SIZE", "value": "12"}]
        await end(life, job)
        assert entry(life)["status"] == "COMPLETE"
        assert steps(life)[3]["skipped"]
        assert [bool(step.get("outputs")) for step in steps(life)] == [True, False, False, False]

    passes(body, "admitted")


def maps(life: Life) -> set[str]:
    return {name for _, name in life.cluster.server.storage.table(("", "configmaps")).objects}


def test_tasks_that_delete_see_them_as_well() -> None:
    async def body(life: Life) -> None:
        template = "kind: ConfigMap\nmetadata: {name: '{{ .Outputs.dump.file }}-%s'}\n"
        # What lives are held against takes the words of templates for the names of objects.
        files = {
            f"{name}.yaml": f"# db-{name}\napiVersion: v1\n{template % name}" for name in "abc"
        }
        tasks = [
            build.task("make", "Apply", *files),
            build.task("remove", "Delete", "a.yaml"),
            build.task("toggle", "Toggle", "b.yaml", parameter="ON"),
        ]
        on = {"name": "ON", "value-type": "boolean", "default": "false"}
        plan = build.serial(["dump"], ["make"], ["remove", "toggle"])
        await begin(life, DUMP, *tasks, templates=files, parameters=[on], deploy=plan)
        before = maps(life)
        await complete(life, texts(file="db", bytes=""))
        assert entry(life)["status"] == "COMPLETE"
        assert maps(life) - before == {"db-c"}

    passes(body, "admitted")


def test_a_step_does_not_see_those_of_its_own_step_or_a_parallel_one() -> None:
    async def body(life: Life) -> None:
        plan = build.shaped({"one": ["dump"], "two": ["note"]}, phase="parallel")
        await begin(life, DUMP, build.task("note", "Apply", "note.yaml"), deploy=plan)
        assert 'map has no entry for key "dump"' in steps(life)[1]["message"]
        assert entry(life)["status"] == "FATAL_ERROR"

    passes(body, "admitted")


def test_outputs_of_a_task_that_was_skipped_are_not_there_and_the_error_says_how_to_ask() -> None:
    async def body(life: Life) -> None:
        plan = build.serial(["dump"], ["note"], ["fails"])
        named = plan["phases"][0]["steps"]
        named[0]["when"] = "false"
        named[1]["when"] = "has(outputs.dump)"
        named[2]["when"] = "outputs.dump.file == ''"
        await begin(life, DUMP, build.task("note", "Apply", "note.yaml"), deploy=plan)
        assert [step.get("skipped") for step in steps(life)] == [True, True, None]
        assert entry(life)["status"] == "FATAL_ERROR"
        assert "ask with has(outputs.dump)" in steps(life)[2]["message"]

    passes(body, "admitted")


@pytest.mark.parametrize("from_step", ["", "p.s1"])
def test_a_retry_keeps_those_of_the_steps_that_it_does_not_run_again(from_step: str) -> None:
    async def body(life: Life) -> None:
        plan = build.serial(["dump"], ["note"], ["fails"])
        await begin(life, DUMP, build.task("note", "Apply", "note.yaml"), deploy=plan)
        await complete(life, texts(file="a.sql", bytes="12"))
        assert entry(life)["status"] == "FATAL_ERROR"
        await life.user.client.delete(CONFIG_MAPS, "note", namespace="ns")
        retry = {"planName": "deploy", "uid": "r", "retryOf": entry(life)["uid"]}
        await life.user.change("i", {"run": retry | ({"from": from_step} if from_step else {})})
        await asyncio.sleep(20)
        assert entry(life)["retryOf"] == retry["retryOf"]
        assert steps(life)[0]["outputs"] == {"dump": {"file": "a.sql", "bytes": "12"}}
        # The step of the note runs again only if it is told so.
        assert note(life) == ({"last": "a.sql"} if from_step else None)
        assert len(jobs(life)) == 1
        await run_again(life)
        assert "outputs" not in steps(life)[0]

    passes(body, "admitted")


@pytest.mark.parametrize("turns", [0, 3, 10, 20, 30, 40, 60, 80])
def test_a_crash_between_the_end_and_the_write_loses_none(turns: int) -> None:
    async def body(life: Life) -> None:
        plan = build.serial(["dump"], ["note"])
        await begin(life, DUMP, build.task("note", "Apply", "note.yaml"), deploy=plan)
        [job] = jobs(life)
        await pod_of(life, job, succeeded(texts(file="a.sql", bytes="12")))
        await life.crash(turns)
        await end(life, job)
        await asyncio.sleep(60)
        assert entry(life)["status"] == "COMPLETE"
        assert steps(life)[0]["outputs"] == {"dump": {"file": "a.sql", "bytes": "12"}}
        assert note(life) == {"last": "a.sql"}
        assert len(jobs(life)) == 1

    passes(body, "admitted")


def test_what_was_read_survives_a_write_that_conflicts_and_the_deletion_of_the_pod() -> None:
    async def body(life: Life) -> None:
        plan = build.serial(["dump"], ["note"])
        await begin(life, DUMP, build.task("note", "Apply", "note.yaml"), deploy=plan)
        conflicts = 0

        def fate(request: Request) -> Fate | None:
            nonlocal conflicts
            wrote = request.method in ("PUT", "PATCH") and request.path.endswith("/i/status")
            if not wrote or conflicts == 3:
                return None
            conflicts += 1
            return Fate(refused=status.conflict(status.Names("kudo.dev", "instances", "i"), "no"))

        answer(life, fate)
        job = await complete(life, texts(file="a.sql", bytes="12"))
        assert conflicts == 3
        await life.user.client.delete(PODS, f"pod-{job['metadata']['name']}", namespace="ns")
        await until(lambda: entry(life)["status"] == "COMPLETE")
        assert steps(life)[0]["outputs"] == {"dump": {"file": "a.sql", "bytes": "12"}}

    passes(body, "admitted")


@dataclass
class Answering(RandomNetwork):
    """Has the API server refuse requests."""

    fate_of: Any = None

    def fate(self, request: Request) -> Fate:
        return self.fate_of(request) or UNHARMED


def answer(life: Life, fate_of: Any) -> None:
    """Decide on the requests of the reconciler that lives now."""
    for replica in life.replicas:
        replica.process.transports[0].network = Answering(life.rng, 0.0, fate_of=fate_of)


def test_a_missing_right_on_pods_is_waited_for_and_named() -> None:
    async def body(life: Life) -> None:
        await begin(life, DUMP, deploy=build.serial(["dump"]))
        lacks = True

        def fate(request: Request) -> Fate | None:
            listed = request.method == "GET" and request.path.endswith("/pods")
            if not (listed and lacks and "Succeeded" in str(request.query)):
                return None
            return Fate(refused=status.forbidden(status.Names("", "pods"), "may not list"))

        answer(life, fate)
        await complete(life, texts(file="a.sql", bytes="12"))
        assert entry(life)["status"] == "IN_PROGRESS"
        assert "the outputs of job" in steps(life)[0]["message"]
        assert "may not list" in steps(life)[0]["message"]
        lacks = False
        await until(lambda: entry(life)["status"] == "COMPLETE")
        assert steps(life)[0]["outputs"]

    passes(body, "admitted")


def test_outputs_of_a_pod_that_is_gone_are_lost() -> None:
    async def body(life: Life) -> None:
        await begin(life, DUMP, deploy=build.serial(["dump"], ["note"]))
        [job] = jobs(life)
        # Neither a pod of another Job, nor one that has not ended well, is the one.
        message = succeeded(texts(file="other", bytes=""))
        await pod_of(life, job, message, name="copy", ownerReferences=[])
        await pod_of(life, job, {**message, "phase": "Failed"}, name="failed")
        await complete(life, None)
        assert entry(life)["status"] == "FATAL_ERROR"
        name = job["metadata"]["name"]
        assert f"job {name} is complete, and its pod was deleted" in steps(life)[0]["message"]
        assert "kubectl kudo plan retry --instance i -n ns" in steps(life)[0]["message"]
        assert "OutputsLost" in {event["reason"] for event in life.observed.events.values()}

    passes(body, "admitted")


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("", "its program has written no termination message"),
        (f"file={SECRET}", "the termination message is not JSON"),
        (texts(file=SECRET), "it lacks bytes"),
        (texts(file=SECRET, bytes="", other=SECRET), "it has other, which outputs of the task"),
        (json.dumps({"file": SECRET, "bytes": 5}), "bytes is a number and not text"),
        (texts(file=SECRET * 600, bytes=""), "more than 4096; write less"),
        (texts(file=SECRET)[:-1] + " " * 4078, "4096 bytes, and the kubelet cuts it there"),
    ],
)
def test_what_a_program_should_not_have_written_ends_the_plan_and_is_not_told(
    message: str, fault: str
) -> None:
    async def body(life: Life) -> None:
        await begin(life, DUMP, deploy=build.serial(["dump"], ["note"]))
        await complete(life, message)
        assert entry(life)["status"] == "FATAL_ERROR"
        assert fault in steps(life)[0]["message"]
        assert "OutputsInvalid" in {event["reason"] for event in life.observed.events.values()}
        assert SECRET not in told(life)
        assert "outputs" not in steps(life)[0]

    passes(body, "admitted")


def test_a_task_without_outputs_may_write_what_it_likes() -> None:
    async def body(life: Life) -> None:
        await begin(life, job_task("dump"), deploy=build.serial(["dump"]))
        await complete(life, f"{{{SECRET}")
        assert entry(life)["status"] == "COMPLETE"
        assert SECRET not in told(life)

    passes(body, "admitted")


def test_the_outputs_of_a_run_are_bounded_together_before_anything_is_stored() -> None:
    async def body(life: Life) -> None:
        names = [f"t{number:02}" for number in range(17)]
        tasks = [job_task(name, outputs=["x"]) for name in names]
        await begin(life, *tasks, deploy=build.serial(*([name] for name in names)))
        for name in names:
            await complete(life, texts(x="y" * 4080), name)
        assert [bool(step.get("outputs")) for step in steps(life)] == [True] * 16 + [False]
        assert entry(life)["status"] == "FATAL_ERROR"
        assert "more than 65536; write less" in steps(life)[16]["message"]

    passes(body, "admitted")


def test_a_run_that_is_suspended_reads_and_stores_them() -> None:
    async def body(life: Life) -> None:
        plan = build.serial(["dump"], ["note"])
        await begin(life, DUMP, build.task("note", "Apply", "note.yaml"), deploy=plan)
        await life.user.set("i", {"suspend": True})
        await asyncio.sleep(5)
        await complete(life, texts(file="a.sql", bytes="12"))
        assert steps(life)[0]["outputs"] == {"dump": {"file": "a.sql", "bytes": "12"}}
        assert note(life) is None
        await life.user.set("i", {"suspend": False})
        await asyncio.sleep(10)
        assert note(life) == {"last": "a.sql"}

    passes(body, "admitted")


def test_packages_without_outputs_see_no_such_variable() -> None:
    async def body(life: Life) -> None:
        template = NOTE % 'all: \'{{ hasKey . "Outputs" }} {{ keys . | sortAlpha | join "," }}\''
        apply = build.task("note", "Apply", "note.yaml")
        await begin(
            life,
            job_task("dump"),
            apply,
            templates={"note.yaml": template},
            deploy=build.serial(["note"]),
        )
        assert note(life) == {
            "all": "false AppVersion,Name,Namespace,OperatorName,OperatorVersion,Params,PhaseName,"
            "Pipes,PlanName,StepName"
        }

    passes(body, "admitted")


# Orphans


EXTRA = """\
{{ if eq .Params.EXTRA "yes" }}
apiVersion: v1
kind: ConfigMap
metadata: {name: extra}
---
apiVersion: v1
kind: Secret
metadata: {name: extra}
{{ end }}
"""
NAMED = "apiVersion: v1\nkind: %s\nmetadata: {name: '{{ .Outputs.dump.file }}'}\n"


def on_record(life: Life) -> set[str]:
    objects = life.cluster.server.storage.table(("kudo.dev", "inventories")).objects.values()
    return {f"{item['kind']} {item['name']}" for obj in objects for item in obj["objects"]}


@pytest.mark.parametrize(
    ("kind", "orphans"),
    [
        # Of any other kind than its templates name, orphans are found as ever.
        ("ConfigMap", ["Secret extra"]),
        ("ServiceAccount", ["ConfigMap extra", "Secret extra"]),
        ('{{ .Params.EXTRA | replace "yes" "no" | replace "no" "ConfigMap" }}', []),
    ],
    ids=["its-kind", "another-kind", "any-kind"],
)
def test_what_a_task_may_apply_that_uses_outputs_is_no_orphan_and_all_else_is(
    kind: str, orphans: list[str]
) -> None:
    async def body(life: Life) -> None:
        await begin(
            life,
            DUMP,
            build.task("named", "Apply", "named.yaml"),
            build.task("extra", "Apply", "extra.yaml"),
            templates={"named.yaml": NAMED % kind, "extra.yaml": EXTRA},
            parameters=[{"name": "EXTRA", "default": "yes"}],
            deploy=build.serial(["dump"], ["named"], ["extra"]),
        )
        await complete(life, texts(file="a", bytes=""))
        assert entry(life)["status"] == "COMPLETE"
        await life.user.change("i", {"parameters": {"EXTRA": "no"}})
        await asyncio.sleep(10)
        await complete(life, texts(file="b", bytes=""))
        assert entry(life)["status"] == "COMPLETE"
        await asyncio.sleep(5)
        stored = life.observed.instance("i") or {}
        named = [f"{one['kind']} {one['name']}" for one in stored["status"].get("orphans", ())]
        assert sorted(named) == orphans
        # What the task applied with other outputs stays on record.
        names = {entry.split()[1] for entry in on_record(life)}
        assert names == {"a", "b", "extra"}

    passes(body, "admitted")


def test_an_object_that_outputs_decide_on_is_on_record_when_they_are_known() -> None:
    async def body(life: Life) -> None:
        name = '{{ if hasKey .Outputs "dump" }}after{{ else }}before{{ end }}'
        config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '%s'}\n"
        names = {"first": "first", "named": name, "last": "last"}
        await begin(
            life,
            DUMP,
            *(build.task(task, "Apply", f"{task}.yaml") for task in names),
            templates={f"{task}.yaml": config % text for task, text in names.items()},
            deploy=build.serial(["first"], ["dump"], ["named"], ["last"]),
        )
        assert on_record(life) == {"ConfigMap first", "ConfigMap last"}
        await complete(life, texts(file="", bytes=""))
        assert entry(life)["status"] == "COMPLETE"
        assert on_record(life) == {"ConfigMap first", "ConfigMap after", "ConfigMap last"}

    passes(body, "admitted")
