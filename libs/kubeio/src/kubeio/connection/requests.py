"""What became of each request that went out, for whoever counts.

Invariant: one report for each HTTP exchange, so two where a credential was made fresh in between,
and none for what never went out because the write guard said no.
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
        verb: GET, LIST, WATCH, POST, PUT, PATCH, APPLY, DELETE; of a raw request its method.
        status: HTTP status, 0 if no answer came.
        seconds: Until the answer was complete, of a watch until it began; waiting for a
            connection included.
        ending: Whether an answer came, or why not.
    """

    verb: str
    status: int
    seconds: float
    ending: Ending


OnRequest = Callable[[RequestSeen], None]
"""Called in the event loop of the client; must be quick and must not raise."""


@dataclass(slots=True)
class Exchange:
    """An exchange under way; whoever leads it fills in the status."""

    status: int = 0


@contextmanager
def observed(on_request: OnRequest | None, verb: str) -> Iterator[Exchange]:
    """Report the exchange of the block."""
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
