"""The state of one admission request, and the middleware that creates it and counts the request."""

from dataclasses import dataclass, field
from typing import Protocol

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from kudo_webhook.metrics import Metrics, Outcome
from kudo_webhook.reviewing import Seen

_KEY = "kudo.exchange"


class Service(Protocol):
    """The service that answers.

    Attributes:
        draining: Whether it is about to stop.
    """

    draining: bool


@dataclass(slots=True)
class Exchange:
    """One request and its answer.

    Attributes:
        outcome: How it ends, as it is counted; without a route for other paths.
        service: The service that answers.
        seen: What has been read of it so far.
    """

    outcome: Outcome
    service: Service
    seen: Seen = field(default_factory=Seen)

    @classmethod
    def of(cls, request: Request) -> "Exchange":
        """Return the exchange that `Exchanges` has created for a request."""
        found: Exchange = request.scope[_KEY]
        return found


class Exchanges:
    """Middleware that creates an `Exchange` for each request, and counts how it ends.

    A request for another path is not counted.

    Args:
        app: The application.
        metrics: Where requests are counted.
        service: The service that answers.
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics, service: Service) -> None:
        self._app = app
        self._metrics = metrics
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._metrics.request() as outcome:
            scope[_KEY] = Exchange(outcome, self._service)
            try:
                await self._app(scope, receive, send)
            finally:
                # uvicorn keeps the scope until the next request on the connection. The parsed
                # objects, many times as large as the body, must not stay in memory with it.
                del scope[_KEY]
