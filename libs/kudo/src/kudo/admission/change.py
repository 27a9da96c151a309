"""The input of all admission rules: what a request changes, compared with what is in force.

What a change is follows from both objects and their OperatorVersions, is computed when a rule asks
for it, and once.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Flag, auto
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

from kudo.api import (
    ExecutionStatus,
    Instance,
    OperatorVersion,
    Parameter,
    ParameterSource,
    PlanExecution,
    Setting,
)
from kudo.api.fingerprints import fingerprint
from kudo.api.names import PLAN_CLEANUP
from kudo.parameters.values import Check, read_fully
from kudo.plans.runs.last_run import in_force
from kudo.plans.runs.plan_choice import (
    IDLE,
    NO_PLAN,
    PlanChoice,
    active_run,
    not_in_force_after,
    plan_for_creation,
    plan_for_parameters,
    plan_for_upgrade,
    used_uids,
)
from kudo.plans.runs.retries import is_honoured
from kudo.plans.runs.run_parameters import given_to
from kudo.plans.runs.upgrades import Before, left_by, stays

_Value = TypeVar("_Value", covariant=True)


class computed(Generic[_Value]):  # noqa: N801 - used as a decorator
    """Like `functools.cached_property`, for objects that are used by one thread.

    That one takes a lock until Python 3.12; with a dozen of them for each request, the locks cost
    as much as the rules.
    """

    def __init__(self, compute: Callable[[Any], _Value]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> _Value: ...
    def __get__(self, instance: object, owner: type) -> Self | _Value:
        if instance is None:
            return self
        # The attribute of the instance hides this descriptor from now on.
        value = instance.__dict__[self._name] = self._compute(instance)
        return value


_ABSENT = Instance()


class ChangeKind(Flag):
    """What a change does to an Instance; each change is of one kind."""

    CREATE = auto()
    UPDATE = auto()
    UPGRADE = auto()
    DELETING = auto()
    """Any change of an Instance that is being deleted."""
    CHANGE = UPDATE | UPGRADE
    ANY = CREATE | CHANGE | DELETING


@dataclass(frozen=True)
class Change:
    """A submitted Instance beside the stored one, with the OperatorVersions they resolve to.

    Attributes:
        stored: The stored Instance; None if a new one is created. Only its status counts, a
            submitted status never does.
        new: The submitted Instance.
        old_version: The OperatorVersion of `stored`; None if it no longer exists.
        version: The OperatorVersion of `new`.
        check: Checks values of parameters.
        username: The user of the request.
        strict: Whether the installation is in strict mode.
        is_request: Whether somebody asks for it, and not the reconciler, of what is stored.
    """

    stored: Instance | None
    new: Instance
    old_version: OperatorVersion | None
    version: OperatorVersion
    check: Check = read_fully
    username: str = ""
    strict: bool = False
    is_request: ClassVar[bool] = True

    @computed
    def kind(self) -> ChangeKind:
        # First, since of an Instance that is being deleted nothing else matters.
        if self.deleting:
            return ChangeKind.DELETING
        if self.creates:
            return ChangeKind.CREATE
        return ChangeKind.UPGRADE if self.upgrade else ChangeKind.UPDATE

    @computed
    def old(self) -> Instance:
        """The stored Instance; an empty one if a new one is created."""
        return self.stored or _ABSENT

    @computed
    def creates(self) -> bool:
        """Whether nothing is in force before, so that all of the Instance is new."""
        return self.stored is None

    @computed
    def deleting(self) -> bool:
        if self.stored is None:
            return False
        return self.new.metadata.deleting or self.stored.metadata.deleting

    @computed
    def declared(self) -> Mapping[str, Parameter]:
        """The parameters of the new version by name."""
        return self.version.declared

    @computed
    def declared_before(self) -> Mapping[str, Parameter]:
        """The parameters of the old version by name; none if it no longer exists."""
        return {} if self.old_version is None else self.old_version.declared

    @computed
    def upgrade(self) -> bool:
        """Whether another OperatorVersion comes into force, by resolved namespace and name."""
        if self.creates:
            return False
        return self.new.operator_version_key != self.old.operator_version_key

    @computed
    def left(self) -> Before | None:
        """The version that an upgrade replaces; None if there is none, or nothing must be kept."""
        return left_by(self.old, self.old_version) if self.upgrade else None

    @computed
    def changed(self) -> dict[str, Setting]:
        """Parameters that were added or got another value, or another reference to one."""
        old = self.old.settings
        return {n: v for n, v in self.new.settings.items() if old.get(n) != v}

    @computed
    def removed(self) -> tuple[str, ...]:
        """Parameters that are no longer set."""
        return tuple(sorted(self.old.settings.keys() - self.new.settings.keys()))

    @computed
    def values(self) -> Mapping[str, str]:
        """The values of parameters as they are to be stored.

        A new Instance gets the defaults of immutable ones, so that they do not change when a later
        version has other defaults. An upgrade removes those that only the old version declares.
        """
        new = self.new.parameters
        if self.creates:
            # That of a secret one would be shown, and a reference takes its place.
            without = {source.name for source in self.new.sources}
            fixed = (
                p
                for p in self.version.parameters
                if p.immutable and not p.secret and p.name not in without
            )
            return {p.name: p.default for p in fixed if p.default is not None} | dict(new)
        if not self.upgrade:
            return new
        return {name: value for name, value in new.items() if name not in self._undeclared}

    @computed
    def sources(self) -> tuple[ParameterSource, ...]:
        """The references to values as they are to be stored, like `values`."""
        if not self.upgrade:
            return self.new.sources
        return tuple(each for each in self.new.sources if each.name not in self._undeclared)

    @computed
    def _undeclared(self) -> frozenset[str]:
        """Parameters that only the old version declares."""
        return frozenset(self.declared_before.keys() - self.declared.keys())

    @computed
    def settings(self) -> Mapping[str, Setting]:
        """Values and references as they are to be stored; see `Instance.settings`."""
        if not self.sources:
            return self.values
        return {**self.values, **{each.name: each.reference for each in self.sources}}

    @computed
    def twice(self) -> tuple[str, ...]:
        """Parameters that are set more than once; not those that were before."""
        return tuple(sorted(set_twice(self.new) - set_twice(self.old)))

    @computed
    def counted(self) -> tuple[str, ...]:
        """Changed and removed parameters that can trigger a plan.

        Those of a new Instance trigger none. A parameter that only the new version knows is part of
        the upgrade, not an update; one that the new version does not declare triggers nothing.
        """
        if self.creates:
            return ()
        names = (*self.changed, *self.removed)
        return tuple(
            name for name in sorted(names) if name in self.declared and not self._only_in_new(name)
        )

    def _only_in_new(self, name: str) -> bool:
        if not self.upgrade or name in self.removed:
            return False
        if self.left is not None and self.left.version is None:
            # A parameter with a value was declared.
            return name not in self.old.settings
        return name not in self.declared_before

    @computed
    def redefined(self) -> tuple[Parameter, ...]:
        """Declared parameters whose value or, by an upgrade, definition changed; all at first."""
        if self.creates:
            return self.version.parameters
        touched = {*self.changed, *self.removed}
        if not self.upgrade:
            return tuple(p for p in self.version.parameters if p.name in touched)
        before = self.declared_before
        return tuple(
            p for p in self.version.parameters if p.name in touched or before.get(p.name) != p
        )

    def must_stay(self, definition: Parameter) -> bool:
        """Return whether the value of a declared parameter may not change."""
        if not definition.immutable or not self.upgrade:
            return bool(definition.immutable)
        had_value = self.had_value(definition.name)
        return self.left is not None and stays(self.left, definition, had_value=had_value)

    def had_value(self, name: str) -> bool:
        """Return whether a parameter was set before."""
        return name in self.old.settings

    @computed
    def active(self) -> PlanExecution | None:
        """The run that is in progress, as stored."""
        return active_run(self.old)

    @computed
    def requested(self) -> PlanExecution:
        """The planExecution that the request asks for; idle if it repeats an ended run.

        What a new Instance has is that of a backup, and asks for nothing. A retry that has been
        honoured asks for nothing: for the run in progress, if there is one.
        """
        if self.creates:
            return IDLE
        submitted = self.new.scheduled
        if submitted.retry_of:
            return self._requested_retry(submitted)
        if self.active is None and _same_run(submitted, self.old.scheduled):
            return IDLE
        return submitted

    def _requested_retry(self, submitted: PlanExecution) -> PlanExecution:
        same = self.keeps_the_run
        if same and self.active is not None and submitted.status == ExecutionStatus.FATAL_ERROR:
            return submitted
        stored = self.old.scheduled
        # A manifest that is applied has no uid, and names the retry as long as nobody edits it.
        repeats_stored = (
            submitted.retry_of == stored.retry_of
            and submitted.plan_name == stored.plan_name
            and (submitted.uid or "") in {"", stored.uid or ""}
        )
        if repeats_stored or is_honoured(self.old, submitted):
            return self.active or IDLE
        # A merge patch keeps the uid of the stored run, which is not the one that is asked for.
        return submitted.model_copy(update={"uid": None}) if same else submitted

    @computed
    def retry(self) -> PlanExecution | None:
        """The retry that the request asks for."""
        return self.requested if self.direct and self.requested.retry_of else None

    @computed
    def repeated_retry(self) -> bool:
        """Whether the request names a retry in the place of the stored run, and asks for none."""
        return bool(self.new.scheduled.retry_of) and self.direct is None and not self.keeps_the_run

    @computed
    def keeps_the_run(self) -> bool:
        """Whether plan and uid stay as they are stored."""
        return _same_run(self.new.scheduled, self.old.scheduled)

    @computed
    def restart(self) -> bool:
        """Whether the running plan is asked for again: same plan, another uid or none."""
        return (
            self.active is not None
            and self.requested.plan_name == self.active.plan_name
            and (self.requested.uid or "") != (self.active.uid or "")
        )

    @computed
    def direct(self) -> str | None:
        """The plan that the request itself names, other than the one that runs."""
        name = self.requested.plan_name or None
        if name is None:
            return None
        return (
            name if self.active is None or self.restart or name != self.active.plan_name else None
        )

    @computed
    def by_creation(self) -> PlanChoice:
        return plan_for_creation(self.version) if self.creates else NO_PLAN

    @computed
    def by_upgrade(self) -> PlanChoice:
        return plan_for_upgrade(self.version) if self.upgrade else NO_PLAN

    @computed
    def by_parameters(self) -> PlanChoice:
        return plan_for_parameters(self.version, self.counted)

    @computed
    def after_parameters(self) -> PlanChoice:
        """The plan that runs after `by_parameters`, for what that leaves out (C8)."""
        plan = self.by_parameters.plan
        if self.upgrade or plan is None:
            return NO_PLAN
        rest = not_in_force_after(self.version, plan, self.counted)
        return plan_for_parameters(self.version, rest)

    @computed
    def needed(self) -> str | None:
        """The plan that the change of version or parameters needs, whatever else was asked."""
        return self.by_creation.plan or self.by_upgrade.plan or self.by_parameters.plan

    @computed
    def scheduled_plan(self) -> str | None:
        """The plan that the change runs: what a change needs goes before what it names."""
        return (None if self.deleting else self.needed) or self.direct

    @computed
    def run_parameters(self) -> Mapping[str, str]:
        """The parameters of the run that the change schedules.

        A plan that starts again keeps those that it was given. A retry has those of the failed run,
        and a run that nobody named has none.
        """
        plan = self.scheduled_plan
        if self.active is not None and plan == self.active.plan_name:
            return self.active.parameters or {}
        if self.needed and not self.deleting:
            return {}
        if self.retry is not None:
            return given_to(self.old, self.retry) or {}
        return self.requested.parameters or {}

    @computed
    def carries_own_trigger(self) -> bool:
        """Whether the request already holds exactly what mutation writes for its change.

        Then it has been through mutation before, and nobody asked for a second plan.
        """
        trigger = self.requested
        return (
            trigger.plan_name is not None
            and trigger.plan_name == self.needed
            and not trigger.retry_of
            and trigger.status == ExecutionStatus.NEVER_RUN
            and (trigger.parameters or {}) == self.run_parameters
            and bool(trigger.uid)
            and trigger.uid not in used_uids(self.old)
        )

    @computed
    def cancel(self) -> bool:
        """Whether the request cancels the running plan: FATAL_ERROR for its plan and uid."""
        return (
            self.active is not None
            and not self.restart
            and not (self.needed and not self.deleting)
            and self.requested.plan_name == self.active.plan_name
            and self.requested.status == ExecutionStatus.FATAL_ERROR
        )

    @computed
    def cleanup_active(self) -> bool:
        return self.active is not None and self.active.plan_name == PLAN_CLEANUP

    def undoes_violation(self, name: str) -> bool:
        """Whether the new value of the parameter is the one in force.

        Such a change restores what runs and is always admitted.
        """
        last = in_force(self.old)
        if last is None:
            return False
        recorded: Mapping[str, str] = last.parameters or {}
        setting = self.new.settings.get(name)
        return recorded.get(name) == (None if setting is None else fingerprint(setting))


def set_twice(instance: Instance) -> frozenset[str]:
    """Return the parameters with a value and a reference, or with several references."""
    if not instance.sources:
        return frozenset()
    names = [source.name for source in instance.sources]
    several = {name for name, count in Counter(names).items() if count > 1}
    return frozenset(several | (instance.parameters.keys() & set(names)))


def _same_run(left: PlanExecution, right: PlanExecution) -> bool:
    return (left.plan_name or "", left.uid or "") == (right.plan_name or "", right.uid or "")
