"""After an upgrade that failed: the way back, in admission and in the reconciler's own check."""

from kudo.admission.revalidation import revalidate_idle
from kudo.api import Instance, JsonObject, OperatorVersion
from tests.unit.kudo.builders import (
    V1,
    declared,
    failed,
    instance,
    mutated,
    stored,
    trigger,
    validated,
    version,
)
from tests.unit.kudo.plans.runs.test_revalidation import last_run

GUARDED = version(upgradable_from=["first-0"])
"""The version before the upgrade, which can be upgraded to from an older one alone."""
V2 = version("first-2", upgradable_from=["first-1"])
DONE = {**last_run(), "status": "COMPLETE"}
UPGRADED = failed(plan="upgrade", of=V2, last=DONE)


def ended(status: str) -> JsonObject:
    found = failed(plan="upgrade", of=V2, last=DONE)
    found["status"]["lastRun"]["status"] = status
    found["status"]["planStatus"]["upgrade"]["status"] = status
    return found


def reasons(new: JsonObject, old: JsonObject, *versions: OperatorVersion) -> list[str]:
    """Return what mutation, validation and the reconciler's own check deny a change with."""
    by_name = {found.metadata.name: found for found in versions}
    beside = {**new, "spec": {**new["spec"], "planExecution": trigger("upgrade")}}
    after = Instance.from_wire({**new, "status": old["status"]})
    last = after.status.last_run
    assert last is not None
    assert last.operator_version is not None
    before = by_name.get(last.operator_version.name or "")
    target = by_name[after.operator_version_key[1]]
    found = revalidate_idle(after, target, before=before)
    return [
        mutated(new, old, *versions).reason,
        validated(beside, old, *versions).reason,
        found.problems[0].reason if found.problems else "",
    ]


def test_after_an_upgrade_that_failed_the_version_before_it_may_come_back() -> None:
    assert reasons(instance(), UPGRADED, GUARDED, V2) == ["", "", ""]
    assert stored(instance(), UPGRADED, GUARDED, V2)["planExecution"] == trigger("upgrade")


def test_it_may_come_back_also_if_the_version_that_failed_is_gone() -> None:
    assert reasons(instance(), UPGRADED, GUARDED) == ["", "", ""]


def test_unless_the_last_run_failed_upgradable_from_holds() -> None:
    for status in ["COMPLETE", "IN_PROGRESS"]:
        assert reasons(instance(), ended(status), GUARDED, V2) == ["NotUpgradable"] * 3


def test_no_other_version_may_come_in_its_place() -> None:
    other = version("first-0", upgradable_from=["first-1"])
    assert reasons(instance(of="first-0"), UPGRADED, other, V2) == ["NotUpgradable"] * 3


def test_another_operator_is_none_that_can_be_gone_back_to() -> None:
    other = version(operator="second")
    assert reasons(instance(), UPGRADED, other, V2) == ["OperatorChanged"] * 3


def test_immutable_parameters_stay_on_the_way_back() -> None:
    new = instance({"CLASS": "slow"})
    assert reasons(new, UPGRADED, GUARDED, V2) == ["ParameterImmutable"] * 3


def test_what_becomes_immutable_on_the_way_back_needs_a_value() -> None:
    before = version(parameters=declared("NOTE", immutable=True))
    assert mutated(instance(), UPGRADED, before, V2).reason == "ImmutableWithoutValue"


def test_a_denial_after_a_failed_upgrade_names_the_ways_out() -> None:
    third = version("first-3", upgradable_from=["first-1"])
    new = instance(of="first-3")
    way_out = "and first-2 is in force; its last run failed: retry it, or go back to first-1"
    message = mutated(new, UPGRADED, V1, V2, third).problems[0].message
    assert message.endswith(way_out)
    message = mutated(new, ended("COMPLETE"), V1, V2, third).problems[0].message
    assert message.endswith("and first-2 is in force")
