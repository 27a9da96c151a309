"""`--dry-run=server`: every write goes to the API server as a dry run, and none is stored."""

import copy
import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Cli, running
from tests.unit.cli.fake_api import FakeApi

VERSION = "teapot-2.1.0-0.3.0"
INSTANCE = ("--instance", "tea")
SERVER = "--dry-run=server"


def test_the_server_is_asked_and_stores_nothing(kudo: Cli, pot: FakeApi) -> None:
    before = copy.deepcopy(dict(pot.objects))
    pot.plan = "brew"
    ran = kudo("update", *INSTANCE, "-p", "TEA=green", SERVER, "--wait")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "Instance tea was updated. (server dry run)\nTEA: mint → green; plan brew would run\n"
    )
    assert pot.dry_runs == ["PATCH instances/tea"]
    assert pot.objects == before


@pytest.mark.parametrize(
    ("argv", "method"),
    [
        (["plan", "trigger", "--name", "brew"], "PATCH"),
        (["plan", "cancel"], "PATCH"),
        (["uninstall"], "DELETE"),
    ],
)
def test_every_write_is_a_dry_run(kudo: Cli, pot: FakeApi, argv: list[str], method: str) -> None:
    running(pot)
    before = copy.deepcopy(dict(pot.objects))
    ran = kudo(*argv, *INSTANCE, SERVER)
    assert ran.code == 0
    assert "(server dry run)" in ran.out
    assert pot.dry_runs == pot.writes() == [f"{method} instances/tea"]
    assert pot.objects == before


def test_without_the_webhook_the_plan_is_not_known(kudo: Cli, pot: FakeApi) -> None:
    ran = kudo("update", *INSTANCE, "-p", "TEA=green", SERVER)
    assert ran.out.splitlines()[-1] == (
        "TEA: mint → green; the reconciler would choose the plan: no webhook of KUDO answered"
    )


def test_what_the_server_cannot_judge_is_judged_by_the_same_rules(
    kudo: Cli, api: FakeApi, package: Path
) -> None:
    ran = kudo("install", str(package), "-p", "TEA=mint", SERVER)
    assert ran.code == 0
    assert api.dry_runs == api.writes() == ["POST operators", "POST operatorversions"]
    assert ran.out.splitlines()[-2:] == [
        "instance kitchen/teapot-instance created (server dry run)",
        "plan deploy would run",
    ]
    assert ran.err == (
        f"operatorversion kitchen/{VERSION} is not in the cluster yet, so the API server cannot "
        "check instance kitchen/teapot-instance; it was checked locally, by the same rules\n"
    )


def test_an_installed_version_lets_the_server_judge(kudo: Cli, api: FakeApi, package: Path) -> None:
    kudo("install", str(package), "--skip-instance")
    api.requests.clear()
    api.plan = "deploy"
    ran = kudo("install", str(package), "-p", "TEA=mint", SERVER, "-o", "json")
    assert api.dry_runs == api.writes() == ["POST instances"]
    assert json.loads(ran.out)[0]["spec"]["planExecution"]["planName"] == "deploy"
    assert api.names("instances") == []


def test_an_upgrade_through_the_server_leaves_everything_as_it_is(
    kudo: Cli, pot: FakeApi, package: Path
) -> None:
    before = copy.deepcopy(dict(pot.objects))
    ran = kudo("upgrade", str(package), *INSTANCE, SERVER)
    assert ran.code == 0
    assert pot.dry_runs == pot.writes() == ["POST operatorversions"]
    assert "plan deploy would run" in ran.out
    assert pot.objects == before


def test_a_refused_dry_run_takes_nothing_back(kudo: Cli, api: FakeApi, package: Path) -> None:
    api.refusals["POST", "operatorversions"] = (403, "no versions today")
    ran = kudo("install", str(package), "-p", "TEA=mint", SERVER)
    assert ran.err == (
        f"Error: failed to create operatorversion kitchen/{VERSION}: no versions today\n"
    )
    assert "DELETE operators/teapot" not in api.writes()
