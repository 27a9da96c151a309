"""Checks of the validating route: mutation must have been able to produce the state.

So the rules hold where the mutating configuration is missing.
"""

from collections.abc import Collection

from kudo.admission.change import Change
from kudo.api import PlanExecution
from kudo.names import PLAN_DEPLOY
from kudo.problems import Problem, shown, shown_name
from kudo.runs.plan_choice import used_uids


def creation_problems(run: PlanExecution, username: str) -> tuple[Problem, ...]:
    """Return why the run of a new Instance is not as mutation leaves it."""
    if run.retry_of or run.from_step:
        return (_bypassed("spec.planExecution.retryOf", "a new Instance has no run to retry"),)
    return _triggered(PLAN_DEPLOY, run, frozenset()) or _named(
        {username}, "requestedBy", run.requested_by
    )


def change_problems(change: Change, username: str) -> tuple[Problem, ...]:
    """Return why the run of a changed Instance is not as mutation leaves it.

    Args:
        change: The change.
        username: The user of the request.
    """
    return (
        _final_state(change)
        or _canceller(change, username)
        or _requester(change, username)
        or _retry_as_stored(change)
    )


def _final_state(change: Change) -> tuple[Problem, ...]:
    if change.repeated_retry:
        text = "planExecution asks for a retry that is no request, since it was honoured before"
        return (_bypassed("spec.planExecution.retryOf", text),)
    expected = None if change.deleting else change.needed
    if expected is None and change.direct is not None:
        expected = change.direct
        if change.deleting and not change.restart and not change.new.scheduled.uid:
            # Cleanup may be named alone; the reconciler gives it a uid.
            return ()
    if expected is None:
        return ()
    return _triggered(expected, change.new.scheduled, used_uids(change.old))


def _canceller(change: Change, username: str) -> tuple[Problem, ...]:
    """Refuse a `cancelledBy` that names another user than the one of the request."""
    known = {username, change.old.scheduled.cancelled_by}
    return _named(known, "cancelledBy", change.new.scheduled.cancelled_by)


def _requester(change: Change, username: str) -> tuple[Problem, ...]:
    """Refuse a `requestedBy` that names another user than the one of the request.

    A run that is stored keeps its own; so does one that is given its uid, by the reconciler.
    """
    run, stored = change.new.scheduled, change.old.scheduled
    kept = run.plan_name == stored.plan_name and (stored.uid or "") in {"", run.uid}
    known = {username, stored.requested_by} if kept else {username}
    return _named(known, "requestedBy", run.requested_by)


def _named(known: Collection[str | None], field: str, name: str | None) -> tuple[Problem, ...]:
    if not name or name in known:
        return ()
    text = (
        f"planExecution.{field} is '{shown(name)}', who did not send this request; leave it out, "
        "KUDO fills it in"
    )
    return (Problem("MutatingWebhookMissing", text, f"spec.planExecution.{field}"),)


def _retry_as_stored(change: Change) -> tuple[Problem, ...]:
    """Refuse that the run in progress becomes a retry, or another one, or none."""
    run, stored = change.new.scheduled, change.old.scheduled
    if change.active is None or not change.keeps_the_run:
        return ()
    if (run.retry_of or "", run.from_step or "") == (stored.retry_of or "", stored.from_step or ""):
        return ()
    text = f"retryOf and from of plan '{shown_name(run.plan_name or '')}' changed while it runs"
    return (_bypassed("spec.planExecution.retryOf", text),)


def _bypassed(field: str, text: str) -> Problem:
    text = (
        f"{text}: the mutating webhook configuration of KUDO is missing or was bypassed; restore "
        "it and try again"
    )
    return Problem("MutatingWebhookMissing", text, field)


def _triggered(plan: str, scheduled: PlanExecution, used: frozenset[str]) -> tuple[Problem, ...]:
    if scheduled.plan_name == plan and scheduled.uid and scheduled.uid not in used:
        return ()
    return (
        _bypassed(
            "spec.planExecution",
            f"the change needs plan '{shown_name(plan)}', but no new run of it was scheduled",
        ),
    )
