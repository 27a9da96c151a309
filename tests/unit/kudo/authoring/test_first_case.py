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


def test_the_harness_can_read_the_case(tmp_path: Path) -> None:
    files = files_of(tmp_path, "{name: size, enum: ['a: b', 'c\"d'], default: 'a: b'}")
    case = tmp_path / "tests" / "install"
    case.mkdir(parents=True)
    for name, text in files.items():
        (case / name).write_text(text)
    suite: Suite = load_suite(SuiteRequest(test_dirs=(str(tmp_path / "tests"),)))
    steps = suite.test_dirs[0].cases[0].steps
    assert suite.warnings == ()
    assert [step.title for step in steps] == ["0-install", "1-update", "2-uninstall"]
    assert [len(step.objects.errors) for step in steps] == [1, 0, 1]
