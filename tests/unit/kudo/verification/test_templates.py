"""What `package verify` finds in templates: what they use, what they render to, namespaces."""

import pytest

from kudo.verification import verify
from tests.unit.kudo.verification.test_verification import (
    FILE,
    OBJECT,
    Json,
    found,
    package,
    places,
    plan,
    task,
    tasks,
    using,
    warned,
)

# Templates and tasks


def test_parameters_of_templates_and_toggles_are_defined() -> None:
    toggle = task("Toggle", resources=["a.yaml"], parameter="NOPE")
    text = OBJECT + "data:\n  a: '{{ .Params.SIZE }}'\n"
    of = package(tasks=tasks(toggle), plans=using("x"), templates={"a.yaml": text})
    assert found(of)[:2] == [
        'parameter "SIZE" in template a.yaml is not defined',
        'parameter "NOPE" in ToggleTask x is not defined',
    ]
    assert places(of)[:2] == ["templates/a.yaml:5", "operator.yaml: tasks[x].spec.parameter"]


def test_a_parameter_that_nothing_uses_is_warned_of() -> None:
    of = package(parameters=[{"name": "P", "default": "1"}])
    assert warned(of) == ['parameter "P" defined but not used.']
    assert found(of) == []


def test_toggles_and_triggers_use_a_parameter() -> None:
    toggle = task("Toggle", resources=["a.yaml"], parameter="ON")
    parameters = [
        {"name": "ON", "type": "boolean", "default": "true"},
        {"name": "GO", "default": "1", "trigger": "deploy"},
    ]
    assert verify(package(tasks=tasks(toggle), plans=using("x"), parameters=parameters)) == ()


def test_a_template_that_cannot_be_parsed_is_told_with_its_line() -> None:
    of = package(templates={"a.yaml": OBJECT + "{{ nope }}"}, parameters=[{"name": "P"}])
    assert found(of) == [
        (
            'template file "a.yaml" reports the following error: '
            'template: a.yaml:4: function "nope" not defined'
        ),
        'error parsing template: template: a.yaml:4: function "nope" not defined',
    ]
    assert places(of) == ["templates/a.yaml:4"] * 2


def test_tasks_name_templates_that_there_are() -> None:
    extra = (
        task("Delete", "d", resources=["a.yaml", "b.yaml"]),
        task("Pipe", "p", pod="pod.yaml", pipe=[FILE]),
        task("KudoOperator", "k", package="./c", parameterFile="values.yaml"),
    )
    of = package(tasks=tasks(*extra), plans=using("d", "p", "k"))
    assert found(of) == [
        'template "b.yaml" required by d but is not defined',
        'template "pod.yaml" required by p but is not defined',
        'template "values.yaml" required by k but is not defined',
    ]


def test_a_template_that_no_task_names_is_warned_of() -> None:
    of = package(templates={"a.yaml": OBJECT, "sub/b.yaml": OBJECT})
    assert warned(of) == ['template "sub/b.yaml" is not referenced from any task']
    assert places(of) == ["templates/sub/b.yaml"]


# Rendering


def test_templates_render_to_objects(subtests: pytest.Subtests) -> None:
    table = [
        (
            "{{ index .Params.LIST 5 }}",
            "error rendering template: template: a.yaml:1:3: executing",
        ),
        ("a: [", "parsing rendered YAML from a.yaml failed: "),
        ("just text", "parsing rendered YAML from a.yaml failed: "),
        ("apiVersion: v1\nmetadata: {name: a}", "parsing rendered YAML from a.yaml failed: "),
        ("kind: ConfigMap\nmetadata: {name: a}", "parsing rendered YAML from a.yaml failed: "),
        (f"{OBJECT}---\n- 1", "parsing rendered YAML from a.yaml failed: "),
    ]
    for text, message in table:
        with subtests.test(text=text, message=message):
            parameters = [{"name": "LIST", "type": "array", "default": [], "trigger": "deploy"}]
            [shown] = found(package(templates={"a.yaml": text}, parameters=parameters))
            assert shown.startswith(message)


def test_variables_have_the_values_of_the_package_or_ones_that_an_instance_could_give() -> None:
    expected = {
        "OperatorName": "first",
        "Name": "instance",
        "Namespace": "instance-namespace",
        "AppVersion": "2.0.0",
        "OperatorVersion": "0.1.0",
        "PlanName": "deploy",
        "PhaseName": "phase",
        "StepName": "step",
    }
    checks = "".join(
        f'{{{{ if ne .{name} "{value}" }}}}{{{{ index "x" 9 }}}}{{{{ end }}}}'
        for name, value in expected.items()
    )
    assert verify(package(templates={"a.yaml": checks + OBJECT}, appVersion="2.0.0")) == ()


def test_pipes_hold_the_keys_of_all_plans() -> None:
    pipe = task("Pipe", "p", pod="a.yaml", pipe=[FILE])
    text = OBJECT + "data: {a: '{{ .Pipes.k }}'}"
    of = package(tasks=tasks(pipe), plans=using(later=plan("p")), templates={"a.yaml": text})
    assert verify(of) == ()


def test_a_pipe_key_is_used_once_in_a_plan() -> None:
    pipes = [task("Pipe", name, pod="a.yaml", pipe=[FILE]) for name in ("p", "q")]
    of = package(tasks=tasks(*pipes), plans=using("p", "q"))
    assert found(of) == ["duplicated pipe key k"]
    assert verify(package(tasks=tasks(*pipes), plans=using("p", later=plan("q")))) == ()


def test_parameter_files_of_children_need_not_be_objects() -> None:
    child = task("KudoOperator", package="./c", parameterFile="values.yaml")
    given: Json = {"tasks": tasks(child), "plans": using("x")}
    assert verify(package(**given, templates={"a.yaml": OBJECT, "values.yaml": "SIZE: 1"})) == ()
    [text] = found(
        package(**given, templates={"a.yaml": OBJECT, "values.yaml": "{{ .Params.X.Y }}"})
    )[1:]
    assert text.startswith("error rendering template: ")


def test_a_value_that_every_instance_gives_is_not_missed() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Params.P }}'}\n"
    for declared in ({"name": "P"}, {"name": "P", "required": False}, {"name": "P", "enum": ["a"]}):
        assert verify(package(templates={"a.yaml": text}, parameters=[declared])) == ()
    text += "data: {a: '{{ div 1 (int .Params.N) }}{{ range .Params.L }}{{ end }}'}\n"
    typed = [{"name": "P"}, {"name": "N", "type": "integer"}, {"name": "L", "type": "array"}]
    assert verify(package(templates={"a.yaml": text}, parameters=typed)) == ()


def test_a_template_that_fails_without_an_optional_value_is_an_error() -> None:
    text = OBJECT + '{{ if eq .Params.P "" }}{{ index "x" 9 }}{{ end }}'
    of = package(templates={"a.yaml": text}, parameters=[{"name": "P", "required": False}])
    assert [message.split(":")[0] for message in found(of)] == ["error rendering template"]


def test_a_wrong_default_does_not_stop_the_other_checks() -> None:
    text = OBJECT + "data: {a: '{{ range .Params.L }}{{ end }}{{ .Params.NOPE }}'}"
    parameters = [{"name": "L", "type": "array", "default": "a: b"}]
    messages = found(package(templates={"a.yaml": text}, parameters=parameters))
    assert len(messages) == 3
    assert messages[1].startswith('parameter "L" has an invalid default value: ')
    assert 'map has no entry for key "NOPE"' in messages[2]


# Namespaces

NAMESPACE = "apiVersion: v1\nkind: Namespace\n"


@pytest.mark.parametrize(
    "text",
    [
        OBJECT + "---\n" + NAMESPACE + "metadata: {name: a}",
        "apiVersion: v1\nkind: 'Namespace' # ours\nmetadata: {name: a}",
        '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}',
        OBJECT + "{{ if .Params.P }}\n---\n" + NAMESPACE + "metadata: {name: a}\n{{ end }}",
    ],
)
def test_only_the_manifest_is_a_namespace(text: str) -> None:
    # BTO-47: quotes hid a Namespace, and comments looked like one.
    parameters = [{"name": "P", "default": "", "trigger": "deploy"}]
    assert found(package(templates={"a.yaml": text}, parameters=parameters)) == [
        (
            "template \"a.yaml\" contains 'kind: Namespace' not allowed unless specified as "
            "'NamespaceManifest'"
        )
    ]


def test_what_only_looks_like_a_namespace_is_fine() -> None:
    table: list[str] = [
        OBJECT.replace("ConfigMap", "NamespaceXyz"),
        "# kind: Namespace\n" + OBJECT,
        OBJECT + "data:\n  a: |\n    kind: Namespace\n",
        OBJECT + "data: {a: '{{ .Namespace }}'}",
    ]
    for text in table:
        assert verify(package(templates={"a.yaml": text})) == ()


def test_the_manifest_is_one_namespace(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, str]] = [
        ("kind: [", 'Unable to marshal NamespaceManifest "ns.yaml" '),
        ("- 1", 'Unable to marshal NamespaceManifest "ns.yaml" '),
        ("# nothing", 'NamespaceManifest "ns.yaml" found but does not contain a manifest'),
        (OBJECT, 'NamespaceManifest "ns.yaml" found but manifest is not kind: Namespace'),
        (
            f"{NAMESPACE}---\n{NAMESPACE}",
            'NamespaceManifest "ns.yaml" found but contains 2 manifests which is greater than 1',
        ),
    ]
    for text, message in table:
        with subtests.test(text=text, message=message):
            of = package(namespaceManifest="ns.yaml", templates={"a.yaml": OBJECT, "ns.yaml": text})
            assert found(of) == [message]
            assert places(of) == ["templates/ns.yaml"]


def test_the_manifest_may_have_expressions_and_needs_no_name() -> None:
    text = NAMESPACE + "metadata:\n  labels:\n    a: {{ .Name }}\n"
    of = package(namespaceManifest="ns.yaml", templates={"a.yaml": OBJECT, "ns.yaml": text})
    assert verify(of) == ()


def test_a_manifest_that_cannot_be_rendered_is_told_as_such() -> None:
    of = package(
        namespaceManifest="ns.yaml", templates={"a.yaml": OBJECT, "ns.yaml": "{{ index `no` 9 }}"}
    )
    [text] = found(of)
    assert text.startswith("error rendering template: ")


def test_the_manifest_is_one_of_the_templates() -> None:
    of = package(namespaceManifest="ns.yaml")
    assert found(of) == ['NamespaceManifest "ns.yaml" not found in /templates folder']
    assert places(of) == ["operator.yaml: namespaceManifest"]
