"""Middleware that limits the time of a request."""

import asyncio
from collections.abc import Callable, Generator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send


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
