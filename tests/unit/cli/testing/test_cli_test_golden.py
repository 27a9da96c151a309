"""`kubectl kudo test --render-only`: golden manifests of packages."""

import os
from pathlib import Path

import pytest

from tests.unit.cli.conftest import PARAMETERS, TEMPLATE, Cli, Ran

SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: pot}
stringData: {key: "{{ .Params.TEA }}"}
"""


@pytest.fixture
def golden(package: Path) -> Path:
    """Return the folder of golden files of a package without required parameters."""
    (package / "params.yaml").write_text(
        PARAMETERS.replace("{name: TEA}", "{name: TEA, default: mint}")
    )
    return package / "golden"


def compared(run: Cli, *argv: str) -> Ran:
    return run("test", "--render-only", *argv)


def test_files_are_written_only_when_that_is_asked(run: Cli, package: Path, golden: Path) -> None:
    ran = compared(run, str(package))
    assert ran.code == 1
    assert f"DIFFERENT {golden}/default\n" in ran.out
    assert f"{golden}/default/deploy/main/app.yaml: there is no such file yet" in ran.out
    assert "run it again with --update" in ran.err
    assert not golden.exists()

    ran = compared(run, str(package), "--update")
    assert (ran.code, ran.out) == (0, f"written: {golden}/default/deploy/main/app.yaml\n")
    text = (golden / "default/deploy/main/app.yaml").read_text()
    assert text.startswith(
        "---\n# plan deploy, phase main, step app, task pot, template pot.yaml\n"
    )
    ran = compared(run, str(package))
    assert (ran.code, ran.out, ran.err) == (0, f"same {golden}/default (1 files)\n", "")


def test_a_change_of_a_template_is_shown_as_a_difference(
    run: Cli, package: Path, golden: Path
) -> None:
    compared(run, str(package), "--update")
    (package / "templates/pot.yaml").write_text(TEMPLATE.replace("name: pot", "name: kettle"))
    ran = compared(run, str(package))
    assert ran.code == 1
    assert "-  name: pot\n+  name: kettle\n" in ran.out
    assert "1 of 1 golden folders differ" in ran.err
    assert compared(run, str(package), "--update").code == 0
    assert compared(run, str(package)).code == 0


def test_each_folder_has_its_own_parameters(run: Cli, package: Path, golden: Path) -> None:
    for name, cups in (("one", 1), ("many", 9)):
        (golden / name).mkdir(parents=True)
        (golden / name / "params.yaml").write_text(f"CUPS: {cups}\n")
    assert compared(run, str(package), "--update").code == 0
    assert "cups: '1'" in (golden / "one/deploy/main/app.yaml").read_text()
    assert "cups: '9'" in (golden / "many/deploy/main/app.yaml").read_text()
    assert not (golden / "default").exists()
    # The parameters themselves are no golden file.
    assert compared(run, str(package)).out.count("same") == 2


def test_a_file_that_nothing_renders_is_a_failure(run: Cli, package: Path, golden: Path) -> None:
    compared(run, str(package), "--update")
    extra = golden / "default/deploy/main/gone.yaml"
    extra.write_text("---\n")
    (golden / "default" / "README.md").write_text("About these.\n")
    ran = compared(run, str(package))
    assert ran.code == 1
    assert ran.out == f"DIFFERENT {golden}/default\n{extra}: nothing renders it any more\n"
    assert compared(run, str(package), "--update").out == f"deleted: {extra}\n"
    assert (golden / "default" / "README.md").exists()


def test_values_of_secrets_are_not_shown(run: Cli, package: Path, golden: Path) -> None:
    (package / "templates/pot.yaml").write_text(SECRET)
    golden_set = golden / "default"
    golden_set.mkdir(parents=True)
    (golden_set / "params.yaml").write_text("TEA: oolong-from-1998\n")
    compared(run, str(package), "--update")
    (golden_set / "params.yaml").write_text("TEA: darjeeling-of-spring\n")
    ran = compared(run, str(package))
    assert ran.code == 1
    assert "oolong" not in ran.out
    assert "darjeeling" not in ran.out
    assert "(redacted)" in ran.out


def test_what_renders_something_else_each_time_cannot_be_kept(
    run: Cli, package: Path, golden: Path
) -> None:
    template = TEMPLATE.replace("{{ .Params.CUPS }}", "{{ randAlphaNum 20 }}")
    (package / "templates/pot.yaml").write_text(template)
    ran = compared(run, str(package), "--update")
    assert ran.code == 1
    assert "renders something else each time" in ran.out
    assert not golden.exists()


def test_the_other_files_are_written_all_the_same(run: Cli, package: Path, golden: Path) -> None:
    operator = (package / "operator.yaml").read_text()
    step = "          - {name: app, tasks: [pot]}\n"
    changed = operator.replace(step, f"{step}          - {{name: key, tasks: [key]}}\n").replace(
        "tasks:\n", "tasks:\n  - {name: key, kind: Apply, spec: {resources: [key.yaml]}}\n", 1
    )
    (package / "operator.yaml").write_text(changed)
    (package / "templates/key.yaml").write_text(TEMPLATE.replace("pot", "key-{{ uuidv4 }}"))
    ran = compared(run, str(package), "--update")
    assert (ran.code, ran.err) == (1, "Error: 1 of 1 golden folders could not be compared\n")
    assert f"written: {golden}/default/deploy/main/app.yaml\n" in ran.out
    assert f"{golden}/default/deploy/main/key.yaml: a template renders something else" in ran.out
    assert not (golden / "default/deploy/main/key.yaml").exists()


def test_a_package_that_cannot_be_rendered_is_a_failure(run: Cli, package: Path) -> None:
    ran = compared(run, str(package))
    assert ran.code == 1
    assert "TEA" in ran.out
    assert ran.err == "Error: 1 of 1 golden folders could not be compared\n"


def test_packages_are_found_below_and_above_a_folder(
    run: Cli, package: Path, golden: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared(run, str(package), "--update")
    (package / "tests/install").mkdir(parents=True)
    monkeypatch.chdir(package.parent)
    other = package.parent / "other"
    other.mkdir()
    (other / "operator.yaml").write_text("")
    for argv in ([], ["."], ["./teapot"], ["teapot/tests"], ["teapot/tests/install"]):
        ran = compared(run, *argv)
        assert (ran.code, ran.out.count("same")) == (0, 1), argv


@pytest.mark.parametrize(
    ("folder", "code", "text"),
    [("none", 3, "none is not a folder"), ("empty", 3, "no package in empty")],
)
def test_folders_without_a_package_are_told(
    run: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, code: int, text: str
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    ran = compared(run, folder)
    assert ran.code == code
    assert text in ran.err


def test_packages_without_golden_files_are_told(
    run: Cli, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(package.parent)
    ran = compared(run, ".")
    assert ran.code == 3
    assert "no package has a folder golden" in ran.err


def test_nothing_is_written_outside_of_the_package(
    run: Cli, package: Path, golden: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    golden.mkdir()
    (golden / "default").symlink_to(elsewhere)
    ran = compared(run, str(package), "--update")
    assert ran.code == 1
    assert "a link leads out of the package" in ran.out
    assert list(elsewhere.iterdir()) == []


def test_names_of_plans_cannot_lead_out_of_the_folder(
    run: Cli, package: Path, golden: Path
) -> None:
    operator = (package / "operator.yaml").read_text()
    (package / "operator.yaml").write_text(operator.replace("name: main", 'name: "../../.."'))
    compared(run, str(package), "--update")
    files = [path.relative_to(golden) for path in golden.rglob("*.yaml")]
    assert list(map(str, files)) == ["default/deploy/%2E.%2F..%2F../app.yaml"]


def test_a_pipe_is_not_waited_for(run: Cli, package: Path, golden: Path) -> None:
    compared(run, str(package), "--update")
    os.mkfifo(golden / "default" / "pipe.yaml")
    ran = compared(run, str(package))
    assert ran.code == 1
    assert "it is no regular file" in ran.out


def test_update_alone_is_an_error(run: Cli) -> None:
    ran = run("test", "--update")
    assert ran.code == 2
    assert "'--update' is only useful when using the flag '--render-only'" in ran.err
