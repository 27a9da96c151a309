"""`install --upgrade`, with and without `--replace-version`, against an API server."""

from pathlib import Path
from typing import Any

import pytest

from kubectl_kudo.session.errors import ExitCode
from tests.unit.cli.conftest import TEMPLATE, VERSION, Cli, complete, running
from tests.unit.cli.fake_api import FakeApi, status

JsonObject = dict[str, Any]
NEW = VERSION.replace("0.3.0", "0.4.0")
AGAIN = ("--instance", "tea", "--upgrade")
REPLACE = (*AGAIN, "--replace-version")
CHANGED = TEMPLATE.replace("ConfigMap", "Secret")


def edit(folder: Path, file: str, old: str, new: str) -> None:
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))


@pytest.fixture
def tea(kudo: Cli, api: FakeApi, package: Path) -> FakeApi:
    """Return a server with an instance `tea` of the package, installed with `--upgrade`."""
    ran = kudo("install", str(package), "-p", "TEA=mint", *AGAIN)
    assert ran.out.endswith("instance kitchen/tea created\n")
    api.requests.clear()
    api.changes.clear()
    return api


@pytest.fixture
def edited(tea: FakeApi, package: Path) -> FakeApi:
    """Return the server, after a template of the package was changed."""
    (package / "templates" / "pot.yaml").write_text(CHANGED)
    return tea


def patches(api: FakeApi) -> list[JsonObject]:
    return [body["spec"] for method, _, body in api.requests if method == "PATCH" and body]


def template(api: FakeApi, version: str = VERSION) -> str:
    return str(api.objects["operatorversions", version]["spec"]["templates"]["pot.yaml"])


def test_values_that_differ_are_set(kudo: Cli, tea: FakeApi, package: Path) -> None:
    complete(tea)
    argv = ("-p", "TEA=mint", "-p", "CUPS=3")
    ran = kudo("install", str(package), *argv, *AGAIN, "--wait")
    assert ran.out.splitlines()[1:] == [
        "instance kitchen/tea updated",
        "CUPS: 2 (default) → 3; plan deploy runs",
        "instance kitchen/tea ready",
    ]
    assert patches(tea) == [{"parameters": {"CUPS": "3"}}]


def test_a_newer_version_is_an_upgrade_and_an_older_one_must_be_allowed(
    kudo: Cli, tea: FakeApi, package: Path
) -> None:
    edit(package, "operator.yaml", "0.3.0", "0.4.0")
    ran = kudo("install", str(package), *AGAIN)
    assert ran.out == (
        f"operatorversion kitchen/{NEW} created\n"
        "instance kitchen/tea updated\n"
        "version: 0.3.0 → 0.4.0; the reconciler chooses the plan: no webhook of KUDO answered\n"
    )
    edit(package, "operator.yaml", "0.4.0", "0.3.0")
    older = "upgraded version 0.3.0 is the same or smaller as current version 0.4.0 -> not "
    for command in (("install", *AGAIN), ("upgrade", "--instance", "tea")):
        ran = kudo(*command, str(package))
        assert (ran.code, ran.err) == (
            255,
            f"Error: {older}upgrading; go back to it with --allow-downgrade\n",
        )
    ran = kudo("upgrade", "--instance", "tea", str(package), "--allow-downgrade")
    assert ran.code == 0
    assert tea.objects["instances", "tea"]["spec"]["operatorVersion"] == {"name": VERSION}


def test_waiting_for_an_instance_that_stays_tells_how_its_last_run_ended(
    kudo: Cli, tea: FakeApi, package: Path
) -> None:
    running(tea)
    status("COMPLETE", done=True)(tea.objects["instances", "tea"])
    ran = kudo("install", str(package), *AGAIN, "--wait")
    assert ran.out.endswith("instance kitchen/tea unchanged\ninstance kitchen/tea ready\n")
    status("FATAL_ERROR", message="no pot", done=True)(tea.objects["instances", "tea"])
    ran = kudo("install", str(package), *AGAIN, "--wait")
    assert ran.code == ExitCode.PLAN_FAILED
    assert "ended with FATAL_ERROR at deploy.main.app: no pot" in ran.err


def test_the_namespace_may_exist(kudo: Cli, tea: FakeApi, package: Path) -> None:
    assert kudo("install", str(package), *AGAIN, "--create-namespace").code == 0
    argv = ("-n", "pantry", "-p", "TEA=mint", "--create-namespace")
    assert kudo("install", str(package), *AGAIN, *argv).code == 0
    assert ("namespaces", "pantry") in tea.objects


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["./teapot", "--replace-version"], "--replace-version needs --upgrade"),
        (["teapot", "--in-cluster", "--upgrade"], "cannot be used with --in-cluster"),
    ],
)
def test_flags_that_do_not_go_together(run: Cli, argv: list[str], text: str) -> None:
    ran = run("install", *argv)
    assert (ran.code, text in ran.err) == (ExitCode.USAGE, True)


# --replace-version


def test_other_content_is_refused_without_the_flag(
    kudo: Cli, edited: FakeApi, package: Path
) -> None:
    ran = kudo("install", str(package), *AGAIN)
    assert ran.code == 255
    assert "replace the installed one with `kubectl kudo install --upgrade --replace-" in ran.err
    assert edited.writes() == []


def test_the_content_is_replaced_and_deploy_runs(kudo: Cli, edited: FakeApi, package: Path) -> None:
    before = edited.objects["operatorversions", VERSION]["metadata"]["resourceVersion"]
    ran = kudo("install", str(package), *REPLACE)
    assert ran.code == 0
    assert ran.out.splitlines() == [
        f"operatorversion kitchen/{VERSION} replaced",
        "instance kitchen/tea updated",
        "plan deploy runs",
        "Follow it: kubectl kudo plan status --wait --instance tea -n kitchen",
    ]
    assert template(edited) == CHANGED
    (put,) = (body for method, _, body in edited.requests if method == "PUT")
    assert put is not None
    assert put["metadata"]["resourceVersion"] == before
    (sent,) = patches(edited)
    assert sent["planExecution"]["planName"] == "deploy"
    assert sent["planExecution"]["uid"]


def test_values_are_set_with_the_new_content_and_run_their_plan(
    kudo: Cli, edited: FakeApi, package: Path
) -> None:
    edit(package, "params.yaml", "parameters:\n", "parameters:\n  - {name: MILK, required: true}\n")
    ran = kudo("install", str(package), *REPLACE)
    assert "missing required parameters during installation: MILK" in ran.err
    assert edited.writes() == []
    edited.plan = "brew"
    ran = kudo("install", str(package), *REPLACE, "-p", "MILK=oat")
    assert ran.code == 0
    assert ran.err == (
        "The changed values run plan brew. What only plan deploy applies stays as it is until that "
        "runs: kubectl kudo plan trigger --instance tea -n kitchen --name deploy\n"
    )
    assert patches(edited) == [{"parameters": {"MILK": "oat"}}]


def test_what_another_instance_uses_is_not_replaced(
    kudo: Cli, edited: FakeApi, package: Path
) -> None:
    spec = {"operatorVersion": {"name": VERSION}}
    edited.add("instances", {"metadata": {"name": "green"}, "spec": spec})
    elsewhere = {"operatorVersion": {"name": VERSION, "namespace": "kitchen"}}
    edited.add(
        "instances", {"metadata": {"name": "red", "namespace": "default"}, "spec": elsewhere}
    )
    for argv in (REPLACE, ("--instance", "new", *REPLACE[2:], "-p", "TEA=mint")):
        ran = kudo("install", str(package), *argv)
        assert ran.code == 255
        assert "because these instances use it: default/red, kitchen/green" in ran.err
    assert edited.writes() == []


def test_nothing_is_replaced_while_a_plan_runs(kudo: Cli, edited: FakeApi, package: Path) -> None:
    running(edited)
    ran = kudo("install", str(package), *REPLACE)
    assert ran.code == 255
    assert "cannot be replaced while it runs plan deploy" in ran.err
    assert "kubectl kudo plan cancel --instance tea -n kitchen" in ran.err
    assert edited.writes() == []


def test_content_that_changes_meanwhile_is_not_overwritten(
    kudo: Cli, edited: FakeApi, package: Path
) -> None:
    def change(call: str) -> None:
        if call.startswith("PUT"):
            stored = edited.objects["operatorversions", VERSION]
            stored["metadata"]["resourceVersion"] += "0"

    edited.before_write = change
    ran = kudo("install", str(package), *REPLACE)
    assert ran.err == (f"Error: operatorversion kitchen/{VERSION} changed meanwhile; try again\n")
    assert template(edited) == TEMPLATE


def test_a_denied_change_restores_the_content(kudo: Cli, edited: FakeApi, package: Path) -> None:
    edited.refusals["PATCH", "instances"] = (403, "no tea today")
    ran = kudo("install", str(package), *REPLACE)
    assert ran.err == f"Error: no tea today\nRestored: operatorversion kitchen/{VERSION}.\n"
    assert template(edited) == TEMPLATE


def test_who_may_not_list_other_namespaces_is_told(
    kudo: Cli, edited: FakeApi, package: Path
) -> None:
    edited.only_namespaced.add("instances")
    ran = kudo("install", str(package), *REPLACE)
    assert (ran.code, "whether one of them uses an operatorversion" in ran.err) == (0, True)


@pytest.mark.parametrize("mode", ["client", "server"])
def test_a_dry_run_replaces_nothing(kudo: Cli, edited: FakeApi, package: Path, mode: str) -> None:
    ran = kudo("install", str(package), *REPLACE, f"--dry-run={mode}")
    assert ran.code == 0, ran.err
    assert "replaced (" in ran.out
    assert "plan deploy would run" in ran.out
    assert edited.changes == []
