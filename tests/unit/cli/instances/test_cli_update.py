"""`update` against an API server: what it sends, prints and returns."""

from pathlib import Path

from tests.unit.cli.conftest import VERSION, Cli
from tests.unit.cli.fake_api import FakeApi


def test_update_sends_the_parameters_alone(kudo: Cli, installed: FakeApi) -> None:
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=3", "-p", "TEA=mint")
    assert (ran.code, ran.out, ran.err) == (0, "Instance tea was updated.\n", "")
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
    assert sent("-P", f"{tmp_path}/values.yaml") == {"HOT": "true"}
    assert sent("-p", "TEA=yes") == {"TEA": "yes"}


def test_an_update_that_triggers_nothing_is_not_waited_for(kudo: Cli, installed: FakeApi) -> None:
    # BTO-34: waiting for a change that runs no plan, or for a deleted Instance, hung or crashed.
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=2", "--wait")
    assert ran.code == 0
    assert ran.out == "Instance tea was updated.\n"
    assert "nothing to wait for" in ran.err


def test_an_instance_deleted_while_waiting_is_an_error(kudo: Cli, installed: FakeApi) -> None:
    # BTO-34: see above.
    installed.plan, installed.script = "deploy", [lambda _: None]
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=3", "--wait")
    assert ran.code == 6
    assert ran.err.splitlines()[-1] == (
        "Error: instance kitchen/tea was deleted while waiting for it"
    )
