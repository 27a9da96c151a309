"""Rules on fields of an Instance: one answer names everything that is wrong."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from kudo.admission.change import Change
from kudo.api import NO_PLAN_TO_RETRY, NO_RUN_TO_RETRY, Plan, bounds
from kudo.api.problems import Problem, listed, parameter_field, shown, shown_name
from kudo.api.times import DurationError, seconds_of
from kudo.parameters.values import Check, check_value, missing_required
from kudo.plans.runs.run_parameters import FIELD, missing_problem, size_of
from kudo.plans.runs.upgrades import operator_problems, unknown_hint


def requested_plan_exists(change: Change) -> Iterator[Problem]:
    """D01."""
    name = change.direct
    if name and name not in change.version.plans:
        plans = listed(sorted(change.version.plans)) or "none"
        yield Problem(
            "PlanUnknown",
            f"plan {shown_name(name)} does not exist in {change.version.metadata.name}; its plans "
            f"are: {plans}",
            "spec.planExecution.planName",
        )


def changed_parameters_are_declared(change: Change) -> Iterator[Problem]:
    """D02."""
    unknown = sorted(change.changed.keys() - change.declared.keys())
    if unknown:
        # Built once, since both lists may be long.
        declared = listed([p.name for p in change.version.parameters]) or "none"
        for name in unknown:
            yield Problem(
                "ParameterUnknown",
                f'failed to find parameter "{shown_name(name)}" in the OperatorVersion '
                f"{change.version.metadata.name}; its parameters are: {declared}",
                parameter_field(name),
            )


def immutable_parameters_stay(change: Change) -> Iterator[Problem]:
    """D03: neither another value nor removal, also not by an upgrade."""
    for name in sorted({*change.changed, *change.removed}):
        definition = change.declared.get(name)
        if definition is None or not change.must_stay(definition) or change.undoes_violation(name):
            continue
        hint = unknown_hint(change.left) if change.left else ""
        old, new = change.old.settings.get(name), change.new.settings.get(name)
        edit, way_out = "removed", "create a new Instance to use another value"
        if not change.is_request:
            # Of the value in force only a digest is known.
            edit, way_out = "changed", "set it back"
        elif new is not None:
            edit = f"changed from '{shown(str(old or ''))}' to '{shown(str(new))}'"
            if definition.secret:
                edit = "changed"
        yield Problem(
            "ParameterImmutable",
            f"parameter '{shown_name(name)}' is immutable but was {edit}{hint}; {way_out}",
            parameter_field(name),
        )


def new_immutables_have_a_value(change: Change) -> Iterator[Problem]:
    """D04, D05: what becomes or arrives as immutable must be set in that request."""
    left = change.left
    if left is None or left.key == change.new.operator_version_key:
        return
    version = change.version.metadata.name
    for definition in change.version.parameters:
        if not definition.immutable or definition.name in change.new.settings:
            continue
        if definition.secret and not definition.required:
            # It has no default that a later version could change, so it stays without a value.
            continue
        before = change.declared_before.get(definition.name)
        if left.version is None and definition.name not in change.old.settings:
            text = (
                f"is immutable in operator version {version}, but no value was provided; whether "
                f"it was immutable before is unknown, since {shown_name(left.name)} does not exist"
            )
        elif left.version is None:
            continue
        elif before is None:
            default = definition.default
            hint = f" (default would be {shown(default)})" if default else ""
            text = f"was added in operator version {version}, but no value was provided{hint}"
        elif not before.immutable:
            text = (
                f"was changed to immutable in operator version {version} but no value was provided"
            )
        else:
            continue
        yield Problem(
            "ImmutableWithoutValue",
            f"parameter '{shown_name(definition.name)}' {text}; set it in the same request",
            parameter_field(definition.name),
        )


def required_parameters_have_a_value(change: Change) -> Iterable[Problem]:
    """D06, for parameters whose value or definition changed."""
    return missing_required(change.redefined, change.settings)


def values_are_valid(change: Change) -> Iterator[Problem]:
    """D07, for parameters whose value or definition changed."""
    for definition in change.redefined:
        value = change.settings.get(definition.name)
        # What a reference leads to is checked when a run begins.
        problem = check_value(definition, value, change.check) if isinstance(value, str) else None
        if problem is not None:
            yield problem


def triggers_are_clear(change: Change) -> Iterable[Problem]:
    """D08, D09, D10."""
    return change.by_parameters.problems


def retries_are_complete(change: Change) -> Iterator[Problem]:
    """Like the rules of the CRD, which the API server applies to what mutation leaves."""
    run, stored = change.new.scheduled, change.old.scheduled
    if run.retry_of and not run.plan_name and run.retry_of != stored.retry_of:
        yield Problem(
            "PlanUnknown", f"planExecution {NO_PLAN_TO_RETRY}", "spec.planExecution.planName"
        )
    if run.from_step and not run.retry_of and run.from_step != stored.from_step:
        yield Problem("RetryUnknownStep", NO_RUN_TO_RETRY, "spec.planExecution.from")


def run_parameters_name_a_plan(change: Change) -> Iterator[Problem]:
    run = change.new.scheduled
    if run.parameters and not run.plan_name and run.parameters != change.old.scheduled.parameters:
        text = (
            "planExecution has parameters and names no plan; name the plan that they are for in "
            "planName, or leave parameters out"
        )
        yield Problem("PlanUnknown", text, "spec.planExecution.planName")


def run_parameters_are_valid(change: Change) -> Iterator[Problem]:
    """Of the run that the change schedules: declared, of their types, within bounds, complete."""
    name, given = change.scheduled_plan, change.run_parameters
    plan = change.version.plans.get(name or "")
    # A retry has those that its failed run began with, which other rules look at.
    if name is None or plan is None or change.retry is not None:
        return
    yield from _faults(name, plan, given, change.check)
    problem = missing_problem(change.new, name, plan, given)
    # Cleanup waits for nobody, and a plan that runs again has what it was given.
    if problem is not None and not change.deleting:
        yield problem


def _faults(
    plan_name: str, plan: Plan, given: Mapping[str, str], check: Check
) -> Iterator[Problem]:
    """Yield what is wrong with given parameters of a run; what is missing is told by another."""
    size, shown = size_of(given), shown_name(plan_name)
    if size > bounds.RUN_PARAMETER_BYTES:
        text = (
            f"the parameters of the run have {size} bytes together, more than "
            f"{bounds.RUN_PARAMETER_BYTES}; give less, or the name of a ConfigMap"
        )
        yield Problem("ParameterTooLarge", text, FIELD, "size")
        return
    for name in sorted(given):
        field, definition = f"{FIELD}[{shown_name(name)}]", plan.declared.get(name)
        if definition is None:
            text = (
                f"plan '{shown}' has no run parameter \"{shown_name(name)}\"; its run parameters "
                f"are: {listed([p.name for p in plan.parameters or ()]) or 'none'}"
            )
            yield Problem("ParameterUnknown", text, field)
            continue
        problem = check_value(definition, given[name], check)
        if problem is not None:
            yield replace(problem, message=f"plan '{shown}': run {problem.message}", field=field)


def a_new_time_limit_is_readable(change: Change) -> Iterator[Problem]:
    limit = change.new.spec.plan_timeout
    if not limit or limit == change.old.spec.plan_timeout:
        return
    try:
        seconds_of(limit)
    except DurationError:
        yield Problem(
            "TimeLimitInvalid",
            f"planTimeout '{shown(limit)}' is no duration of more than zero; set one such as 90s, "
            "10m or 1h30m, or remove it",
            "spec.planTimeout",
        )


def an_upgrade_keeps_the_operator(change: Change) -> Iterable[Problem]:
    """Another operator is never an upgrade; `upgradableFrom` is honoured where it is set."""
    return () if change.left is None else operator_problems(change.left, change.version)
