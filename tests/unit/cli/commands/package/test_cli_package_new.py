"""`package new`: a package that works, from flags and from answers on a terminal."""

from pathlib import Path

import pytest
import yaml

from kudo.packages.reader import read_package
from kudo.verification import verify
from tests.unit.cli.conftest import Cli
from tests.unit.cli.dialogs import answered

FILES = [
    *(".kudoignore", "operator.yaml", "params.yaml", "templates/deployment.yaml"),
    *(
        f"tests/install/{name}.yaml"
        for name in (
            *("00-assert", "00-errors", "00-install", "01-assert", "01-update"),
            *("02-errors", "02-uninstall"),
        )
    ),
]


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty working directory."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_new_package_works_at_once(run: Cli, work: Path) -> None:
    # BTO-51: the package had an empty task and no templates, and did not verify.
    ran = run("package", "new", "web")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Operator created. Use\n")
    assert files(work) == [f"operator/{name}" for name in FILES]
    assert verify(read_package("operator")) == ()
    assert run("package", "verify", "operator").out == "package is valid\n"
    assert "kind: Deployment" in run("package", "render", "./operator").out
    assert run("install", "./operator", "--dry-run=client").code == 0
    assert run("package", "create", "operator").code == 0
    for path in (work / "operator" / "tests").rglob("*.yaml"):
        assert all(yaml.safe_load_all(path.read_text()))


def test_flags_are_in_the_package(run: Cli, work: Path) -> None:
    flags = {
        "folder": "web",
        "description": "Pages: quick # and small",
        "operator-version": "1.2.0",
        "app-version": "1.10",
        "kudo-version": "0.18.0",
        "kubernetes-version": "1.29.0",
        "url": "https://example.com",
        "maintainer-name": 'Ada "A" Ä: #',
        "maintainer-email": "ada@example.com",
    }
    assert run("package", "new", "web", *(f"--{k}={v}" for k, v in flags.items())).code == 0
    operator = read_package(work / "web").operator
    assert (operator.name, operator.operator_version, operator.app_version) == (
        *("web", "1.2.0", "1.10"),
    )
    assert (operator.kudo_version, operator.kubernetes_version) == ("0.18.0", "1.29.0")
    assert operator.url == "https://example.com"
    assert operator.description == "Pages: quick # and small"
    assert [(one.name, one.email) for one in operator.maintainers] == [
        ('Ada "A" Ä: #', "ada@example.com")
    ]


def test_a_folder_is_written_only_once_unless_asked(run: Cli, work: Path) -> None:
    assert run("package", "new", "web").code == 0
    ran = run("package", "new", "tea")
    assert ran.code == 255
    assert ran.err.startswith('Error: folder "operator" already exists')
    parameters = work / "operator" / "params.yaml"
    parameters.write_text("# mine\n" + parameters.read_text())
    ran = run("package", "new", "tea", "-w")
    # BTO-51: the hint was left out if params.yaml was there.
    assert (ran.code, ran.out.splitlines()[0]) == (0, "Operator created. Use")
    assert parameters.read_text().startswith("# mine\n")
    assert read_package(work / "operator").operator.name == "tea"


def test_what_would_not_verify_is_not_written(run: Cli, work: Path) -> None:
    (work / "operator").mkdir()
    (work / "operator" / "params.yaml").write_text("parameters: []\n")
    ran = run("package", "new", "web", "-w")
    assert ran.code == 255
    assert "nothing is written, since the package would have errors:" in ran.err
    assert 'parameter "replicas" in template deployment.yaml is not defined' in ran.err
    assert files(work) == ["operator/params.yaml"]


def test_an_operator_in_an_operator_is_refused(run: Cli, work: Path) -> None:
    (work / "operator.yaml").write_text("")
    ran = run("package", "new", "web")
    assert ran.err == (
        "Error: operator.yaml exists in the current directory.  creating an operator in an "
        "operator is not supported\n"
    )


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["Web"], 'the operator name "Web" is not valid'),
        (["web", "--operator-version=one"], '"one" is not a semantic version'),
        (["web", "--app-version=x"], '"x" is not a semantic version'),
        (["web", "--maintainer-email=me"], '"me" is not an address'),
        (["a", "b"], "expecting exactly one argument - name of the operator. Or use -i"),
        (["-i", "a", "b"], "expecting at most one argument - name of the operator"),
        (["web", "--folder=/proc/none/web"], "cannot write /proc/none"),
    ],
)
def test_what_is_not_valid_is_refused_before_anything_is_written(
    run: Cli, work: Path, argv: list[str], text: str
) -> None:
    ran = run("package", "new", *argv)
    assert ran.code in {2, 255}
    assert ran.out == ""
    assert text in ran.err
    assert files(work) == []


def test_on_a_terminal_everything_is_asked(work: Path) -> None:
    answers = [
        *(("Operator Name: ", "W eb"), ("Operator Name: ", "web")),
        ("Operator directory [operator]: ", "mine"),
        *(("Operator Version [0.1.0]: ", "x"), ("Operator Version [0.1.0]: ", "0.2.0")),
        ("Application Version (optional): ", ""),
        ("Required KUDO Version [0.20.0]: ", ""),
        ("Required Kubernetes Version [1.30.0]: ", ""),
        ("Project URL (optional): ", "https://example.com"),
        ("Maintainer Name (optional): ", "Ada"),
        ("Maintainer Email (optional): ", "ada@example.com"),
    ]
    code, shown = answered(work, ["package", "new"], answers)
    assert code == 0
    assert 'the operator name "W eb" is not valid' in shown
    assert '"x" is not a semantic version' in shown
    assert "Operator created. Use" in shown
    operator = read_package(work / "mine").operator
    assert (operator.name, operator.operator_version, operator.app_version) == ("web", "0.2.0", "")
    assert [one.email for one in operator.maintainers] == ["ada@example.com"]


@pytest.mark.parametrize(("key", "code"), [("^C", 130), ("^D", 255)])
def test_a_dialogue_that_is_left_writes_nothing(work: Path, key: str, code: int) -> None:
    ended, shown = answered(
        work, ["package", "new", "-i"], [("Operator Name: ", "web"), ("[operator]: ", key)]
    )
    assert ended == code
    assert "Traceback" not in shown
    assert not [*work.iterdir()]
