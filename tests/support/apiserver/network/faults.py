"""What may happen to requests and watches on their way."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from tests.support.apiserver.server import Request
from tests.support.apiserver.status import StatusError

Loss = Literal["", "request", "answer"]


@dataclass(frozen=True, slots=True)
class Fate:
    """What happens to one request.

    Attributes:
        before: Seconds until the server takes it.
        after: Seconds until the answer is back.
        lost: The connection breaks before the server has it, or before the answer is back.
        refused: The server answers with this and does nothing.
        held: Called with what has the server take the request, instead of `before`.
    """

    before: float = 0.0
    after: float = 0.0
    lost: Loss = ""
    refused: StatusError | None = None
    held: Callable[[Callable[[], None]], None] | None = None


UNHARMED = Fate()


class Network(Protocol):
    """Decides what happens on the way to the server."""

    def fate(self, request: Request) -> Fate:
        """Return what happens to a request; that of a watch is how its opening goes."""
        ...

    def event_delay(self, plural: str) -> float:
        """Return how many seconds an event of a kind takes to arrive."""
        ...

    def watch_lasts(self, plural: str) -> float | None:
        """Return after how many seconds a watch breaks; None if it does not."""
        ...


class Quiet:
    """A network where everything arrives at once."""

    def fate(self, request: Request) -> Fate:
        del request
        return UNHARMED

    def event_delay(self, plural: str) -> float:
        del plural
        return 0.0

    def watch_lasts(self, plural: str) -> float | None:
        del plural
        return None
