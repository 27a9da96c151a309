"""The health of one object, and the messages of the common cases."""

from dataclasses import dataclass
from enum import Enum

from kudo.api import JsonObject
from kudo.objects.finalizers import told
from kudo.objects.health.reading import finalizers, kind_of, where


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
    held_by = told(finalizers(obj))
    rest = f", held by {held_by}" if held_by else ""
    return waiting(f"{kind_of(obj)} {where(obj)} is being deleted{rest}")
