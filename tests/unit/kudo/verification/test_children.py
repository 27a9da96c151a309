"""What `package verify` finds in the parameters that tasks give to children."""

from pathlib import Path

import pytest

from kudo.packages.location import locate
from kudo.verification import Finding, verify, verify_dependencies

PARENT = """\
name: parent
operatorVersion: 0.1.0
kubernetesVersion: 1.25.0
tasks:
  - name: child
    kind: KudoOperator
    spec: {package: ./child, parameterFile: child.yaml}
plans: {deploy: {phases: [{name: p, steps: [{name: s, tasks: [child]}]}]}}
"""
CHILD = """\
name: child
operatorVersion: 0.1.0
kubernetesVersion: 1.25.0
tasks: [{name: a, kind: Dummy, spec: {done: true}}]
plans: {deploy: {phases: [{name: p, steps: [{name: s, tasks: [a]}]}]}}
"""
PARAMETERS = """\
parameters:
  - {name: CUPS, type: integer, trigger: deploy}
  - {name: TEA, default: mint, trigger: deploy}
"""


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    """Return the folder of a package with a child."""
    for folder, operator, parameters in (
        (tmp_path, PARENT, "parameters: [{name: SIZE, default: 1}]\n"),
        (tmp_path / "child", CHILD, PARAMETERS),
    ):
        (folder / "templates").mkdir(parents=True)
        (folder / "operator.yaml").write_text(operator)
        (folder / "params.yaml").write_text(parameters)
    give(tmp_path, "CUPS: {{ .Params.SIZE }}\n")
    return tmp_path


def give(folder: Path, text: str) -> None:
    (folder / "templates" / "child.yaml").write_text(text)


def found(folder: Path) -> list[Finding]:
    located = locate(folder)
    return [*verify(located.package), *verify_dependencies(located)]


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("", ""),
        ("orders.eu-1", ""),
        ("a" * 253, ""),
        (
            "{{ .Name }}-db",
            "it is no template: leave it out, and the child is named after its parent",
        ),
        (
            "Orders",
            'use at most 253 lower-case letters, digits, "-" and ".", with a letter or digit at',
        ),
    ],
)
def test_a_child_needs_a_name_that_an_instance_can_have(
    parent: Path, name: str, suggestion: str
) -> None:
    named = PARENT.replace("./child,", f'./child, instanceName: "{name}",')
    (parent / "operator.yaml").write_text(named)
    findings = found(parent)
    assert [one.code for one in findings] == ["ObjectNameInvalid"] * bool(suggestion)
    for finding in findings:
        assert finding.suggestion.startswith(suggestion)
        assert (finding.place.field, finding.place.line) == ("tasks[child].spec.instanceName", 7)
        # KUDO 0.19 installs such a package, and its other plans run.
        assert (finding.is_error, finding.ends) == (True, False)


def test_values_for_parameters_that_the_child_has_are_fine(parent: Path) -> None:
    assert found(parent) == []


def test_a_parameter_that_the_child_does_not_have_is_an_error(parent: Path) -> None:
    give(parent, "{{ if .Name }}\nCUPS: {{ .Params.SIZE }}\nTAE: green\n{{ end }}")
    [finding] = found(parent)
    assert (finding.is_error, finding.code) == (True, "ParameterUnknown")
    assert finding.problem.message == (
        'parameter "TAE" of task "child" is not declared by package child'
    )
    assert finding.place.position == "templates/child.yaml:3"
    assert finding.suggestion == 'did you mean "TEA"?'


def test_a_parameter_that_the_child_requires_is_given(parent: Path) -> None:
    give(parent, "TEA: green\n# {{ .Params.SIZE }}\n")
    [finding] = found(parent)
    assert (finding.code, finding.place.position) == ("ParameterRequired", "templates/child.yaml")
    assert 'no value to parameter "CUPS"' in finding.problem.message
    (parent / "operator.yaml").write_text(PARENT.replace(", parameterFile: child.yaml", ""))
    assert [one.place.position for one in found(parent) if one.code == "ParameterRequired"] == [
        "operator.yaml:7:5"
    ]


def test_a_value_that_is_always_wrong_is_an_error(parent: Path) -> None:
    give(parent, "CUPS: two\nTEA: '{{ .Params.SIZE }}'\n")
    [finding] = found(parent)
    assert (finding.code, finding.place.position) == ("ParameterInvalid", "templates/child.yaml:1")


@pytest.mark.parametrize("text", ["[a]", "CUPS: null\n", "a: b: c"])
def test_a_parameter_file_that_cannot_be_read_is_an_error(parent: Path, text: str) -> None:
    give(parent, text)
    assert [one.code for one in found(parent) if one.is_error] == ["ParameterInvalid"]


def test_a_child_of_a_child_is_checked_in_its_own_files(parent: Path) -> None:
    (parent / "child").rename(parent / "kept")
    (parent / "child" / "templates").mkdir(parents=True)
    (parent / "child" / "operator.yaml").write_text(PARENT.replace("parent", "middle"))
    (parent / "child" / "params.yaml").write_text("parameters: [{name: CUPS}]\n")
    (parent / "kept").rename(parent / "child" / "child")
    give(parent / "child", "NONE: {{ .Params.CUPS }}\n")
    positions = [(one.code, one.place.position) for one in found(parent)]
    template = f"{parent}/child/templates/child.yaml"
    assert positions == [("ParameterUnknown", f"{template}:1"), ("ParameterRequired", template)]


SECRETS = """\
parameters:
  - {name: PASSWORD, secret: true, required: false, trigger: deploy}
  - {name: TEA, default: mint, trigger: deploy}
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PASSWORD: '{{ .Params.PIN }}'\n", ""),
        ("TEA: '{{ .Params.SIZE }}'\n", ""),
        ("TEA: '{{ .Params.PIN }}'\n", 'parameter "TEA" of package child gets a secret'),
        ("PASSWORD: 'a{{ .Params.PIN }}'\n", "has a secret as a part of a text"),
        ("TEA: '{{ .Params.PIN | b64enc }}'\n", "has a secret as a part of a text"),
        ("PASSWORD: hunter2\n", "is secret, and gets a plain value"),
    ],
)
def test_a_child_gets_references_and_no_secret_values(
    parent: Path, text: str, message: str
) -> None:
    pin = "parameters: [{name: SIZE, default: 1}, {name: PIN, secret: true}]\n"
    (parent / "params.yaml").write_text(pin)
    (parent / "child" / "params.yaml").write_text(SECRETS)
    give(parent, text + "# {{ .Params.SIZE }}{{ if .Params.PIN }}{{ end }}\n")
    findings = [one for one in found(parent) if one.code == "SecretExposed"]
    assert len(findings) == bool(message)
    assert all(message in one.problem.message for one in findings)
