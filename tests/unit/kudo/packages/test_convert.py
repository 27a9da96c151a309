"""From a package to the objects of the API."""

import pytest

from kudo.api import Instance, Operator, OperatorVersion, Parameter
from kudo.api.problems import InvalidInput, Problem
from kudo.packages.convert import PackageObjects, to_objects
from kudo.packages.files import PackageFiles
from kudo.packages.model import Package
from kudo.packages.reader import parse_package
from kudo.parameters.template import template_values
from kudo.parameters.values import check_value, missing_required

_OPERATOR = """\
name: first
operatorVersion: 0.1.0
description: d
kubernetesVersion: 1.17.0
maintainers: [{name: A}]
tasks:
- {name: app, kind: Apply, spec: {resources: [a.yaml]}}
plans:
  deploy:
    strategy: serial
    phases: [{name: main, strategy: parallel, steps: [{name: s, tasks: [app]}]}]
  other: {phases: [{name: none}]}
"""


def _package(operator: str = _OPERATOR, parameters: str = "") -> Package:
    files = {"operator.yaml": operator, "params.yaml": parameters, "templates/a.yaml": "a: 1\n"}
    return parse_package(PackageFiles("/p", {path: text.encode() for path, text in files.items()}))


def _objects(operator: str = _OPERATOR, parameters: str = "") -> PackageObjects:
    return to_objects(_package(operator, parameters), "ns")


def _converted(parameter: str) -> Parameter:
    return _objects(parameters=f"parameters:\n- {parameter}").operator_version.parameters[0]


def _faults(tasks: str) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        _objects(f"name: o\ntasks:\n{tasks}")
    assert {(p.reason, p.field) for p in caught.value.problems} == {
        ("PackageInvalid", "operator.yaml")
    }
    return [problem.message for problem in caught.value.problems]


def test_time_limits_are_carried_as_they_are_written() -> None:
    text = """\
name: first
operatorVersion: 0.1.0
tasks: [{name: app, kind: Dummy, timeout: 90s, progressDeadline: soon}, {name: b, kind: Dummy}]
plans:
  deploy:
    timeout: 1h30m
    phases: [{name: main, timeout: 1h, steps: [{name: s, tasks: [app], timeout: 10}]}]
"""
    version = _objects(text).operator_version
    app, other = version.spec.tasks or ()
    assert (app.timeout, app.progress_deadline) == ("90s", "soon")
    assert other.to_wire() == {"name": "b", "kind": "Dummy"}
    plan = version.plans["deploy"]
    (phase,) = plan.phases or ()
    assert (plan.timeout, phase.timeout, phase.steps[0].timeout) == ("1h30m", "1h", "10")


def test_a_package_says_whether_its_instances_are_pruned(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, dict[str, bool]]] = [
        ("", {}),
        ("prune: true", {"prune": True}),
        ("PRUNE: false", {"prune": False}),
    ]
    for line, spec in table:
        with subtests.test(line=line, spec=spec):
            plain = _objects().operator_version.to_wire()["spec"]
            assert _objects(_OPERATOR + line).operator_version.to_wire()["spec"] == plain | spec


def test_an_operator_has_what_is_known_apart_from_versions() -> None:
    assert _objects().operator.to_wire() == {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "Operator",
        "metadata": {"name": "first", "namespace": "ns"},
        "spec": {
            "description": "d",
            "kubernetesVersion": "1.17.0",
            "maintainers": [{"name": "A"}],
        },
    }


def test_an_operator_version_has_templates_tasks_parameters_and_plans() -> None:
    objects = _objects(parameters="parameters: [{name: P, default: 1, type: integer, trigger: t}]")
    wire = objects.operator_version.to_wire()
    assert wire["metadata"] == {"name": "first-0.1.0", "namespace": "ns"}
    phase = {
        "name": "main",
        "strategy": "parallel",
        "steps": [{"name": "s", "tasks": ["app"]}],
    }
    assert wire["spec"] == {
        "operator": {"name": "first", "kind": "Operator"},
        "version": "0.1.0",
        "templates": {"a.yaml": "a: 1\n"},
        "tasks": [{"name": "app", "kind": "Apply", "spec": {"resources": ["a.yaml"]}}],
        "parameters": [
            {
                "name": "P",
                "default": "1",
                "required": True,
                "immutable": False,
                "trigger": "t",
                "value-type": "integer",
            }
        ],
        "plans": {
            "deploy": {"strategy": "serial", "phases": [phase]},
            "other": {"phases": [{"name": "none"}]},
        },
    }


def test_an_instance_is_named_after_the_operator_and_labelled_with_it() -> None:
    assert _objects(_OPERATOR + "appVersion: 3.10\n").instance.to_wire() == {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "Instance",
        "metadata": {
            "name": "first-instance",
            "namespace": "ns",
            "labels": {"kudo.dev/operator": "first"},
        },
        "spec": {"operatorVersion": {"name": "first-3.1-0.1.0"}},
    }


def test_objects_survive_the_wire() -> None:
    objects = _objects(parameters="parameters: [{name: M, type: map, default: {a: [1]}, enum: []}]")
    assert Operator.from_wire(objects.operator.to_wire()) == objects.operator
    version = objects.operator_version
    assert OperatorVersion.from_wire(version.to_wire()) == version
    assert Instance.from_wire(objects.instance.to_wire()) == objects.instance


def test_defaults_become_text() -> None:
    table: dict[str, str | None] = {
        "3": "3",
        "0.5": "0.5",
        "yes": "true",
        "0777": "511",
        "2020-01-01": "2020-01-01",
        "10000000": "10000000",
        "12345678901234567890123": "12345678901234567890123",
        "[1]": "[1]",
        "{a: b}": "map[a:b]",
        "''": "",
        "~": None,
    }
    assert {
        default: _converted(f"{{name: P, default: {default}}}").default for default in table
    } == table


def test_defaults_of_maps_become_yaml() -> None:
    default = '{port: 8080, big: 10000000, s: "yes", "n": null, l: [1, "2", true]}'
    parameter = _converted(f"{{name: P, type: map, default: {default}}}")
    assert parameter.default == (
        'big: 10000000\nl:\n- 1\n- "2"\n- true\n"n": null\nport: 8080\ns: "yes"\n'
    )


def test_arrays_and_maps_that_say_required_need_a_value(subtests: pytest.Subtests) -> None:
    for kind in ["array", "map"]:
        with subtests.test(kind=kind):
            # BTO-13: a required array or map got the default `null`, and so needed no value.
            parameter = _converted(f"{{name: P, type: {kind}, required: true}}")
            assert parameter.default is None
            assert len(missing_required([parameter], {})) == 1


@pytest.mark.parametrize(("kind", "value"), [("array", []), ("map", None)])
@pytest.mark.parametrize(
    "fields", ["", ", required: false", ", default: null", ", default: null, required: true"]
)
def test_arrays_and_maps_are_null_by_default(fields: str, kind: str, value: object) -> None:
    parameter = _converted(f"{{name: P, type: {kind}{fields}}}")
    assert parameter.default == "null\n"
    assert missing_required([parameter], {}) == ()
    assert check_value(parameter, parameter.default) is None
    assert template_values([parameter], {}) == {"P": value}


def test_texts_without_a_default_have_none() -> None:
    parameter = _converted("{name: P}")
    assert parameter.default is None
    assert len(missing_required([parameter], {})) == 1


def test_array_defaults_written_as_text_reach_templates_as_lists() -> None:
    parameter = _converted("{name: P, type: array, default: '[1, 2]'}")
    assert template_values([parameter], {}) == {"P": [1, 2]}


def test_enum_values_become_text() -> None:
    table: dict[str, tuple[str, ...] | None] = {
        "{name: P}": None,
        "{name: P, enum: []}": (),
        "{name: P, enum: [1, 2.50, yes, a]}": ("1", "2.5", "true", "a"),
        "{name: P, type: array, enum: [[1], []]}": ("- 1\n", "[]\n"),
    }
    assert {parameter: _converted(parameter).enum for parameter in table} == table


@pytest.mark.parametrize(
    ("field", "required", "immutable"),
    [("name: P", True, False), ("required: false", False, False), ("immutable: true", True, True)],
)
def test_absent_flags_are_written_out(field: str, *, required: bool, immutable: bool) -> None:
    parameter = _converted(f"{{{field}}}")
    assert (parameter.required, parameter.immutable) == (required, immutable)


def test_groups_hints_and_advanced_are_left_out() -> None:
    parameter = _converted("{name: P, group: g, advanced: true, hint: h}")
    assert parameter.to_wire() == {"name": "P", "required": True, "immutable": False}


def test_tasks_that_lack_something_are_named() -> None:
    table = [
        ("{name: t, kind: X}", "unknown task kind X"),
        ("{name: t, kind: apply}", "unknown task kind apply"),
        ("{name: t, kind: Apply, spec: {resources: [r]}}", "task t missing template: r"),
        ("{name: t, kind: Delete, spec: {resources: [r]}}", "task t missing template: r"),
        (
            "{name: t, kind: Toggle, spec: {parameter: p, resources: [r]}}",
            "task t missing template: r",
        ),
        (
            "{name: t, kind: Toggle, spec: {resources: [a.yaml]}}",
            "toggle task t does not have parameter specified",
        ),
        (
            "{name: t, kind: Pipe, spec: {pod: a.yaml}}",
            "task t does not have pipe files specified",
        ),
        (
            "{name: t, kind: Pipe, spec: {pod: r, pipe: [{key: k}]}}",
            "task t missing template: r",
        ),
        (
            "{name: t, kind: KudoOperator, spec: {package: c, parameterFile: r}}",
            "task t missing template: r",
        ),
    ]
    for task, message in table:
        assert _faults(f"- {task}") == [message]


def test_all_faulty_tasks_are_named() -> None:
    tasks = "- {name: a, kind: A}\n- {name: b, kind: Apply, spec: {resources: [p, a.yaml, q]}}"
    assert _faults(tasks) == [
        "unknown task kind A",
        "task b missing template: p",
        "task b missing template: q",
    ]


def test_tasks_that_need_no_template_pass() -> None:
    table = [
        "{name: t, kind: Dummy}",
        "{name: t, kind: KudoOperator, spec: {package: c}}",
        "{name: t, kind: Apply}",
        "{name: t, kind: Delete, spec: {resources: [a.yaml]}}",
    ]
    for task in table:
        assert _objects(f"name: o\ntasks:\n- {task}").operator_version.task("t") is not None


def test_a_problem_reads_as_file_and_message() -> None:
    assert str(Problem("PackageInvalid", "unknown task kind X", "operator.yaml")) == (
        "operator.yaml: unknown task kind X"
    )
