"""Templates of examples/galera in each of its plans: what a run is given, and which passwords."""

from collections.abc import Iterator, Mapping

import pytest
import yaml

from kudo.api.task_kinds import templates_of
from kudo.packages.convert import to_objects
from kudo.packages.reader import read_package
from kudo.tasks.rendering import render, variables
from tests.support.build import Json
from tests.unit.galera.test_galera_scripts import PACKAGE

OBJECTS = to_objects(read_package(PACKAGE), "default")
VERSION = OBJECTS.operator_version
BACKUP = "20261130"
"""A name, although YAML would take it for a number."""
NAMED = {"backup", "restore"}
"""The plans that are given the name of a backup."""


def rendered(plan: str, parameters: Mapping[str, str] | None = None) -> Iterator[tuple[str, Json]]:
    """Yield each object of a plan with the name of its task."""
    spec = OBJECTS.instance.spec.model_copy(update={"parameters": dict(parameters or {})})
    instance = OBJECTS.instance.model_copy(update={"spec": spec})
    tasks = {task.name: task for task in VERSION.spec.tasks or ()}
    texts = VERSION.spec.templates or {}
    given = {"NAME": BACKUP} if plan in NAMED else {}
    for phase in VERSION.plans[plan].phases or ():
        for step in phase.steps:
            values = variables(
                instance, VERSION, plan=plan, phase=phase.name, step=step.name, run_parameters=given
            ).read()
            for task in step.tasks:
                for use in templates_of(tasks[task]):
                    for found in yaml.safe_load_all(render(use.name, texts[use.name], values)):
                        yield task, found


def of_task(plan: str, task: str, **parameters: str) -> Json:
    [found] = [obj for name, obj in rendered(plan, parameters) if name == task]
    return found


def environment(obj: Json) -> dict[str, str]:
    """Return the variables of the one container of a Job or a pod of a Pipe task."""
    pod = obj["spec"]["template"]["spec"] if obj["kind"] == "Job" else obj["spec"]
    [container] = pod.get("initContainers") or pod["containers"]
    return {one["name"]: one.get("value", "") for one in container["env"]}


def passwords(plan: str, **parameters: str) -> dict[str, str]:
    [found] = [obj for _, obj in rendered(plan, parameters) if obj["kind"] == "Secret"]
    assert found["metadata"]["annotations"]["kudo.dev/apply-policy"] == "create"
    return dict(found["stringData"])


@pytest.mark.parametrize("plan", sorted(VERSION.plans))
def test_each_plan_renders_with_what_its_runs_are_given(plan: str) -> None:
    assert {*VERSION.plans[plan].required_parameters} == ({"NAME"} if plan in NAMED else set())
    assert [*rendered(plan)]


def test_a_backup_has_the_name_that_its_run_is_given() -> None:
    for task in ("validate", "backup", "report"):
        assert environment(of_task("backup", task))["BACKUP_NAME"] == BACKUP


def test_a_final_backup_is_named_after_its_time() -> None:
    found = environment(of_task("cleanup", "final-backup", FINAL_BACKUP="true"))
    assert (found["BACKUP_NAME"], found["DATED"]) == ("final", "yes")


def test_a_restore_begins_with_the_backup_that_its_run_is_given() -> None:
    assert environment(of_task("restore", "validate"))["BACKUP_NAME"] == BACKUP
    [nodes] = [o for n, o in rendered("restore") if n == "bootstrap" and o["kind"] == "StatefulSet"]
    [container] = nodes["spec"]["template"]["spec"]["containers"]
    assert {"name": "RESTORE_NAME", "value": BACKUP} in container["env"]


@pytest.mark.parametrize("plan", ["deploy", "update", "upgrade"])
def test_passwords_are_those_that_are_given_and_else_made(plan: str) -> None:
    given = """quoted: "it's" \\ #1 {{ 'x' }}"""
    found = passwords(plan, APP_PASSWORD=given, SST_PASSWORD="another")
    assert (found["app"], found["sst"]) == (given, "another")
    assert len(found["root"]) == 24
    assert len({*passwords(plan).values()}) == 3
