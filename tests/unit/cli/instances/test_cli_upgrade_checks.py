"""What an upgrade needs, and in how many changes it is done."""

from collections.abc import Mapping
from typing import Any

import pytest

from kubectl_kudo.instances.version_changes import Steps, check_newer, steps_of
from kubectl_kudo.session.errors import CliError
from kudo.api import Instance, OperatorVersion

Json = dict[str, Any]


def version(
    number: str = "0.2.0",
    app: str | None = None,
    *,
    operator: str = "teapot",
    parameters: tuple[Json, ...] = (),
    plans: tuple[str, ...] = ("deploy", "brew"),
) -> OperatorVersion:
    spec: Json = {
        "operator": {"name": operator},
        "version": number,
        "appVersion": app,
        "parameters": list(parameters),
        "plans": {name: {} for name in plans},
    }
    name = f"{operator}-{app}-{number}"
    return OperatorVersion.from_wire(
        {"metadata": {"name": name, "namespace": "kitchen"}, "spec": spec}
    )


def instance(of: OperatorVersion, **more: Any) -> Instance:
    spec = {"operatorVersion": {"name": of.metadata.name}, **more}
    return Instance.from_wire(
        {"metadata": {"name": "tea", "namespace": "kitchen", "uid": "I"}, "spec": spec}
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("0.1.0", None), ("0.1.1", None)),
        (("0.9.0", None), ("0.10.0", None)),
        (("1.0.0-rc.1", None), ("1.0.0", None)),
        (("0.1.0", "2.0"), ("0.1.0", "2.1")),
        (("0.1.0", None), ("0.1.0", "2.1")),
        (("0.1.0", "xenial"), ("0.1.0", "bionic")),
        (("0.1.0", "2.1"), ("0.2.0", "2.0")),
        (("trunk", None), ("0.2.0", None)),
    ],
)
def test_a_newer_version_may_come(
    before: tuple[str, str | None], after: tuple[str, str | None]
) -> None:
    check_newer("kitchen/tea", version(*before), version(*after))


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (("0.1.0", None), ("0.1.0", None), "0.1.0 is the same or smaller as current version 0.1.0"),
        (("0.2.0", None), ("v0.2", None), "v0.2 is the same or smaller as current version 0.2.0"),
        (("0.10.0", None), ("0.9.0", None), "0.9.0 is the same or smaller as current version 0.1"),
        (
            ("0.1.0", "2.1"),
            ("0.1.0", "2.0"),
            (
                "0.1.0 (app version 2.0) is the same or smaller as current version "
                "0.1.0 (app version 2.1) -> not upgrading"
            ),
        ),
        (
            ("0.2.0", "2.0"),
            ("0.1.0", "2.1"),
            "0.1.0 (app version 2.1) is the same or smaller as current version 0.2.0 (app",
        ),
    ],
)
def test_the_same_version_or_an_older_one_is_no_upgrade(
    before: tuple[str, str | None], after: tuple[str, str | None], text: str
) -> None:
    with pytest.raises(CliError) as caught:
        check_newer("kitchen/tea", version(*before), version(*after))
    assert str(caught.value).startswith(f"upgraded version {text}")


def test_another_operator_is_no_upgrade() -> None:
    # BTO-31: a package of another operator was attached to the Instance, or the command crashed.
    with pytest.raises(CliError, match="runs operator 'teapot' and cannot be upgraded to operator"):
        check_newer("kitchen/tea", version(), version("9", operator="samovar"))


def p(name: str, **fields: Any) -> Json:
    return {"name": name, **fields}


def steps(
    old: tuple[Json, ...], new: tuple[Json, ...], values: Mapping[str, str], **spec: Any
) -> Steps:
    installed, desired = version("0.1.0", parameters=old), version("0.2.0", parameters=new)
    return steps_of(instance(installed, **spec), installed, desired, values)


OLD = (p("CUPS"), p("TEA", trigger="brew"))


def test_without_parameters_an_upgrade_is_one_change() -> None:
    assert steps(OLD, OLD, {}) == Steps({}, "deploy", {}, "")


def test_parameters_that_run_deploy_come_with_the_upgrade() -> None:
    assert steps(OLD, OLD, {"CUPS": "3"}) == Steps({"CUPS": "3"}, "deploy", {}, "")


def test_parameters_that_only_the_new_version_knows_come_with_the_upgrade() -> None:
    new = (*OLD, p("MILK", trigger="brew"))
    assert steps(OLD, new, {"MILK": "oat"}) == Steps({"MILK": "oat"}, "deploy", {}, "")


def test_parameters_that_run_another_plan_come_after_the_upgrade() -> None:
    new = (*OLD, p("MILK", required=True))
    given = {"MILK": "oat", "TEA": "mint"}
    assert steps(OLD, new, given) == Steps({"MILK": "oat"}, "deploy", {"TEA": "mint"}, "brew")


def test_a_parameter_that_becomes_immutable_comes_with_the_upgrade() -> None:
    new = (p("CUPS", immutable=True), OLD[1])
    given = {"CUPS": "3", "TEA": "mint"}
    assert steps(OLD, new, given) == Steps({"CUPS": "3"}, "deploy", {"TEA": "mint"}, "brew")


@pytest.mark.parametrize(
    ("new", "values", "text"),
    [
        ((*OLD, p("MILK", required=True)), {}, 'parameter "MILK" is required but has no value set'),
        (
            (*OLD, p("MILK", **{"value-type": "integer"})),
            {"MILK": "oat"},
            'parameter "MILK" has an invalid value "oat"',
        ),
        (OLD, {"MILK": "oat"}, 'failed to find parameter "MILK"'),
        (
            (*OLD, p("MILK", immutable=True)),
            {},
            "parameter 'MILK' was added in operator version teapot-0.2.0, but no value",
        ),
        ((OLD[0], p("TEA", trigger="gone")), {"TEA": "x"}, "defined trigger plan gone"),
        # Needed at once, and it runs a plan of its own.
        ((OLD[0], p("TEA", trigger="brew", required=True)), {"TEA": "x"}, '"TEA" is required'),
    ],
)
def test_what_the_rules_forbid_is_told_before_anything_is_done(
    new: tuple[Json, ...], values: Mapping[str, str], text: str
) -> None:
    with pytest.raises(CliError) as caught:
        steps(OLD, new, values)
    assert str(caught.value).startswith("instance kitchen/tea cannot be upgraded:")
    assert text.replace("teapot-", "teapot-None-") in str(caught.value)


def test_a_running_plan_forbids_the_upgrade() -> None:
    with pytest.raises(CliError, match="while a plan 'deploy' is scheduled"):
        steps(OLD, OLD, {}, planExecution={"planName": "deploy", "uid": "1"})
