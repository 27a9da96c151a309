"""What the record of a run holds: the configuration in force, and what the run began with."""

import pytest

from kudo.admission.revalidation import Revalidation, revalidate_idle
from kudo.api import Instance, InstanceStatus, JsonObject, OperatorVersion
from kudo.api.fingerprints import fingerprint, fingerprints
from kudo.plans.runs.last_run import edited_since, record_of
from tests.unit.kudo.builders import V1, VALUES, instance, version
from tests.unit.kudo.plans.runs.test_revalidation import last_run

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


def needed_after(found: Instance, of: str = "first-1") -> Revalidation:
    """Return what the Instance needs once its scheduled run has ended."""
    found_version = V2 if of == "first-2" else V1
    record = record_of(found, found_version)
    status = InstanceStatus(last_run=record)
    return revalidate_idle(found.model_copy(update={"status": status}), found_version)


def test_a_changed_parameter_stays_to_be_applied_when_another_plan_runs(
    subtests: pytest.Subtests,
) -> None:
    table: list[tuple[dict[str, str], str]] = [
        ({"NOTE": "x"}, "update"),
        ({"SIZE": "2"}, "deploy"),
        ({"SIZE": "-"}, "deploy"),
    ]
    for parameters, plan in table:
        with subtests.test(parameters=parameters, plan=plan):
            found = begins("custom", parameters)
            assert in_force(found) == {}
            assert needed_after(found) == Revalidation(plan)


def test_a_changed_parameter_comes_into_force_with_the_plan_that_the_rules_choose_or_deploy(
    subtests: pytest.Subtests,
) -> None:
    table: list[tuple[str, dict[str, str]]] = [
        ("update", {"NOTE": "x"}),
        ("custom", {"PORT": "81"}),
        ("deploy", {"SIZE": "2"}),
        ("deploy", {"PORT": "81", "NOTE": "x", "SIZE": "2"}),
    ]
    for plan, parameters in table:
        with subtests.test(plan=plan, parameters=parameters):
            found = begins(plan, parameters)
            assert in_force(found) == fingerprints(parameters)
            assert needed_after(found) == Revalidation()


def test_of_several_changes_each_waits_for_its_own_plan(subtests: pytest.Subtests) -> None:
    table: list[tuple[dict[str, str], str]] = [
        ({"SIZE": "2"}, "deploy"),
        ({"NOTE": "x"}, "update"),
        ({"SIZE": "-"}, "deploy"),
    ]
    for other, plan in table:
        with subtests.test(other=other, plan=plan):
            found = begins("custom", {"PORT": "81", **other})
            assert in_force(found) == {"PORT": fingerprint("81")}
            assert needed_after(found) == Revalidation(plan)


def test_an_upgrade_leaves_what_admission_has_sent_after_it(subtests: pytest.Subtests) -> None:
    table: list[tuple[dict[str, str], str | None]] = [
        ({"NOTE": "x"}, None),
        ({"SIZE": "2"}, None),
        ({"PORT": "81"}, "custom"),
        ({"PORT": "-"}, "custom"),
        ({"PORT": "81", "SIZE": "2"}, "custom"),
    ]
    for parameters, plan in table:
        with subtests.test(parameters=parameters, plan=plan):
            found = begins("upgrade", parameters, of="first-2")
            assert needed_after(found, "first-2") == Revalidation(plan)


def test_a_parameter_that_no_version_declares_comes_into_force_with_any_plan() -> None:
    found = begins("custom", {"ZZ": "1", "NOTE": "x"})
    assert in_force(found) == {"ZZ": fingerprint("1")}


def test_what_another_plan_has_to_bring_into_force_is_recorded_beside_it() -> None:
    record = record_of(begins("custom", {"NOTE": "x", "SIZE": "-"}), V1)
    assert record.parameters == fingerprints(VALUES)
    assert record.pending_parameters == {"NOTE": fingerprint("x"), "SIZE": ""}
    assert record_of(begins("update", {"NOTE": "x"}), V1).pending_parameters is None


def test_another_version_comes_into_force_with_its_upgrade_or_deploy(
    subtests: pytest.Subtests,
) -> None:
    for plan in ["upgrade", "deploy"]:
        with subtests.test(plan=plan):
            found = begins(plan, {"NOTE": "x"}, of="first-2")
            reference = record_of(found, V2).operator_version
            assert reference is not None
            assert reference.name == "first-2"
            assert record_of(found, V2).operator == "first"
            assert needed_after(found, "first-2") == Revalidation()


def test_another_version_stays_to_be_applied_when_another_plan_runs(
    subtests: pytest.Subtests,
) -> None:
    for plan in ["custom", "update"]:
        with subtests.test(plan=plan):
            found = begins(plan, {"NOTE": "x"}, of="first-2")
            reference = record_of(found, V2).operator_version
            assert reference is not None
            assert reference.name == "first-1"
            assert in_force(found, "first-2") == {}
            assert needed_after(found, "first-2") == Revalidation("upgrade")


def test_a_first_plan_that_was_named_by_hand_brings_nothing_into_force() -> None:
    found = Instance.from_wire(instance(runs="custom", uid="B"))
    found = found.model_copy(update={"status": InstanceStatus()})
    record = record_of(found, V1)
    assert (record.operator_version, record.operator, record.parameters) == (None, None, {})
    assert record.pending_parameters == fingerprints(VALUES)
    assert needed_after(found) == Revalidation("deploy")


def test_what_the_original_left_comes_into_force_with_any_plan() -> None:
    found = Instance.from_wire(instance(runs="custom", uid="B", ended={"deploy": "A"}))
    assert record_of(found, V1).parameters == fingerprints(VALUES)
    assert needed_after(found) == Revalidation()


# What a run began with


def in_progress(
    parameters: dict[str, str] | None = None,
    *,
    plan: str = "deploy",
    began: dict[str, str] | None = None,
    record: JsonObject | None = None,
) -> Instance:
    """Return an Instance whose scheduled run is on record as begun with VALUES and `began`."""
    first = Instance.from_wire(instance(began, runs=plan, uid="B", last_run=last_run()))
    recorded = record_of(first, V1).to_wire() | (record or {})
    last = {name: value for name, value in recorded.items() if value is not None}
    return Instance.from_wire(instance(parameters, runs=plan, uid="B", last_run=last))


def reason(found: Instance, now: OperatorVersion = V1) -> str | None:
    problem = edited_since(found, now)
    return None if problem is None else problem.reason


EDITED = version(plans=("deploy",))


def test_a_run_records_the_digest_of_its_version() -> None:
    assert record_of(begins("deploy"), V1).operator_version_digest == V1.digest
    assert V1.digest != EDITED.digest


def test_a_run_whose_version_and_parameters_are_as_it_began_goes_on() -> None:
    assert reason(in_progress()) is None


def test_a_run_that_finds_another_version_than_it_began_with_does_not_go_on() -> None:
    problem = edited_since(in_progress({"NOTE": "x"}), EDITED)
    assert problem is not None
    assert problem.reason == "OperatorVersionChanged"
    assert "ns/first-1" in problem.message
    assert "kubectl kudo plan trigger --name deploy --instance i -n ns" in problem.message


def test_a_run_that_finds_other_parameters_than_it_began_with_does_not_go_on(
    subtests: pytest.Subtests,
) -> None:
    for parameters in [{"NOTE": "x"}, {"SIZE": "2"}, {"SIZE": "-"}]:
        with subtests.test(parameters=parameters):
            problem = edited_since(in_progress(parameters), V1)
            assert problem is not None
            assert problem.reason == "ParametersChanged"
            assert f"values of parameters: {next(iter(parameters))}," in problem.message


def test_a_parameter_that_the_version_does_not_declare_is_nothing_that_a_run_began_with() -> None:
    assert reason(in_progress({"ZZ": "2"}, began={"ZZ": "1"})) is None


def test_a_run_began_also_with_what_its_plan_does_not_bring_into_force(
    subtests: pytest.Subtests,
) -> None:
    for began in [{"NOTE": "x"}, {"SIZE": "-"}, {"NOTE": "x", "SIZE": "-"}]:
        with subtests.test(began=began):
            assert reason(in_progress(began, plan="custom", began=began)) is None
            assert reason(in_progress(plan="custom", began=began)) == "ParametersChanged"


@pytest.mark.parametrize(
    "record", [{"operatorVersionDigest": None}, {"uid": "A"}, {"plan": "update"}]
)
def test_a_run_that_is_not_on_record_with_what_it_began_with_goes_on(record: JsonObject) -> None:
    assert reason(in_progress({"NOTE": "x"}, record=record), EDITED) is None


def test_the_digest_of_a_version_is_that_of_its_spec_alone() -> None:
    wire = V1.to_wire()
    labels = {"labels": {"l": "x"}, "annotations": {"a": "x"}, "resourceVersion": "9"}
    relabelled = OperatorVersion.from_wire({**wire, "metadata": wire["metadata"] | labels})
    assert relabelled.digest == V1.digest


def test_the_digest_of_a_version_is_the_same_in_whatever_order_its_members_came() -> None:
    wire = V1.to_wire()
    plans = dict(reversed(wire["spec"]["plans"].items()))
    turned = dict(reversed((wire["spec"] | {"plans": plans}).items()))
    assert OperatorVersion.from_wire({**wire, "spec": turned}).digest == V1.digest


def test_a_message_about_other_parameters_shows_neither_values_nor_fingerprints() -> None:
    problem = edited_since(in_progress({"TOKEN": "hunter2"}), V1)
    assert problem is not None
    shown = (VALUES["TOKEN"], "hunter2", fingerprint(VALUES["TOKEN"]), fingerprint("hunter2"))
    assert not any(text in problem.message for text in shown)
