"""`--dry-run`: what the commands say, what they print as data, and that nothing is changed."""

import copy
import json
from pathlib import Path

import pytest
import yaml

from tests.unit.cli.conftest import Cli, running
from tests.unit.cli.fake_api import FakeApi

VERSION = "teapot-2.1.0-0.3.0"
INSTANCE = ("--instance", "tea")
UPDATED = "Instance tea was updated."
ACCOUNT = "service account: (not set) → pot"
CLIENT, SERVER = "--dry-run=client", "--dry-run=server"


# The flag


def test_data_without_a_dry_run_is_refused(kudo: Cli, pot: FakeApi) -> None:
    ran = kudo("update", *INSTANCE, "-p", "CUPS=3", "-o", "yaml")
    assert (ran.code, ran.out, pot.requests) == (2, "", [])
    assert "give it together with --dry-run=client or --dry-run=server" in ran.err


def test_no_dry_run_is_no_dry_run(kudo: Cli, pot: FakeApi) -> None:
    ran = kudo("update", *INSTANCE, "-p", "CUPS=3", "--dry-run=none")
    assert ran.out.startswith("Instance tea was updated.\n")
    assert pot.writes() == ["PATCH instances/tea"]


# What a client dry run says


def test_an_install_beside_what_is_there_creates_the_instance_alone(
    kudo: Cli, api: FakeApi, package: Path
) -> None:
    kudo("install", str(package), "--skip-instance")
    api.requests.clear()
    ran = kudo("install", str(package), "-p", "TEA=mint", CLIENT)
    assert ran.out == (
        f"operatorversion kitchen/{VERSION} already installed\n"
        "instance kitchen/teapot-instance created (dry run)\n"
        "plan deploy would run\n"
    )
    assert api.writes() == []


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["update", "-p", "CUPS=3"], [UPDATED, "CUPS: 2 (default) → 3; plan deploy would run"]),
        (["update", "-p", "TEA=green"], [UPDATED, "TEA: mint → green; plan brew would run"]),
        (["update", "--service-account", "pot"], [UPDATED, f"{ACCOUNT}; no plan would run"]),
        (["plan", "trigger", "--name", "brew"], ["Triggered brew plan for kitchen/tea instance"]),
        (["uninstall"], ["instance.kudo.dev/v1beta1/tea deleted", ""]),
    ],
)
def test_a_change_says_which_plan_it_would_run(
    kudo: Cli, pot: FakeApi, argv: list[str], said: list[str]
) -> None:
    before = copy.deepcopy(dict(pot.objects))
    ran = kudo(*argv, *INSTANCE, CLIENT)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [f"{said[0]} (dry run)", *said[1:]]
    assert (pot.writes(), pot.objects) == ([], before)


@pytest.mark.parametrize("mode", [CLIENT, SERVER])
def test_what_would_change_nothing_is_not_evaluated(kudo: Cli, pot: FakeApi, mode: str) -> None:
    ran = kudo("update", *INSTANCE, "-p", "TEA=mint", mode, "-o", "yaml")
    text = "nothing would change: instance kitchen/tea has these values already\n"
    assert (ran.code, ran.err) == (0, text)
    assert yaml.safe_load(ran.out)["spec"]["parameters"] == {"TEA": "mint"}
    assert pot.dry_runs == []


def test_an_upgrade_says_what_could_not_come_with_it(
    kudo: Cli, pot: FakeApi, package: Path
) -> None:
    ran = kudo("upgrade", str(package), *INSTANCE, "-p", "TEA=green", CLIENT, "--wait")
    assert ran.code == 0
    assert ran.err.startswith("Not set yet: TEA. Their change runs plan brew")
    assert pot.writes() == []


# What it denies


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (["update", "-p", "POT=clay"], "ParameterImmutable"),
        (["update", "-p", "CUPS=two", "-p", "CUP=2"], "ParameterUnknown"),
        (["plan", "trigger", "--name", "boil"], "PlanUnknown"),
        (["plan", "trigger", "--name", "cleanup"], "CleanupNotManual"),
    ],
)
def test_a_denial_has_the_reason_of_the_webhook(
    kudo: Cli, pot: FakeApi, argv: list[str], reason: str
) -> None:
    pot.objects["instances", "tea"]["spec"]["parameters"]["POT"] = "iron"
    ran = kudo(*argv, *INSTANCE, CLIENT, "-o", "yaml")
    assert (ran.code, ran.out, pot.writes()) == (4, "", [])
    text = f"Error: the request would be denied ({reason}): failed to update Instance kitchen/tea: "
    assert ran.err.startswith(text)


def test_all_that_is_wrong_is_said(kudo: Cli, pot: FakeApi) -> None:
    ran = kudo("update", *INSTANCE, "-p", "CUPS=two", "-p", "CUP=2", CLIENT)
    assert len(ran.err.splitlines()) == 3
    assert ran.err.endswith("\nCUP: did you mean CUPS?\n")
    assert 'parameter "CUPS" has an invalid value "two"' in ran.err


def test_a_second_plan_is_denied_while_one_runs(kudo: Cli, pot: FakeApi) -> None:
    running(pot)
    ran = kudo("plan", "trigger", *INSTANCE, "--name", "brew", CLIENT)
    assert ran.code == 4
    assert "(PlanRunning): failed to update Instance kitchen/tea: overriding currently" in ran.err
    again = kudo("plan", "trigger", *INSTANCE, "--name", "deploy", CLIENT)
    assert again.code == 0


def test_an_instance_without_its_version_is_denied(kudo: Cli, pot: FakeApi) -> None:
    pot.remove("operatorversions", VERSION)
    ran = kudo("update", *INSTANCE, "-p", "CUPS=3", CLIENT)
    assert ran.err == (
        "Error: the request would be denied (OperatorVersionNotFound): OperatorVersion "
        f"kitchen/{VERSION} does not exist; create it first\n"
    )


def test_warnings_of_the_rules_are_shown(kudo: Cli, pot: FakeApi) -> None:
    ran = kudo("update", *INSTANCE, "-p", "CUPS=3", "-p", "TEA=green", CLIENT)
    assert ran.code == 0
    assert ran.err.startswith(
        "Warning: plan 'brew' runs, triggered by TEA; when it is COMPLETE, plan"
    )


# As data


def test_the_objects_of_an_install_are_those_that_would_be_sent(
    kudo: Cli, api: FakeApi, package: Path
) -> None:
    argv = ["install", str(package), "-p", "TEA=mint"]
    ran = kudo(*argv, CLIENT, "-o", "yaml")
    assert ran.err == (
        "operator kitchen/teapot created (dry run)\n"
        f"operatorversion kitchen/{VERSION} created (dry run)\n"
        "instance kitchen/teapot-instance created (dry run)\n"
        "plan deploy would run\n"
    )
    printed = list(yaml.safe_load_all(ran.out))
    assert json.loads(kudo(*argv, CLIENT, "-o", "json").out) == printed
    kudo(*argv)
    assert [body for method, _, body in api.requests if method == "POST"] == printed


# Without a cluster


def test_a_package_can_be_tried_where_there_is_no_cluster(run: Cli, package: Path) -> None:
    ran = run("install", str(package), "-p", "TEA=mint", "-n", "pantry", CLIENT)
    assert ran.code == 0
    assert ran.err.startswith("No cluster could be reached, so only the package is checked: ")
    assert ran.out == (
        "operator pantry/teapot created (dry run)\n"
        f"operatorversion pantry/{VERSION} created (dry run)\n"
        "instance pantry/teapot-instance created (dry run)\n"
        "plan deploy would run\n"
    )


def test_a_cluster_that_does_not_answer_is_no_cluster(
    kudo: Cli, api: FakeApi, package: Path, tmp_path: Path
) -> None:
    config = tmp_path / "kubeconfig"
    config.write_text(config.read_text().replace(api.url, "http://127.0.0.1:9"))
    ran = kudo("install", str(package), "-p", "TEA=mint", CLIENT)
    assert ran.code == 0
    assert "no answer from the API server" in ran.err
    assert "instance kitchen/teapot-instance created (dry run)\n" in ran.out
    assert kudo("install", str(package), "-p", "TEA=mint", SERVER).code == 255


def test_without_a_cluster_what_is_wrong_is_still_found(run: Cli, package: Path) -> None:
    ran = run("install", str(package), CLIENT)
    assert ran.code == 4
    assert "missing required parameters during installation: TEA" in ran.err
