"""RoundTripper: sends the requests of a Client.

`transport.Transport` does it over HTTP. Another implementation may stand for an API server in the
same process.
"""

from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from kubeio.connection.dates import ServerDate
from kubeio.connection.identity import Headers
from kubeio.connection.requests import OnRequest
from kubeio.connection.warnings import WarningSink
from kubeio.types import Json


class RoundTripper(Protocol):
    """Sends requests to one API server; see `transport.Transport` for what each method does.

    Attributes:
        timeout: Seconds for one call.
        before_write: Called in the loop iteration in which a write is sent; an exception it raises
            is raised by the call, and nothing is sent.
        on_request: Called after every request that was sent.
        last_date: A Date header, read at most once a second; None before the first.
        warnings: Receives Warning headers.
    """

    timeout: float
    before_write: Callable[[], None] | None
    on_request: OnRequest | None
    last_date: ServerDate | None
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
