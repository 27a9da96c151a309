"""Conditions of an Instance, as metav1 keeps them: the transition time moves with the status."""

from kudo.api import Condition

READY = "Ready"

_STATUS_BY_REASON = {
    "ResourcesReady": "True",
    "ResourceNotReady": "False",
    "PlanInProgress": "Unknown",
    "PlanInFatalError": "Unknown",
}
_MAX_MESSAGE = 32768


def ready(reason: str, message: str, *, generation: int, now: str) -> Condition:
    """Return the Ready condition for a reason; reasons that are errors make it False."""
    return Condition(
        type=READY,
        status=_STATUS_BY_REASON.get(reason, "False"),
        reason=reason,
        message=message[:_MAX_MESSAGE],
        last_transition_time=now,
        observed_generation=generation,
    )


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
