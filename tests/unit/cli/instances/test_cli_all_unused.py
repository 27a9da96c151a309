"""`uninstall --all-unused`."""

from typing import Any

import pytest

from kubectl_kudo.instances.unused import unused
from tests.unit.cli.conftest import VERSION, Cli
from tests.unit.cli.fake_api import FakeApi

JsonObject = dict[str, Any]
YES = ("uninstall", "--all-unused", "--yes")


def version(name: str, operator: str, *needed: JsonObject, number: str = "1") -> JsonObject:
    tasks = [{"name": "child", "kind": "KudoOperator", "spec": spec} for spec in needed]
    spec = {"operator": {"name": operator}, "version": number, "tasks": tasks}
    return {"metadata": {"name": name}, "spec": spec}


@pytest.fixture
def shelf(installed: FakeApi) -> FakeApi:
    """Return a server with `tea` of teapot, an older teapot, and an operator that nobody uses."""
    installed.add("operatorversions", version("teapot-old", "teapot"))
    installed.add("operators", {"metadata": {"name": "kettle"}, "spec": {}})
    installed.add("operatorversions", version("kettle-1", "kettle"))
    return installed


def left(api: FakeApi) -> tuple[list[str], list[str]]:
    return api.names("operatorversions"), api.names("operators")


def test_what_no_instance_uses_is_deleted_as_it_was_seen(kudo: Cli, shelf: FakeApi) -> None:
    # BTO-32: nothing removed Operators and OperatorVersions.
    seen = shelf.objects["operatorversions", "kettle-1"]["metadata"]
    ran = kudo(*YES)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "operatorversion kitchen/kettle-1 deleted",
        "operatorversion kitchen/teapot-old deleted",
        "operator kitchen/kettle deleted",
    ]
    assert left(shelf) == ([VERSION], ["teapot"])
    first = next(body for method, _, body in shelf.requests if method == "DELETE")
    assert first is not None
    expected = {"uid": seen["uid"], "resourceVersion": seen["resourceVersion"]}
    assert first["preconditions"] == expected
    again = kudo(*YES)
    text = "no operator or operatorversion is unused in namespace kitchen\n"
    assert (again.code, again.out) == (0, text)


def test_an_instance_of_another_namespace_uses_a_version_too(kudo: Cli, shelf: FakeApi) -> None:
    spec = {"operatorVersion": {"name": "kettle-1", "namespace": "kitchen"}}
    shelf.add("instances", {"metadata": {"name": "far", "namespace": "default"}, "spec": spec})
    assert kudo(*YES).out == "operatorversion kitchen/teapot-old deleted\n"


def test_who_may_not_list_other_namespaces_is_told_once(kudo: Cli, shelf: FakeApi) -> None:
    shelf.only_namespaced.add("instances")
    ran = kudo(*YES)
    assert (ran.code, left(shelf)[0]) == (0, [VERSION])
    assert ran.err.count("You may not list the instances of other namespaces") == 1


def test_what_changed_meanwhile_stays(kudo: Cli, shelf: FakeApi) -> None:
    def change(call: str) -> None:
        if call == "DELETE operatorversions/kettle-1":
            shelf.objects["operatorversions", "kettle-1"]["metadata"]["resourceVersion"] += "0"

    shelf.before_write = change
    ran = kudo(*YES)
    assert ran.code == 255
    assert "not deleted, because it changed meanwhile: operatorversion kitchen/kett" in ran.err
    assert "kettle-1" in shelf.names("operatorversions")


def test_a_dry_run_asks_nothing_and_deletes_nothing(kudo: Cli, shelf: FakeApi) -> None:
    before = left(shelf)
    ran = kudo("uninstall", "--all-unused", "--dry-run=server")
    assert (ran.code, ran.err, left(shelf)) == (0, "", before)
    assert ran.out.count("dry run)") == 3


def test_what_a_used_version_needs_for_its_tasks_is_used() -> None:
    versions = [
        version("shop-1", "shop", {"package": "db", "operatorVersion": "2"}),
        version("db-2", "db", {"package": "disk"}, number="2"),
        version("db-3", "db", {"package": "shop", "operatorVersion": "1"}, number="3"),
        version("disk-1", "disk"),
        version("disk-2", "disk", number="2"),
    ]
    operators = [{"metadata": {"name": name}} for name in ("shop", "disk", "db", "alone")]
    found = unused(operators, versions, {"shop-1", "gone-1"})
    assert [one["metadata"]["name"] for one in found.versions] == ["db-3"]
    assert [one["metadata"]["name"] for one in found.operators] == ["alone"]
    found = unused(operators, versions, set())
    assert (len(found.versions), len(found.operators)) == (5, 4)
