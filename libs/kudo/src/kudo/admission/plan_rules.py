"""Rules on the plans that a change runs: the first problem explains the change as a whole.

The last of them are of the validating route: mutation must have been able to produce the state. So
the other rules hold where the mutating configuration is missing.
"""

from collections.abc import Collection, Iterable, Iterator

from kudo.admission.change import Change
from kudo.api import PlanExecution
from kudo.api.names import PLAN_CLEANUP, PLAN_DEPLOY
from kudo.api.problems import Problem, listed, shown, shown_name
from kudo.plans.runs.plan_choice import used_uids
from kudo.plans.runs.retries import retry_problems


def a_new_instance_has_a_plan(change: Change) -> Iterable[Problem]:
    """D23."""
    return change.by_creation.problems


def nothing_changes_while_deleting(change: Change) -> Iterator[Problem]:
    """D11, D12, D13."""
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
    """D14, D15: while a plan runs, a change may run no other one."""
    if change.active is None:
        return
    running, field = change.active.plan_name, "spec.planExecution"
    by_parameters = change.by_parameters.plan
    if by_parameters and by_parameters != running:
        text = f"an update would trigger a different plan '{shown_name(by_parameters)}'"
        text = f"plan '{running}' is scheduled (or running) and {text}{_wait_hint(change)}"
        yield Problem("PlanRunning", text, field)
    elif change.upgrade:
        what = f"upgrade to new OperatorVersion {change.version.metadata.name}"
        yield _not_while_running(change, change.active, what, field)


def _not_while_running(change: Change, run: PlanExecution, what: str, field: str) -> Problem:
    text = f"{what} while a plan '{run.plan_name}' is scheduled (or running) is not allowed"
    return Problem("PlanRunning", f"{text}{_wait_hint(change)}", field)


def a_running_plan_is_not_overridden(change: Change) -> Iterator[Problem]:
    """D18: while a plan runs, only the same plan may be asked for."""
    if change.active is None or change.direct in {None, change.active.plan_name}:
        return
    yield Problem(
        "PlanRunning",
        f"overriding currently scheduled (or running) plan '{change.active.plan_name}' with "
        f"'{shown_name(change.direct or '')}' is not supported{_wait_hint(change)}",
        "spec.planExecution",
    )


def a_running_plan_stays_scheduled(change: Change) -> Iterator[Problem]:
    """D19."""
    if change.active is None or change.requested.plan_name:
        return
    yield Problem(
        "PlanRunning",
        f"cancelling currently scheduled (or running) plan '{change.active.plan_name}' by removing "
        f"planExecution is not supported{_wait_hint(change)}",
        "spec.planExecution",
    )


def the_account_stays_while_a_plan_runs(change: Change) -> Iterator[Problem]:
    """While an Instance is being deleted it may change.

    The cleanup that runs keeps its own account, and one that waits for an account that is gone is
    started again with the new one.
    """
    before = change.old.spec.service_account_name or ""
    after = change.new.spec.service_account_name or ""
    if before != after and change.active is not None:
        what = f"changing serviceAccountName from '{shown_name(before)}' to '{shown_name(after)}'"
        yield _not_while_running(change, change.active, what, "spec.serviceAccountName")


def cleanup_is_not_manual(change: Change) -> Iterator[Problem]:
    """D21."""
    if change.direct == PLAN_CLEANUP:
        advice = f"; delete the Instance to run it (kubectl kudo uninstall {_flags(change)})"
        yield Problem(
            "CleanupNotManual",
            "only the controller schedules the 'cleanup' plan when the instance is deleted"
            f"{advice if change.is_request else ''}",
            "spec.planExecution.planName",
        )


def a_retry_comes_alone(change: Change) -> Iterator[Problem]:
    if change.retry is not None and change.needed:
        yield Problem(
            "PlanBesideChange",
            f"retrying plan '{shown_name(change.retry.plan_name or '')}' together with a change "
            f"that runs '{shown_name(change.needed)}' is not allowed; send one after the other",
            "spec.planExecution",
        )


def a_retry_continues_the_last_run(change: Change) -> Iterable[Problem]:
    """Only the last run of a plan, if it failed, with the configuration that it began with."""
    if change.retry is None:
        return ()
    # What was submitted has no status that counts; the stored one says which run failed.
    judged = change.new.model_copy(update={"status": change.old.status})
    return retry_problems(judged, change.version, change.retry)


def every_change_has_a_plan(change: Change) -> Iterable[Problem]:
    """D10, for a parameter beside one with a trigger: its value would never come into force."""
    return change.after_parameters.problems


def an_upgrade_has_a_plan(change: Change) -> Iterable[Problem]:
    """D22."""
    return change.by_upgrade.problems


# Rules that compare what was submitted with what it triggers: only before mutation is that known.


def an_upgrade_comes_alone(change: Change) -> Iterator[Problem]:
    """D16, D17."""
    if change.active is not None:
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
    if change.active is not None or change.carries_own_trigger:
        return
    if update and change.direct:
        yield Problem(
            "PlanBesideChange",
            f"triggering one plan '{shown_name(change.direct)}' directly and through parameter "
            f"update '{shown_name(update)}' is not allowed; send one after the other",
            "spec.planExecution",
        )


def _wait_hint(change: Change) -> str:
    """Return what to do instead, for whoever asks; the reconciler drops a run that it refuses."""
    flags = _flags(change)
    return (
        f"; wait until it has ended (kubectl kudo plan status --wait {flags}), or cancel it "
        f"(kubectl kudo plan cancel {flags})"
        if change.is_request
        else ""
    )


def _flags(change: Change) -> str:
    metadata = change.new.metadata
    return f"--instance {metadata.name} -n {metadata.namespace}"


def a_new_instance_retries_nothing(change: Change) -> Iterator[Problem]:
    run = change.new.scheduled
    if run.retry_of or run.from_step:
        yield _bypassed("spec.planExecution.retryOf", "a new Instance has no run to retry")


def a_repeated_retry_is_dropped(change: Change) -> Iterator[Problem]:
    if change.repeated_retry:
        text = "planExecution asks for a retry that is no request, since it was honoured before"
        yield _bypassed("spec.planExecution.retryOf", text)


def the_needed_run_is_scheduled(change: Change) -> Iterator[Problem]:
    """Under a uid that was not used before."""
    plan, run = None if change.deleting else change.needed, change.new.scheduled
    if plan is None and change.direct is not None:
        # Nothing of the change needs a plan, so the one that the request names must be scheduled.
        if change.deleting and not change.restart and not run.uid:
            # Cleanup may be named alone; the reconciler gives it a uid.
            return
        plan = change.direct
    if plan is None:
        return
    if run.plan_name != plan or not run.uid or run.uid in used_uids(change.old):
        text = f"the change needs plan '{shown_name(plan)}', but no new run of it was scheduled"
        yield _bypassed("spec.planExecution", text)


def the_canceller_is_the_user(change: Change) -> Iterator[Problem]:
    """Refuse a `cancelledBy` that names another user than the one of the request."""
    allowed = {change.username, change.old.scheduled.cancelled_by}
    yield from _named(allowed, "cancelledBy", change.new.scheduled.cancelled_by)


def the_requester_is_the_user(change: Change) -> Iterator[Problem]:
    """Refuse a `requestedBy` that names another user than the one of the request.

    A run that is stored keeps its own; so does one that is given its uid, by the reconciler.
    """
    run, stored = change.new.scheduled, change.old.scheduled
    kept = run.plan_name == stored.plan_name and (stored.uid or "") in {"", run.uid}
    allowed = {change.username, stored.requested_by} if kept else {change.username}
    yield from _named(allowed, "requestedBy", run.requested_by)


def _named(allowed: Collection[str | None], field: str, name: str | None) -> Iterator[Problem]:
    if name and name not in allowed:
        text = (
            f"planExecution.{field} is '{shown(name)}', who did not send this request; leave it "
            "out, KUDO fills it in"
        )
        yield Problem("MutatingWebhookMissing", text, f"spec.planExecution.{field}")


def a_running_plan_stays_the_retry_it_is(change: Change) -> Iterator[Problem]:
    """Refuse that the run in progress becomes a retry, or another one, or none."""
    run, stored = change.new.scheduled, change.old.scheduled
    if change.active is None or not change.keeps_the_run:
        return
    if (run.retry_of or "", run.from_step or "") != (stored.retry_of or "", stored.from_step or ""):
        text = f"retryOf and from of plan '{shown_name(run.plan_name or '')}' changed while it runs"
        yield _bypassed("spec.planExecution.retryOf", text)


def a_run_has_its_own_parameters(change: Change) -> Iterator[Problem]:
    """Refuse other run parameters than those that mutation leaves."""
    run = change.new.scheduled
    if change.active is not None and change.keeps_the_run:
        allowed = change.active.parameters or {}
    elif change.scheduled_plan is not None:
        allowed = change.run_parameters
    else:
        return
    if dict(run.parameters or {}) != dict(allowed):
        text = (
            f"plan '{shown_name(run.plan_name or '')}' has other parameters than the run that it "
            "was scheduled for"
        )
        yield _bypassed("spec.planExecution.parameters", text)


def _bypassed(field: str, text: str) -> Problem:
    text = (
        f"{text}: the mutating webhook configuration of KUDO is missing or was bypassed; restore "
        "it and try again"
    )
    return Problem("MutatingWebhookMissing", text, field)
