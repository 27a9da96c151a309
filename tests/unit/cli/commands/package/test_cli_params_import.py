"""`package params import`: what it writes, keeps, says and refuses."""

import json
from pathlib import Path

import pytest

from kudo.packages.reader import read_package
from tests.unit.cli.conftest import Cli

SCHEMA = {
    "properties": {
        "CUPS": {"type": "integer", "default": 2, "maximum": 4},
        "image": {
            "type": "object",
            "properties": {"tag": {"type": "string", "default": "y"}},
            "if": {},
        },
        "listen": {"type": "array", "items": {"type": "integer", "maximum": 65535}},
    }
}
PARAMETERS = """\
parameters:   # all of them
  - name: CUPS   # how many
    type: integer
    default: "2"
"""


@pytest.fixture(autouse=True)
def schema(package: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a schema beside the package, which is the only one in the working directory."""
    (package / "params.yaml").write_text(PARAMETERS)
    file = package.parent / "values.schema.json"
    file.write_text(json.dumps(SCHEMA))
    monkeypatch.chdir(package.parent)
    return file


def test_parameters_are_added_behind_the_others(run: Cli, package: Path) -> None:
    ran = run("package", "params", "import", "values.schema.json")
    assert (ran.code, ran.out) == (0, "")
    place = "values.schema.json#/properties/image/if"
    assert ran.err.splitlines() == [
        f"Warning: {place}: conditions have no counterpart in packages; left out",
        'Warning: parameter "CUPS" is kept; the schema differs in maximum',
        f"added 2 parameters: {package.name}/params.yaml; it has 1 already",
    ]
    text = (package / "params.yaml").read_text()
    assert text.startswith(PARAMETERS)
    assert text.removeprefix(PARAMETERS).splitlines() == [
        "  - name: image",
        "    type: map",
        "    properties:",
        "      tag:",
        "        type: string",
        "    default:",
        "      tag: 'y'",
        "  - name: listen",
        "    type: array",
        "    items:",
        "      type: integer",
        "      maximum: 65535",
        "    required: false",
    ]
    assert read_package(package).parameters[1].default == {"tag": "y"}


def test_a_second_time_changes_nothing(run: Cli, package: Path, schema: Path) -> None:
    run("package", "params", "import", str(schema), str(package))
    before = (package / "params.yaml").stat().st_mtime_ns
    ran = run("package", "params", "import", str(schema), str(package))
    assert ran.code == 0
    assert ran.err.endswith(f"added no parameters: {package}/params.yaml; it has 3 already\n")
    assert "image" not in ran.err.replace("/properties/image/if", "")
    assert (package / "params.yaml").stat().st_mtime_ns == before


def test_a_dry_run_prints_the_file_and_writes_nothing(run: Cli, package: Path) -> None:
    line = ("package", "params", "import", "values.schema.json")
    dry = run(*line, "--dry-run")
    assert (dry.code, "left out" in dry.err, "added" in dry.err) == (0, True, False)
    assert (package / "params.yaml").read_text() == PARAMETERS
    run(*line)
    assert (package / "params.yaml").read_text() == dry.out


def test_a_package_without_the_file_gets_one(run: Cli, package: Path) -> None:
    (package / "params.yaml").unlink()
    assert run("package", "params", "import", "values.schema.json").code == 0
    names = [parameter.name for parameter in read_package(package).parameters]
    assert names == ["CUPS", "image", "listen"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("{", "values.schema.json:1: not valid JSON"),
        ("{}", "values.schema.json#: the schema has no properties"),
        ('{"properties": {"a;b": {"type": "string"}}}', "contains invalid character ';'"),
        (
            '{"properties": {"a": {"type": "string"}, "A": {"type": "string"}}}',
            "nothing is written, since the package would have errors",
        ),
        (
            json.dumps({"properties": {"n" * 300: {"type": "string"}}}),
            "nothing is written, since the package would have errors",
        ),
    ],
)
def test_what_cannot_be_used_is_refused(
    run: Cli, package: Path, schema: Path, content: str, text: str
) -> None:
    schema.write_text(content)
    ran = run("package", "params", "import", "values.schema.json")
    assert (ran.code, ran.out, text in ran.err) == (255, "", True), ran.err
    assert (package / "params.yaml").read_text() == PARAMETERS


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ([], 2, "expecting a file with a JSON Schema"),
        (["a", "b", "c"], 2, "expecting a file with a JSON Schema"),
        (["absent.json"], 3, "there is no file absent.json"),
        (["."], 255, "cannot read .: "),
        (["values.schema.json", "values.schema.json"], 255, '"values.schema.json" is not a folder'),
    ],
)
def test_a_wrong_command_line_says_what_is_wrong(
    run: Cli, arguments: list[str], code: int, text: str
) -> None:
    ran = run("package", "params", "import", *arguments)
    assert (ran.code, text in ran.err) == (code, True), ran.err


def test_the_shell_completes_a_file_and_then_a_folder(run: Cli) -> None:
    line = ("__complete", "package", "params", "import")
    assert (run(*line, "").out, run(*line, "a.json", "").out) == (":0\n", ":16\n")
