"""The bound on the time of a request, as middleware."""

import asyncio
from collections.abc import Callable, Generator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Deadline:
    """Middleware that ends a request which is not answered in time, and answers it.

    It stands around the exception handlers of the application, so it calls its own.

    Args:
        app: What answers in time.
        seconds: From the first byte of a request to the first of its answer.
        late: Makes the answer to a request that was ended.
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
            # How long a client takes to read its answer is bounded by the port (`PortLimits`), and
            # an answer that has begun must not be followed by another one.
            nonlocal answered
            if not answered and (timer is None or not timer.expired()):
                answered = True
                if timer is not None:
                    timer.reschedule(None)
            await send(message)

        # Most requests have arrived whole and are decided from memory: the application runs to its
        # end in one step, which no timer could interrupt. Only one that waits gets a timer.
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
    """The rest of a coroutine whose first step was made already.

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
