"""What the record of a run says of it: its cause, its version, and the version before."""

from typing import Any

import pytest

from kudo.api import Instance, JsonObject, LastRun
from kudo.plans.runs.last_run import previous_version, record_of
from tests.unit.kudo.builders import V1, failed, instance, version
from tests.unit.kudo.plans.runs.test_last_run import begins
from tests.unit.kudo.plans.runs.test_revalidation import last_run

VERSIONS = {found.metadata.name: found for found in (V1, version("first-2"), version("first-3"))}


def caused(found: Instance, **run: str) -> JsonObject | None:
    """Return the cause of the scheduled run, with fields of its planExecution."""
    scheduled = found.scheduled.model_copy(update=run)
    spec = found.spec.model_copy(update={"plan_execution": scheduled})
    cause = record_of(found.model_copy(update={"spec": spec}), V1).cause
    return None if cause is None else cause.to_wire()


def owned(*owners: JsonObject) -> Instance:
    wire = instance(runs="deploy", uid="B", last_run=last_run())
    return Instance.from_wire({**wire, "metadata": {**wire["metadata"], "ownerReferences": owners}})


def test_a_run_that_nobody_asked_for_has_no_cause() -> None:
    assert caused(begins("deploy")) is None


def test_the_scheduled_run_tells_who_asked_and_what_is_retried() -> None:
    table: list[tuple[dict[str, str], JsonObject | None]] = [
        ({"requested_by": "ann"}, {"requestedBy": "ann"}),
        ({"requested_by": ""}, None),
        ({"requested_by": "x" * 999}, {"requestedBy": "x" * 253 + "…"}),
        ({"retry_of": "A"}, {"retryOf": "A"}),
        ({"retry_of": "A", "from_step": "a.b"}, {"retryOf": "A", "from": "a.b"}),
        ({"cancelled_by": "ann"}, None),
    ]
    for run, cause in table:
        assert caused(begins("deploy"), **run) == cause


def test_parameters_are_named_that_the_run_brings_into_force() -> None:
    table: list[tuple[str, dict[str, str], list[str] | None]] = [
        ("deploy", {"SIZE": "2"}, ["SIZE"]),
        ("deploy", {"SIZE": "-", "NOTE": "x"}, ["NOTE", "SIZE"]),
        ("custom", {"PORT": "81", "SIZE": "2"}, ["PORT"]),
        ("custom", {"NOTE": "x"}, None),
        ("deploy", {"ZZ": "1"}, None),
    ]
    for plan, parameters, names in table:
        assert caused(begins(plan, parameters)) == (names and {"parameters": names})


def test_the_first_run_names_no_parameters_since_it_would_be_all(subtests: pytest.Subtests) -> None:
    for last in [None, {"plan": "custom", "uid": "A", "parameters": {}}]:
        with subtests.test(last=last):
            found = instance({"SIZE": "2"}, runs="deploy", uid="B", last_run=last)
            assert caused(Instance.from_wire(found)) is None


def test_of_many_parameters_20_are_named_and_the_others_counted() -> None:
    names = [f"P{number:02}" for number in range(23)]
    many = version(parameters=[{"name": name} for name in names])
    found = begins("deploy", dict.fromkeys(names, "x"))
    cause = record_of(found, many).cause
    assert cause is not None
    assert cause.parameters == tuple(names[:20])
    assert cause.parameters_left_out == 3


def test_the_parent_is_the_instance_that_owns_it() -> None:
    table: list[tuple[list[JsonObject], str | None]] = [
        ([{"apiVersion": "kudo.dev/v1beta1", "kind": "Instance", "name": "p"}], "p"),
        ([{"apiVersion": "kudo.dev/v2", "kind": "Instance", "name": "p"}], "p"),
        (
            [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "c"},
                {"apiVersion": "kudo.dev/v1beta1", "kind": "Instance", "name": "p"},
            ],
            "p",
        ),
        ([{"apiVersion": "example.org/v1", "kind": "Instance", "name": "p"}], None),
        ([{"apiVersion": "kudo.dev/v1beta1", "kind": "Operator", "name": "p"}], None),
        ([], None),
    ]
    for owners, parent in table:
        assert caused(owned(*owners)) == (parent and {"parent": parent})


def test_the_version_that_a_run_begins_with_is_recorded_whether_or_not_it_comes_into_force() -> (
    None
):
    found = begins("custom", of="first-2")
    record = record_of(found, VERSIONS["first-2"])
    assert record.version == "ns/first-2"
    assert record.operator_version is not None
    assert record.operator_version.name == "first-1"


# The version before


def after_runs(*runs: tuple[str, str, str]) -> LastRun:
    """Return the record after runs of (version, plan, state), of which the first one deployed."""
    last: dict[str, Any] = {**last_run(), "status": "COMPLETE"}
    for name, plan, status in runs:
        found = Instance.from_wire(instance(of=name, runs=plan, uid="B", last_run=last))
        last = {**record_of(found, VERSIONS[name]).to_wire(), "status": status}
    return LastRun.from_wire(last)


OK, BAD, GONE = "COMPLETE", "FATAL_ERROR", "IN_PROGRESS"


@pytest.mark.parametrize(
    ("runs", "previous"),
    [
        ([("first-1", "deploy", BAD)], None),
        ([("first-2", "upgrade", BAD)], "first-1"),
        ([("first-2", "upgrade", OK)], None),
        ([("first-2", "upgrade", GONE)], None),
        # a retry, another plan, a run that replaced the failed one
        ([("first-2", "upgrade", BAD), ("first-2", "upgrade", BAD)], "first-1"),
        ([("first-2", "upgrade", BAD), ("first-2", "custom", BAD)], "first-1"),
        ([("first-2", "upgrade", GONE), ("first-2", "deploy", BAD)], "first-1"),
        # one run of the new version was COMPLETE
        ([("first-2", "upgrade", BAD), ("first-2", "custom", OK)], None),
        ([("first-2", "upgrade", OK), ("first-2", "deploy", BAD)], None),
        (
            [("first-2", "upgrade", BAD), ("first-2", "custom", OK), ("first-2", "custom", BAD)],
            None,
        ),
        # upgrades one after the other
        ([("first-2", "upgrade", BAD), ("first-3", "upgrade", BAD)], "first-1"),
        ([("first-2", "upgrade", OK), ("first-3", "upgrade", BAD)], "first-2"),
        # on the way back
        ([("first-2", "upgrade", BAD), ("first-1", "upgrade", BAD)], None),
        ([("first-2", "upgrade", BAD), ("first-1", "upgrade", OK)], None),
        # the spec names another version, which no run has brought into force
        ([("first-2", "custom", BAD)], None),
        ([("first-2", "upgrade", BAD), ("first-3", "custom", BAD)], "first-1"),
    ],
)
def test_an_instance_may_go_back_to_the_version_before_a_failed_upgrade_until_one_run_succeeds(
    runs: list[tuple[str, str, str]], previous: str | None
) -> None:
    assert previous_version(after_runs(*runs)) == (("ns", previous) if previous else None)


def test_an_upgrade_in_progress_has_recorded_the_version_before() -> None:
    reference = after_runs(("first-2", "upgrade", GONE)).previous_operator_version
    assert reference is not None
    assert (reference.namespace, reference.name) == ("ns", "first-1")


def test_a_first_run_has_no_version_before() -> None:
    assert "previousOperatorVersion" not in failed()["status"]["lastRun"]
