"""`plan status` and `plan trigger` against an API server: what they send, print and return."""

import json

import pytest

from kubectl_kudo.core.errors import ExitCode
from tests.unit.cli.conftest import VERSION, Cli, complete
from tests.unit.cli.fake_api import FakeApi, status

THROUGH = "│\u00a0\u00a0 "


def test_plan_status_of_an_instance_that_never_ran(kudo: Cli, installed: FakeApi) -> None:
    text = "No plan ever run for instance - nothing to show for instance tea\n"
    assert kudo("plan", "status", "--instance", "tea").out == text
    ran = kudo("plan", "status", "--instance", "tea", "--wait")
    assert (ran.code, ran.out) == (0, text)


@pytest.fixture
def brewed(installed: FakeApi, monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    """Return the server with an instance whose plan `deploy` has run, and `brew` before it."""
    monkeypatch.setenv("TZ", "UTC")
    plans = installed.objects["operatorversions", VERSION]["spec"]["plans"]
    plans["brew"] = plans["clean"] = plans["deploy"]
    tea = installed.objects["instances", "tea"]
    for minute, plan in enumerate(("brew", "deploy")):
        status("COMPLETE", plan=plan)(tea)
        entry = tea["status"]["planStatus"][plan]
        entry |= {"uid": plan, "lastUpdatedTimestamp": f"2030-05-06T07:0{minute}:00Z"}
    return installed


def test_plan_status_of_all_plans_is_the_text_of_kudo_0_19(kudo: Cli, brewed: FakeApi) -> None:
    inactive = (
        f"    {THROUGH}└── Phase main (serial strategy) [NOT ACTIVE]\n"
        f"    {THROUGH}    └── Step app [NOT ACTIVE]\n"
    )
    assert kudo("plan", "status", "--instance", "tea", "--all").out == (
        'Plan(s) for "tea" in namespace "kitchen":\n'
        ".\n"
        f'└── tea (Operator-Version: "{VERSION}" Active-Plan: "deploy")\n'
        f"    ├── Plan brew (serial strategy) [NOT ACTIVE]\n{inactive}"
        f"    ├── Plan clean (serial strategy) [NOT ACTIVE]\n{inactive}"
        "    └── Plan deploy (serial strategy) [COMPLETE], last updated 2030-05-06 07:01:00\n"
        "        └── Phase main (serial strategy) [COMPLETE]\n"
        "            └── Step app [COMPLETE]\n"
        "\n"
    )


def test_plan_status_of_one_plan(kudo: Cli, brewed: FakeApi) -> None:
    ran = kudo("plan", "status", "--instance", "tea", "--plan", "brew")
    assert "Plan brew (serial strategy) [COMPLETE], last updated" in ran.out
    assert "deploy (" not in ran.out
    ran = kudo("plan", "status", "--instance", "tea", "--plan", "clean")
    assert "Step app [NEVER_RUN]" in ran.out
    ran = kudo("plan", "status", "--instance", "tea", "--plan", "brew", "-o", "json")
    entries = brewed.objects["instances", "tea"]["status"]["planStatus"]
    assert json.loads(ran.out) == entries["brew"]


@pytest.mark.parametrize("output", [(), ("-o", "yaml")])
def test_plan_status_of_a_plan_that_there_is_not(
    kudo: Cli, brewed: FakeApi, output: tuple[str, ...]
) -> None:
    ran = kudo("plan", "status", "--instance", "tea", "--plan", "stir", *output)
    assert (ran.code, ran.out) == (ExitCode.NOT_FOUND, "")
    text = "Error: instance kitchen/tea has no plan stir; its plans: brew, clean, deploy\n"
    assert ran.err == text


@pytest.mark.parametrize("other", ["--all", "--wait", "--watch"])
def test_plan_status_of_one_plan_goes_with_nothing_that_is_about_others(
    kudo: Cli, brewed: FakeApi, other: str
) -> None:
    ran = kudo("plan", "status", "--instance", "tea", "--plan", "brew", other)
    assert ran.code == ExitCode.USAGE
    assert f"--plan and {other} cannot be combined" in ran.err


def test_plan_status_as_data_is_the_status(kudo: Cli, installed: FakeApi) -> None:
    status("COMPLETE")(installed.objects["instances", "tea"])
    ran = kudo("plan", "status", "--instance", "tea", "-o", "json")
    assert json.loads(ran.out) == installed.objects["instances", "tea"]["status"]


def test_plan_status_needs_the_instance_and_its_version(kudo: Cli, installed: FakeApi) -> None:
    assert kudo("plan", "status", "--instance", "milk").err == (
        "Error: instance kitchen/milk does not exist\n"
    )
    status("COMPLETE")(installed.objects["instances", "tea"])
    installed.remove("operatorversions", VERSION)
    assert kudo("plan", "status", "--instance", "tea").err == (
        f"Error: OperatorVersion {VERSION} from instance kitchen/tea does not exist\n"
    )
    assert kudo("plan", "status", "--instance", "tea", "-o", "yaml").code == 0


@pytest.mark.parametrize("flag", ["--wait", "--watch"])
def test_plan_status_waits_for_the_end_and_prints_the_last_tree(
    kudo: Cli, installed: FakeApi, flag: str
) -> None:
    tea = installed.objects["instances", "tea"]
    tea["spec"]["planExecution"] = {"planName": "deploy", "uid": "1"}
    complete(installed)
    ran = kudo("plan", "status", "--instance", "tea", flag)
    assert ran.code == 0
    assert ran.out.count("Plan deploy (serial strategy) [COMPLETE]") == 1
    assert "IN_PROGRESS" not in ran.out
    assert "deploy IN_PROGRESS" in ran.err


def test_plan_status_fails_when_the_plan_does(kudo: Cli, installed: FakeApi) -> None:
    tea = installed.objects["instances", "tea"]
    tea["spec"]["planExecution"] = {"planName": "deploy", "uid": "1"}
    installed.script = [status("FATAL_ERROR", message="no water")]
    ran = kudo("plan", "status", "--instance", "tea", "--wait")
    assert ran.code == 6
    assert "Step app [FATAL_ERROR] (no water)" in ran.out
    assert ran.err.endswith("FATAL_ERROR at deploy.main.app: no water\n")


def test_plan_trigger_names_the_plan_under_a_fresh_uid(kudo: Cli, installed: FakeApi) -> None:
    ran = kudo("plan", "trigger", "--instance", "tea", "--name", "deploy")
    assert (ran.code, ran.out) == (0, "Triggered deploy plan for kitchen/tea instance\n")
    first = installed.requests[-1][2]
    kudo("plan", "trigger", "--instance", "tea", "--name", "deploy")
    second = installed.requests[-1][2]
    assert first
    assert second
    assert first["spec"]["planExecution"]["planName"] == "deploy"
    assert len({obj["spec"]["planExecution"]["uid"] for obj in (first, second)}) == 2


def test_plan_trigger_of_a_missing_instance_says_what_the_server_says(
    kudo: Cli, api: FakeApi
) -> None:
    ran = kudo("plan", "trigger", "--instance", "tea", "--name", "deploy")
    assert ran.err == 'Error: instances.kudo.dev "tea" not found\n'


def test_plan_trigger_waits_for_its_run(kudo: Cli, installed: FakeApi) -> None:
    complete(installed)
    ran = kudo("plan", "trigger", "--instance", "tea", "--name", "deploy", "--wait")
    assert ran.code == 0
    assert ran.out.endswith("instance kitchen/tea ready\n")
