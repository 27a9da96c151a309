"""Revalidates Instances as they are stored: the plan that they need, or why they may not run.

The reconciler compares the stored object with `lastRun`, the configuration in force, whether or not
webhooks saw the change. It schedules plans that nobody scheduled and refuses changes that a webhook
would have denied; then the last good run stays in force.
"""

from dataclasses import dataclass

from kudo.admission.rules import Moment, evaluate
from kudo.admission.stored import StoredChange
from kudo.admission.tenancy import Tenancy, lacks_grant, not_granted
from kudo.api import Instance, OperatorVersion
from kudo.api.problems import Problem
from kudo.parameters.values import Check, read_fully
from kudo.plans.runs.last_run import has_run, is_in_force
from kudo.plans.runs.needs import due_plan


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
    problems = _violations(StoredChange(instance, instance, before, version, check))
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
    change = StoredChange(instance, instance, before, version, check)
    problems = evaluate(change, Moment.SCHEDULED)
    if problems:
        return Revalidation(problems=problems)
    if lacks_grant(instance, version, tenancy) and not change.begun and not change.deleting:
        return Revalidation(problems=(not_granted(instance),))
    return Revalidation(problems=_violations(change))


def _violations(change: StoredChange) -> tuple[Problem, ...]:
    """Return what a webhook would have denied since the last run, in the order of parameters."""
    return evaluate(change, Moment.STORED, lambda problem: change.places.get(problem.field, -1))
