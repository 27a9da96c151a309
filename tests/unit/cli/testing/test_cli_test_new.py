"""`kubectl kudo test --new`: a first case for a package."""

from pathlib import Path

import pytest

from kudo_harness.suite import SuiteRequest, load_suite
from tests.unit.cli.conftest import Cli


def titles(folder: Path) -> list[str]:
    suite = load_suite(SuiteRequest(test_dirs=(str(folder),)))
    assert suite.warnings == ()
    return [step.title for step in suite.test_dirs[0].cases[0].steps]


def test_the_package_can_be_the_working_directory(
    run: Cli, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(package)
    assert "written: tests/install/00-install.yaml\n" in run("test", "--new").out
    assert (package / "tests" / "install" / "00-assert.yaml").is_file()


def test_the_file_with_the_values_of_secret_parameters_is_named(run: Cli, package: Path) -> None:
    (package / "params.yaml").write_text("parameters: [{name: SECRET, secret: true}, {name: A}]\n")
    ran = run("test", "--new", str(package))
    said = "{} has no default; is change-me a good value? It stands in {}\n"
    assert said.format("SECRET", "00-secrets.yaml") in ran.out
    assert said.format("A", "01-install.yaml") in ran.out
    assert titles(package / "tests") == ["0-secrets", "1-install", "3-uninstall"]


def test_a_new_package_has_the_case_already(
    run: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("package", "new", "web").code == 0
    assert titles(Path("operator/tests")) == ["0-install", "1-update", "2-uninstall"]
    assert "operator/tests/install exists" in run("test", "--new", "./operator").err


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["a", "b"], "expecting at most one argument - folder of the operator"),
        (["none"], "none"),
        (["--render-only"], "'--new' and '--render-only' can not be used at the same time"),
        (["--watch"], "'--watch' and '--new' can not be used at the same time"),
    ],
)
def test_what_cannot_be_done_is_told(run: Cli, argv: list[str], text: str) -> None:
    ran = run("test", "--new", *argv)
    assert ran.code != 0
    assert text in ran.err
    assert ran.out == ""
