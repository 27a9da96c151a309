"""Pauses of Instances: `spec.suspend`, and what a status says of it.

`status.suspendedAt` is since when the reconciler knows of the pause. When the pause ends, its
length is added to what it held up, so that time limits can leave it out.
"""

from typing import Final

from kudo.api import Instance, InstanceStatus
from kudo.api.moments import moment
from kudo.plans.execution import resumed, status_of

RESUMED: Final = "Resumed"
"""Reason of the event of the end of a pause; that of its beginning is `conditions.SUSPENDED`."""


def is_recorded(instance: Instance, status: InstanceStatus) -> bool:
    """Whether a status says of the pause what its Instance asks for."""
    return instance.suspended == (status.suspended_at is not None)


def with_suspension(instance: Instance, status: InstanceStatus, now: str) -> InstanceStatus:
    """Return the status with the pause that its Instance asks for, or with its end."""
    if is_recorded(instance, status):
        return status
    if instance.suspended:
        return status.model_copy(update={"suspended_at": now})
    seconds = _seconds(status.suspended_at, now)
    entries = {
        name: resumed(entry, seconds) if status_of(entry).running else entry
        for name, entry in (status.plan_status or {}).items()
    }
    return status.model_copy(update={"suspended_at": None, "plan_status": entries or None})


def _seconds(since: str | None, now: str) -> int:
    """Return the length of a pause, rounded up: both of its times were cut to a second."""
    began, ended = moment(since), moment(now)
    if began is None or ended is None:
        return 0
    return max(0, int((ended - began).total_seconds())) + 1
