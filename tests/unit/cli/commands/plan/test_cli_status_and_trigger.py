"""`plan status` and `plan trigger` against an API server: what they send, print and return."""

import pytest

from kubectl_kudo.session.errors import ExitCode
from tests.unit.cli.conftest import VERSION, Cli
from tests.unit.cli.fake_api import FakeApi, status


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


@pytest.mark.parametrize("other", ["--all", "--wait", "--watch"])
def test_plan_status_of_one_plan_goes_with_nothing_that_is_about_others(
    kudo: Cli, brewed: FakeApi, other: str
) -> None:
    ran = kudo("plan", "status", "--instance", "tea", "--plan", "brew", other)
    assert ran.code == ExitCode.USAGE
    assert f"--plan and {other} cannot be combined" in ran.err


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
