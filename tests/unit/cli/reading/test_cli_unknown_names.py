"""Misspelt parameters and plans have a suggestion, whoever denies them."""

import pytest

from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi

UPDATE = ("update", "--instance", "tea")
TRIGGER = ("plan", "trigger", "--instance", "tea")
DENIED = 'denied the request: failed to find parameter "{}"'


@pytest.mark.parametrize("dry_run", ["none", "client"])
@pytest.mark.parametrize(
    ("name", "more"),
    [("CUP", ["CUP: did you mean CUPS?"]), ("cups", ["cups: did you mean CUPS?"]), ("XXXX", [])],
)
def test_a_misspelt_parameter_has_a_suggestion(
    kudo: Cli, pot: FakeApi, dry_run: str, name: str, more: list[str]
) -> None:
    if dry_run == "none":
        pot.refusals["PATCH", "instances"] = (403, DENIED.format(name))
    ran = kudo(*UPDATE, "-p", f"{name}=2", f"--dry-run={dry_run}")
    assert ran.code == 4
    assert f'failed to find parameter "{name}"' in ran.err
    assert [text for text in (f"{name}: did you mean CUPS?",) if text in ran.err] == more


@pytest.mark.parametrize(("name", "more"), [("brw", "\nbrw: did you mean brew?"), ("xxxx", "")])
def test_a_misspelt_plan_has_a_suggestion(kudo: Cli, pot: FakeApi, name: str, more: str) -> None:
    pot.refusals["PATCH", "instances"] = (403, f"denied the request: plan {name} does not exist")
    ran = kudo(*TRIGGER, "--name", name)
    assert ran.err == f"Error: denied the request: plan {name} does not exist{more}\n"


def test_what_is_denied_for_another_reason_has_none(kudo: Cli, pot: FakeApi) -> None:
    pot.refusals["PATCH", "instances"] = (403, "denied the request: no")
    assert kudo(*UPDATE, "-p", "CUPS=2").err == "Error: denied the request: no\n"
    assert kudo(*TRIGGER, "--name", "brew").err == "Error: denied the request: no\n"


def test_without_the_right_to_read_the_version_the_denial_is_shown_as_it_is(
    kudo: Cli, pot: FakeApi
) -> None:
    pot.refusals["PATCH", "instances"] = (403, DENIED.format("CUP"))
    pot.refusals["GET", "operatorversions"] = (403, "operatorversions is forbidden")
    ran = kudo(*UPDATE, "-p", "CUP=2")
    assert ran.err == f"Error: {DENIED.format('CUP')}\n"
