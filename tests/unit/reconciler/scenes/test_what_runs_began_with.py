"""Scenes of runs whose OperatorVersion or parameters are edited meanwhile, past admission."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Final

import pytest

from kubeio.types import JsonObject
from kudo_reconciler.common.keys import INSTANCES, OPERATOR_VERSIONS
from tests.support import build
from tests.support.apiserver.controllers.workloads import Outcome
from tests.support.apiserver.storage import Revision, StorageName
from tests.unit.reconciler.lives.life import Life, passes
from tests.unit.reconciler.lives.test_scenes import entry, events

JOB_SECONDS: Final = 20.0


def operator(text: str = "old") -> JsonObject:
    """Return an OperatorVersion whose plans make a Job, and then a ConfigMap with this text."""
    note = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "note"},
        "data": {"text": text, "note": "{{ .Params.NOTE }}", "plan": "{{ .PlanName }}"},
    }
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "{{ .PlanName }}"}}
    steps = [["job"], ["note"]]
    return build.stored_version(
        parameters=[{"name": "NOTE"}],
        tasks=[
            {"name": name, "kind": "Apply", "spec": {"resources": [name]}}
            for name in ("job", "note")
        ],
        templates={"job": json.dumps({**job, "spec": {}}), "note": json.dumps(note)},
        plans={
            "deploy": build.serial(*steps),
            "custom": build.serial(*steps),
            "update": build.serial(["note"]),
            "cleanup": build.serial(*steps),
        },
    )


def beside_a_run(body: Callable[[Life], Awaitable[None]]) -> None:
    """Run a body while the Job of the first step of deploy runs; then let all go on."""

    async def main(life: Life) -> None:
        life.network.calm = True
        life.cluster.workloads.outcome = lambda _: Outcome(seconds=JOB_SECONDS)
        await life.put_version(operator())
        await life.user.create("i", {"NOTE": "a"})
        await asyncio.sleep(JOB_SECONDS / 2)
        assert entry(life, "deploy")["status"] == "IN_PROGRESS"
        await life.install_webhooks(mutating=False, validating=False)
        await body(life)

    passes(main, "webhooks missing")


async def restart(life: Life) -> None:
    await life.crash(0)
    await asyncio.sleep(1)
    await asyncio.sleep(2 * JOB_SECONDS)


def stored(life: Life) -> JsonObject:
    found = life.observed.instance("i")
    assert found is not None
    return found


def note(life: Life) -> JsonObject | None:
    """Return what the second step made."""
    table = life.observed.server.storage.table(("", "configmaps")).objects
    found = table.get(("ns", "note"))
    return None if found is None else found["data"]


def notes(life: Life) -> list[JsonObject]:
    """Return the list in which everything is that a second step makes from now on."""
    seen: list[JsonObject] = []

    def written(name: StorageName, revision: Revision) -> None:
        if name == ("", "configmaps") and not revision.deleted:
            seen.append(revision.new["data"])

    life.observed.server.storage.listeners.append(written)
    return seen


def reason(life: Life) -> str:
    uid = entry(life, "deploy")["uid"]
    found = {event["reason"] for (_, run, _), event in life.observed.events.items() if run == uid}
    return ", ".join(sorted(found - {"PlanStarted", "PlanFinished"}))


def test_a_run_ends_when_its_version_was_edited_and_the_process_that_began_it_died() -> None:
    async def body(life: Life) -> None:
        await life.put_version(operator("new"))
        await restart(life)
        assert note(life) is None
        assert entry(life, "deploy")["status"] == "FATAL_ERROR"
        assert reason(life) == "OperatorVersionChanged"
        message = entry(life, "deploy")["message"]
        assert "kubectl kudo plan trigger --name deploy --instance i -n ns" in message
        await life.user.change("i", {"run": {"planName": "deploy"}})
        await asyncio.sleep(2 * JOB_SECONDS)
        assert note(life) == {"text": "new", "note": "a", "plan": "deploy"}

    beside_a_run(body)


def test_a_run_keeps_its_version_while_the_process_that_began_it_lives() -> None:
    async def body(life: Life) -> None:
        await life.put_version(operator("new"))
        await asyncio.sleep(2 * JOB_SECONDS)
        assert entry(life, "deploy")["status"] == "COMPLETE"
        assert note(life) == {"text": "old", "note": "a", "plan": "deploy"}

    beside_a_run(body)


def test_a_run_ends_when_parameters_were_edited_and_the_process_that_began_it_died() -> None:
    async def body(life: Life) -> None:
        await life.user.change("i", {"parameters": {"NOTE": "b"}})
        await restart(life)
        assert entry(life, "deploy")["status"] == "FATAL_ERROR"
        assert reason(life) == "ParametersChanged"
        assert "values of parameters: NOTE" in entry(life, "deploy")["message"]
        # The change itself has its plan then.
        assert note(life) == {"text": "old", "note": "b", "plan": "update"}

    beside_a_run(body)


def test_a_run_keeps_its_parameters_while_the_process_that_began_it_lives() -> None:
    async def body(life: Life) -> None:
        seen = notes(life)
        await life.user.change("i", {"parameters": {"NOTE": "b"}})
        await asyncio.sleep(2 * JOB_SECONDS)
        assert [(one["plan"], one["note"]) for one in seen] == [("deploy", "a"), ("update", "b")]
        assert entry(life, "deploy")["status"] == "COMPLETE"

    beside_a_run(body)


def test_a_run_goes_on_after_a_crash_when_only_metadata_of_its_version_were_edited() -> None:
    async def body(life: Life) -> None:
        change = {"metadata": {"labels": {"l": "x"}, "annotations": {"a": "x"}}}
        await life.user.client.merge_patch(OPERATOR_VERSIONS, "v1", change, namespace="ns")
        await restart(life)
        assert entry(life, "deploy")["status"] == "COMPLETE"

    beside_a_run(body)


def test_a_run_goes_on_after_a_crash_beside_a_change_that_waits_for_its_own_plan() -> None:
    async def body(life: Life) -> None:
        await asyncio.sleep(JOB_SECONDS)
        edit = {"parameters": {"NOTE": "b"}, "run": {"planName": "custom"}}
        await life.user.change("i", edit)
        await asyncio.sleep(JOB_SECONDS / 2)
        assert entry(life, "custom")["status"] == "IN_PROGRESS"
        await restart(life)
        assert entry(life, "custom")["status"] == "COMPLETE"
        assert entry(life, "update")["status"] == "COMPLETE"

    beside_a_run(body)


@pytest.mark.parametrize("edited", [operator("new"), operator("old")])
def test_a_run_that_an_earlier_release_began_goes_on_after_a_crash(edited: JsonObject) -> None:
    async def body(life: Life) -> None:
        found = stored(life)
        del found["status"]["lastRun"]["operatorVersionDigest"]
        await life.user.client.replace(INSTANCES, found, subresource="status")
        await life.put_version(edited)
        await restart(life)
        assert entry(life, "deploy")["status"] == "COMPLETE"

    beside_a_run(body)


def test_a_cleanup_begins_anew_when_its_version_was_edited_and_the_process_died() -> None:
    async def body(life: Life) -> None:
        await asyncio.sleep(JOB_SECONDS)
        await life.user.delete("i")
        await asyncio.sleep(JOB_SECONDS / 2)
        first = entry(life, "cleanup")["uid"]
        assert entry(life, "cleanup")["status"] == "IN_PROGRESS"
        seen = notes(life)
        await life.put_version(operator("new"))
        await restart(life)
        await asyncio.sleep(JOB_SECONDS)
        assert life.observed.instance("i") is None
        assert seen[-1] == {"text": "new", "note": "a", "plan": "cleanup"}
        told = [what for run, what in events(life) if run == first]
        assert told == ["finished", "operatorversionchanged", "started"]

    beside_a_run(body)
