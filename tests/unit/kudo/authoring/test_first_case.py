"""The first test case of a package."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from kudo.authoring.first_case import first_case
from kudo.packages.reader import read_package
from kudo_harness.suite import Suite, SuiteRequest, load_suite

OPERATOR = """\
name: web
operatorVersion: 0.1.0
kubernetesVersion: 1.25.0
tasks: [{name: app, kind: Dummy, spec: {done: true}}]
plans:
  deploy: &plan {phases: [{name: main, steps: [{name: app, tasks: [app]}]}]}
  restart: *plan
"""

FIRST = "{name: a, type: integer, default: 1"


def files_of(folder: Path, parameters: str, operator: str = OPERATOR) -> Mapping[str, str]:
    (folder / "operator.yaml").write_text(operator)
    (folder / "params.yaml").write_text(f"parameters: [{parameters}]\n")
    return first_case(read_package(folder)).files()


def commands(files: Mapping[str, str], name: str) -> str:
    step = yaml.safe_load(files[name])
    assert step["commands"][0]["namespaced"] is True
    return str(step["commands"][0]["command"])


def suite_of(folder: Path, files: Mapping[str, str]) -> Suite:
    case = folder / "tests" / "install"
    case.mkdir(parents=True)
    for name, text in files.items():
        (case / name).write_text(text)
    suite = load_suite(SuiteRequest(test_dirs=(str(folder / "tests"),)))
    assert suite.warnings == ()
    return suite


@pytest.mark.parametrize(
    ("parameters", "command"),
    [
        ("{name: count, type: integer, default: 1}", "-p count=2"),
        ("{name: count, type: integer, default: '7'}", "-p count=8"),
        ("{name: count, type: integer, default: 5, maximum: 5}", "-p count=4"),
        ("{name: enabled, type: boolean, default: true}", "-p enabled=false"),
        ("{name: enabled, type: boolean, default: 'false'}", "-p enabled=true"),
        ("{name: size, enum: [small, large], default: small}", "-p size=large"),
        ("{name: size, enum: [a b, c$], default: a b}", "-p size='c$$'"),
        ("{name: flag, enum: [true, false]}", "-p flag=false"),
        ("{name: a, required: false, secret: true}, {name: b, type: boolean}", "-p b=false"),
        ("{name: text, default: a}, {name: count, type: integer, default: 1}", "-p count=2"),
        (f"{FIRST}}}, {{name: b, type: integer, default: 1, trigger: restart}}", "-p b=2"),
        (f"{FIRST}, immutable: true}}, {{name: b, type: integer, default: 4}}", "-p b=5"),
    ],
)
def test_the_update_changes_a_parameter_to_a_valid_value(
    tmp_path: Path, parameters: str, command: str
) -> None:
    files = files_of(tmp_path, parameters)
    wanted = f"kubectl kudo update --instance app {command} --wait"
    assert commands(files, "01-update.yaml") == wanted


@pytest.mark.parametrize(
    "parameters",
    [
        "",
        "{name: text, default: a}",
        "{name: size, enum: [only], default: only}",
        "{name: count, type: integer, default: 1, minimum: 1, maximum: 1}",
    ],
)
def test_without_such_a_parameter_there_is_no_update(tmp_path: Path, parameters: str) -> None:
    names = set(files_of(tmp_path, parameters))
    assert {"01-update.yaml", "01-assert.yaml"}.isdisjoint(names)
    assert {"00-install.yaml", "00-assert.yaml", "02-uninstall.yaml"} <= names


def test_the_assert_of_the_update_names_plan_and_value(tmp_path: Path) -> None:
    files = files_of(tmp_path, "{name: b, type: integer, default: 1, trigger: restart}")
    expected = yaml.safe_load(files["01-assert.yaml"])
    assert expected["spec"] == {"parameters": {"b": "2"}}
    assert expected["status"] == {"planStatus": {"restart": {"status": "COMPLETE"}}}


def test_an_update_runs_the_plan_update_where_there_is_one(tmp_path: Path) -> None:
    operator = OPERATOR.replace("restart:", "update:")
    files = files_of(tmp_path, "{name: count, type: integer, default: 1}", operator)
    assert "update" in yaml.safe_load(files["01-assert.yaml"])["status"]["planStatus"]


def test_parameters_that_are_needed_have_values(tmp_path: Path) -> None:
    parameters = (
        "{name: a}, {name: b, type: integer}, {name: c, enum: [x, y]}, {name: d, required: false}, "
        "{name: e, type: array}, {name: f, format: quantity}, {name: g, type: integer, minimum: 3}"
    )
    files = files_of(tmp_path, parameters)
    wanted = "kubectl kudo install ../.. --instance app -p a=change-me -p b=1 -p c=x "
    wanted += "-p f=1Gi -p g=3"
    assert commands(files, "00-install.yaml") == wanted


def test_secret_parameters_that_are_needed_take_their_values_from_a_secret(tmp_path: Path) -> None:
    parameters = (
        "{name: PASSWORD, secret: true, minLength: 12}, {name: 'ON', type: boolean, secret: true}, "
        "{name: KIND, secret: true, enum: ['a b', 'c']}, {name: d, secret: true, required: false}, "
        "{name: SIZE}, {name: count, type: integer, default: 1}"
    )
    files = files_of(tmp_path, parameters)
    made = yaml.safe_load(files["00-secrets.yaml"])
    assert (made["kind"], made["metadata"]) == ("Secret", {"name": "app-parameters"})
    assert made["stringData"] == {"PASSWORD": "x" * 12, "ON": "true", "KIND": "a b"}
    wanted = "kubectl kudo install ../.. --instance app -p SIZE=change-me"
    wanted += "".join(f" -p {name}@secret=app-parameters/{name}" for name in made["stringData"])
    assert commands(files, "01-install.yaml") == wanted
    assert sorted(files)[1:] == [
        *("01-assert.yaml", "01-errors.yaml", "01-install.yaml"),
        *("02-assert.yaml", "02-update.yaml", "03-errors.yaml", "03-uninstall.yaml"),
    ]


def test_no_update_gives_a_secret_parameter_a_value(tmp_path: Path) -> None:
    files = files_of(tmp_path, "{name: 'ON', type: boolean, secret: true}")
    assert not [name for name in files if name.endswith("-update.yaml")]
    steps = suite_of(tmp_path, files).test_dirs[0].cases[0].steps
    assert [step.title for step in steps] == ["0-secrets", "1-install", "3-uninstall"]


def test_the_harness_can_read_the_case(tmp_path: Path) -> None:
    files = files_of(tmp_path, "{name: size, enum: ['a: b', 'c\"d'], default: 'a: b'}")
    suite = suite_of(tmp_path, files)
    steps = suite.test_dirs[0].cases[0].steps
    assert [step.title for step in steps] == ["0-install", "1-update", "2-uninstall"]
    assert [len(step.objects.errors) for step in steps] == [1, 0, 1]
