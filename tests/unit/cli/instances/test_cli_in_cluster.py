"""`install --in-cluster`."""

from pathlib import Path

import pytest

from kubectl_kudo.session.errors import ExitCode
from tests.unit.cli.conftest import VERSION, Cli, complete
from tests.unit.cli.fake_api import FakeApi


@pytest.fixture
def stored(kudo: Cli, api: FakeApi, package: Path) -> FakeApi:
    """Return a server with the operator of the package and a newer version of it."""
    assert kudo("install", str(package), "--skip-instance").code == 0
    text = (package / "operator.yaml").read_text()
    (package / "operator.yaml").write_text(text.replace("0.3.0", "0.4.0"))
    assert kudo("install", str(package), "--skip-instance").code == 0
    api.requests.clear()
    return api


def reference(api: FakeApi, name: str) -> object:
    return api.objects["instances", name]["spec"]["operatorVersion"]["name"]


def test_the_instance_names_the_version_that_was_found(kudo: Cli, stored: FakeApi) -> None:
    # BTO-21: the OperatorVersion was named after the flags, which none is.
    complete(stored)
    ran = kudo("install", "teapot", "--in-cluster", "-p", "TEA=mint", "--wait")
    assert ran.out.splitlines()[0] == "instance kitchen/teapot-instance created"
    assert ran.code == 0
    assert reference(stored, "teapot-instance") == "teapot-2.1.0-0.4.0"
    other = ("--operator-version", "0.3.0", "--app-version", "2.1.0", "--instance", "second")
    assert kudo("install", "teapot", "--in-cluster", "-p", "TEA=mint", *other).code == 0
    assert reference(stored, "second") == VERSION
    labels = stored.objects["instances", "second"]["metadata"]["labels"]
    assert labels == {"kudo.dev/operator": "teapot"}


def test_the_operator_may_be_missing(kudo: Cli, stored: FakeApi) -> None:
    # BTO-22: without the Operator the command crashed.
    stored.remove("operators", "teapot")
    assert kudo("install", "teapot", "--in-cluster", "-p", "TEA=mint").code == 0


def test_nothing_is_created_if_something_is_wrong(kudo: Cli, stored: FakeApi) -> None:
    def error(*argv: str) -> str:
        ran = kudo("install", *argv, "--in-cluster")
        assert ran.code in {2, 3, 4, 255}
        return ran.err

    assert "missing required parameters during installation: TEA" in error("teapot")
    assert (
        'failed to resolve operator version in namespace "kitchen" for name "teapot", version '
        '"9", appVersion ""'
    ) in error("teapot", "--operator-version", "9")
    assert "failed to find any operator version in namespace default" in error(
        "teapot", "-n", "default"
    )
    text = "you can't use skip-instance or repo option when installing from in-cluster operators"
    assert text in error("teapot", "--skip-instance")
    assert text in error("teapot", "--repo", "community")
    assert stored.writes() == []


def needs(api: FakeApi, version: str, package: str, number: str) -> None:
    """Give a stored version a task that needs another one."""
    spec = {"package": package, "operatorVersion": number}
    task = {"name": "child", "kind": "KudoOperator", "spec": spec}
    api.objects["operatorversions", version]["spec"]["tasks"].append(task)


def add(api: FakeApi, name: str, number: str) -> None:
    spec = {"operator": {"name": name}, "version": number, "tasks": [], "plans": {"deploy": {}}}
    api.add("operatorversions", {"metadata": {"name": f"{name}-{number}"}, "spec": spec})


def test_dependencies_are_looked_up_over_all_levels(kudo: Cli, stored: FakeApi) -> None:
    install = ("install", "teapot", "--in-cluster", "-p", "TEA=mint")
    needs(stored, "teapot-2.1.0-0.4.0", "kettle", "1.0.0")
    add(stored, "kettle", "1.0.0")
    needs(stored, "kettle-1.0.0", "stove", "2.0.0")
    ran = kudo(*install)
    assert ran.code == ExitCode.NOT_FOUND
    assert (
        'failed to resolve package Operator: "stove", OperatorVersion: "2.0.0", AppVersion "any", '
        "dependency of package kettle-1.0.0: "
    ) in ran.err
    add(stored, "stove", "2.0.0")
    needs(stored, "stove-2.0.0", "kettle", "1.0.0")
    assert "kettle-1.0.0 -> stove-2.0.0 -> kettle-1.0.0" in kudo(*install).err
    assert stored.writes() == []
    stored.objects["operatorversions", "stove-2.0.0"]["spec"]["tasks"].clear()
    assert kudo(*install).code == 0
