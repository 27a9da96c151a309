"""Parameters of a run over crashes and past the webhook: what a run was given stays what it is."""

import asyncio
from typing import Any

import pytest

from kubeio.resource import CONFIG_MAPS
from kubeio.types import JsonObject
from kudo_reconciler.common.keys import INSTANCES
from tests.support import build
from tests.unit.reconciler.lives.jobs import end, entry, job_task, jobs, until, version
from tests.unit.reconciler.lives.life import Life, passes
from tests.unit.reconciler.lives.test_outputs import maps

NOTE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'note-{{ .RunParams.name }}'}\n"
GIVEN = {"name": "monday", "keep": "9"}
DECLARED: list[JsonObject] = [
    {"name": "name", "required": True},
    {"name": "keep", "value-type": "integer", "default": "7"},
]


async def begin(life: Life, *steps: list[str]) -> None:
    """Create the Instance, whose `deploy` is done at once; `backup` has these steps."""
    life.network.calm = True
    dump = job_task("dump", args=["{{ .RunParams.name }}", "{{ .RunParams.keep }}"])
    tasks = [dump, build.task("note", "Apply", "note.yaml")]
    backup = build.serial(*steps) | {"parameters": DECLARED}
    made = version(*tasks, deploy=build.serial(["done"]), backup=backup)
    made["spec"]["templates"] = {"note.yaml": NOTE}
    life.cluster.workloads.has_pod = lambda _: False
    await life.put_version(made)
    await life.user.create("i", {})
    await asyncio.sleep(10)


async def trigger(life: Life, **more: Any) -> None:
    run = {"planName": "backup", "uid": "b", "parameters": GIVEN, **more}
    await life.user.change("i", {"run": run})


def notes(life: Life) -> set[str]:
    return {name for name in maps(life) if name.startswith("note-")}


async def ended(life: Life) -> JsonObject:
    """Return the stored Instance once the backup has ended."""
    await until(lambda: entry(life, "backup")["status"] in {"COMPLETE", "FATAL_ERROR"})
    await asyncio.sleep(5)
    stored = life.observed.instance("i")
    assert stored is not None
    return stored


@pytest.mark.parametrize("turns", range(0, 120, 8))
def test_a_crash_anywhere_loses_none(turns: int) -> None:
    async def body(life: Life) -> None:
        await begin(life, ["note"], ["note"])
        await life.crash(turns)
        await trigger(life)
        stored = await ended(life)
        assert entry(life, "backup")["status"] == "COMPLETE"
        assert entry(life, "backup")["runParameters"] == GIVEN
        assert notes(life) == {"note-monday"}
        records = [record.get("runParameters") for record in stored["status"]["history"]]
        assert records == [GIVEN, None]

    passes(body, "admitted")


@pytest.mark.parametrize("crashes", [False, True])
def test_an_edit_of_the_spec_past_the_webhook_changes_nothing(crashes: bool) -> None:
    async def body(life: Life) -> None:
        await begin(life, ["dump"], ["note"])
        await trigger(life)
        await until(lambda: bool(jobs(life)))
        other = {"parameters": {"name": "tuesday"}}
        await life.user.client.merge_patch(
            INSTANCES, "i", {"spec": {"planExecution": other}}, namespace="ns"
        )
        if crashes:
            await life.crash(0)
            await asyncio.sleep(30)
        [job] = jobs(life)
        [main] = job["spec"]["template"]["spec"]["containers"]
        assert main["args"] == ["monday", "9"]
        await end(life, job)
        await ended(life)
        assert entry(life, "backup")["status"] == "COMPLETE"
        assert notes(life) == {"note-monday"}

    passes(body, "webhooks missing")


def test_a_run_whose_status_was_edited_is_not_continued_by_another_process() -> None:
    async def body(life: Life) -> None:
        await begin(life, ["dump"], ["note"])
        await trigger(life)
        await until(lambda: bool(jobs(life)))
        edit = {"status": {"planStatus": {"backup": {"runParameters": {"name": "tuesday"}}}}}
        await life.crash(0)
        await life.user.client.merge_patch(
            INSTANCES, "i", edit, namespace="ns", subresource="status"
        )
        stored = await ended(life)
        assert entry(life, "backup")["status"] == "FATAL_ERROR"
        assert stored["status"]["history"][0]["reason"] == "ParametersChanged"
        assert "the parameters of the run in its status" in entry(life, "backup")["message"]
        assert notes(life) == set()

    passes(body, "admitted")


@pytest.mark.parametrize("turns", [0, 5, 20, 60])
def test_a_retry_renders_what_the_failed_run_was_given(turns: int) -> None:
    async def body(life: Life) -> None:
        await begin(life, ["dump"], ["note"], ["fails"])
        await trigger(life)
        await until(lambda: bool(jobs(life)))
        await end(life, jobs(life)[0])
        await ended(life)
        assert entry(life, "backup")["status"] == "FATAL_ERROR"
        await life.user.client.delete(CONFIG_MAPS, "note-monday", namespace="ns")
        retry = {"planName": "backup", "uid": "r", "retryOf": entry(life, "backup")["uid"]}
        await life.user.change("i", {"run": retry | {"from": "p.s1"}})
        await life.crash(turns)
        await asyncio.sleep(30)
        assert entry(life, "backup")["retryOf"] == retry["retryOf"]
        assert entry(life, "backup")["runParameters"] == GIVEN
        assert notes(life) == {"note-monday"}

    passes(body, "admitted")
