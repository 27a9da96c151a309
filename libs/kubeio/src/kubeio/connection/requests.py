"""Reports of requests and their outcome, for metrics.

Invariant: one report for each HTTP exchange: two for a call that was repeated with a refreshed
credential, none for a write that ``before_write`` stopped.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from kubeio.errors import ConnectionLost

Ending = Literal["answered", "timeout", "lost", "cancelled"]


@dataclass(frozen=True, slots=True)
class RequestSeen:
    """One exchange with the API server.

    Attributes:
        verb: GET, LIST, WATCH, POST, PUT, PATCH, APPLY, DELETE, EXEC; of a raw request its method.
        status: HTTP status, 0 without an answer.
        seconds: Until the answer was complete, of a watch until it was opened; includes the wait
            for a connection.
        ending: Whether an answer came, or why not.
    """

    verb: str
    status: int
    seconds: float
    ending: Ending


OnRequest = Callable[[RequestSeen], None]
"""Called in the event loop of the client; must neither block nor raise."""


@dataclass(slots=True)
class Exchange:
    """An exchange in progress; the sender sets its status."""

    status: int = 0


@contextmanager
def observed(on_request: OnRequest | None, verb: str) -> Iterator[Exchange]:
    """Report the exchange that the block makes."""
    exchange = Exchange()
    if on_request is None:
        yield exchange
        return
    started = time.perf_counter()
    ending: Ending = "answered"
    try:
        yield exchange
    except ConnectionLost as lost:
        ending = "timeout" if lost.timeout else "lost"
        raise
    except asyncio.CancelledError:
        ending = "cancelled"
        raise
    finally:
        if exchange.status or ending != "answered":
            seconds = time.perf_counter() - started
            on_request(RequestSeen(verb, exchange.status, seconds, ending))
