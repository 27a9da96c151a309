"""`upgrade --to`: to a version that is in the cluster already."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Cli, complete
from tests.unit.cli.fake_api import FakeApi

OLD, NEW = "teapot-2.1.0-0.3.0", "teapot-2.1.0-0.4.0"
TO = ("upgrade", "--instance", "tea", "--to")
FOLLOW = "Follow it: kubectl kudo plan status --wait --instance tea -n kitchen"


@pytest.fixture
def shelf(kudo: Cli, pot: FakeApi, package: Path) -> FakeApi:
    """Return a server with instance `tea` of the old version, beside the new one and others."""
    assert kudo("install", str(package), "--skip-instance").code == 0
    add(pot, "cup-0.4.0", "cup", "0.4.0")
    pot.plan = "deploy"
    pot.requests.clear()
    return pot


def add(api: FakeApi, name: str, operator: str, version: str, app_version: str = "") -> None:
    """Store another OperatorVersion with the content of the new one."""
    spec = {**api.objects["operatorversions", NEW]["spec"], "operator": {"name": operator}}
    spec |= {"version": version, "appVersion": app_version or None}
    kept = {key: value for key, value in spec.items() if value is not None}
    api.add("operatorversions", {"metadata": {"name": name}, "spec": kept})


def named(api: FakeApi) -> object:
    return api.objects["instances", "tea"]["spec"]["operatorVersion"]


@pytest.mark.parametrize("name", ["0.4.0", NEW])
def test_the_version_is_named_by_its_number_or_its_object(
    kudo: Cli, shelf: FakeApi, name: str
) -> None:
    ran = kudo(*TO, name, "-p", "MILK=soy")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "instance kitchen/tea updated",
        "version: 0.3.0 → 0.4.0",
        "MILK: (not set) → soy",
        "plan deploy runs",
        FOLLOW,
    ]
    assert shelf.writes() == ["PATCH instances/tea"]
    assert named(shelf) == {"name": NEW}


def test_it_is_waited_for(kudo: Cli, shelf: FakeApi) -> None:
    complete(shelf)
    ran = kudo(*TO, "0.4.0", "--wait")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "instance kitchen/tea updated",
        "version: 0.3.0 → 0.4.0; plan deploy runs",
        "instance kitchen/tea ready",
    ]


@pytest.mark.parametrize(("mode", "suffix"), [("client", "dry run"), ("server", "server dry run")])
def test_a_dry_run_says_what_would_change(
    kudo: Cli, shelf: FakeApi, mode: str, suffix: str
) -> None:
    ran = kudo(*TO, "0.4.0", f"--dry-run={mode}", "-o", "json")
    assert ran.code == 0
    assert ran.err.splitlines() == [
        f"instance kitchen/tea updated ({suffix})",
        "version: 0.3.0 → 0.4.0; plan deploy would run",
    ]
    assert [obj["spec"]["operatorVersion"] for obj in json.loads(ran.out)] == [{"name": NEW}]
    assert named(shelf) == {"name": OLD}


def test_an_unknown_version_is_told_with_those_there_are(kudo: Cli, shelf: FakeApi) -> None:
    ran = kudo(*TO, "0.5.0")
    assert (ran.code, ran.out, shelf.writes()) == (3, "", [])
    assert ran.err == (
        "Error: operator teapot has no version 0.5.0 in namespace kitchen; the versions there are: "
        f"0.4.0 ({NEW}, app version 2.1.0), 0.3.0 ({OLD}, app version 2.1.0)\n"
    )
    ran = kudo(*TO, "0.4.0", "--app-version", "2.2.0")
    assert "operator teapot has no version 0.4.0 with app version 2.2.0 in" in ran.err


def test_of_several_app_versions_one_has_to_be_named(kudo: Cli, shelf: FakeApi) -> None:
    add(shelf, "teapot-2.2.0-0.4.0", "teapot", "0.4.0", "2.2.0")
    ran = kudo(*TO, "0.4.0")
    assert (ran.code, shelf.writes()) == (255, [])
    assert ran.err == (
        "Error: operator teapot has several versions 0.4.0 in namespace kitchen: 0.4.0 "
        f"(teapot-2.2.0-0.4.0, app version 2.2.0), 0.4.0 ({NEW}, app version 2.1.0); say which "
        "with --app-version\n"
    )
    assert kudo(*TO, "0.4.0", "--app-version", "2.2.0").code == 0
    assert named(shelf) == {"name": "teapot-2.2.0-0.4.0"}


def test_of_two_objects_of_one_version_one_has_to_be_named(kudo: Cli, shelf: FakeApi) -> None:
    add(shelf, "teapot-again", "teapot", "0.4.0", "2.1.0")
    assert "say which with its name" in kudo(*TO, "0.4.0").err
    assert kudo(*TO, "teapot-again").code == 0


def test_an_older_version_has_to_be_allowed(kudo: Cli, shelf: FakeApi) -> None:
    assert kudo(*TO, "0.4.0").code == 0
    shelf.objects["instances", "tea"]["spec"]["planExecution"] = {}
    ran = kudo(*TO, "0.3.0")
    assert ran.code == 255
    assert "go back to it with --allow-downgrade" in ran.err
    assert kudo(*TO, "0.3.0", "--allow-downgrade").code == 0


def test_the_version_that_the_instance_has_changes_nothing(kudo: Cli, shelf: FakeApi) -> None:
    ran = kudo(*TO, "0.3.0")
    text = "nothing changed: instance kitchen/tea has version 0.3.0 already\n"
    assert (ran.code, ran.out, ran.err) == (0, text, "")
    ran = kudo(*TO, "0.3.0", "-p", "TEA=mint", "--dry-run=client", "-o", "yaml")
    text = "nothing would change: instance kitchen/tea has version 0.3.0 and these values already\n"
    assert (ran.code, ran.out, ran.err) == (0, "...\n", text)
    assert shelf.writes() == []
    ran = kudo(*TO, "0.3.0", "-p", "CUPS=3")
    assert ran.out.splitlines() == [
        "instance kitchen/tea updated",
        "CUPS: 2 (default) → 3; plan deploy runs",
        FOLLOW,
    ]


def test_again_it_waits_for_the_run_of_the_first_call(kudo: Cli, shelf: FakeApi) -> None:
    assert kudo(*TO, "0.4.0").code == 0
    shelf.requests.clear()
    complete(shelf)
    ran = kudo(*TO, "0.4.0", "--wait")
    assert ran.code == 0
    assert ran.out.endswith("has version 0.4.0 already\ninstance kitchen/tea ready\n")
    assert shelf.writes() == []


def test_what_it_depends_on_has_to_be_there(kudo: Cli, shelf: FakeApi) -> None:
    task = {"name": "cup", "kind": "KudoOperator", "spec": {"package": "saucer"}}
    shelf.objects["operatorversions", NEW]["spec"]["tasks"].append(task)
    ran = kudo(*TO, "0.4.0")
    assert (ran.code, shelf.writes()) == (3, [])
    assert "failed to resolve operator version" in ran.err


def test_values_that_are_wrong_are_told_before_anything_is_sent(kudo: Cli, shelf: FakeApi) -> None:
    ran = kudo(*TO, "0.4.0", "-p", "MLIK=1")
    assert (ran.code, shelf.writes()) == (4, [])
    assert "\nMLIK: did you mean MILK?" in ran.err


@pytest.mark.parametrize(
    ("argv", "what"),
    [
        (["./teapot"], "a package"),
        (["--repo", "community"], "--repo"),
        (["--operator-version", "1"], "--operator-version"),
        (["--skip-verify"], "--skip-verify"),
    ],
)
def test_what_is_about_packages_cannot_be_given_with_it(
    kudo: Cli, shelf: FakeApi, argv: list[str], what: str
) -> None:
    ran = kudo(*TO, "0.4.0", *argv)
    assert (ran.code, shelf.requests) == (2, [])
    assert ran.err == (
        f"Error: --to takes a version that is in the cluster; it cannot be used with {what}\n"
    )


def test_an_instance_has_to_be_named_and_to_exist(kudo: Cli, shelf: FakeApi) -> None:
    assert kudo("upgrade", "--to", "0.4.0").code == 2
    ran = kudo("upgrade", "--instance", "milk", "--to", "0.4.0")
    assert (ran.code, ran.err) == (
        3,
        "Error: instance kitchen/milk does not exist in the cluster\n",
    )
