"""`update` against an API server: what it sends, prints and returns."""

from pathlib import Path

from tests.unit.cli.conftest import VERSION, Cli
from tests.unit.cli.fake_api import FakeApi


def test_update_sends_the_parameters_alone(kudo: Cli, installed: FakeApi) -> None:
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=3", "-p", "TEA=mint")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0] == "Instance tea was updated."
    assert installed.requests[-1] == (
        "PATCH",
        "instances/tea",
        {"spec": {"parameters": {"CUPS": "3", "TEA": "mint"}}},
    )


def test_update_sets_an_empty_text_and_writes_booleans_alike(
    kudo: Cli, installed: FakeApi, tmp_path: Path
) -> None:
    spec = installed.objects["operatorversions", VERSION]["spec"]
    spec["parameters"] = [{"name": "HOT", "value-type": "boolean"}, {"name": "TEA"}]
    (tmp_path / "values.yaml").write_text("HOT: yes\n")

    def sent(*argv: str) -> object:
        assert kudo("update", "--instance", "tea", *argv).code == 0
        body = installed.requests[-1][2]
        return body and body["spec"]["parameters"]

    assert sent("-p", "TEA=", "-p", "HOT=Yes") == {"TEA": "", "HOT": "true"}
    assert kudo("update", "--instance", "tea", "-p", "HOT=false").code == 0
    assert sent("-P", f"{tmp_path}/values.yaml") == {"HOT": "true"}
    assert sent("-p", "TEA=yes") == {"TEA": "yes"}


def test_it_says_what_changed_which_plan_runs_and_how_to_follow_it(
    kudo: Cli, installed: FakeApi
) -> None:
    installed.plan = "deploy"
    follow = "Follow it: kubectl kudo plan status --wait --instance tea -n kitchen"
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=3")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "Instance tea was updated.",
        "CUPS: 2 → 3; plan deploy runs",
        follow,
    ]
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=4", "-p", "TEA=mint")
    assert ran.out.splitlines()[1:] == [
        "CUPS: 3 → 4",
        "TEA: (not set) → mint",
        "plan deploy runs",
        follow,
    ]


def test_a_plan_that_a_pause_holds_up_does_not_run_yet(kudo: Cli, installed: FakeApi) -> None:
    installed.plan = "deploy"
    installed.objects["instances", "tea"]["spec"]["suspend"] = True
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=3")
    assert ran.out.splitlines()[1] == (
        "CUPS: 2 → 3; plan deploy runs when the instance is resumed "
        "(kubectl kudo resume --instance tea -n kitchen)"
    )


def test_what_would_change_nothing_is_not_sent(kudo: Cli, installed: FakeApi) -> None:
    installed.objects["instances", "tea"]["spec"]["serviceAccountName"] = "pot"
    for argv in (["-p", "CUPS=2"], ["--service-account", "pot"]):
        ran = kudo("update", "--instance", "tea", *argv)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out == "nothing changed: instance kitchen/tea has these values already\n"
    assert installed.writes() == []


def test_without_the_right_to_read_the_version_no_values_are_shown(
    kudo: Cli, installed: FakeApi
) -> None:
    installed.plan = "deploy"
    installed.refusals["GET", "operatorversions"] = (403, "no")
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=3")
    assert ran.code == 0
    assert ran.out.splitlines()[1] == "CUPS: changed; plan deploy runs"


def test_an_update_that_triggers_nothing_is_not_waited_for(kudo: Cli, installed: FakeApi) -> None:
    # BTO-34: waiting for a change that runs no plan, or for a deleted Instance, hung or crashed.
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=2", "--wait")
    assert ran.code == 0
    assert ran.out.startswith("nothing changed: ")
    assert "nothing to wait for" in ran.err


def test_an_instance_deleted_while_waiting_is_an_error(kudo: Cli, installed: FakeApi) -> None:
    # BTO-34: see above.
    installed.plan, installed.script = "deploy", [lambda _: None]
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=3", "--wait")
    assert ran.code == 6
    assert ran.err.splitlines()[-1] == (
        "Error: instance kitchen/tea was deleted while waiting for it"
    )
