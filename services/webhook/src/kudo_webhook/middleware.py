"""The middleware around the routes: the state of a request, its deadline, the limit of its body."""

import asyncio
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, Protocol

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kudo_webhook.metrics import Metrics, Outcome
from kudo_webhook.reviewing import Seen

LIMIT = 4 * 1024 * 1024
"""Bytes. By default an API server accepts requests of 3 MiB and etcd stores objects of 1.5 MiB, so
the submitted and the stored object together stay under 3 MiB; the rest is for the envelope."""


class BodyTooLarge(Exception):
    """The body is larger than the limit; the rest of it has not been read."""


class BodyLimit:
    """Middleware that raises `BodyTooLarge` where the application reads more than the limit.

    A body that is too large by its Content-Length is not read at all.

    Args:
        app: The application.
        limit: Bytes of a body.
    """

    def __init__(self, app: ASGIApp, limit: int = LIMIT) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        received = 0
        lengths = (value for name, value in scope["headers"] if name == b"content-length")
        announced = next((int(value) for value in lengths if value.isdigit()), 0)

        async def bounded() -> Message:
            nonlocal received
            if announced > self._limit:
                # Nothing of it is read: the port drops what the client still sends.
                raise BodyTooLarge
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._limit:
                raise BodyTooLarge
            return message

        await self._app(scope, bounded, send)


async def whole_body(request: Request) -> bytes:
    """Return the body of a request; `Request.body` takes three times as long.

    Raises:
        BodyTooLarge: it is larger than `BodyLimit` allows.
        starlette.requests.ClientDisconnect: the connection broke before the end.
    """
    parts: list[bytes] = []
    more = True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


class Deadline:
    """Middleware that cancels a request which is not answered in time, and answers it.

    The exception handlers of the application are inside of it, so it makes this response itself.

    Args:
        app: The application.
        seconds: From the first byte of a request to the first byte of its answer.
        late: Returns the response to a request that was cancelled.
    """

    def __init__(
        self, app: ASGIApp, *, seconds: float, late: Callable[[Request], Response]
    ) -> None:
        self._app = app
        self._seconds = seconds
        self._late = late

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        until = asyncio.get_running_loop().time() + self._seconds
        answered = False
        timer: asyncio.Timeout | None = None

        async def in_time(message: Message) -> None:
            # From the first byte of the answer on there is no deadline: a second answer must not
            # follow, and the port limits how long a client takes to read it (`PortLimits.answer`).
            nonlocal answered
            if not answered and (timer is None or not timer.expired()):
                answered = True
                if timer is not None:
                    timer.reschedule(None)
            await send(message)

        # Most requests have arrived whole and need nothing but the cache: the application returns
        # in its first step, which a timer could not interrupt. Only requests that wait get one.
        request = self._app(scope, receive, in_time).__await__()
        try:
            awaited = next(request)
        except StopIteration:
            return
        try:
            async with asyncio.timeout_at(None if answered else until) as timer:
                await _Rest(request, awaited)
        except TimeoutError:
            if timer is None or not timer.expired():
                raise
            await self._late(Request(scope))(scope, receive, send)


class _Rest(Generator[Any, Any, None]):
    """Awaits a coroutine whose first step has run already.

    Args:
        request: The coroutine.
        awaited: What its first step awaits.
    """

    def __init__(self, request: Generator[Any, Any, None], awaited: object) -> None:
        self._request = request
        self._first: tuple[object, ...] = (awaited,)

    def __await__(self) -> Generator[Any, Any, None]:
        return self

    def send(self, value: Any) -> Any:
        if self._first:
            (awaited,), self._first = self._first, ()
            return awaited
        return self._request.send(value)

    def throw(self, kind: Any, value: Any = None, _traceback: Any = None) -> Any:
        # With three arguments it is deprecated; the error has its traceback with it.
        return self._request.throw(kind if value is None else value)


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
        exchange: Exchange = request.scope[_KEY]
        return exchange


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
