"""What `package verify` finds in a package that is larger than the services allow."""

from typing import Any

import pytest

from kudo.api import bounds
from kudo.verification import verify
from tests.unit.kudo.verification.test_fields import OPERATOR, of_code
from tests.unit.kudo.verification.test_fields import package as package_of
from tests.unit.kudo.verification.test_verification import APPLY, package

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"
MANY = "{{ range $i := until %d }}\n---\n" + CONFIG_MAP % "x{{ $i }}" + "{{ end }}"


def steps(number: int) -> list[dict[str, Any]]:
    return [{"name": f"s{n}", "tasks": ["app"]} for n in range(number)]


def plan(*numbers: int) -> dict[str, Any]:
    return {"phases": [{"name": f"p{n}", "steps": steps(many)} for n, many in enumerate(numbers)]}


TOO_LARGE: list[tuple[dict[str, Any], str, str]] = [
    (
        {"deploy": plan(500, 1)},
        "plans.deploy",
        "the number of steps of the plan is 501; at most 500",
    ),
    (
        {name: plan(400) for name in ("deploy", "backup", "restore")},
        "plans",
        "the number of steps of all plans is 1200; at most 1000",
    ),
]


@pytest.mark.parametrize(("plans", "field", "text"), TOO_LARGE)
def test_a_version_that_the_services_do_not_read_is_an_error(
    plans: dict[str, Any], field: str, text: str
) -> None:
    [finding] = [
        one for one in verify(package(tasks=[APPLY], plans=plans))
        if one.code == "PackageTooLarge"
    ]  # fmt: skip
    assert finding.is_error
    assert finding.place.field == field
    assert finding.place.line
    assert text in finding.problem.message


def test_a_version_that_they_read_is_none() -> None:
    found = verify(package(tasks=[APPLY], plans={"deploy": plan(300, 200)}))
    assert "PackageTooLarge" not in {one.code for one in found}


def test_a_task_with_more_objects_than_it_may_have_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bounds, "TASK_OBJECTS", 20)
    assert of_code("TooManyObjects", package_of(b=MANY % 20)) == []
    operator = OPERATOR.replace("[a.yaml]", "[a.yaml, b.yaml]")
    [finding] = of_code("TooManyObjects", package_of(operator, b=MANY % 20))
    assert finding.is_error
    assert finding.problem.message == 'task "app" has 21 objects, more than 20'
    assert finding.place.field == "tasks[app]"


def test_a_plan_that_applies_more_than_an_instance_may_have_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    operator = OPERATOR.replace("[a.yaml]", "[a.yaml, b.yaml]")
    of = package_of(operator, b=MANY % 10)
    monkeypatch.setattr(bounds, "INSTANCE_OBJECTS", 11)
    assert of_code("TooManyObjects", of) == []
    monkeypatch.setattr(bounds, "INSTANCE_OBJECTS", 10)
    [finding] = of_code("TooManyObjects", of)
    assert finding.place.field == "plans.deploy"
    assert 'plan "deploy" applies 11 objects, more than 10' in finding.problem.message
