"""Parameters of runs in `package list plans`, `docs`, `render` and the completion of a package."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.completion.test_cli_complete import offered
from tests.unit.cli.conftest import Cli

OPERATOR = """\
name: teapot
operatorVersion: 0.3.0
kubernetesVersion: 1.22.0
kudoVersion: 0.20.0
plans:
  deploy:
    steps: [{name: rest, dummy: {done: true}}]
  brew:
    parameters:
      - {name: tea, description: Which tea., enum: [green, black]}
      - {name: cups, type: integer, default: 2, minimum: 1}
      - {name: sugar, type: boolean, required: false}
    steps: [{name: pot, apply: [pot.yaml]}]
"""
POT = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: pot}
data: {tea: "{{ .RunParams.tea }}", cups: "{{ .RunParams.cups }}", sugar: "{{ .RunParams.sugar }}"}
"""


@pytest.fixture
def teapot(package: Path) -> str:
    for file in (package / "templates").iterdir():
        file.unlink()
    (package / "operator.yaml").write_text(OPERATOR)
    (package / "params.yaml").write_text("parameters: []\n")
    (package / "templates" / "pot.yaml").write_text(POT)
    return str(package)


def test_it_is_valid(run: Cli, teapot: str) -> None:
    assert run("package", "verify", teapot).out == "package is valid\n"


def test_plans_are_listed_with_them(run: Cli, teapot: str) -> None:
    shown = run("package", "list", "plans", teapot).out
    for line in ("tea (required)", "cups (integer, default 2)", "sugar (boolean, optional)"):
        assert f"[parameter]  {line}\n" in shown
    [brew, _] = json.loads(run("package", "list", "plans", teapot, "-o", "json").out)
    assert brew["parameters"] == [
        {"name": "tea", "required": True, "description": "Which tea.", "enum": ["green", "black"]},
        {"name": "cups", "required": True, "type": "integer", "default": "2", "minimum": 1},
        {"name": "sugar", "required": False, "type": "boolean"},
    ]


def test_the_reference_has_a_table_of_them_and_the_command(run: Cli, teapot: str) -> None:
    shown = run("package", "docs", teapot).out
    assert "`kubectl kudo plan trigger --instance NAME --name brew -p NAME=VALUE`" in shown
    assert "| `tea` | Which tea. | string: `green`, `black` |  | yes |\n" in shown
    assert "| `cups` |  | integer; at least 1 | `2` | no |\n" in shown


def test_they_are_rendered_as_given_or_by_stand_ins(run: Cli, teapot: str) -> None:
    render = ("package", "render", teapot, "--plan", "brew")
    assert "tea: green\n  cups: '2'" in run(*render).out
    given = run(*render, "-p", "tea=black", "-p", "sugar=yes").out
    assert "tea: black\n  cups: '2'\n  sugar: 'true'" in given
    wrong = run(*render, "-p", "cups=0")
    assert (wrong.code, 'run parameter "cups" has an invalid value' in wrong.err) == (4, True)
    elsewhere = run(*render, "-p", "tea@secret=a/b")
    assert "parameters of a run have values, and take none from elsewhere: tea" in elsewhere.err
    # Of a plan that does not declare it, it is no parameter at all.
    assert 'parameter "tea" is not declared' in run("package", "render", teapot, "-p", "tea=a").err


def test_they_are_offered_for_the_plan_that_is_named(run: Cli, teapot: str) -> None:
    line = ("package", "render", teapot, "--plan", "brew", "-p")
    assert offered(run, *line, "")[0] == ["cups=", "sugar=", "tea="]
    assert offered(run, *line, "tea=")[0] == ["tea=black", "tea=green"]
    assert offered(run, "package", "render", teapot, "-p", "")[0] == []
