"""The admission rules: a flat list of small pure functions over one `Change`.

The same rules serve the mutating route, the validating route, the reconciler's own check and the
command line. Messages begin with what KUDO 0.19 says, since people search for it, and end
with what to do. Codes like D14 are those of the recorded decisions (docs/design/).
"""

from collections.abc import Callable, Iterable, Iterator

from kudo.admission.change import Change
from kudo.api import Instance
from kudo.names import PLAN_CLEANUP, PLAN_DEPLOY
from kudo.parameters import check_value, missing_required
from kudo.problems import Problem, first_problems, listed, shown, shown_name
from kudo.runs.plan_choice import active_run
from kudo.runs.retries import retry_problems
from kudo.runs.upgrades import operator_problems, stays, unknown_hint

Rule = Callable[[Change], Iterable[Problem]]


def field_of(name: str) -> str:
    return f"spec.parameters[{shown_name(name)}]"


# Rules on fields: all of them are evaluated, so that one answer names everything that is wrong.


def requested_plan_exists(change: Change) -> Iterator[Problem]:
    """D01."""
    name = change.direct
    if name and name not in change.version.plans:
        known = listed(sorted(change.version.plans)) or "none"
        yield Problem(
            "PlanUnknown",
            f"plan {shown_name(name)} does not exist in {change.version.metadata.name}; its plans "
            f"are: {known}",
            "spec.planExecution.planName",
        )


def changed_parameters_are_declared(change: Change) -> Iterator[Problem]:
    """D02."""
    unknown = sorted(change.changed.keys() - change.declared.keys())
    if unknown:
        # Built once, since both lists may be long.
        known = listed([p.name for p in change.version.parameters]) or "none"
        for name in unknown:
            yield Problem(
                "ParameterUnknown",
                f'failed to find parameter "{shown_name(name)}" in the OperatorVersion '
                f"{change.version.metadata.name}; its parameters are: {known}",
                field_of(name),
            )


def immutable_parameters_stay(change: Change) -> Iterator[Problem]:
    """D03: neither another value nor removal, also not by an upgrade."""
    for name in sorted({*change.changed, *change.removed}):
        if _is_immutable(change, name) and not change.undoes_violation(name):
            old, new = change.old.parameters.get(name), change.new.parameters.get(name)
            done = (
                f"changed from '{shown(old or '')}' to '{shown(new)}'"
                if new is not None
                else "removed"
            )
            hint = unknown_hint(change.left) if change.left else ""
            yield Problem(
                "ParameterImmutable",
                f"parameter '{shown_name(name)}' is immutable but was {done}{hint}; "
                "create a new Instance to use another value",
                field_of(name),
            )


def _is_immutable(change: Change, name: str) -> bool:
    definition = change.declared.get(name)
    if definition is None or not definition.immutable:
        return False
    if not change.upgrade:
        return True
    had_value = name in change.old.parameters
    return change.left is not None and stays(change.left, definition, had_value=had_value)


def new_immutables_have_a_value(change: Change) -> Iterator[Problem]:
    """D04, D05: what becomes or arrives as immutable must be set in that request."""
    left = change.left
    if left is None or left.key == change.new.operator_version_key:
        return
    version = change.version.metadata.name
    for definition in change.version.parameters:
        if not definition.immutable or definition.name in change.new.parameters:
            continue
        before = change.declared_before.get(definition.name)
        if left.version is None and definition.name not in change.old.parameters:
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
            field_of(definition.name),
        )


def required_parameters_have_a_value(change: Change) -> Iterator[Problem]:
    """D06, for parameters whose value or definition changed."""
    yield from missing_required(change.redefined, change.new.parameters)


def values_are_valid(change: Change) -> Iterator[Problem]:
    """D07, for parameters whose value or definition changed."""
    for definition in change.redefined:
        value = change.new.parameters.get(definition.name)
        problem = check_value(definition, value, change.check) if value is not None else None
        if problem is not None:
            yield problem


def triggers_are_clear(change: Change) -> Iterator[Problem]:
    """D08, D09, D10."""
    yield from change.by_parameters.problems


def retries_are_complete(change: Change) -> Iterator[Problem]:
    """Like the rules of the CRD, which the API server applies to what mutation leaves."""
    run, stored = change.new.scheduled, change.old.scheduled
    if run.retry_of and not run.plan_name and run.retry_of != stored.retry_of:
        yield Problem(
            "PlanUnknown",
            "planExecution has no plan to retry; name the plan of that run in planName",
            "spec.planExecution.planName",
        )
    if run.from_step and not run.retry_of and run.from_step != stored.from_step:
        yield Problem(
            "RetryUnknownStep",
            "a run that is no retry begins at its first step; leave from out, or name the failed "
            "run in retryOf",
            "spec.planExecution.from",
        )


def a_new_time_limit_is_readable(change: Change) -> Iterator[Problem]:
    yield from time_limit_problems(change.new, change.old)


def time_limit_problems(new: Instance, old: Instance | None) -> Iterator[Problem]:
    """Yield why the `planTimeout` of a submitted Instance, if it is another one, is no limit."""
    limit = new.spec.plan_timeout
    if not limit or (old is not None and limit == old.spec.plan_timeout):
        return
    if not _is_limit(limit):
        yield Problem(
            "TimeLimitInvalid",
            f"planTimeout '{shown(limit)}' is no duration of more than zero; set one such as 90s, "
            "10m or 1h30m, or remove it",
            "spec.planTimeout",
        )


def _is_limit(text: str) -> bool:
    # Imported here: durations are those of the template engine, and few requests have one.
    from kudo.durations import DurationError, seconds_of

    try:
        seconds_of(text)
    except DurationError:
        return False
    return True


# Rules on plans: the first problem decides, since each one explains the request as a whole.


def nothing_changes_while_deleting(change: Change) -> Iterator[Problem]:
    """D11, D12, D13."""
    if not change.deleting:
        return
    requested = change.requested.plan_name or ""
    if change.cleanup_active and requested != PLAN_CLEANUP:
        yield Problem(
            "CleanupRunning",
            "'cleanup' plan can not be cancelled or overridden by another plan since the instance "
            "is being deleted; give planExecution a new uid to start it again",
            "spec.planExecution",
        )
    elif change.upgrade or change.counted:
        yield Problem(
            "InstanceDeleting",
            "parameter update and/or upgrade is not allowed when an instance is being deleted",
            "spec",
        )
    elif change.direct not in {None, PLAN_CLEANUP}:
        yield Problem(
            "InstanceDeleting",
            "only 'cleanup' plan can be scheduled when an instance is being deleted",
            "spec.planExecution.planName",
        )


def one_plan_at_a_time(change: Change) -> Iterator[Problem]:
    """D14, D15, D18: while a plan runs, only the same plan may be asked for."""
    if change.deleting or change.active is None:
        return
    running = change.active.plan_name
    by_parameters = change.by_parameters.plan
    if by_parameters and by_parameters != running:
        text = f"an update would trigger a different plan '{shown_name(by_parameters)}'"
        text = f"plan '{running}' is scheduled (or running) and {text}"
    elif change.upgrade:
        text = (
            f"upgrade to new OperatorVersion {change.version.metadata.name} while a plan "
            f"'{running}' is scheduled (or running) is not allowed"
        )
    elif change.direct and change.direct != running:
        text = (
            f"overriding currently scheduled (or running) plan '{running}' with "
            f"'{shown_name(change.direct)}' is not supported"
        )
    else:
        return
    yield Problem("PlanRunning", f"{text}; {_wait_hint(change.old)}", "spec.planExecution")


def a_running_plan_stays_scheduled(change: Change) -> Iterator[Problem]:
    """D19."""
    if change.deleting or change.active is None or change.requested.plan_name:
        return
    yield Problem(
        "PlanRunning",
        f"cancelling currently scheduled (or running) plan '{change.active.plan_name}' by removing "
        f"planExecution is not supported; {_wait_hint(change.old)}",
        "spec.planExecution",
    )


def the_account_stays_while_a_plan_runs(change: Change) -> Iterator[Problem]:
    yield from account_problems(change.new, change.old)


def account_problems(new: Instance, old: Instance) -> Iterator[Problem]:
    """Yield why the account of an Instance may not change.

    While an Instance is being deleted it may: the cleanup that runs keeps its own account, and one
    that waits for an account that is gone is started again with the new one.

    Args:
        new: The submitted Instance.
        old: The stored Instance, with the states of its runs.
    """
    before, after = old.spec.service_account_name or "", new.spec.service_account_name or ""
    running = active_run(old)
    if before == after or running is None:
        return
    if new.metadata.deleting or old.metadata.deleting:
        return
    yield Problem(
        "PlanRunning",
        f"changing serviceAccountName from '{shown_name(before)}' to '{shown_name(after)}' while a "
        f"plan '{running.plan_name}' is scheduled (or running) is not allowed; {_wait_hint(old)}",
        "spec.serviceAccountName",
    )


def cleanup_is_not_manual(change: Change) -> Iterator[Problem]:
    """D21."""
    if not change.deleting and change.direct == PLAN_CLEANUP:
        yield Problem(
            "CleanupNotManual",
            "only the controller schedules the 'cleanup' plan when the instance is deleted; "
            f"delete the Instance to run it (kubectl kudo uninstall --instance "
            f"{change.new.metadata.name} -n {change.new.metadata.namespace})",
            "spec.planExecution.planName",
        )


def a_retry_continues_the_last_run(change: Change) -> Iterator[Problem]:
    """Only the last run of a plan, if it failed, with the configuration that it began with."""
    if change.retry is None:
        return
    if change.needed and not change.deleting:
        yield Problem(
            "PlanBesideChange",
            f"retrying plan '{shown_name(change.retry.plan_name or '')}' together with a change "
            f"that runs '{shown_name(change.needed)}' is not allowed; send one after the other",
            "spec.planExecution",
        )
        return
    judged = change.new.model_copy(update={"status": change.old.status})
    yield from retry_problems(judged, change.version, change.retry)


def every_change_has_a_plan(change: Change) -> Iterator[Problem]:
    """D10, for a parameter beside one with a trigger: its value would never come into force."""
    yield from change.after_parameters.problems


def an_upgrade_keeps_the_operator(change: Change) -> Iterator[Problem]:
    """Another operator is never an upgrade; `upgradableFrom` is honoured where it is set."""
    if change.left is not None:
        yield from operator_problems(change.left, change.version)


def an_upgrade_has_a_plan(change: Change) -> Iterator[Problem]:
    """D22."""
    yield from change.by_upgrade.problems


# Rules that compare what was submitted with what it triggers: only before mutation is that known.


def an_upgrade_comes_alone(change: Change) -> Iterator[Problem]:
    """D16, D17."""
    if not change.upgrade or change.active is not None or change.deleting:
        return
    name, update = change.version.metadata.name, change.by_parameters.plan
    if change.direct and not change.carries_own_trigger:
        yield Problem(
            "PlanBesideChange",
            f"upgrade to new OperatorVersion {name} and triggering new plan "
            f"'{shown_name(change.direct)}' is "
            "not allowed; upgrade first",
            "spec.planExecution",
        )
    elif update and update != PLAN_DEPLOY:
        yield Problem(
            "PlanBesideChange",
            f"upgrade to new OperatorVersion {name} together with a parameter update triggering "
            f"'{shown_name(update)}' is not allowed; upgrade first, then change "
            f"{listed(change.counted)}",
            "spec.parameters",
        )


def an_update_comes_alone(change: Change) -> Iterator[Problem]:
    """D20."""
    update = change.by_parameters.plan
    if change.active is not None or change.deleting or change.carries_own_trigger:
        return
    if update and change.direct:
        yield Problem(
            "PlanBesideChange",
            f"triggering one plan '{shown_name(change.direct)}' directly and through parameter "
            f"update '{shown_name(update)}' is not allowed; send one after the other",
            "spec.planExecution",
        )


FIELD_RULES: tuple[Rule, ...] = (
    requested_plan_exists,
    changed_parameters_are_declared,
    immutable_parameters_stay,
    new_immutables_have_a_value,
    required_parameters_have_a_value,
    values_are_valid,
    triggers_are_clear,
    an_upgrade_keeps_the_operator,
    retries_are_complete,
    a_new_time_limit_is_readable,
)
PLAN_RULES: tuple[Rule, ...] = (
    nothing_changes_while_deleting,
    one_plan_at_a_time,
    the_account_stays_while_a_plan_runs,
    an_upgrade_comes_alone,
    a_running_plan_stays_scheduled,
    an_update_comes_alone,
    cleanup_is_not_manual,
    a_retry_continues_the_last_run,
    an_upgrade_has_a_plan,
    every_change_has_a_plan,
)
SUBMITTED_ONLY: frozenset[Rule] = frozenset({an_upgrade_comes_alone, an_update_comes_alone})
"""Rules that cannot be evaluated once mutation has added a trigger."""


def evaluate(change: Change, *, submitted: bool) -> tuple[Problem, ...]:
    """Return what forbids the change, the first 20 problems of many; empty if it is allowed.

    Args:
        change: The change.
        submitted: True for what a user sent, False for the state after mutation.
    """
    problems = first_problems(problem for rule in FIELD_RULES for problem in rule(change))
    if problems:
        return problems
    for rule in PLAN_RULES:
        if submitted or rule not in SUBMITTED_ONLY:
            problems = tuple(rule(change))
            if problems:
                return problems
    return ()


def _wait_hint(stored: Instance) -> str:
    flags = f"--instance {stored.metadata.name} -n {stored.metadata.namespace}"
    return (
        f"wait until it has ended (kubectl kudo plan status --wait {flags}), or cancel it (kubectl "
        f"kudo plan cancel {flags})"
    )
