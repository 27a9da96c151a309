"""Retries: runs that go on from the failed step of the last run of their plan.

`spec.planExecution.retryOf` names the failed run. Admission and the reconciler apply the same rules
(`retry_problems`), since the webhook may have been missing when the request was stored.
"""

from collections.abc import Sequence

from kudo.api import (
    ExecutionStatus,
    Instance,
    OperatorVersion,
    Plan,
    PlanExecution,
    PlanStatus,
    StepStatus,
)
from kudo.api.names import PLAN_CLEANUP
from kudo.api.problems import Problem, listed, shown, shown_name
from kudo.plans.execution import StepRef, adapt, begin, status_of, step_named, steps_of
from kudo.plans.runs.last_run import (
    Sources,
    changed_sources,
    configuration_now,
    differences,
    is_of,
)
from kudo.plans.runs.run_parameters import FIELD, are_lost

S = ExecutionStatus
_RETRY_OF = "spec.planExecution.retryOf"
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
    # A later run of the plan has taken the entry; the history may still tell.
    return any(
        record.plan == plan and record.cause is not None and record.cause.retry_of == uid
        for record in instance.status.history or ()
    )


def retry_problems(
    instance: Instance, version: OperatorVersion, run: PlanExecution
) -> tuple[Problem, ...]:
    """Return why a run cannot continue the one that its `retryOf` names: the first reason, or none.

    Args:
        instance: The Instance with its stored status and the spec under judgement.
        version: The OperatorVersion that the spec names.
        run: The run that is to begin; it is not honoured yet.
    """
    plan_name, failed_run = shown_name(run.plan_name or ""), shown_name(run.retry_of or "")
    start_over = _start_over(instance, run)

    def problem(reason: str, text: str, field: str = _RETRY_OF) -> tuple[Problem, ...]:
        return (Problem(reason, text, field),)

    entry = instance.plan_status.get(run.plan_name or "")
    status = status_of(entry)
    if entry is None or entry.uid != run.retry_of or not status.terminal:
        text = f"run '{failed_run}' is not the last run of plan '{plan_name}' that ended"
        if entry is None or not entry.uid:
            text = f"{text}: the plan has not run; leave retryOf out to run it"
        elif not status.terminal:
            text = f"{text}: run '{shown_name(entry.uid)}' has not ended; wait until it has ended"
        else:
            text = f"{text}; that is run '{shown_name(entry.uid)}'"
        return problem("RetryNotLast", text)
    if status is not S.FATAL_ERROR:
        ended = f"run '{failed_run}' ended with {status}, and only a failed run can be retried"
        return problem("RetryNotFailed", f"{ended}; {start_over}")
    if run.plan_name == PLAN_CLEANUP:
        text = (
            "a 'cleanup' plan is not retried; give planExecution a new uid without retryOf to "
            "start it again"
        )
        return problem("CleanupNotManual", text)
    if are_lost(entry):
        text = f"run '{failed_run}' cannot be retried: its parameters are no longer kept"
        return problem("RetryChanged", f"{text}; {start_over}")
    if run.parameters and dict(run.parameters) != dict(entry.run_parameters or {}):
        text = (
            f"a retry has the parameters of the run that it continues, and run '{failed_run}' was "
            f"given others; leave parameters out, or {start_over}"
        )
        return problem("RetryChanged", text, FIELD)
    # Steps that finished would keep what another version or other values made of them, while the
    # rest runs with the new ones.
    changed = _changed_since(instance, version, run)
    if changed:
        text = f"run '{failed_run}' cannot be retried: {changed}; {start_over}"
        return problem("RetryChanged", text)
    plan = version.plans.get(run.plan_name or "")
    steps = [str(step) for step in steps_of(plan)] if plan is not None else []
    if run.from_step and run.from_step not in steps:
        text = (
            f"plan '{plan_name}' has no step '{shown(run.from_step, _STEP_NAMES)}'; "
            f"its steps are: {listed(steps, most=_STEP_NAMES) or 'none'}"
        )
        return problem("RetryUnknownStep", text, "spec.planExecution.from")
    return ()


def changed_source(instance: Instance, sources: Sources) -> Problem | None:
    """Return why the scheduled run cannot continue a failed one: what that had read is another one.

    None if the run is no retry, or has begun. Admission cannot tell, since it reads no Secrets.

    Args:
        instance: The Instance, whose parameters have such sources.
        sources: What was read for them now.
    """
    run, last = instance.scheduled, instance.status.last_run
    if not run.retry_of or (last is not None and is_of(last, run)):
        return None
    if last is None or (last.plan, last.uid) != (run.plan_name, run.retry_of):
        # The history has no digests of secret values.
        changed = "what it had read from Secrets and ConfigMaps is no longer on record"
    else:
        names = changed_sources(last, sources)
        if not names:
            return None
        changed = _other_values(names)
    text = f"run '{shown_name(run.retry_of)}' cannot be retried: {changed}"
    return Problem("RetryChanged", f"{text}; {_start_over(instance, run)}", _RETRY_OF)


def _other_values(names: Sequence[str]) -> str:
    return f"it began with other values of parameters: {listed(names)}"


def _start_over(instance: Instance, run: PlanExecution) -> str:
    metadata = instance.metadata
    return (
        f"start over with kubectl kudo plan trigger --name {shown_name(run.plan_name or '')} "
        f"--instance {metadata.name} -n {metadata.namespace}"
    )


def _changed_since(instance: Instance, version: OperatorVersion, run: PlanExecution) -> str:
    """Return what is not as it was when the failed run began; empty if everything is."""
    version_key = "/".join(instance.operator_version_key)
    shown_key = "/".join(map(shown_name, instance.operator_version_key))
    other_version = f"OperatorVersion {shown_key} is not the one that it began with"
    last = instance.status.last_run
    if last is not None and (last.plan, last.uid) == (run.plan_name, run.retry_of):
        if not last.operator_version_digest:
            return "what it began with is not on record"
        different = differences(last, instance, version)
        if different.version or (last.version and last.version != version_key):
            return other_version
        if different.parameters:
            return _other_values(different.parameters)
        return ""
    # Another plan has run since, so `lastRun` is of that one. The history has a digest of what the
    # failed run began with, which does not tell the parameters apart.
    history = instance.status.history or ()
    records = (r for r in history if (r.plan, r.uid) == (run.plan_name, run.retry_of))
    record = next(records, None)
    if record is None or not record.configuration:
        return "what it began with is no longer on record"
    if record.operator_version and record.operator_version != version_key:
        return other_version
    if record.configuration != configuration_now(instance, version):
        return "the OperatorVersion or parameters are not those that it began with"
    return ""


def begin_retry(
    name: str, plan: Plan, failed: PlanStatus, uid: str, now: str, *, from_step: str = ""
) -> PlanStatus:
    """Return the entry of a run that continues a failed one: what it finished stays finished.

    Args:
        name: Name of the plan.
        plan: The plan.
        failed: The entry of the failed run.
        uid: Identity of the new run.
        now: RFC 3339.
        from_step: The step, as `phase.step`, where it begins: in the order of the plan, steps
            before it count as finished. If empty, all steps that were not finished run.
    """
    fresh, before = begin(name, plan, uid, now), adapt(name, plan, failed)
    begins_at = step_named(plan, from_step)
    phases = []
    pairs = zip(fresh.phases or (), before.phases or (), strict=True)
    for phase_index, (phase, old_phase) in enumerate(pairs):
        old_steps = old_phase.steps or ()
        steps = tuple(
            _retried_step((phase_index, step_index), step, old_step, begins_at)
            for step_index, (step, old_step) in enumerate(
                zip(phase.steps or (), old_steps, strict=True)
            )
        )
        complete = steps and all(step.status == S.COMPLETE for step in steps)
        kept: dict[str, object] = {"status": S.COMPLETE} if complete else {}
        if complete and all(step.skipped for step in steps):
            kept |= {"skipped": old_phase.skipped, "message": old_phase.message}
        phases.append(phase.model_copy(update={"steps": steps, **kept}))
    return fresh.model_copy(
        update={
            "phases": tuple(phases),
            "retry_of": failed.uid,
            "retried": failed.uid,
            "run_parameters": failed.run_parameters,
        }
    )


def _retried_step(
    position: tuple[int, int], fresh: StepStatus, before: StepStatus, begins_at: StepRef | None
) -> StepStatus:
    complete = before.status == S.COMPLETE
    if begins_at is None:
        return before if complete else fresh
    if position >= (begins_at.phase_index, begins_at.step_index):
        return fresh
    if complete:
        return before
    text = f"assumed finished by the retry from {begins_at}"
    return fresh.model_copy(update={"status": S.COMPLETE, "message": text})
