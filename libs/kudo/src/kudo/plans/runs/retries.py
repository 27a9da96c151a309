"""Retries: runs that go on from the failed step of the last run of their plan.

`spec.planExecution.retryOf` names the failed run. Admission and the reconciler apply these rules.
"""

from collections.abc import Iterator
from itertools import islice

from kudo.api import (
    ExecutionStatus,
    Instance,
    LastRun,
    OperatorVersion,
    PlanExecution,
    RunRecord,
)
from kudo.api.names import PLAN_CLEANUP
from kudo.api.problems import Problem, listed, shown, shown_name
from kudo.plans.execution import status_of, steps_of
from kudo.plans.runs.last_run import configuration_now, differences

_RETRY_OF = "spec.planExecution.retryOf"
_FROM = "spec.planExecution.from"
_STEP_NAMES = 200
"""Characters of a step as `phase.step`."""


def is_honoured(instance: Instance, run: PlanExecution) -> bool:
    """Return whether the retry that a run asks for has begun before, under whatever uid.

    Such a request counts as none, so that a manifest may keep it.
    """
    plan, uid = run.plan_name or "", run.retry_of
    if not uid:
        return False
    entry = instance.plan_status.get(plan)
    if entry is not None and uid in {entry.retry_of, entry.retried}:
        return True
    return any(_retries(record, plan, uid) for record in instance.status.history or ())


def _retries(record: RunRecord, plan: str, uid: str) -> bool:
    return record.plan == plan and record.cause is not None and record.cause.retry_of == uid


def retry_problems(
    instance: Instance, version: OperatorVersion, run: PlanExecution
) -> tuple[Problem, ...]:
    """Return why a run cannot continue the one that its `retryOf` names: the first reason, or none.

    Args:
        instance: The Instance with its stored status and the spec under judgement.
        version: The OperatorVersion that the spec names.
        run: The run that is to begin; it is not honoured yet.
    """
    return tuple(islice(_problems(instance, version, run), 1))


def _problems(
    instance: Instance, version: OperatorVersion, run: PlanExecution
) -> Iterator[Problem]:
    yield from _not_last(instance, run)
    yield from _not_failed(instance, run)
    yield from _cleanup(run)
    yield from _changed(instance, version, run)
    yield from _unknown_step(version, run)


def _not_last(instance: Instance, run: PlanExecution) -> Iterator[Problem]:
    plan, entry = run.plan_name or "", instance.plan_status.get(run.plan_name or "")
    if entry is not None and entry.uid == run.retry_of and status_of(entry).terminal:
        return
    text = (
        f"run '{shown_name(run.retry_of or '')}' is not the last run of plan '{shown_name(plan)}'"
    )
    text = f"{text} that ended"
    last = entry.uid if entry is not None else ""
    if entry is None or not last:
        text = f"{text}: the plan has not run; leave retryOf out to run it"
    elif not status_of(entry).terminal:
        text = f"{text}: run '{shown_name(last)}' has not ended; wait until it has ended"
    else:
        text = f"{text}; that is run '{shown_name(last)}'"
    yield Problem("RetryNotLast", text, _RETRY_OF)


def _not_failed(instance: Instance, run: PlanExecution) -> Iterator[Problem]:
    status = status_of(instance.plan_status.get(run.plan_name or ""))
    if status is not ExecutionStatus.FATAL_ERROR:
        text = (
            f"run '{shown_name(run.retry_of or '')}' ended with {status}, and only a failed run "
            f"can be retried; {_start_over(instance, run)}"
        )
        yield Problem("RetryNotFailed", text, _RETRY_OF)


def _cleanup(run: PlanExecution) -> Iterator[Problem]:
    if run.plan_name == PLAN_CLEANUP:
        text = (
            "a 'cleanup' plan is not retried; give planExecution a new uid without retryOf to "
            "start it again"
        )
        yield Problem("CleanupNotManual", text, _RETRY_OF)


def _changed(instance: Instance, version: OperatorVersion, run: PlanExecution) -> Iterator[Problem]:
    text = _change(instance, version, run)
    if text:
        text = f"run '{shown_name(run.retry_of or '')}' cannot be retried: {text}"
        yield Problem("RetryChanged", f"{text}; {_start_over(instance, run)}", _RETRY_OF)


def _change(instance: Instance, version: OperatorVersion, run: PlanExecution) -> str:
    """Return what is not as it was when the failed run began; empty if everything is."""
    last = instance.status.last_run
    if last is not None and (last.plan, last.uid) == (run.plan_name, run.retry_of):
        return _change_since(last, instance, version)
    return _change_by_history(instance, version, run)


def _change_since(last: LastRun, instance: Instance, version: OperatorVersion) -> str:
    if not last.operator_version_digest:
        return "what it began with is not on record"
    found = differences(last, instance, version)
    if found.version or _is_other(last.version, instance):
        return _other_version(instance)
    if found.parameters:
        return f"it began with other values of parameters: {listed(found.parameters)}"
    return ""


def _change_by_history(instance: Instance, version: OperatorVersion, run: PlanExecution) -> str:
    history = instance.status.history or ()
    found = (r for r in history if (r.plan, r.uid) == (run.plan_name, run.retry_of))
    record = next(found, None)
    if record is None or not record.configuration:
        return "what it began with is no longer on record"
    if _is_other(record.operator_version, instance):
        return _other_version(instance)
    if record.configuration != configuration_now(instance, version):
        return "the OperatorVersion or parameters are not those that it began with"
    return ""


def _is_other(recorded: str | None, instance: Instance) -> bool:
    return bool(recorded) and recorded != "/".join(instance.operator_version_key)


def _other_version(instance: Instance) -> str:
    key = "/".join(map(shown_name, instance.operator_version_key))
    return f"OperatorVersion {key} is not the one that it began with"


def _unknown_step(version: OperatorVersion, run: PlanExecution) -> Iterator[Problem]:
    plan = version.plans.get(run.plan_name or "")
    known = [str(ref) for ref in steps_of(plan)] if plan is not None else []
    if run.from_step and run.from_step not in known:
        text = (
            f"plan '{shown_name(run.plan_name or '')}' has no step "
            f"'{shown(run.from_step, _STEP_NAMES)}'; its steps are: "
            f"{listed(known, most=_STEP_NAMES) or 'none'}"
        )
        yield Problem("RetryUnknownStep", text, _FROM)


def _start_over(instance: Instance, run: PlanExecution) -> str:
    metadata = instance.metadata
    return (
        f"start over with kubectl kudo plan trigger --name {shown_name(run.plan_name or '')} "
        f"--instance {metadata.name} -n {metadata.namespace}"
    )
