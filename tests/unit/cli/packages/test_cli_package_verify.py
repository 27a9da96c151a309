"""`package verify`: what it prints and returns."""

import json
import tarfile
from pathlib import Path

import pytest
import yaml

from tests.unit.cli.conftest import Cli

POT = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: pot}
data: {cups: "{{ .Params.CUPS }}", tea: "{{ .Params.TEA }}", size: "{{ .Params.SIZE }}"}
"""


@pytest.fixture
def valid(package: Path) -> Path:
    """Return the folder of a package that has no faults."""
    (package / "templates" / "pot.yaml").write_text(POT)
    return package


@pytest.fixture
def faulty(valid: Path) -> Path:
    """Return one with two errors and a warning."""
    (valid / "templates" / "pot.yaml").write_text(POT + "# {{ .Params.MILK }}\n")
    (valid / "templates" / "cup.yaml").write_text("")
    return valid


def test_a_valid_package_is_called_valid(run: Cli, valid: Path) -> None:
    ran = run("package", "verify", str(valid))
    assert (ran.code, ran.out, ran.err) == (0, "package is valid\n", "")


def test_an_archive_is_verified_like_a_folder(run: Cli, valid: Path, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "teapot.tgz", "w:gz") as archive:
        archive.add(valid, ".")
    assert run("package", "verify", str(tmp_path / "teapot.tgz")).out == "package is valid\n"


def test_a_bare_name_is_a_folder_here(
    run: Cli, valid: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(valid.parent)
    assert run("package", "verify", valid.name).code == 0


def test_warnings_come_first_and_errors_are_counted(run: Cli, faulty: Path) -> None:
    ran = run("package", "verify", str(faulty))
    assert ran.code == 5
    warnings, errors = ran.out.split("Errors\n")
    assert warnings == (
        'Warnings\ntemplate "cup.yaml" is not referenced from any task  (templates/cup.yaml)\n'
    )
    first, second = errors.splitlines()
    assert first == 'parameter "MILK" in template pot.yaml is not defined  (templates/pot.yaml:5)'
    assert second.startswith("error rendering template: template: pot.yaml:5:")
    assert ran.err == "Error: found 2 package verification errors\n"


def test_warnings_alone_do_not_fail(run: Cli, valid: Path) -> None:
    (valid / "templates" / "cup.yaml").write_text("")
    ran = run("package", "verify", str(valid))
    assert ran.code == 0
    assert ran.out.splitlines()[0] == "Warnings"
    assert ran.out.endswith("\npackage is valid\n")


def test_data_has_the_shape_of_the_original(run: Cli, valid: Path) -> None:
    ran = run("package", "verify", str(valid), "-o", "json")
    assert ran.out == '{\n  "errors": [],\n  "warnings": [],\n  "valid": true\n}\n'
    ran = run("package", "verify", str(valid), "-o", "yaml")
    assert ran.out == "errors: []\nvalid: true\nwarnings: []\n\n"


def test_data_is_printed_before_the_error(run: Cli, faulty: Path) -> None:
    ran = run("package", "verify", str(faulty), "-o", "json")
    assert ran.code == 5
    found = json.loads(ran.out)
    assert found["valid"] is False
    assert found["warnings"] == ['template "cup.yaml" is not referenced from any task']
    assert found["errors"][0] == 'parameter "MILK" in template pot.yaml is not defined'
    assert ran.err == "Error: found 2 package verification errors\n"
    assert yaml.safe_load(run("package", "verify", str(faulty), "-o", "yaml").out) == found


def test_a_path_without_a_package_is_told(run: Cli, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("")
    missing = run("package", "verify", str(tmp_path / "none"))
    assert missing.err == f"Error: stat {tmp_path}/none: no such file or directory\n"
    file = run("package", "verify", str(tmp_path / "notes"))
    assert (file.code, file.out) == (255, "")
    assert "not a package directory" in file.err
    empty = run("package", "verify", str(tmp_path))
    assert f"operator package missing operator.yaml in {tmp_path}" in empty.err


def test_a_package_that_cannot_be_read_has_no_other_findings(run: Cli, faulty: Path) -> None:
    (faulty / "operator.yaml").write_text("name: [")
    ran = run("package", "verify", str(faulty))
    assert (ran.code, ran.out) == (255, "")
    assert "operator.yaml:2: not valid YAML" in ran.err
    (faulty / "operator.yaml").write_text("name: teapot\n")
    (faulty / "params.yaml").write_text("parameters: [{name: A, enum: [null]}]\n")
    assert 'parameter "A" has a null value in its enum' in run("package", "verify", str(faulty)).err
