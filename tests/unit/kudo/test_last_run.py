"""What the record of a run holds: the configuration in force, and what the run began with."""

import pytest

from kudo.api import Instance, InstanceStatus, JsonObject
from kudo.fingerprints import fingerprint, fingerprints
from kudo.last_run import record_of
from kudo.stored import Verdict, judge_idle
from tests.unit.kudo.test_admission_objects import V1, VALUES, instance, version
from tests.unit.kudo.test_stored import last_run

V2 = version("first-2")


def begins(
    plan: str,
    parameters: dict[str, str] | None = None,
    *,
    of: str = "first-1",
    last: JsonObject | None = None,
) -> Instance:
    """Return an Instance that deployed VALUES as uid A, and now begins a plan as uid B."""
    last = last_run() if last is None else last
    return Instance.from_wire(instance(parameters, of=of, runs=plan, uid="B", last_run=last))


def in_force(found: Instance, of: str = "first-1") -> dict[str, str]:
    """Return the changed parameters that the scheduled run brings into force."""
    record = record_of(found, V2 if of == "first-2" else V1)
    before = fingerprints(VALUES)
    now = dict(record.parameters or {})
    return {name: now.get(name, "-") for name in before | now if before.get(name) != now.get(name)}


def needed_after(found: Instance, of: str = "first-1") -> Verdict:
    """Return what the Instance needs once its scheduled run has ended."""
    found_version = V2 if of == "first-2" else V1
    record = record_of(found, found_version)
    status = InstanceStatus(last_run=record)
    return judge_idle(found.model_copy(update={"status": status}), found_version)


@pytest.mark.parametrize(
    ("parameters", "plan"),
    [({"NOTE": "x"}, "update"), ({"SIZE": "2"}, "deploy"), ({"SIZE": "-"}, "deploy")],
)
def test_a_changed_parameter_stays_to_be_applied_when_another_plan_runs(
    parameters: dict[str, str], plan: str
) -> None:
    found = begins("custom", parameters)
    assert in_force(found) == {}
    assert needed_after(found) == Verdict(plan)


@pytest.mark.parametrize(
    ("plan", "parameters"),
    [
        ("update", {"NOTE": "x"}),
        ("custom", {"PORT": "81"}),
        ("custom", {"PORT": "81", "NOTE": "x"}),
        ("deploy", {"SIZE": "2"}),
        ("deploy", {"PORT": "81", "NOTE": "x", "SIZE": "2"}),
    ],
)
def test_a_changed_parameter_comes_into_force_with_the_plan_that_the_rules_choose_or_deploy(
    plan: str, parameters: dict[str, str]
) -> None:
    found = begins(plan, parameters)
    assert in_force(found) == fingerprints(parameters)
    assert needed_after(found) == Verdict()


def test_of_several_changes_each_waits_for_its_own_plan() -> None:
    found = begins("custom", {"PORT": "81", "SIZE": "2"})
    assert in_force(found) == {"PORT": fingerprint("81")}
    assert needed_after(found) == Verdict("deploy")


def test_a_parameter_that_no_version_declares_comes_into_force_with_any_plan() -> None:
    found = begins("custom", {"ZZ": "1", "NOTE": "x"})
    assert in_force(found) == {"ZZ": fingerprint("1")}


def test_what_another_plan_has_to_bring_into_force_is_recorded_beside_it() -> None:
    record = record_of(begins("custom", {"NOTE": "x", "SIZE": "-"}), V1)
    assert record.parameters == fingerprints(VALUES)
    assert record.pending_parameters == {"NOTE": fingerprint("x"), "SIZE": ""}
    assert record_of(begins("update", {"NOTE": "x"}), V1).pending_parameters is None


@pytest.mark.parametrize("plan", ["upgrade", "deploy"])
def test_another_version_comes_into_force_with_its_upgrade_or_deploy(plan: str) -> None:
    found = begins(plan, {"NOTE": "x"}, of="first-2")
    reference = record_of(found, V2).operator_version
    assert reference is not None
    assert reference.name == "first-2"
    assert needed_after(found, "first-2") == Verdict()


@pytest.mark.parametrize("plan", ["custom", "update"])
def test_another_version_stays_to_be_applied_when_another_plan_runs(plan: str) -> None:
    found = begins(plan, {"NOTE": "x"}, of="first-2")
    reference = record_of(found, V2).operator_version
    assert reference is not None
    assert reference.name == "first-1"
    assert in_force(found, "first-2") == {}
    assert needed_after(found, "first-2") == Verdict("upgrade")


def test_a_first_plan_that_was_named_by_hand_brings_nothing_into_force() -> None:
    found = Instance.from_wire(instance(runs="custom", uid="B"))
    found = found.model_copy(update={"status": InstanceStatus()})
    record = record_of(found, V1)
    assert (record.operator_version, record.parameters) == (None, {})
    assert record.pending_parameters == fingerprints(VALUES)
    assert needed_after(found) == Verdict("deploy")


def test_what_the_original_left_comes_into_force_with_any_plan() -> None:
    found = Instance.from_wire(instance(runs="custom", uid="B", ended={"deploy": "A"}))
    assert record_of(found, V1).parameters == fingerprints(VALUES)
    assert needed_after(found) == Verdict()
