"""`package list`: the tables and trees of KUDO 0.19, and data, of folders and archives."""

import json
from pathlib import Path

import pytest
import yaml

from tests.unit.cli.conftest import Cli

OPERATOR = """\
name: teapot
operatorVersion: 0.3.0
kubernetesVersion: 1.22.0
tasks:
  - {name: pot, kind: Apply, spec: {resources: [pot.yaml, lid.yaml]}}
  - {name: milk, kind: Toggle, spec: {parameter: MILK, resources: [milk.yaml]}}
  - {name: leaves, kind: Pipe, spec: {pod: leaves.yaml, pipe: [{file: /t, kind: Secret, key: t}]}}
  - {name: cup, kind: KudoOperator, spec: {package: cup}}
  - {name: wash, kind: Delete, spec: {resources: [pot.yaml]}}
  - {name: rest, kind: Dummy}
plans:
  deploy:
    strategy: parallel
    phases:
      - name: main
        steps:
          - {name: brew, tasks: [pot, leaves]}
          - {name: serve, tasks: [milk, cup, sugar]}
      - {name: end, strategy: parallel, steps: [{name: rest, tasks: [rest]}]}
  cleanup:
    phases: [{name: sink, steps: [{name: wash, tasks: [wash]}]}]
"""
PARAMETERS = """\
parameters:
  - {name: TEA, description: The tea that is brewed where nobody asks for another one}
  - {name: CUPS, type: integer, default: 1000000, immutable: true}
  - {name: MILK, type: boolean, default: false, required: false, group: taste}
  - {name: EXTRAS, type: array, default: [lemon, honey]}
  - {name: SIZE, enum: [small, 2], required: false}
"""


@pytest.fixture
def teapot(package: Path) -> str:
    """Return a package with tasks of every kind."""
    (package / "operator.yaml").write_text(OPERATOR)
    (package / "params.yaml").write_text(PARAMETERS)
    for name in ("pot", "lid", "milk", "leaves"):
        (package / "templates" / f"{name}.yaml").write_text("# {{ .Name }}\n")
    return str(package)


def test_parameters_are_sorted_and_defaults_have_all_their_lines(run: Cli, teapot: str) -> None:
    # BTO-12: large numbers were shown with an exponent.
    assert run("package", "list", "parameters", teapot).out == (
        "Name  \tDefault\tRequired\tImmutable\n"
        "CUPS  \t1000000\ttrue    \ttrue     \n"
        "EXTRAS\t- lemon\ttrue    \tfalse    \n"
        "      \t- honey\t        \t         \n"
        "      \t       \t        \t         \n"
        "MILK  \tfalse  \tfalse   \tfalse    \n"
        "SIZE  \t       \tfalse   \tfalse    \n"
        "TEA   \t       \ttrue    \tfalse    \n"
    )


def test_a_required_array_without_default_has_to_be_set(
    run: Cli, teapot: str, package: Path
) -> None:
    # BTO-13: a null default counted as a value.
    (package / "params.yaml").write_text("parameters: [{name: A, type: array, required: true}]")
    assert "A" in run("package", "list", "parameters", teapot, "-r").out


def test_time_limits_are_listed_where_there_are_any(run: Cli, package: Path) -> None:
    (package / "operator.yaml").write_text("""\
name: teapot
operatorVersion: 0.3.0
tasks: [{name: rest, kind: Dummy, timeout: 5m, progressDeadline: 90s}]
plans:
  deploy:
    timeout: 1h
    phases: [{name: main, timeout: 30m, steps: [{name: brew, timeout: 10m, tasks: [rest]}]}]
""")
    path = str(package)
    tree = run("package", "list", "plans", path).out
    for line in ("deploy (serial, timeout 1h)", "main (serial, timeout 30m)", "brew (timeout 10m)"):
        assert line in tree
    (task,) = json.loads(run("package", "list", "tasks", path, "-o", "json").out)
    assert (task["timeout"], task["progressDeadline"]) == ("5m", "90s")
    (plan,) = yaml.safe_load_all(run("package", "list", "plans", path, "-o", "yaml").out)
    (phase,) = plan["phases"]
    assert [plan["timeout"], phase["timeout"], phase["steps"][0]["timeout"]] == ["1h", "30m", "10m"]
    page = run("package", "docs", path).out
    assert "### Plan `deploy`, timeout `1h`" in page
    assert "* phase `main`, timeout `30m`\n    * step `brew`, timeout `10m`: `rest`" in page


def test_archives_are_listed_like_folders(run: Cli, teapot: str, tmp_path: Path) -> None:
    assert run("package", "create", teapot, "-d", str(tmp_path), "--skip-verify").code == 0
    archive = str(tmp_path / "teapot-0.3.0.tgz")
    for what in ("tasks", "plans", "parameters", "params"):
        assert run("package", "list", what, archive) == run("package", "list", what, teapot)


def test_a_package_with_nothing_in_it_is_said_to_be_empty(
    run: Cli, teapot: str, package: Path
) -> None:
    (package / "operator.yaml").write_text("name: teapot\n")
    assert run("package", "list", "tasks", teapot).out == "no tasks  found\n"
    assert run("package", "list", "plans", teapot).out == "no plans found\n"


def test_without_argument_the_folder_is_found(
    run: Cli, teapot: str, package: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # BTO-50: the form without argument asked a repository for an operator of no name.
    expected = run("package", "list", "parameters", teapot)
    monkeypatch.chdir(package)
    assert run("package", "list", "parameters") == expected
    monkeypatch.chdir(tmp_path)
    assert run("package", "list", "parameters") == expected
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "operator.yaml").write_text("")
    ran = run("package", "list", "parameters")
    text = "multiple operator folders discovered: b, teapot; change to one of them"
    assert (ran.code, ran.err) == (255, f"Error: {text}\n")
    monkeypatch.chdir(package / "templates")
    assert run("package", "list", "parameters").err.startswith(
        "Error: no operator folder discovered; "
    )


@pytest.mark.parametrize("what", ["tasks", "plans", "params"])
def test_what_cannot_be_listed_is_told(run: Cli, what: str, package: Path, tmp_path: Path) -> None:
    one = "expecting exactly one argument - directory of the operator or name of package"
    assert run("package", "list", what, "a", "b").err == f"Error: {one}\n"
    none = str(tmp_path / "none")
    headline = f"failed to resolve package files for operator: {none}:"
    ran = run("package", "list", what, none)
    assert (ran.code, ran.out) == (3, "")
    assert ran.err == f"Error: {headline} stat {none}: no such file or directory\n"
    # BTO-68: a null in an enum crashed.
    (package / "params.yaml").write_text("parameters: [{name: A, enum: [null]}]\n")
    assert (
        'parameter "A" has a null value in its enum'
        in run("package", "list", what, str(package)).err
    )
    assert "only support 'yaml' or 'json'" in run("package", "list", what, none, "-o", "xml").err


def test_conditions_are_shown_with_what_they_decide_about(run: Cli, package: Path) -> None:
    (package / "operator.yaml").write_text(
        "name: teapot\noperatorVersion: 0.3.0\nkubernetesVersion: 1.22.0\nplans:\n  deploy:\n"
        "    steps:\n    - name: pot\n      when: params.CUPS > 1 &&\n        params.MILK\n"
        "      apply: [pot.yaml]\n"
    )
    (package / "params.yaml").write_text(PARAMETERS)
    shown = "params.CUPS > 1 && params.MILK"
    folder = str(package)
    assert f"[step]  pot (when {shown})\n" in run("package", "list", "plans", folder).out
    data = run("package", "list", "plans", folder, "-o", "yaml").out
    assert f"when: {shown}\n" in data
    assert f"step `pot`, only when `{shown}`: `pot`" in run("package", "docs", folder).out
    values = ("-p", "TEA=green")
    assert f"\n# when: {shown}\n" in run("package", "render", folder, *values).out
    [item] = json.loads(run("package", "render", folder, *values, "-o", "json").out)
    assert item["when"] == [shown]
