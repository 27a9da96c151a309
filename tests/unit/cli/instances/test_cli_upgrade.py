"""`upgrade` against an API server: what it sends, prints and returns."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import PARAMETERS, Cli
from tests.unit.cli.fake_api import FakeApi, status

JsonObject = dict[str, Any]
OLD, NEW = "teapot-2.1.0-0.3.0", "teapot-2.1.0-0.4.0"
REASON = "the tea is not allowed"
DENIED = f'admission webhook "i.kudo.dev" denied the request: {REASON}'
INSTALLED = ("--instance", "tea")


def edit(folder: Path, file: str, old: str, new: str) -> None:
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))


@pytest.fixture
def tea(kudo: Cli, api: FakeApi, package: Path) -> FakeApi:
    """Return a server with an instance `tea`, after which the package was made newer."""
    brew = "  brew: {phases: [{name: main, steps: [{name: app, tasks: [pot]}]}]}\n"
    edit(package, "operator.yaml", "plans:\n", f"plans:\n{brew}")
    parameters = PARAMETERS.replace("{name: TEA}", "{name: TEA, trigger: brew}")
    (package / "params.yaml").write_text(parameters)
    assert kudo("install", str(package), "-p", "TEA=mint", *INSTALLED).code == 0
    edit(package, "operator.yaml", "0.3.0", "0.4.0")
    edit(package, "params.yaml", "parameters:\n", "parameters:\n  - {name: MILK, default: oat}\n")
    api.requests.clear()
    return api


def sent(api: FakeApi) -> list[JsonObject]:
    return [body["spec"] for method, _, body in api.requests if method == "PATCH" and body]


def test_upgrade_installs_the_version_and_gives_it_to_the_instance(
    kudo: Cli, tea: FakeApi, package: Path
) -> None:
    ran = kudo("upgrade", str(package), *INSTALLED, "-p", "MILK=soy")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        f"operatorversion kitchen/{NEW} created\n"
        "instance kitchen/tea updated\n"
        "version: 0.3.0 → 0.4.0\n"
        "MILK: (not set) → soy\n"
        "the reconciler chooses the plan: no webhook of KUDO answered\n"
    )
    assert sent(tea) == [
        {"operatorVersion": {"name": NEW, "namespace": None}, "parameters": {"MILK": "soy"}}
    ]
    assert tea.objects["instances", "tea"]["spec"] == {
        "operatorVersion": {"name": NEW},
        "parameters": {"TEA": "mint", "MILK": "soy"},
    }


def test_a_version_that_is_installed_already_is_used(
    kudo: Cli, tea: FakeApi, package: Path
) -> None:
    kudo("install", str(package), "--skip-instance")
    ran = kudo("upgrade", str(package), *INSTALLED)
    assert ran.out == (
        f"operatorversion kitchen/{NEW} already installed\n"
        "instance kitchen/tea updated\n"
        "version: 0.3.0 → 0.4.0; the reconciler chooses the plan: no webhook of KUDO answered\n"
    )


def test_a_new_app_version_alone_is_an_upgrade(kudo: Cli, tea: FakeApi, package: Path) -> None:
    # BTO-30: an upgrade of the appVersion alone was refused.
    edit(package, "operator.yaml", "0.4.0", "0.3.0")
    edit(package, "operator.yaml", "2.1.0", "2.2.0")
    ran = kudo("upgrade", str(package), *INSTALLED)
    assert ran.code == 0
    assert "operatorversion kitchen/teapot-2.2.0-0.3.0 created" in ran.out


def test_an_instance_whose_version_lies_elsewhere_gets_one_of_its_own_namespace(
    kudo: Cli, tea: FakeApi, package: Path
) -> None:
    tea.objects["instances", "tea"]["spec"]["operatorVersion"]["namespace"] = "kitchen"
    kudo("upgrade", str(package), *INSTALLED)
    assert tea.objects["instances", "tea"]["spec"]["operatorVersion"] == {"name": NEW}


@pytest.mark.parametrize(
    ("file", "old", "new", "argv", "text"),
    [
        ("operator.yaml", "0.4.0", "0.3.0", "", "upgraded version 0.3.0 is the same or smaller as"),
        ("operator.yaml", "1.22.0", "1.99", "", "expected kubernetes version of 1.99 is not"),
        ("params.yaml", "{name: MILK, default: oat}", "{name: MILK}", "", '"MILK" is required but'),
        ("params.yaml", "oat", "soy", "-p MLIK=1", "\nMLIK: did you mean MILK?\n"),
    ],
)
def test_nothing_is_changed_when_something_is_wrong(
    kudo: Cli, tea: FakeApi, package: Path, file: str, old: str, new: str, argv: str, text: str
) -> None:
    edit(package, file, old, new)
    ran = kudo("upgrade", str(package), *INSTALLED, *argv.split())
    assert (ran.code in {4, 255}, ran.out, tea.writes()) == (True, "", [])
    assert text in ran.err


def test_the_instance_and_its_version_must_exist(kudo: Cli, tea: FakeApi, package: Path) -> None:
    ran = kudo("upgrade", str(package), "--instance", "milk")
    assert ran.err == "Error: instance kitchen/milk does not exist in the cluster\n"
    tea.remove("operatorversions", OLD)
    ran = kudo("upgrade", str(package), *INSTALLED)
    assert ran.err == f"Error: OperatorVersion {OLD} from instance kitchen/tea does not exist\n"


def test_an_instance_that_cannot_be_read_is_told(kudo: Cli, tea: FakeApi, package: Path) -> None:
    tea.objects["instances", "tea"]["spec"]["parameters"] = {"CUPS": 3}
    ran = kudo("upgrade", str(package), *INSTALLED)
    assert ran.code == 255
    assert "Error: Instance kitchen/tea cannot be read: " in ran.err


def test_a_denied_upgrade_takes_back_the_version(kudo: Cli, tea: FakeApi, package: Path) -> None:
    tea.refusals["PATCH", "instances"] = (403, DENIED)
    ran = kudo("upgrade", str(package), *INSTALLED)
    assert ran.code == 4
    assert ran.err == f"Error: {REASON}\nRemoved again: operatorversion kitchen/{NEW}.\n"
    assert tea.names("operatorversions") == [OLD]


def test_parameters_that_run_another_plan_are_left_for_later_without_waiting(
    kudo: Cli, tea: FakeApi, package: Path
) -> None:
    argv = ["-p", "TEA=earl grey", "-p", "MILK=soy"]
    ran = kudo("upgrade", str(package), *INSTALLED, *argv)
    assert ran.code == 0
    assert [change.get("parameters") for change in sent(tea)] == [{"MILK": "soy"}]
    assert ran.err == (
        "Not set yet: TEA. Their change runs plan brew, which cannot run together with the "
        "upgrade. Once its plan deploy is COMPLETE, set them:\n"
        "  kubectl kudo plan wait --instance tea -n kitchen\n"
        "  kubectl kudo update --instance tea -n kitchen -p 'TEA=earl grey'\n"
    )


def test_with_waiting_they_are_set_after_the_upgrade(
    kudo: Cli, tea: FakeApi, package: Path
) -> None:
    tea.runs = [(plan, [status("COMPLETE", plan=plan, done=True)]) for plan in ("deploy", "brew")]
    ran = kudo("upgrade", str(package), *INSTALLED, "-p", "TEA=green", "-p", "MILK=soy", "--wait")
    assert ran.code == 0, ran.err
    assert ran.out == (
        f"operatorversion kitchen/{NEW} created\n"
        "instance kitchen/tea updated\n"
        "version: 0.3.0 → 0.4.0\n"
        "MILK: (not set) → soy\n"
        "plan deploy runs\n"
        "instance kitchen/tea ready\n"
        "Instance tea was updated.\n"
        "TEA: mint → green; plan brew runs\n"
        "instance kitchen/tea ready\n"
    )
    assert [change["parameters"] for change in sent(tea)] == [{"MILK": "soy"}, {"TEA": "green"}]


def test_they_are_not_set_when_the_upgrade_fails(kudo: Cli, tea: FakeApi, package: Path) -> None:
    tea.plan, tea.script = "deploy", [status("FATAL_ERROR", message="no water")]
    ran = kudo("upgrade", str(package), *INSTALLED, "-p", "TEA=green", "--wait")
    assert ran.code == 6
    assert "plan deploy ended with FATAL_ERROR at deploy.main.app: no water" in ran.err
    assert ran.err.endswith("\nNot set because of that: TEA.\n")
    assert len(sent(tea)) == 1
