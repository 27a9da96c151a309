"""The status of an Instance over the life of a run, as pure functions.

    begun -> with_entry -> ... -> with_entry -> settled

`lastRun` is part of the first status of every run, also of one that cannot even begin: later
changes are compared with it. Its status is that of the entry of its plan, in every status.
"""

from collections.abc import Mapping

from kudo.api import (
    ExecutionStatus,
    Instance,
    InstanceStatus,
    OperatorVersion,
    Plan,
    PlanExecution,
    PlanStatus,
)
from kudo.api.names import PLAN_CLEANUP, PLAN_DEPLOY, PLAN_UPDATE, PLAN_UPGRADE
from kudo.plans.execution import begin, bounded, bounded_outputs, ensure_entries, fail, status_of
from kudo.plans.runs import conditions
from kudo.plans.runs.conditions import Situation
from kudo.plans.runs.history import superseded_by
from kudo.plans.runs.last_run import NO_SOURCES, Sources, record_of
from kudo.plans.runs.needs import not_in_force
from kudo.plans.runs.retries import begin_retry
from kudo.plans.runs.run_parameters import bounded_run_parameters
from kudo.plans.runs.suspension import with_suspension

_UNREADY_PLANS = frozenset({PLAN_DEPLOY, PLAN_UPDATE, PLAN_UPGRADE, PLAN_CLEANUP})
"""The plans during which the Instance is not known to be ready."""


def begun(
    instance: Instance,
    version: OperatorVersion,
    now: str,
    account: str | None = None,
    *,
    fault: str = "",
    sources: Sources = NO_SOURCES,
) -> InstanceStatus:
    """Return the status with the scheduled run in progress.

    A run that was begun before goes on where it was; any other run in progress is superseded.

    Args:
        instance: The Instance.
        version: The OperatorVersion that the run begins with.
        now: RFC 3339.
        account: The account that the run acts as; None for the reconciler.
        fault: The internal error that keeps ending its steps; empty if there is none.
        sources: What the run has read for parameters.
    """
    name, uid = instance.scheduled.plan_name or "", instance.scheduled.uid or ""
    status = with_suspension(instance, instance.status, now)
    entries = ensure_entries(version.plans, status.plan_status or {})
    last_entry = entries.get(name)
    if last_entry is None or last_entry.uid != uid:
        for other, entry in running(entries).items():
            entries[other] = fail(entry, superseded_by(name), now)
        entries[name] = _first_entry(instance.scheduled, version.plans.get(name), last_entry, now)
    if status.last_run is None or status.last_run.uid != uid:
        # Also of a run that KUDO 0.19 began, which has an entry and no record.
        given = entries[name].run_parameters
        last_run = record_of(instance, version, account, sources, given)
        status = status.model_copy(update={"last_run": last_run})
        status = with_not_in_force(instance, status, version)
    elif account and not status.last_run.service_account_name:
        # It began as the reconciler, and the mode has changed since.
        last = status.last_run.model_copy(update={"service_account_name": account})
        status = status.model_copy(update={"last_run": last})
    status = with_entries(status, entries)
    unready = name in _UNREADY_PLANS
    ready = (conditions.PLAN_IN_PROGRESS, f"plan {name} is running") if unready else None
    if fault:
        ready = conditions.INTERNAL_ERROR, f"plan {name}: {fault}"
    situation = Situation(ready, running=name, suspended=instance.suspended)
    return with_conditions(instance, status, situation, now)


def _first_entry(
    run: PlanExecution, plan: Plan | None, before: PlanStatus | None, now: str
) -> PlanStatus:
    """Return the entry of a run that begins.

    Args:
        run: The scheduled run; whether it may begin, as a retry, has been decided.
        plan: Its plan; None if the version has none of that name.
        before: The entry of the last run of the plan.
        now: RFC 3339.
    """
    name, uid = run.plan_name or "", run.uid or ""
    retry_of = run.retry_of if before is not None and before.uid == run.retry_of else None
    if plan is not None and before is not None and retry_of:
        return begin_retry(name, plan, before, uid, now, from_step=run.from_step or "")
    entry = PlanStatus(name=name, uid=uid, started_at=now)
    if plan is not None:
        entry = begin(name, plan, uid, now)
    given = run.parameters or None
    if retry_of and before is not None:
        given = before.run_parameters
    retried = retry_of or (before.retried if before is not None else None)
    # Also of a plan that there is not: else a request that is kept would be made again and again.
    return entry.model_copy(
        update={"retry_of": retry_of, "retried": retried, "run_parameters": given}
    )


def held_up(instance: Instance, now: str) -> InstanceStatus:
    """Return the status of an Instance whose scheduled run does not begin during a pause."""
    status = with_suspension(instance, instance.status, now)
    situation = Situation(None, running=instance.scheduled.plan_name or "", suspended=True)
    return with_conditions(instance, status, situation, now)


def held(instance: Instance, reason: str, text: str, now: str) -> InstanceStatus:
    """Return the status of an Instance whose scheduled run is held until something else changes.

    Args:
        instance: The Instance.
        reason: One of `conditions.HELD_REASONS`, or why there is no account to act as.
        text: What is missing, and what to do.
        now: RFC 3339.
    """
    status = with_suspension(instance, instance.status, now)
    situation = Situation((reason, text), running=instance.scheduled.plan_name or "")
    return with_conditions(instance, status, situation, now)


def with_not_in_force(
    instance: Instance, status: InstanceStatus, version: OperatorVersion
) -> InstanceStatus:
    """Return the status with the parameters whose value is not in force, by its record."""
    pending = not_in_force(instance.model_copy(update={"status": status}), version)
    return status.model_copy(update={"not_in_force": pending})


def with_entry(status: InstanceStatus, entry: PlanStatus) -> InstanceStatus:
    return with_entries(status, {**(status.plan_status or {}), entry.name: entry})


def with_entries(status: InstanceStatus, entries: Mapping[str, PlanStatus]) -> InstanceStatus:
    """Return the status with other entries of plans, and with the state of the last run.

    Their messages, outputs and run parameters are bounded in all.
    """
    plan = status.last_run.plan if status.last_run else None
    entries = bounded_run_parameters(bounded_outputs(entries, plan), plan)
    cut = bounded(entries)
    if cut is not entries:
        # A message that was cut when it was stored is no news in its whole length: an entry that
        # differs from the stored one in its timestamp alone stays as it is stored.
        stored, entries = status.plan_status or {}, dict(cut)
        for name, shortened in cut.items():
            if (old := stored.get(name)) is not None:
                when = {"last_updated_timestamp": old.last_updated_timestamp}
                entries[name] = old if shortened.model_copy(update=when) == old else shortened
    last = status.last_run
    entry = entries.get(last.plan or "") if last else None
    if last is not None and entry is not None and entry.uid == last.uid:
        last = last.model_copy(update={"status": entry.status})
    return status.model_copy(update={"plan_status": entries, "last_run": last})


def with_conditions(
    instance: Instance, status: InstanceStatus, situation: Situation, now: str
) -> InstanceStatus:
    """Return the status with conditions that speak of the Instance as it is."""
    generation = instance.metadata.generation
    return status.model_copy(
        update={
            "conditions": conditions.update(
                status.conditions or (), situation, generation=generation, now=now
            ),
            "observed_generation": generation,
        }
    )


def settled(status: InstanceStatus, unready: tuple[str, ...]) -> Situation:
    """Return the situation of an Instance that runs nothing.

    Args:
        status: Its status; a failed last run comes before the state of the resources.
        unready: What keeps its resources from being ready.
    """
    failed = failed_last_run(status)
    if failed is not None:
        return Situation((conditions.PLAN_IN_FATAL_ERROR, failure_text(failed)))
    if unready:
        return Situation((conditions.RESOURCE_NOT_READY, ", ".join(unready)))
    return Situation((conditions.RESOURCES_READY, ""))


def leaving(status: InstanceStatus) -> Situation:
    """Return the situation of an Instance that is being deleted and for which nothing runs."""
    failed = failed_last_run(status)
    if failed is not None and failed.name == PLAN_CLEANUP:
        return Situation((conditions.PLAN_IN_FATAL_ERROR, failure_text(failed)))
    return Situation((conditions.INSTANCE_DELETING, "the Instance is being deleted"))


def running(entries: Mapping[str, PlanStatus]) -> dict[str, PlanStatus]:
    """Return the entries that are not terminal although they have begun."""
    return {name: entry for name, entry in entries.items() if status_of(entry).running}


def failed_last_run(status: InstanceStatus) -> PlanStatus | None:
    """Return the entry of the last run if it ended in FATAL_ERROR."""
    last = status.last_run
    entry = (status.plan_status or {}).get(last.plan or "") if last else None
    if last is None or entry is None or entry.uid != last.uid:
        return None
    return entry if status_of(entry) is ExecutionStatus.FATAL_ERROR else None


def failure_text(entry: PlanStatus) -> str:
    """Return why a run failed: the message of the plan, or of its failed step."""
    if entry.message:
        return f"plan {entry.name}: {entry.message}"
    for phase in entry.phases or ():
        for step in phase.steps or ():
            if step.status == ExecutionStatus.FATAL_ERROR and step.message:
                return step.message
    return f"plan {entry.name} ended with {ExecutionStatus.FATAL_ERROR}"
