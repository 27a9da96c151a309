"""The plan that an Instance needs, and what is not in force as long as it has not run.

The spec is compared with `status.lastRun`, the configuration in force. Whatever was admitted and is
not in force needs a run: a parameter without a trigger that was changed beside one with a trigger,
and what was changed beside a plan that was triggered by hand. The run comes after the one that left
it out, if that is COMPLETE. Nothing follows a failed run by itself: the rest would run on what that
run left half done, and its success would hide the failure.

`why_undecided` tells whether the marks of orphans are those of what is in force now.
"""

from kudo.api import ExecutionStatus, Instance, NotInForce, OperatorVersion
from kudo.api.fingerprints import fingerprint
from kudo.plans.runs.last_run import (
    changed_parameters,
    configuration_now,
    in_force,
    version_in_force,
)
from kudo.plans.runs.plan_choice import (
    NO_PLAN,
    PlanChoice,
    plan_for_creation,
    plan_for_parameters,
    plan_for_upgrade,
)

_MOST_NAMES = 20


def needed_plan(instance: Instance, version: OperatorVersion) -> PlanChoice:
    """Return the plan that brings into force what is not, whether or not it has to wait.

    Args:
        instance: The Instance.
        version: The OperatorVersion that its spec names.
    """
    last = in_force(instance)
    if last is None:
        return plan_for_creation(version)
    if version_in_force(last) != instance.operator_version_key:
        return plan_for_upgrade(version)
    return plan_for_parameters(version, changed_parameters(instance))


def due_plan(instance: Instance, version: OperatorVersion) -> PlanChoice:
    """Return the plan that is to be scheduled now for an idle Instance.

    None while all that is not in force was stored when a run began that failed. A run that is
    COMPLETE, such as a retry, ends that, and so does another value. Another version is brought into
    force whatever failed, and so is the first configuration.
    """
    last, settings = in_force(instance), instance.settings
    if (
        last is not None
        and last.status == ExecutionStatus.FATAL_ERROR
        and last.pending_parameters
        and version_in_force(last) == instance.operator_version_key
    ):
        now = {
            name: fingerprint(settings[name])
            for name in last.pending_parameters
            if name in settings
        }
        waiting = {n for n, value in last.pending_parameters.items() if now.get(n, "") == value}
        if changed_parameters(instance) & version.declared.keys() <= waiting:
            return NO_PLAN
    return needed_plan(instance, version)


def not_in_force(instance: Instance, version: OperatorVersion) -> NotInForce | None:
    """Return the parameters whose value is not in force, and the plan that brings it there.

    None if there is none, while nothing at all is in force, and during a deletion.

    Args:
        instance: The Instance with the status that is to be stored.
        version: The OperatorVersion that its spec names.
    """
    if in_force(instance) is None or instance.metadata.deleting:
        return None
    names = sorted(changed_parameters(instance) & version.declared.keys())
    if not names:
        return None
    return NotInForce(
        parameters=tuple(names[:_MOST_NAMES]),
        parameters_left_out=len(names) - _MOST_NAMES if len(names) > _MOST_NAMES else None,
        plan=needed_plan(instance, version).plan,
    )


def why_undecided(instance: Instance, version: OperatorVersion) -> str:
    """Return why the marks of orphans do not count, and what to do; empty if they do.

    At the end of each COMPLETE run a mark was taken off, or no plan applies the object: of that
    OperatorVersion, with these parameters. Another one may apply it.
    """
    last = instance.status.last_run
    if last is None or last.status != ExecutionStatus.COMPLETE:
        return "the last run is not COMPLETE; run the plan again, then ask again"
    if last.configuration != configuration_now(instance, version):
        return (
            "the OperatorVersion or the parameters have changed since the last run; run a plan, "
            "then ask again"
        )
    return ""
