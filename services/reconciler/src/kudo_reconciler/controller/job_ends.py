"""Deletes the active Jobs of a run that ends otherwise than COMPLETE, before its end is stored.

Once the end is stored nobody would look for them: the next run may begin, and its programs would
work beside those of the last one. After a crash in between the run has not ended, and its end is
come to again. What cannot be deleted does not hold the end for long: an event tells.
"""

import logging
from collections.abc import Iterable

from kudo.api import Instance, OperatorVersion
from kudo_reconciler.common.keys import key_of
from kudo_reconciler.controller.context import END_JOBS, ReconcileContext
from kudo_reconciler.execution.tasks.task_jobs import ATTEMPTS

log = logging.getLogger(__name__)


def has_jobs(versions: Iterable[OperatorVersion | None]) -> bool:
    """Return whether a task of an OperatorVersion is of the kind Job."""
    return any(
        task.spec.job is not None
        for version in versions
        if version is not None
        for task in version.spec.tasks or ()
    )


async def end_jobs(
    context: ReconcileContext,
    instance: Instance,
    uid: str,
    versions: Iterable[OperatorVersion | None],
    *,
    account: str | None = None,
    keep: str = "",
    attempts: int = ATTEMPTS,
) -> None:
    """Delete the active Jobs of an Instance; nothing is requested if it cannot have any.

    No attempt of the run may be in progress any more.

    Args:
        context: Of the reconcile.
        instance: The Instance.
        uid: Of the run that ends, for the event; empty if none ends now.
        versions: The OperatorVersions that the run may be of.
        account: That the run acted as; None for the one that the Instance names now.
        keep: The uid of the run whose Jobs stay.
        attempts: How often it is tried.

    Raises:
        StillGoing: they are being deleted.
        NotLeading: this replica is not the leader any more.
    """
    jobs = context.task_jobs
    # A version may have been replaced meanwhile: what is in the cache counts whatever it says.
    if not jobs.active(instance, keep) and not has_jobs(versions):
        return
    # It may take several attempts, with pauses.
    left = await context.operations.result(
        key_of(instance),
        END_JOBS,
        (instance.metadata.uid, keep),
        lambda: jobs.end(instance, account, keep, attempts),
    )
    if left and uid:
        context.events.warning(instance, uid, "JobNotDeleted", left)
    elif left:
        log.info("active job not deleted", extra={"why": left})
