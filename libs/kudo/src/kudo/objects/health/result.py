"""The health of one object, and the rules for kinds without one of their own.

Those are of kstatus, with stricter conditions: an object counts as healthy once it exists, unless
it says something else, by `status.observedGeneration` or by the conditions Reconciling, Stalled and
Ready. kstatus accepts a condition of any generation. Here a condition whose own
`observedGeneration` is older is out of date, as in the API conventions: a Ready from before the
change does not let a plan continue, and a Stalled from before the change does not end it.
"""

from dataclasses import dataclass
from enum import Enum

from kudo.api import JsonObject
from kudo.objects.finalizers import described
from kudo.objects.health.reading import (
    condition,
    explained,
    finalizers,
    generation,
    is_true,
    kind_of,
    number,
    own_message,
    status,
    text,
    where,
)


class State(Enum):
    HEALTHY = "healthy"
    WAITING = "waiting"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Health:
    """The health of one object.

    Attributes:
        state: FAILED means that waiting will not help.
        message: What the object waits for or why it failed, naming it; empty if healthy.
    """

    state: State
    message: str = ""

    @property
    def healthy(self) -> bool:
        return self.state is State.HEALTHY


HEALTHY = Health(State.HEALTHY)


def waiting(message: str) -> Health:
    return Health(State.WAITING, message)


def failed(message: str) -> Health:
    return Health(State.FAILED, message)


def terminating(obj: JsonObject) -> Health:
    """Return the health of an object that is being deleted: it is waited for."""
    held_by = described(finalizers(obj))
    rest = f", held by {held_by}" if held_by else ""
    return waiting(f"{kind_of(obj)} {where(obj)} is being deleted{rest}")


_UNSEEN = "Waiting for spec update to be observed..."


def by_conditions(obj: JsonObject) -> Health:
    """Return health by observedGeneration and the conditions Reconciling, Stalled and Ready.

    Reconciling precedes Stalled: a controller that still works on it may succeed.
    """
    if is_behind(obj):
        return _not_healthy(obj, _UNSEEN)
    reconciling, stalled = condition(obj, "Reconciling"), condition(obj, "Stalled")
    if is_true(reconciling):
        return _not_healthy(obj, _told("Reconciling", reconciling))
    if is_true(stalled) and is_current(obj, stalled):
        return failed(f"{kind_of(obj)} {where(obj)} has failed terminally: {own_message(stalled)}")
    if is_true(stalled):
        return _not_healthy(obj, _told("Stalled", stalled))
    return _by_ready(obj, condition(obj, "Ready"))


def _by_ready(obj: JsonObject, ready: JsonObject) -> Health:
    if not ready:
        return HEALTHY
    if not is_true(ready):
        state = text(ready.get("status")) or "Unknown"
        return _not_healthy(obj, _told(f"Ready is {state}", ready))
    seen = number(ready.get("observedGeneration"))
    if seen is not None and seen < generation(obj):
        return _not_healthy(obj, _UNSEEN)
    return HEALTHY


def once_observed(obj: JsonObject) -> Health:
    """Return health by observedGeneration alone: the conditions say nothing about health.

    CronJob and Ingress have none. Those of a PodDisruptionBudget tell whether a pod may be evicted
    now, those of a HorizontalPodAutoscaler whether there are metrics and something to scale; that
    often comes with a later step.
    """
    return _not_healthy(obj, _UNSEEN) if is_behind(obj) else HEALTHY


def is_behind(obj: JsonObject) -> bool:
    """Whether the controller says that it has not observed the current generation.

    A controller that never says what it has seen is not waited for.
    """
    seen = number(status(obj).get("observedGeneration"))
    return seen is not None and seen < generation(obj)


def is_current(obj: JsonObject, state: JsonObject) -> bool:
    """Whether a condition certainly describes the current generation.

    It does if it or the status names this generation, or if there has been no other.
    """
    seen = number(state.get("observedGeneration"))
    if seen is None:
        seen = number(status(obj).get("observedGeneration"))
    return generation(obj) <= 1 if seen is None else seen >= generation(obj)


def _told(what: str, state: JsonObject) -> str:
    return ": ".join(filter(None, (what, explained(state))))


def _not_healthy(obj: JsonObject, why: str) -> Health:
    return waiting(f"{kind_of(obj)} {where(obj)} is not healthy: {why}")
