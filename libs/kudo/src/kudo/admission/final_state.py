"""Rules of the validating route: mutation must have been able to produce the state.

So the other rules hold where the mutating configuration is missing.
"""

from collections.abc import Collection, Iterator

from kudo.admission.change import Change
from kudo.api.problems import Problem, shown, shown_name
from kudo.plans.runs.plan_choice import used_uids


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
    known = {change.username, change.old.scheduled.cancelled_by}
    yield from _named(known, "cancelledBy", change.new.scheduled.cancelled_by)


def the_requester_is_the_user(change: Change) -> Iterator[Problem]:
    """Refuse a `requestedBy` that names another user than the one of the request.

    A run that is stored keeps its own; so does one that is given its uid, by the reconciler.
    """
    run, stored = change.new.scheduled, change.old.scheduled
    kept = run.plan_name == stored.plan_name and (stored.uid or "") in {"", run.uid}
    known = {change.username, stored.requested_by} if kept else {change.username}
    yield from _named(known, "requestedBy", run.requested_by)


def _named(known: Collection[str | None], field: str, name: str | None) -> Iterator[Problem]:
    if name and name not in known:
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


def _bypassed(field: str, text: str) -> Problem:
    text = (
        f"{text}: the mutating webhook configuration of KUDO is missing or was bypassed; restore "
        "it and try again"
    )
    return Problem("MutatingWebhookMissing", text, field)
