"""RoundTripper: what a Client sends its requests through.

`transport.Transport` is the one that speaks HTTP. Another one answers for an API server that is not
reached by a network, such as one in the same process.
"""

from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from kubeio.connection.identity import Headers
from kubeio.connection.requests import OnRequest
from kubeio.connection.warnings import WarningSink
from kubeio.types import Json


class RoundTripper(Protocol):
    """Sends requests to one API server; see `transport.Transport` for what each method does.

    Attributes:
        timeout: Seconds that one call may take.
        before_write: Called in the tick in which a write is sent; what it raises is raised by the
            call, and nothing has been sent.
        on_request: Told of every request that went out.
        warnings: Takes the texts of Warning headers.
    """

    timeout: float
    before_write: Callable[[], None] | None
    on_request: OnRequest | None
    warnings: WarningSink

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] = ...,
        body: Json = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        verb: str = "",
        headers: Headers,
    ) -> Json: ...

    def answer(
        self,
        path: str,
        *,
        query: Mapping[str, str],
        accept: str,
        verb: str,
        headers: Headers,
    ) -> AbstractAsyncContextManager[AsyncIterable[bytes]]: ...

    def stream(
        self,
        path: str,
        *,
        query: Mapping[str, str],
        accept: str,
        idle_timeout: float,
        headers: Headers,
    ) -> AbstractAsyncContextManager[AsyncIterable[bytes]]: ...

    def websocket(
        self,
        path: str,
        *,
        query: Sequence[tuple[str, str]],
        protocols: Sequence[str],
        verb: str,
        timeout: float | None = None,
        headers: Headers,
    ) -> AbstractAsyncContextManager[AsyncIterable[bytes]]: ...
