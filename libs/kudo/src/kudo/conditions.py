"""The conditions of an Instance: Ready, Reconciling and Stalled, as kstatus tools read them.

All three speak of one generation. The transition time of each moves with its status alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from kudo.api import Condition

READY = "Ready"
RECONCILING = "Reconciling"
STALLED = "Stalled"

RESOURCES_READY = "ResourcesReady"
RESOURCE_NOT_READY = "ResourceNotReady"
RESOURCES_UNKNOWN = "ResourcesUnknown"
PLAN_IN_PROGRESS = "PlanInProgress"
PLAN_IN_FATAL_ERROR = "PlanInFatalError"
_IDLE = "Idle"
_NOT_STALLED = "NotStalled"

_READY_BY_REASON = {
    RESOURCES_READY: "True",
    RESOURCES_UNKNOWN: "Unknown",
    PLAN_IN_PROGRESS: "Unknown",
    PLAN_IN_FATAL_ERROR: "Unknown",
}
"""Every other reason makes Ready False."""
_MAX_MESSAGE = 32768


@dataclass(frozen=True, slots=True)
class Situation:
    """What the conditions are made of.

    Attributes:
        ready: Reason and message of Ready; None leaves it as it is.
        running: Plan that runs, or None.
    """

    ready: tuple[str, str] | None
    running: str | None = None

    @property
    def stalled(self) -> tuple[str, str] | None:
        """Why nothing goes on until somebody changes something, or None."""
        if self.running is not None or self.ready is None:
            return None
        going_on = {RESOURCES_READY, RESOURCE_NOT_READY, RESOURCES_UNKNOWN, PLAN_IN_PROGRESS}
        return None if self.ready[0] in going_on else self.ready


def update(
    conditions: tuple[Condition, ...], situation: Situation, *, generation: int, now: str
) -> tuple[Condition, ...]:
    """Return the conditions for a situation; conditions of others are kept."""
    for kind, status, reason, message in _wanted(situation):
        conditions = put(
            conditions,
            Condition(
                type=kind,
                status=status,
                reason=reason,
                message=message[:_MAX_MESSAGE],
                last_transition_time=now,
                observed_generation=generation,
            ),
        )
    return conditions


def _wanted(situation: Situation) -> Iterator[tuple[str, str, str, str]]:
    if situation.ready is not None:
        reason, message = situation.ready
        yield READY, _READY_BY_REASON.get(reason, "False"), reason, message
    if situation.running is not None:
        text = f"plan {situation.running} is running"
        yield RECONCILING, "True", PLAN_IN_PROGRESS, text
    else:
        yield RECONCILING, "False", _IDLE, ""
    if situation.stalled is not None:
        yield STALLED, "True", *situation.stalled
    else:
        yield STALLED, "False", _NOT_STALLED, ""


def find(conditions: tuple[Condition, ...], kind: str) -> Condition | None:
    return next((condition for condition in conditions if condition.type == kind), None)


def put(conditions: tuple[Condition, ...], new: Condition) -> tuple[Condition, ...]:
    """Return the conditions with `new` in the place of the one of its type."""
    old = find(conditions, new.type)
    if old is None:
        return (*conditions, new)
    if old.status == new.status:
        new = new.model_copy(update={"last_transition_time": old.last_transition_time})
    return tuple(new if condition.type == new.type else condition for condition in conditions)
