"""The example packages can be installed as they are."""

from pathlib import Path

import pytest

from kubectl_kudo.packages.install_checks import check_instance, check_package
from kudo.packages import PackageObjects, read_package, to_objects
from kudo.verification import verify

EXAMPLES = Path(__file__).parents[4] / "examples"
PACKAGES = sorted(str(one.parent.relative_to(EXAMPLES)) for one in EXAMPLES.rglob("operator.yaml"))


@pytest.fixture
def first() -> PackageObjects:
    return to_objects(read_package(EXAMPLES / "first-operator"), "default")


def test_all_examples_are_found() -> None:
    assert {"first-operator", "lifecycle/v1", "lifecycle/v2"} <= set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_is_found_wrong_with_an_example(package: str) -> None:
    found = verify(read_package(EXAMPLES / package))

    assert [str(finding.problem) for finding in found] == []


def test_the_first_operator_needs_no_parameters(first: PackageObjects) -> None:
    check_package(first)
    check_instance("first-operator-instance", first.operator_version, {})


def test_the_first_operator_uses_every_task_and_template_and_names_no_other(
    first: PackageObjects,
) -> None:
    spec = first.operator_version.spec
    tasks = {task.name: task for task in spec.tasks or ()}
    used = {
        task
        for plan in first.operator_version.plans.values()
        for phase in plan.phases or ()
        for step in phase.steps
        for task in step.tasks
    }
    assert used == set(tasks)
    assert {task.kind for task in tasks.values()} == {"Apply"}
    templates = [name for task in tasks.values() for name in task.spec.resources or ()]
    assert sorted(templates) == sorted(spec.templates or {})


def test_the_first_operator_shows_each_kind_of_parameter(first: PackageObjects) -> None:
    version = first.operator_version
    assert set(version.plans) == {"deploy", "update", "check", "cleanup"}
    triggers = {p.name: p.trigger for p in version.parameters}
    assert triggers == {
        "replicas": "deploy",
        "port": None,
        "greeting": "update",
        "checkSeconds": "check",
    }
    assert [p.name for p in version.parameters if p.immutable] == ["port"]
    assert len(version.plans["deploy"].phases or ()) == 2
