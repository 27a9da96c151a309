"""`package verify`: what it prints and returns."""

import json
import tarfile
from pathlib import Path

import pytest

from kubectl_kudo.session.errors import ExitCode
from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi

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


def test_warnings_alone_do_not_fail(run: Cli, valid: Path) -> None:
    (valid / "templates" / "cup.yaml").write_text("")
    ran = run("package", "verify", str(valid))
    assert ran.code == 0
    assert ran.out.splitlines()[0] == "Warnings"
    assert ran.out.endswith("\npackage is valid\n")


# Findings as data


def test_sarif_has_what_code_scanning_needs(
    run: Cli, faulty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(faulty.parent)
    (faulty / "params.yaml").write_text("parameters: [{name: A, triger: deploy}]\n")
    ran = run("package", "verify", f"./{faulty.name}", "-o", "sarif")
    assert ran.code == ExitCode.INVALID
    log = json.loads(ran.out)
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    [log_run] = log["runs"]
    driver = log_run["tool"]["driver"]
    assert driver["name"] == "kubectl-kudo"
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(ids) == len(set(ids))
    for result in log_run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in {"error", "warning"}
        assert result["message"]["text"]
        [location] = result["locations"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert (faulty.parent / uri).is_file()
    first = log_run["results"][0]
    assert first["ruleId"] == "FieldUnknown"
    assert first["message"]["text"].endswith('; did you mean "trigger"?')
    assert first["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "teapot/params.yaml"},
        "region": {"startLine": 1, "startColumn": 24},
    }


def test_sarif_tells_why_a_package_cannot_be_read(run: Cli, faulty: Path) -> None:
    (faulty / "operator.yaml").write_text("name: [")
    ran = run("package", "verify", str(faulty), "-o", "sarif")
    [result] = json.loads(ran.out)["runs"][0]["results"]
    assert result["ruleId"] == "PackageInvalid"
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 2}


def test_a_valid_package_has_an_empty_sarif_log(run: Cli, valid: Path) -> None:
    [log_run] = json.loads(run("package", "verify", str(valid), "-o", "sarif").out)["runs"]
    assert log_run["results"] == []


# Checks of texts


def test_texts_for_people_are_checked_when_asked(run: Cli, valid: Path) -> None:
    ran = run("package", "verify", str(valid), "--param-checks", "hint,display")
    assert ran.code == 0
    assert 'parameter "CUPS" has no displayName' in ran.out
    assert "has no description" not in ran.out
    twice = run("package", "verify", str(valid), "--param-checks=hint", "--param-checks=desc")
    assert "has no hint" in twice.out
    assert "has no description" in twice.out
    unknown = run("package", "verify", str(valid), "--param-checks", "spelling")
    assert unknown.err == (
        "Error: unknown parameter check: spelling, must be one of "
        "[display hint desc type hasgroup groups all]\n"
    )


# Corrections


def test_what_has_one_correction_is_corrected_and_printed(run: Cli, valid: Path) -> None:
    (valid / "params.yaml").write_text("""\
parameters:
  # How many.
  - {name: CUPS, type: int, default: "2"}  # two
  - {name: TEA, triger: deploy}
  - {name: SIZE, required: false, enum: [small, large]}
""")
    ran = run("package", "verify", str(valid), "--fix")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        'fixed params.yaml:4: renamed field "triger" to "trigger"\n'
        'fixed params.yaml:3: changed type "int" of parameter "CUPS" to "integer"\n'
        "package is valid\n"
    )
    assert (
        (valid / "params.yaml").read_text()
        == """\
parameters:
  # How many.
  - {name: CUPS, type: integer, default: "2"}  # two
  - {name: TEA, trigger: deploy}
  - {name: SIZE, required: false, enum: [small, large]}
"""
    )
    assert run("package", "verify", str(valid), "--fix").out == "package is valid\n"


def test_a_correction_that_brings_other_errors_is_left_out(run: Cli, valid: Path) -> None:
    text = "parameters: [{name: CUPS, type: int, default: two}, {name: TEA, triger: deploy}]\n"
    (valid / "params.yaml").write_text(text)
    (valid / "templates" / "pot.yaml").write_text(POT.replace("size", "s").replace("SIZE", "TEA"))
    ran = run("package", "verify", str(valid), "--fix", "-o", "json")
    assert json.loads(ran.out)["valid"] is False
    assert ran.err.splitlines()[:2] == [
        (
            'left as it is: params.yaml: changed type "int" of parameter "CUPS" to "integer", '
            "because of other errors then"
        ),
        'fixed params.yaml:1: renamed field "triger" to "trigger"',
    ]
    assert (valid / "params.yaml").read_text() == text.replace("triger", "trigger")


def test_an_archive_is_not_corrected(run: Cli, valid: Path, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "teapot.tgz", "w:gz") as archive:
        archive.add(valid, ".")
    ran = run("package", "verify", str(tmp_path / "teapot.tgz"), "--fix")
    assert ran.err == "Error: --fix needs the folder of a package, which it can write to\n"


# Dependencies by name


def test_a_dependency_that_cannot_be_found_is_a_message(run: Cli, valid: Path) -> None:
    text = (valid / "operator.yaml").read_text()
    child = "tasks:\n  - {name: child, kind: KudoOperator, spec: {package: kafka}}\n"
    text = text.replace("tasks:\n", child).replace("tasks: [pot]", "tasks: [pot, child]")
    (valid / "operator.yaml").write_text(text)
    ran = run("package", "verify", str(valid))
    assert (ran.code, ran.out) == (0, "package is valid\n")
    assert ran.err.startswith("Dependencies that are not at a path were not verified: ")
    assert "no operator found for: kafka" in ran.err


# Before an installation


def test_an_installation_verifies_first_and_creates_nothing(
    kudo: Cli, api: FakeApi, faulty: Path
) -> None:
    for argv in (
        ("install", str(faulty), "-p", "TEA=mint"),
        ("install", str(faulty), "--skip-instance"),
        ("install", str(faulty), "-p", "TEA=mint", "--dry-run=client"),
    ):
        ran = kudo(*argv)
        assert (ran.code, ran.out) == (ExitCode.INVALID, "")
        assert ran.err.startswith(
            "Error: the package has 2 errors, so nothing is changed; correct that, or leave the "
            "verification out with --skip-verify:\n"
            '  parameter "MILK" in template pot.yaml is not defined  (templates/pot.yaml:5:13) '
            "[ParameterUnknown]\n"
        )
    assert api.writes() == []
    assert kudo("install", str(faulty), "-p", "TEA=mint", "--skip-verify").code == 0


def test_an_installation_says_how_many_warnings_there_are(
    kudo: Cli, api: FakeApi, valid: Path
) -> None:
    (valid / "templates" / "cup.yaml").write_text("")
    ran = kudo("install", str(valid), "-p", "TEA=mint")
    assert ran.code == 0
    assert ran.err == ("Package verification: 1 warning; kubectl kudo package verify shows them\n")
    assert api.writes()


def test_an_installation_warns_of_what_the_original_accepted(
    kudo: Cli, api: FakeApi, valid: Path
) -> None:
    with (valid / "params.yaml").open("a") as file:
        file.write("  - {name: FIXED, default: a, trigger: not-allowed}\n")
    ran = kudo("install", str(valid), "-p", "TEA=mint")
    assert ran.code == 0
    assert 'Warning: plan "not-allowed" used in parameter "FIXED" is not defined' in ran.err
    assert "changes of the parameter will be denied" in ran.err
    assert api.writes()


def test_an_upgrade_verifies_first_and_needs_no_deploy_plan(
    kudo: Cli, pot: FakeApi, package: Path
) -> None:
    operator = package / "operator.yaml"
    text = operator.read_text()
    operator.write_text(text.replace("pot.yaml]", "pot.yaml, none.yaml]"))
    argv = ("upgrade", str(package), "--instance", "tea")
    assert "task pot missing template: none.yaml" in kudo(*argv, "--skip-verify").err
    operator.write_text(text)
    template = package / "templates" / "pot.yaml"
    template.write_text("apiVersion: v1\nkind: y\n")
    ran = kudo(*argv)
    assert (ran.code, pot.writes()) == (ExitCode.INVALID, [])
    assert "kind is true and not text" in ran.err
    template.write_text(POT)
    operator.write_text(text.replace("  deploy:", "  upgrade:"))
    assert kudo(*argv).code == 0
