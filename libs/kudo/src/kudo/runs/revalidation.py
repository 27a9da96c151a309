"""Revalidates Instances as they are stored: the plan that they need, or why they may not run.

The reconciler compares the stored object with `lastRun`, the configuration in force, whether or not
webhooks saw the change. It schedules plans that nobody scheduled and refuses changes that a webhook
would have denied; then the last good run stays in force.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from kudo.api import Instance, LastRun, OperatorVersion, Parameter, PlanStatus
from kudo.execution import status_of
from kudo.names import PLAN_CLEANUP
from kudo.parameters import check_value, missing_required
from kudo.problems import Problem, first_problems, shown_name
from kudo.runs.last_run import changed_parameters, has_run, in_force, version_in_force
from kudo.runs.needs import due_plan
from kudo.runs.upgrades import Before, of_record, operator_problems, stays, unknown_hint
from kudo.tenancy import Tenancy, may_use, not_granted
from kudo.values.checks import Check, read_fully


@dataclass(frozen=True, slots=True)
class Revalidation:
    """The result of revalidation.

    Attributes:
        plan: Plan that has to run although nobody scheduled it.
        problems: Why nothing may run, the deciding one first.
    """

    plan: str | None = None
    problems: tuple[Problem, ...] = ()


NOTHING = Revalidation()


def revalidate_idle(
    instance: Instance,
    version: OperatorVersion,
    check: Check = read_fully,
    *,
    before: OperatorVersion | None = None,
    tenancy: Tenancy = Tenancy.COMPAT,
) -> Revalidation:
    """Validate an Instance that has no run scheduled and is not being deleted.

    Args:
        instance: The Instance.
        version: The OperatorVersion that its spec names.
        check: Reads values of parameters.
        before: The OperatorVersion in force, where that is another one; None if it does not exist.
        tenancy: The mode: whether an OperatorVersion of another namespace must be granted.
    """
    if instance.status.last_run is None and has_run(instance):
        # Runs that the original recorded: what it left is taken as it stands.
        return NOTHING
    if lacks_grant(instance, version, tenancy):
        # What it ran with stays in force; no other rule looks at what is not granted.
        return Revalidation(problems=() if is_in_force(instance) else (not_granted(instance),))
    problems = first_problems(violations(instance, version, check, before=before))
    if problems:
        return Revalidation(problems=problems)
    choice = due_plan(instance, version)
    return Revalidation(choice.plan, choice.problems)


def revalidate_scheduled(
    instance: Instance,
    version: OperatorVersion,
    check: Check = read_fully,
    *,
    before: OperatorVersion | None = None,
    tenancy: Tenancy = Tenancy.COMPAT,
) -> Revalidation:
    """Validate an Instance whose scheduled run is about to begin; see `revalidate_idle`."""
    name = instance.scheduled.plan_name
    if name == PLAN_CLEANUP and not instance.metadata.deleting:
        text = "only the controller schedules the 'cleanup' plan when the instance is deleted"
        return Revalidation(problems=(Problem("CleanupNotManual", text, "spec.planExecution"),))
    running = run_in_progress(instance)
    if running is not None and running != name and not instance.metadata.deleting:
        text = (
            f"overriding currently scheduled (or running) plan '{running}' with "
            f"'{shown_name(name or '')}' is not supported"
        )
        return Revalidation(problems=(Problem("PlanRunning", text, "spec.planExecution"),))
    if instance.metadata.deleting:
        return NOTHING
    if lacks_grant(instance, version, tenancy) and not _has_begun(instance):
        return Revalidation(problems=(not_granted(instance),))
    return Revalidation(
        problems=first_problems(violations(instance, version, check, before=before))
    )


def lacks_grant(instance: Instance, version: OperatorVersion | None, tenancy: Tenancy) -> bool:
    """Return whether an Instance may not use its OperatorVersion; see `kudo.tenancy.may_use`."""
    return tenancy is Tenancy.STRICT and not may_use(instance, version)


def is_in_force(instance: Instance) -> bool:
    """Return whether all that the spec names is in force, so that no plan has to run."""
    last = in_force(instance)
    if last is None or version_in_force(last) != instance.operator_version_key:
        return False
    return not changed_parameters(instance)


def has_run_with(instance: Instance) -> bool:
    """Return whether the OperatorVersion that an Instance names was in force in a run of it."""
    last = instance.status.last_run
    if last is None:
        # Runs that the original recorded, without the version.
        return has_run(instance)
    used = {"/".join(version_in_force(last)), last.version or ""}
    return "/".join(instance.operator_version_key) in used


def _has_begun(instance: Instance) -> bool:
    """Return whether the scheduled run has a first status, so that it ends as it began."""
    entry = instance.plan_status.get(instance.scheduled.plan_name or "")
    return entry is not None and bool(entry.uid) and entry.uid == instance.scheduled.uid


def run_in_progress(instance: Instance) -> str | None:
    """Return the plan that was begun last and has not ended, whatever the spec names."""
    last = instance.status.last_run
    entry = instance.plan_status.get(last.plan or "") if last else None
    if last is None or entry is None or entry.uid != last.uid:
        return None
    return last.plan if status_of(entry).running else None


def ended_cleanup(instance: Instance) -> PlanStatus | None:
    """Return the entry of the cleanup that was begun last, if it has ended.

    It has run because the Instance goes, and is not run again because its record was cleared.
    """
    last, entry = instance.status.last_run, instance.plan_status.get(PLAN_CLEANUP)
    if last is None or entry is None or (last.plan, last.uid) != (PLAN_CLEANUP, entry.uid):
        return None
    return entry if status_of(entry).terminal else None


def violations(
    instance: Instance,
    version: OperatorVersion,
    check: Check = read_fully,
    *,
    before: OperatorVersion | None = None,
) -> Iterator[Problem]:
    """Yield what a webhook would have denied since the last run; see `revalidate_idle`."""
    last, changed = in_force(instance), changed_parameters(instance)
    left = _left(instance, last, before)
    if left is not None:
        yield from operator_problems(left, version)
    for definition in version.parameters:
        if last is not None and definition.name not in changed:
            continue
        if last is not None and _is_immutable(definition, last, left):
            name, hint = shown_name(definition.name), unknown_hint(left) if left else ""
            text = f"parameter '{name}' is immutable but was changed{hint}; set it back"
            yield Problem("ParameterImmutable", text, f"spec.parameters[{name}]")
            continue
        yield from missing_required([definition], instance.parameters)
        value = instance.parameters.get(definition.name)
        problem = check_value(definition, value, check) if value is not None else None
        if problem is not None:
            yield problem


def _left(
    instance: Instance, last: LastRun | None, before: OperatorVersion | None
) -> Before | None:
    """Return the version in force, if the spec names another one."""
    if last is None or version_in_force(last) == instance.operator_version_key:
        return None
    return of_record(last, before)


def _is_immutable(definition: Parameter, last: LastRun, left: Before | None) -> bool:
    if left is None:
        return bool(definition.immutable)
    return stays(left, definition, had_value=definition.name in (last.parameters or {}))
