"""Verification of the packages that a package brings along."""

from pathlib import Path

from kudo.packages.location import locate
from kudo.verification import Finding, Severity, verify_dependencies
from tests.unit.kudo.packages.package_tree import operator, pack, write


def findings(path: Path) -> list[Finding]:
    return list(verify_dependencies(locate(path)))


def test_dependencies_that_are_well_give_nothing(tmp_path: Path) -> None:
    root = write(tmp_path / "a", operator("a", "./b", "installed"))
    write(root / "b", operator("b"))
    assert findings(root) == []


def test_findings_name_the_dependency_and_its_place(tmp_path: Path) -> None:
    root = write(tmp_path / "a", operator("a", "./b"))
    write(root / "b", operator("b"), unused="")
    for path in (root, pack(root, tmp_path / "a.tgz")):
        (finding,) = findings(path)
        assert finding.severity is Severity.WARNING
        assert finding.problem.message == (
            'dependency b-0.1.0: template "unused.yaml" is not referenced from any task'
        )
        assert finding.problem.field == f"{path}/b/templates/unused.yaml"


def test_a_dependency_that_cannot_be_found_is_an_error(tmp_path: Path) -> None:
    (finding,) = findings(write(tmp_path / "a", operator("a", "./b")))
    assert finding.severity is Severity.ERROR
    assert (finding.problem.reason, finding.problem.field) == (
        "DependencyUnresolved",
        "operator.yaml: tasks[t0]",
    )


def test_versions_that_choose_nothing_are_a_warning(tmp_path: Path) -> None:
    root = write(tmp_path / "a", operator("a", "./b operatorVersion=0.1.0", "./b appVersion=9"))
    write(root / "b", operator("b", more='appVersion: "8"'))
    (finding,) = findings(root)
    assert (finding.severity, finding.problem.reason) == (Severity.WARNING, "DependencyVersion")
    assert finding.problem.message == (
        'task "t1" asks for version 9 of ./b, but that is 8; the package at that path is installed'
    )
