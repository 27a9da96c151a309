"""Finding what a package depends on: order, what is written into tasks, and what is refused."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kudo.api import ObjectReference, OperatorVersion, OperatorVersionSpec, Task, TaskSpec
from kudo.api.problems import InvalidInput, Problem
from kudo.packages.location import locate
from kudo.packages.model import Package
from kudo.packages.resolution import DependencyLimits, Requirement, Resolution, depends, resolve
from tests.unit.kudo.packages.package_tree import operator, pack, write


def names(resolution: Resolution) -> list[str]:
    return [package.operator.name for package in resolution.dependencies]


def needs(package: Package) -> list[tuple[str | None, str | None, str | None]]:
    """Return operator, operatorVersion and appVersion of each KudoOperator task."""
    specs = (task.spec for task in package.operator.tasks if task.kind == "KudoOperator")
    return [(spec.package, spec.operator_version, spec.app_version) for spec in specs]


def found(path: Path) -> Resolution:
    return resolve(locate(path), None)


def refused(act: Callable[[], object]) -> Problem:
    with pytest.raises(InvalidInput) as caught:
        act()
    (problem,) = caught.value.problems
    return problem


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a package `a` that needs `b` and `c`, where `c` needs `d`; all lie in its folder."""
    root = write(tmp_path / "a", operator("a", "./b", "./c"))
    write(root / "b", operator("b", version="0.2.0", more="appVersion: 3.1.4"))
    write(root / "c", operator("c", "./d"))
    write(root / "c" / "d", operator("d"))
    return root


# What is found


def test_packages_are_found_depth_first_in_the_order_of_the_tasks(tree: Path) -> None:
    assert names(found(tree)) == ["b", "c", "d"]


def test_tasks_name_operator_and_versions_of_what_was_found(tree: Path) -> None:
    resolution = found(tree)
    assert needs(resolution.root) == [("b", "0.2.0", "3.1.4"), ("c", "0.1.0", None)]
    assert needs(resolution.dependencies[1]) == [("d", "0.1.0", None)]
    before = locate(tree).package
    assert before.operator.tasks[0] == resolution.root.operator.tasks[0]
    assert [t.name for t in resolution.root.operator.tasks] == ["own", "t0", "t1"]


def test_versions_in_a_task_do_not_choose_among_places(tmp_path: Path) -> None:
    root = write(tmp_path / "a", operator("a", "./b operatorVersion=9.9.9 appVersion=1"))
    write(root / "b", operator("b"))
    assert needs(found(root).root) == [("b", "0.1.0", None)]


def test_two_tasks_of_one_name_keep_their_packages(tmp_path: Path) -> None:
    # BTO-24: what was found was written into the first task of that name.
    text = operator("a", "./b", "./c").replace("t1", "t0")
    root = write(tmp_path / "a", text)
    write(root / "b", operator("b"))
    write(root / "c", operator("c"))
    assert [need[0] for need in needs(found(root).root)] == ["b", "c"]


def test_tasks_that_no_plan_uses_count(tmp_path: Path) -> None:
    root = write(tmp_path / "a", operator("a", "./b").replace("tasks: [own, t0]", "tasks: [own]"))
    write(root / "b", operator("b"))
    assert names(found(root)) == ["b"]


def test_a_package_that_two_others_need_comes_once(tmp_path: Path) -> None:
    root = write(tmp_path / "a", operator("a", "../b", "../c"))
    write(tmp_path / "b", operator("b", "../d"))
    write(tmp_path / "c", operator("c", "../a/../d/"))
    write(tmp_path / "d", operator("d"))
    assert names(found(root)) == ["b", "d", "c"]


def test_equal_copies_of_a_package_are_one(tmp_path: Path) -> None:
    root = write(tmp_path / "a", operator("a", "./x", "./y"))
    write(root / "x", operator("b"), t="same")
    write(root / "y", operator("b"), t="same")
    assert names(found(root)) == ["b"]


@pytest.mark.parametrize("need", ["./b", "b/", "x/../b", "./x/../b", "b.tgz", "./b.tgz", "../a/b"])
def test_a_folder_names_places_in_the_file_system(tmp_path: Path, need: str) -> None:
    # BTO-23: paths without ./ were those of the working directory.
    root = write(tmp_path / "a", operator("a", need))
    (root / "x").mkdir()
    pack(write(root / "b", operator("b")), root / "b.tgz")
    assert names(found(root)) == ["b"]


@pytest.mark.parametrize("need", ["./b", "/b", "c/../b", "b.tgz", "./d/b.tgz"])
def test_an_archive_names_places_inside_itself(tmp_path: Path, need: str) -> None:
    root = write(tmp_path / "a", operator("a", need))
    (root / "d").mkdir()
    pack(write(root / "b", operator("b", "./c")), root / "b.tgz")
    write(root / "b" / "c", operator("c"))
    pack(root / "b", root / "b.tgz")
    pack(root / "b", root / "d" / "b.tgz")
    archive = pack(root, tmp_path / "a.tgz")
    assert names(found(archive)) == ["b", "c"]


def test_a_package_in_an_archive_sees_its_neighbours(tmp_path: Path) -> None:
    root = write(tmp_path / "a", operator("a", "./deps/b"))
    write(root / "deps" / "b", operator("b", "../c"))
    write(root / "deps" / "c", operator("c"))
    assert names(found(pack(root, tmp_path / "a.tgz"))) == ["b", "c"]


def test_a_package_without_dependencies_is_itself(tmp_path: Path) -> None:
    located = locate(write(tmp_path / "a", operator("a")))
    assert resolve(located, None) == Resolution(located.package)
    assert not depends(located.package)
    assert depends(locate(write(tmp_path / "b", operator("b", "./c"))).package)


# What is not


def test_what_cannot_be_found_names_who_asked_and_why(tree: Path) -> None:
    write(tree / "c", operator("c", "./none operatorVersion=1.0.0"))
    problem = refused(lambda: found(tree))
    assert problem.reason == "DependencyUnresolved"
    assert problem.field == "operator.yaml: tasks[t0]"
    assert problem.message == (
        'failed to resolve package Operator: "./none", OperatorVersion: "1.0.0", AppVersion "any", '
        f"dependency of package c-0.1.0: stat {tree}/c/none: no such file or directory"
    )


def test_all_that_is_wrong_with_a_dependency_is_said(tree: Path) -> None:
    (tree / "b" / "params.yaml").unlink()
    (tree / "b" / "operator.yaml").unlink()
    message = refused(lambda: found(tree)).message
    assert "missing operator.yaml" in message
    assert "missing params.yaml" in message


@pytest.mark.parametrize("need", ["../b", "./x/../../b", "/../b"])
def test_nothing_leads_out_of_an_archive(tmp_path: Path, need: str) -> None:
    write(tmp_path / "b", operator("b"))
    archive = pack(write(tmp_path / "a", operator("a", need)), tmp_path / "a.tgz")
    message = refused(lambda: found(archive)).message
    advice = "; move that package below this one, or name its operator"
    assert message.endswith(f"{archive}: {need} is outside the archive{advice}")


def test_an_archive_in_an_archive_is_closed_as_well(tmp_path: Path) -> None:
    root = write(tmp_path / "a", operator("a", "./b.tgz"))
    write(root / "c", operator("c"))
    pack(write(tmp_path / "b", operator("b", "../c")), root / "b.tgz")
    message = refused(lambda: found(pack(root, tmp_path / "a.tgz"))).message
    assert "a.tgz/b.tgz: ../c is outside the archive" in message


def test_an_absolute_path_in_an_archive_is_not_one_of_this_machine(tmp_path: Path) -> None:
    outside = write(tmp_path / "b", operator("b"))
    archive = pack(write(tmp_path / "a", operator("a", str(outside))), tmp_path / "a.tgz")
    assert (
        "neither a folder nor a .tgz file in the archive" in refused(lambda: found(archive)).message
    )


def test_urls_are_not_fetched(tmp_path: Path) -> None:
    root = write(tmp_path / "a", operator("a", '"https://kudo.dev/b.tgz"'))
    assert "URLs are not supported" in refused(lambda: found(root)).message


@pytest.mark.parametrize(
    ("links", "circle"),
    [
        ({"a": "."}, ["a", "a"]),
        ({"a": "../b", "b": "../a"}, ["a", "b", "a"]),
        ({"a": "../b", "b": "../c", "c": "../b"}, ["b", "c", "b"]),
    ],
)
def test_a_circle_is_named(tmp_path: Path, links: dict[str, str], circle: list[str]) -> None:
    for name, need in links.items():
        write(tmp_path / name, operator(name, need))
    problem = refused(lambda: found(tmp_path / "a"))
    versions = [f"{name}-0.1.0" for name in circle]
    assert problem.reason == "CircularDependency"
    assert problem.message == (
        f"cyclic package dependency found when adding package {versions[-2]} -> {versions[-1]}: "
        f"{' -> '.join(versions)}"
    )


def test_two_packages_of_one_version_may_not_differ(tmp_path: Path) -> None:
    root = write(tmp_path / "a", operator("a", "./x", "./y"))
    write(root / "x", operator("b"), t="one")
    write(root / "y", operator("b"), t="another")
    problem = refused(lambda: found(root))
    assert problem.reason == "DependencyAmbiguous"
    assert f"{root}/x and {root}/y are both b-0.1.0 and differ" in problem.message


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (
            DependencyLimits(depth=1),
            "the dependencies of a-0.1.0 are nested too deeply, at d-0.1.0",
        ),
        (DependencyLimits(packages=2), "are too many packages, at ./d: 2 are allowed"),
        (DependencyLimits(templates=3), "have too many characters of templates, at c-0.1.0"),
    ],
)
def test_there_are_limits(tree: Path, limits: DependencyLimits, text: str) -> None:
    write(tree / "c", operator("c", "./d"), t="long")
    problem = refused(lambda: resolve(locate(tree), None, limits=limits))
    assert (problem.reason, text in problem.message) == ("DependencyLimit", True), problem
    exact = DependencyLimits(depth=2, packages=3, templates=4)
    assert names(resolve(locate(tree), None, limits=exact)) == ["b", "c", "d"]


# What is installed


def installed(name: str, version: str = "1.0.0", *needs: str) -> OperatorVersion:
    tasks = [
        Task(name=need, kind="KudoOperator", spec=TaskSpec(package=need, operator_version="1.0.0"))
        for need in needs
    ]
    spec = OperatorVersionSpec(
        operator=ObjectReference(name=name), version=version, app_version="7", tasks=tuple(tasks)
    )
    return OperatorVersion(spec=spec)


class Cluster:
    """A lookup that notes what it is asked for."""

    def __init__(self, *versions: OperatorVersion) -> None:
        self.asked: list[Requirement] = []
        self._versions = {version.operator_name: version for version in versions}

    def __call__(self, requirement: Requirement) -> OperatorVersion:
        self.asked.append(requirement)
        if requirement.package not in self._versions:
            raise InvalidInput([Problem("DependencyUnresolved", "nobody has it")])
        return self._versions[requirement.package]


def test_an_operators_name_is_looked_up_and_brings_no_package(tmp_path: Path) -> None:
    root = write(tmp_path / "a", operator("a", "b operatorVersion=1.0.0", "b"))
    cluster = Cluster(installed("b"))
    resolution = resolve(locate(root), cluster)
    assert resolution.dependencies == ()
    assert needs(resolution.root) == [("b", "1.0.0", "7")] * 2
    assert cluster.asked == [Requirement("b", "1.0.0"), Requirement("b")]


def test_a_task_that_is_installed_keeps_the_versions_that_it_names(tmp_path: Path) -> None:
    root = write(tmp_path / "a", operator("a", "b", "c operatorVersion=3.0.0"))
    stored = {
        ("a-0.1.0", 1): Requirement("b", "0.9.0", "7"),
        ("a-0.1.0", 2): Requirement("c", "2.0.0"),
        ("other-0.1.0", 1): Requirement("b", "0.1.0"),
    }
    cluster = Cluster(installed("b"), installed("c"))
    resolve(locate(root), cluster, stored=stored)
    # The package asks for another version of c by now, so that of the cluster does not count.
    assert cluster.asked == [Requirement("b", "0.9.0", "7"), Requirement("c", "3.0.0")]


def test_a_folder_of_the_operators_name_is_not_meant(tmp_path: Path) -> None:
    root = write(tmp_path / "a", operator("a", "b"))
    write(root / "b", operator("b"))
    assert needs(resolve(locate(root), Cluster(installed("b"))).root) == [("b", "1.0.0", "7")]


def test_without_a_lookup_names_stay_as_they_are(tmp_path: Path) -> None:
    root = write(tmp_path / "a", operator("a", "b appVersion=7"))
    assert needs(resolve(locate(root), None).root) == [("b", None, "7")]


def test_what_an_installed_version_needs_must_be_installed(tmp_path: Path) -> None:
    root = write(tmp_path / "a", operator("a", "b"))
    assert names(resolve(locate(root), Cluster(installed("b", "1.0.0", "c"), installed("c")))) == []
    problem = refused(lambda: resolve(locate(root), Cluster(installed("b", "1.0.0", "c"))))
    assert problem.message == (
        'failed to resolve package Operator: "c", OperatorVersion: "1.0.0", AppVersion "any", '
        "dependency of package b-7-1.0.0: nobody has it"
    )


def test_a_circle_may_lead_through_the_cluster(tmp_path: Path) -> None:
    root = write(tmp_path / "a", operator("a", "b", version="1.0.0", more='appVersion: "7"'))
    cluster = Cluster(installed("b", "1.0.0", "a"), installed("a"))
    problem = refused(lambda: resolve(locate(root), cluster))
    assert problem.message.endswith("a-7-1.0.0 -> b-7-1.0.0 -> a-7-1.0.0")


def test_a_long_chain_in_the_cluster_ends_at_the_limit(tmp_path: Path) -> None:
    root = write(tmp_path / "a", operator("a", "b0"))
    chain = [installed(f"b{n}", "1.0.0", f"b{n + 1}") for n in range(20)]
    assert (
        "are nested too deeply" in refused(lambda: resolve(locate(root), Cluster(*chain))).message
    )
