"""`install`, `upgrade` and `package verify` of packages that need others."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi
from tests.unit.kudo.packages.package_tree import operator, pack, write

JsonObject = dict[str, Any]
DEPTH_FIRST = [
    "operator kitchen/a",
    "operator kitchen/b",
    "operatorversion kitchen/b-0.1.0",
    "operator kitchen/c",
    "operatorversion kitchen/c-0.1.0",
    "operator kitchen/d",
    "operatorversion kitchen/d-0.1.0",
    "operatorversion kitchen/a-0.1.0",
]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a package `a` that needs `b` and `c`, where `c` needs `d`."""
    root = write(tmp_path / "a", operator("a", "./b", "./c"))
    write(root / "b", operator("b"))
    write(root / "c", operator("c", "../../d"))
    write(tmp_path / "d", operator("d"))
    return root


def needs(api: FakeApi, version: str) -> list[JsonObject]:
    tasks = api.objects["operatorversions", version]["spec"]["tasks"]
    return [task["spec"] for task in tasks if task["kind"] == "KudoOperator"]


def has(api: FakeApi, operator: str, *, version: str, app: str = "", name: str = "") -> None:
    spec = {"operator": {"name": operator}, "version": version} | (
        {"appVersion": app} if app else {}
    )
    name = name or "-".join(filter(None, (operator, app, version)))
    api.add("operatorversions", {"metadata": {"name": name}, "spec": spec})


# install


def test_dependencies_are_installed_with_the_package_and_get_no_instance(
    kudo: Cli, api: FakeApi, tree: Path
) -> None:
    ran = kudo("install", str(tree))
    assert (ran.code, ran.err) == (0, "")
    created = [*DEPTH_FIRST, "instance kitchen/a-instance"]
    assert ran.out.splitlines() == [f"{one} created" for one in created]
    assert api.names("instances") == ["a-instance"]
    assert needs(api, "a-0.1.0") == [
        {"package": "b", "operatorVersion": "0.1.0"},
        {"package": "c", "operatorVersion": "0.1.0"},
    ]


def test_an_archive_brings_its_dependencies(kudo: Cli, api: FakeApi, tmp_path: Path) -> None:
    root = write(tmp_path / "a", operator("a", "./b"))
    write(root / "b", operator("b", more="appVersion: 3.1.4"))
    ran = kudo("install", str(pack(root, tmp_path / "a.tgz")))
    assert "operatorversion kitchen/b-3.1.4-0.1.0 created" in ran.out
    assert needs(api, "a-0.1.0") == [
        {"package": "b", "operatorVersion": "0.1.0", "appVersion": "3.1.4"}
    ]


def test_what_is_installed_already_is_left_alone_and_the_rest_made_good(
    kudo: Cli, api: FakeApi, tree: Path
) -> None:
    kudo("install", str(tree), "--skip-instance")
    assert kudo("install", str(tree), "--skip-instance").out == (
        "operatorversion kitchen/a-0.1.0 already installed\n"
    )
    api.remove("operatorversions", "d-0.1.0")
    assert kudo("install", str(tree), "--skip-instance").out == (
        "operatorversion kitchen/a-0.1.0 already installed\n"
        "operatorversion kitchen/d-0.1.0 created\n"
    )


def test_a_dependency_with_other_content_is_refused(kudo: Cli, api: FakeApi, tree: Path) -> None:
    kudo("install", str(tree), "--skip-instance")
    write(tree / "b", operator("b", more="description: other"), pot="{{/* other */}}")
    api.requests.clear()
    ran = kudo("install", str(tree))
    assert ran.code == 255
    assert "operatorversion kitchen/b-0.1.0 is installed already and has other content" in ran.err
    assert api.writes() == []


def test_nothing_is_created_when_a_dependency_is_missing_or_unusable(
    kudo: Cli, api: FakeApi, tree: Path
) -> None:
    write(tree / "b", operator("B", "./none"))
    ran = kudo("install", str(tree))
    assert ran.code == 3
    assert ran.err.startswith(
        "Error: operator.yaml: tasks[t0]: failed to resolve package Operator: "
        '"./none", OperatorVersion: "any", AppVersion "any", dependency of package B-0.1.0: stat '
    )
    write(tree / "b", operator("B"))
    assert 'the operator name "B" is not valid' in kudo("install", str(tree)).err
    write(tree / "b", operator("b").replace("1.25.0", "1.99.0"))
    assert "expected kubernetes version of 1.99.0" in kudo("install", str(tree)).err
    assert api.writes() == []


def test_a_failure_half_way_takes_back_dependencies_as_well(
    kudo: Cli, api: FakeApi, tree: Path
) -> None:
    api.refusals["POST", "instances"] = (403, "no instances today")
    ran = kudo("install", str(tree))
    assert ran.code == 4
    assert ran.err.endswith(f"Removed again: {', '.join(reversed(DEPTH_FIRST))}.\n")
    assert api.objects == {}


def test_dependencies_stay_when_somebody_uses_one_by_now(
    kudo: Cli, api: FakeApi, tree: Path
) -> None:
    spec = {"operatorVersion": {"name": "d-0.1.0"}}
    api.add("instances", {"metadata": {"name": "other"}, "spec": spec})
    api.refusals["POST", "instances"] = (403, "no instances today")
    ran = kudo("install", str(tree))
    assert "What was installed stays, because instance other uses it." in ran.err
    assert len(api.names("operatorversions")) == 4


def test_two_versions_of_one_operator_share_it(kudo: Cli, api: FakeApi, tmp_path: Path) -> None:
    root = write(tmp_path / "a", operator("a", "./x", "./y"))
    write(root / "x", operator("b"))
    write(root / "y", operator("b", version="0.2.0"))
    ran = kudo("install", str(root), "--skip-instance")
    assert ran.code == 0
    assert api.names("operators") == ["a", "b"]
    assert api.names("operatorversions") == ["a-0.1.0", "b-0.1.0", "b-0.2.0"]
    assert api.writes().count("POST operators") == 2


def test_a_dry_run_names_the_dependencies(kudo: Cli, api: FakeApi, tree: Path) -> None:
    for mode in ("client", "server"):
        ran = kudo("install", str(tree), f"--dry-run={mode}", "-o", "json")
        names = [
            f"{obj['kind'].lower()} kitchen/{obj['metadata']['name']}"
            for obj in json.loads(ran.out)
        ]
        assert names == [*DEPTH_FIRST, "instance kitchen/a-instance"]
        assert api.objects == {}


# Names of operators


def test_a_name_means_the_newest_installed_version(kudo: Cli, api: FakeApi, tmp_path: Path) -> None:
    for app, version in (("", "9.0.0"), ("1.0.0", "0.9.0"), ("1.0.0", "0.10.0"), ("x", "9.0.0")):
        has(api, "b", version=version, app=app)
    has(api, "b", version="99.0.0", app="99.0.0", name="by-hand")
    has(api, "bb", version="99.0.0")
    broken: JsonObject = {"operator": {"name": "b"}, "version": {}}
    api.add("operatorversions", {"metadata": {"name": "broken"}, "spec": broken})
    ran = kudo("install", str(write(tmp_path / "a", operator("a", "b"))), "--skip-instance")
    assert ran.code == 0
    assert needs(api, "a-0.1.0") == [
        {"package": "b", "operatorVersion": "0.10.0", "appVersion": "1.0.0"}
    ]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("operatorVersion=0.9.0", {"operatorVersion": "0.9.0", "appVersion": "2.0.0"}),
        ("appVersion=1.0.0", {"operatorVersion": "0.9.0", "appVersion": "1.0.0"}),
    ],
)
def test_a_name_with_versions_means_those(
    kudo: Cli, api: FakeApi, tmp_path: Path, asked: str, found: dict[str, str]
) -> None:
    for app in ("1.0.0", "2.0.0", "3.0.0"):
        has(api, "b", version="1.0.0" if app == "3.0.0" else "0.9.0", app=app)
    root = write(tmp_path / "a", operator("a", f"b {asked}"))
    kudo("install", str(root), "--skip-instance")
    assert needs(api, "a-0.1.0") == [{"package": "b", **found}]


def test_a_name_that_is_not_installed_says_what_can_be_done(
    kudo: Cli, api: FakeApi, tmp_path: Path
) -> None:
    has(api, "b", version="0.9.0")
    root = write(tmp_path / "a", operator("a", "b operatorVersion=1.0.0"))
    ran = kudo("install", str(root))
    assert ran.code == 255
    assert (
        'failed to resolve operator version in namespace "kitchen" for name "b", version "1.0.0", '
        'appVersion ""; install it first (kubectl kudo install <its folder> --skip-instance -n '
        "kitchen), or name its folder or .tgz file in the task, such as ./b"
    ) in ran.err


def test_without_a_cluster_a_name_cannot_be_found(run: Cli, tmp_path: Path) -> None:
    root = write(tmp_path / "a", operator("a", "b"))
    ran = run("install", str(root), "--dry-run=client")
    assert ran.code == 255
    assert "whether operator b is installed is unknown without a cluster" in ran.err


# upgrade


def test_upgrade_brings_new_versions_of_dependencies_before_its_own(
    kudo: Cli, api: FakeApi, tree: Path
) -> None:
    kudo("install", str(tree), "--instance", "i")
    write(tree / "b", operator("b", version="0.2.0"))
    write(tree, operator("a", "./b", "./c", version="0.2.0"))
    ran = kudo("upgrade", str(tree), "--instance", "i")
    assert ran.out == (
        "operatorversion kitchen/b-0.2.0 created\n"
        "operatorversion kitchen/a-0.2.0 created\n"
        "instance kitchen/i updated\n"
        "version: 0.1.0 → 0.2.0; the reconciler chooses the plan: no webhook of KUDO answered\n"
    )
    assert [spec["operatorVersion"] for spec in needs(api, "a-0.2.0")] == ["0.2.0", "0.1.0"]


def test_a_new_dependency_alone_is_other_content(kudo: Cli, api: FakeApi, tree: Path) -> None:
    kudo("install", str(tree), "--instance", "i")
    write(tree / "b", operator("b", version="0.2.0"))
    ran = kudo("install", str(tree), "--instance", "j")
    assert ran.code == 255
    assert "it differs in spec.tasks[t0]" in ran.err


# package verify


def test_verify_looks_at_dependencies(run: Cli, tree: Path) -> None:
    assert run("package", "verify", str(tree)).out == "package is valid\n"
    write(tree / "c", operator("c").replace("0.1.0", "one"))
    ran = run("package", "verify", str(tree))
    assert ran.code == 5
    assert ran.out == (
        'Errors\ndependency c-one: unable to parse "operatorVersion": Invalid Semantic Version  '
        f"({tree}/c/operator.yaml:2:1) [VersionInvalid]\n"
    )


def test_verify_leaves_names_to_the_cluster(run: Cli, tmp_path: Path) -> None:
    root = write(tmp_path / "a", operator("a", "b operatorVersion=1.0.0"))
    assert run("package", "verify", str(root)).out == "package is valid\n"
