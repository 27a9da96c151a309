"""What `package verify` finds of parameters of runs."""

from typing import Any

import pytest

from kudo.api import JsonObject
from kudo.packages.model import Package
from kudo.verification import verify
from tests.unit.kudo.verification.test_verification import package

NOTE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '%s'}\n"
CODES = {
    *("ParameterBoundInvalid", "ParameterDuplicate", "ParameterInvalid", "ParameterNameInvalid"),
    *("ParameterRequired", "ParameterTypeUnknown", "ParameterUnused"),
    *("RunParameterSecret", "RunParameterUnknown", "KudoVersionTooLow"),
}


def plan(*parameters: JsonObject, when: str = "", task: str = "app") -> JsonObject:
    step = {"name": "s", "tasks": [task], **({"when": when} if when else {})}
    phases = [{"name": "p", "strategy": "serial", "steps": [step]}]
    return {"strategy": "serial", "phases": phases, "parameters": list(parameters)}


def declaring(text: str, *, params: Any = (), **plans: JsonObject) -> Package:
    """Return a package whose task applies a template with this text."""
    return package(
        kudoVersion="0.20.0",
        plans={"deploy": plan(task="other"), **plans},
        tasks=[
            {"name": "app", "kind": "Apply", "spec": {"resources": ["a.yaml"]}},
            {"name": "other", "kind": "Dummy", "spec": {"done": True}},
        ],
        templates={"a.yaml": NOTE % text},
        parameters=list(params),
    )


def found(of: Package) -> list[str]:
    """Return codes and places of what is found."""
    return [f"{one.code} {one.place.field}" for one in verify(of) if one.code in CODES]


USED = "{{ .RunParams.name }}"
NAME: JsonObject = {"name": "name"}


def test_a_plan_that_declares_what_its_tasks_use_is_fine() -> None:
    assert found(declaring(USED, backup=plan(NAME))) == []
    assert found(declaring('{{ index .RunParams "name" }}', backup=plan(NAME))) == []
    when = "runParams.name == 'a' || runParams['b-c']"
    both = plan(NAME, {"name": "b-c", "type": "boolean", "default": False}, when=when)
    assert found(declaring(USED, backup=both)) == []


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        ({"name": "name", "trigger": "deploy"}, "ParameterInvalid .trigger"),
        ({"name": "name", "immutable": True}, "ParameterInvalid .immutable"),
        ({"name": "name", "secret": True}, "ParameterInvalid .secret"),
        ({"name": "name", "onChange": "run"}, "ParameterInvalid .onChange"),
        ({"name": "name", "type": "colour"}, "ParameterTypeUnknown .type"),
        ({"name": "name", "type": "integer", "pattern": "a"}, "ParameterBoundInvalid .pattern"),
        ({"name": "name", "type": "integer", "default": "x"}, "ParameterInvalid .default"),
        ({"name": "name", "enum": ["a"], "default": "b"}, "ParameterInvalid .default"),
        ({"name": "name", "minLength": 3, "default": "b"}, "ParameterInvalid .default"),
        ({"name": "name", "type": "integer", "enum": ["x"]}, "ParameterInvalid .enum"),
        ({"name": "password"}, "RunParameterSecret .name"),
    ],
)
def test_what_is_wrong_with_a_declaration_is_found(parameter: JsonObject, expected: str) -> None:
    code, _, field = expected.partition(" ")
    text = f"{{{{ .RunParams.{parameter['name']} }}}}"
    where = f"plans.backup.parameters[{parameter['name']}]{field}"
    assert found(declaring(text, backup=plan(parameter))) == [f"{code} {where}"]


def test_names_are_of_one_parameter_alone() -> None:
    twice = declaring(USED, backup=plan(NAME, NAME))
    assert found(twice) == ["ParameterDuplicate plans.backup.parameters[name]"]
    operator = declaring(USED + "{{ .Params.name }}", params=[NAME], backup=plan(NAME))
    assert found(operator) == ["ParameterDuplicate plans.backup.parameters[name].name"]


def test_plans_that_start_by_themselves_require_none(subtests: pytest.Subtests) -> None:
    triggered = [{"name": "BACKUP", "trigger": "backup", "default": "0"}]
    for name in ("deploy", "update", "upgrade", "cleanup", "backup"):
        with subtests.test(plan=name):
            of = declaring(USED + "{{ .Params.BACKUP }}", params=triggered, **{name: plan(NAME)})
            expected = f"ParameterRequired plans.{name}.parameters[name]"
            assert expected in found(of)
            optional = plan({"name": "name", "default": "a"})
            assert found(
                declaring(USED + "{{ .Params.BACKUP }}", params=triggered, **{name: optional})
            ) in ([], ["PlanUnknown"])


@pytest.mark.parametrize(
    ("text", "when", "place"),
    [
        ("{{ .RunParams.nam }}", "", ""),
        ("x", "runParams.nam == 'a'", "plans.backup.phases[0].steps[0].when"),
    ],
)
def test_a_use_that_the_plan_does_not_declare_is_found(text: str, when: str, place: str) -> None:
    of = declaring(text, backup=plan(NAME, when=when))
    unknown, unused = (one for one in verify(of) if one.code in CODES)
    assert (unknown.code, unknown.place.field) == ("RunParameterUnknown", place)
    assert unknown.suggestion == 'did you mean "name"?'
    assert unused.code == "ParameterUnused"


def test_a_template_of_a_plan_that_declares_none_has_to_ask() -> None:
    both = {"backup": plan(NAME), "restore": plan()}
    [one] = [one for one in verify(declaring(USED, **both)) if one.code in CODES]
    assert one.code == "RunParameterUnknown"
    assert 'in plan "restore", which declares none' in one.problem.message
    asked = '{{ if hasKey .RunParams "name" }}{{ .RunParams.name }}{{ end }}'
    assert found(declaring(asked, **both)) == []


def test_what_nothing_uses_is_a_warning_unless_all_are_used_at_once() -> None:
    unused = declaring("x", backup=plan(NAME))
    assert found(unused) == ["ParameterUnused plans.backup.parameters[name]"]
    assert found(declaring("{{ .RunParams | toYaml }}", backup=plan(NAME))) == []


def test_the_version_that_reads_them_is_to_be_said() -> None:
    of = declaring(USED, backup=plan(NAME))
    older = of.operator.model_copy(update={"kudo_version": "0.19.0"})
    assert "KudoVersionTooLow kudoVersion" in found(
        Package(older, of.parameters, of.groups, of.templates, of.origin, files=of.files)
    )
