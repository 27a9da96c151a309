"""Conditions of phases and steps: what is skipped, how that is stored, and what it leaves alone."""

import asyncio
from typing import Any

import pytest

from kubeio.types import JsonObject
from kudo_reconciler.common.keys import INSTANCES
from tests.support import build
from tests.support.apiserver.controllers.workloads import Outcome
from tests.unit.reconciler.lives.life import Life, passes

WAIT = 120.0
MAPS = {
    f"{name}.yaml": f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n"
    for name in ("first", "second", "last")
}
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  replicas: 1
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec: {containers: [{name: a, image: a}]}
"""
RING = {"name": "RING", "value-type": "boolean", "default": "false", "required": False}


def version(*phases: JsonObject) -> JsonObject:
    return build.stored_version(
        plans={"deploy": {"strategy": "serial", "phases": list(phases)}},
        tasks=[
            {"name": name, "kind": "Apply", "spec": {"resources": [f"{name}.yaml"]}}
            for name in ("first", "second", "last")
        ],
        templates=MAPS,
        parameters=[RING, {"name": "SIZE", "value-type": "integer", "default": "3"}],
    )


def phase(name: str, *steps: JsonObject, **more: Any) -> JsonObject:
    return {"name": name, "strategy": "serial", "steps": list(steps), **more}


def step(name: str, **more: Any) -> JsonObject:
    return {"name": name, "tasks": [name], **more}


async def ended(life: Life) -> Any:
    await asyncio.sleep(WAIT)
    stored = life.observed.instance("i")
    assert stored is not None
    return stored["status"]["planStatus"]["deploy"]


def maps(life: Life) -> list[str]:
    tables = life.cluster.server.storage.table(("", "configmaps")).objects
    return sorted(name for _, name in tables if f"{name}.yaml" in MAPS)


def told(entry: Any) -> list[tuple[str, str, bool]]:
    """Return name, status and whether it was skipped of each phase and step."""
    return [
        (part["name"], part["status"], part.get("skipped", False))
        for phase in entry["phases"]
        for part in (phase, *phase["steps"])
    ]


def test_a_step_whose_condition_is_false_is_skipped_and_the_next_one_runs() -> None:
    async def body(life: Life) -> None:
        life.network.calm = True
        steps = step("first"), step("second", when="params.RING"), step("last")
        await life.put_version(version(phase("main", *steps)))
        await life.user.create("i", {})
        entry = await ended(life)
        assert entry["status"] == "COMPLETE"
        assert told(entry) == [
            ("main", "COMPLETE", False),
            ("first", "COMPLETE", False),
            ("second", "COMPLETE", True),
            ("last", "COMPLETE", False),
        ]
        assert entry["phases"][0]["steps"][1]["message"] == "params.RING"
        assert maps(life) == ["first", "last"]
        await life.user.change("i", {"parameters": {"RING": "true"}})
        entry = await ended(life)
        assert not any(skipped for _, _, skipped in told(entry))
        assert maps(life) == ["first", "last", "second"]
        # What a skipped step has applied before is no orphan: a plan of the version applies it.
        await life.user.change("i", {"parameters": {"RING": "false"}})
        entry = await ended(life)
        assert [skipped for _, _, skipped in told(entry)] == [False, False, True, False]
        stored = life.observed.instance("i") or {}
        assert "orphans" not in stored["status"]
        assert maps(life) == ["first", "last", "second"]

    passes(body, "admitted")


@pytest.mark.parametrize("strategy", ["serial", "parallel"])
def test_of_a_phase_whose_condition_is_false_nothing_runs(strategy: str) -> None:
    async def body(life: Life) -> None:
        life.network.calm = True
        skipped = phase("ring", step("first"), step("second"), when="params.SIZE > 3")
        skipped["strategy"] = strategy
        await life.put_version(version(skipped, phase("end", step("last"))))
        await life.user.create("i", {})
        entry = await ended(life)
        assert told(entry) == [
            ("ring", "COMPLETE", True),
            ("first", "COMPLETE", True),
            ("second", "COMPLETE", True),
            ("end", "COMPLETE", False),
            ("last", "COMPLETE", False),
        ]
        assert maps(life) == ["last"]

    passes(body, "admitted")


def test_labels_are_those_that_the_run_began_with_also_after_a_crash() -> None:
    async def body(life: Life) -> None:
        life.network.calm = True
        life.cluster.workloads.outcome = lambda _: Outcome("healthy", 60.0)
        made = version(
            phase("wait", step("app")),
            phase("end", step("last", when="'tier' in instance.labels")),
        )
        made["spec"]["tasks"].append(build.task("app", "Apply", "app.yaml"))
        made["spec"]["templates"]["app.yaml"] = DEPLOYMENT
        await life.put_version(made)
        await life.user.create("i", {})
        await asyncio.sleep(10.0)
        stored = life.observed.instance("i") or {}
        assert stored["status"]["lastRun"]["labels"] == {}
        labels = {"metadata": {"labels": {"tier": "gold"}}}
        await life.user.client.merge_patch(INSTANCES, "i", labels, namespace="ns")
        await life.crash(0)
        entry = await ended(life)
        assert told(entry)[-1] == ("last", "COMPLETE", True)

    passes(body, "admitted")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("params.NONE", "there is no field NONE"),
        ("param.RING", "unknown name param; did you mean params?"),
        ("params.SIZE", "is neither true nor false but of type int"),
        ("params.RING &&", "not valid CEL"),
    ],
)
def test_what_cannot_be_evaluated_ends_the_plan(expression: str, message: str) -> None:
    async def body(life: Life) -> None:
        life.network.calm = True
        await life.put_version(version(phase("main", step("first"), step("last", when=expression))))
        await life.user.create("i", {})
        entry = await ended(life)
        assert entry["status"] == "FATAL_ERROR"
        failed = entry["phases"][0]["steps"][1]
        assert failed["status"] == "FATAL_ERROR"
        assert message in failed["message"]
        assert maps(life) == ["first"]

    passes(body, "admitted")
