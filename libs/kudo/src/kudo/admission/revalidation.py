"""Revalidates Instances as they are stored: the plan that they need, or why they may not run.

The reconciler compares the stored object with `lastRun`, the configuration in force, whether or not
webhooks saw the change (`StoredChange`). It schedules plans that nobody scheduled and refuses
changes that a webhook would have denied; then the last good run stays in force.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from kudo.admission.change import Change, computed, set_twice
from kudo.admission.rules import Moment, evaluate
from kudo.admission.tenancy import Tenancy, lacks_grant, not_granted
from kudo.api import (
    Instance,
    LastRun,
    OperatorVersion,
    Parameter,
    ParameterSource,
    PlanExecution,
    Setting,
)
from kudo.api.problems import Problem, parameter_field
from kudo.parameters.values import Check, read_fully
from kudo.plans.runs.last_run import (
    changed_parameters,
    has_run,
    in_force,
    is_in_force,
    run_in_progress,
    version_in_force,
)
from kudo.plans.runs.needs import due_plan
from kudo.plans.runs.run_parameters import given_to, unattended_problem
from kudo.plans.runs.upgrades import Before, of_record


@dataclass(frozen=True)
class StoredChange(Change):
    """A stored Instance beside `status.lastRun`, its record of what is in force.

    `stored` and `new` are both that Instance, and `old_version` is the OperatorVersion in force. Of
    parameters the record has digests alone. While an Instance is being deleted nothing counts as
    changed: it is cleaned up as it is.
    """

    is_request: ClassVar[bool] = False

    @computed
    def _last(self) -> LastRun | None:
        return in_force(self.new)

    @computed
    def _changed(self) -> frozenset[str]:
        return frozenset() if self.deleting else changed_parameters(self.new)

    @computed
    def creates(self) -> bool:
        return self._last is None and not self.deleting

    @computed
    def upgrade(self) -> bool:
        if self._last is None or self.deleting:
            return False
        return version_in_force(self._last) != self.new.operator_version_key

    @computed
    def left(self) -> Before | None:
        if self._last is None or not self.upgrade:
            return None
        return of_record(self._last, self.old_version)

    @computed
    def places(self) -> dict[str, int]:
        """The places of the declared parameters, by the fields that problems name."""
        return {parameter_field(p.name): i for i, p in enumerate(self.version.parameters)}

    @computed
    def changed(self) -> dict[str, Setting]:
        return {n: v for n, v in self.new.settings.items() if n in self._changed}

    @computed
    def removed(self) -> tuple[str, ...]:
        return tuple(sorted(self._changed - self.new.settings.keys()))

    @computed
    def values(self) -> Mapping[str, str]:
        return self.new.parameters

    @computed
    def sources(self) -> tuple[ParameterSource, ...]:
        return self.new.sources

    @computed
    def twice(self) -> tuple[str, ...]:
        """All of them: a run would take the one or the other."""
        return () if self.deleting else tuple(sorted(set_twice(self.new)))

    @computed
    def redefined(self) -> tuple[Parameter, ...]:
        """Declared parameters whose value changed; not those that have to be set back anyway."""
        declared = self.version.parameters
        if self.creates:
            return declared
        return tuple(p for p in declared if p.name in self._changed and not self.must_stay(p))

    def had_value(self, name: str) -> bool:
        return self._last is not None and name in (self._last.parameters or {})

    @computed
    def active(self) -> PlanExecution | None:
        """The run that was begun last and has not ended, whatever the spec names."""
        plan = run_in_progress(self.new)
        return None if plan is None else PlanExecution(plan_name=plan)

    @computed
    def direct(self) -> str | None:
        """The plan that the spec names, also if it is the one that runs."""
        return self.new.scheduled.plan_name or None

    @computed
    def scheduled_plan(self) -> str | None:
        """The plan whose run is about to begin; one that has begun ends as it began."""
        return None if self.begun else self.direct

    @computed
    def run_parameters(self) -> Mapping[str, str]:
        return given_to(self.new, self.new.scheduled) or {}

    @computed
    def begun(self) -> bool:
        """Whether the scheduled run has a first status, so that it ends as it began."""
        run = self.new.scheduled
        entry = self.new.plan_status.get(run.plan_name or "")
        return entry is not None and bool(entry.uid) and entry.uid == run.uid

    @computed
    def retry(self) -> PlanExecution | None:
        run = self.new.scheduled
        return run if run.retry_of and self.direct and not self.begun else None


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
    strict = tenancy is Tenancy.STRICT
    change = StoredChange(instance, instance, before, version, check, strict=strict)
    problems = _violations(change)
    if problems:
        return Revalidation(problems=problems)
    choice = due_plan(instance, version)
    if choice.plan is not None:
        problem = unattended_problem(instance, version, choice.plan)
        if problem is not None:
            return Revalidation(problems=(problem,))
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
    strict = tenancy is Tenancy.STRICT
    change = StoredChange(instance, instance, before, version, check, strict=strict)
    # The reconciler drops a run that these refuse; the others speak of what is stored.
    problems = evaluate(change, Moment.SCHEDULED)
    if problems:
        return Revalidation(problems=problems)
    # A run that has begun ends as it began, and cleanup is never kept from an Instance that goes.
    if lacks_grant(instance, version, tenancy) and not change.begun and not change.deleting:
        return Revalidation(problems=(not_granted(instance),))
    return Revalidation(problems=_violations(change))


def _violations(change: StoredChange) -> tuple[Problem, ...]:
    """Return what a webhook would have denied since the last run, in the order of parameters."""
    return evaluate(change, Moment.STORED, lambda problem: change.places.get(problem.field, -1))
