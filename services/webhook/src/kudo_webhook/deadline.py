"""The bound on the time of a request, as middleware."""

import asyncio
from collections.abc import Callable

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
        async def in_time(message: Message) -> None:
            # How long a client takes to read its answer is bounded by the port (`PortLimits`), and
            # an answer that has begun must not be followed by another one.
            if message["type"] == "http.response.start" and not timer.expired():
                timer.reschedule(None)
            await send(message)

        try:
            async with asyncio.timeout(self._seconds) as timer:
                await self._app(scope, receive, in_time)
        except TimeoutError:
            if not timer.expired():
                raise
            await self._late(Request(scope))(scope, receive, send)
