"""Messages of an open websocket."""

from collections.abc import AsyncIterator

import aiohttp

from kubeio.connection.http.errors import HttpError
from kubeio.connection.http.response import translated


class WebSocket:
    """An open websocket; `close` has to be called."""

    def __init__(self, opened: aiohttp.ClientWebSocketResponse[bool]) -> None:
        self._opened = opened

    async def messages(self) -> AsyncIterator[bytes]:
        """Yield the binary messages until the server closes.

        Raises:
            HttpError: the connection broke, or a message is not binary.
        """
        with translated():
            async for message in self._opened:
                if message.type is not aiohttp.WSMsgType.BINARY:
                    raise HttpError("not a binary message")
                yield message.data

    async def close(self) -> None:
        """Close it, and wait at most a second for the close frame of the server."""
        with translated():
            await self._opened.close()
