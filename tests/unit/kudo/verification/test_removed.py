"""What `package verify` says of objects in versions that Kubernetes no longer serves."""

from typing import Any

from kudo.verification import verify
from tests.unit.kudo.verification.test_verification import (
    OBJECT,
    found,
    package,
    places,
    task,
    tasks,
    using,
)

BUDGET = "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: b}\n"
POLICY = "apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {name: p}\n"


def removed(templates: dict[str, str], **fields: Any) -> list[tuple[str, str]]:
    """Return place and message of each warning about a removed version."""
    findings = verify(package(templates=templates, **fields))
    return [
        (finding.problem.field, finding.problem.message)
        for finding in findings
        if finding.problem.reason == "RemovedAPIVersion" and not finding.is_error
    ]


def test_an_object_that_is_upgraded_is_warned_of_with_both_versions() -> None:
    assert removed({"a.yaml": OBJECT, "sub/b.yaml": OBJECT + "---\n" + BUDGET}) == [
        (
            "templates/sub/b.yaml:5",
            (
                'PodDisruptionBudget "b" is in policy/v1beta1, which was removed in Kubernetes '
                "1.25; it is applied as policy/v1"
            ),
        )
    ]


def test_an_object_without_successor_is_warned_of_with_what_to_do() -> None:
    ((place, message),) = removed({"a.yaml": POLICY})
    assert place == "templates/a.yaml:1"
    assert message.startswith(
        'PodSecurityPolicy "p" cannot be applied: policy/v1beta1 PodSecurityPolicy was removed in '
        "Kubernetes 1.25: use Pod Security admission"
    )


def test_every_object_in_a_removed_version_is_named() -> None:
    assert len(removed({"a.yaml": BUDGET + "---\n" + BUDGET + "---\n" + POLICY})) == 3


def test_a_removed_version_is_no_error() -> None:
    of = package(templates={"a.yaml": BUDGET})
    assert found(of) == []
    assert places(of) == ["templates/a.yaml:1"]


def test_versions_that_are_served_or_unknown_are_fine() -> None:
    custom = "apiVersion: example.com/v1beta1\nkind: Cup\nmetadata: {name: c}\n"
    assert removed({"a.yaml": OBJECT + "---\n" + custom}) == []


def test_a_version_is_judged_as_it_is_rendered() -> None:
    text = BUDGET.replace("v1beta1", "{{ .Params.V }}")
    assert len(removed({"a.yaml": text}, parameters=[{"name": "V", "default": "v1beta1"}])) == 1
    assert removed({"a.yaml": text}, parameters=[{"name": "V", "default": "v1"}]) == []


def test_an_object_that_an_optional_parameter_names_is_judged() -> None:
    text = BUDGET.replace("name: b", "name: '{{ .Params.NAME }}'")
    parameters = [{"name": "NAME", "required": False}]
    assert len(removed({"a.yaml": text}, parameters=parameters)) == 1


def test_what_cannot_be_rendered_and_parameter_files_are_left_to_other_checks() -> None:
    assert removed({"a.yaml": BUDGET + "{{ nope }}"}) == []
    child = task("KudoOperator", package="./c", parameterFile="values.yaml")
    templates = {"a.yaml": OBJECT, "values.yaml": BUDGET}
    assert removed(templates, tasks=tasks(child), plans=using("x")) == []
