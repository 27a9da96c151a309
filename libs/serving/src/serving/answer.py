"""Writes head and body of a response at once.

uvicorn writes them one after the other. Under TLS that is two records, two system calls and two
packets for each response, which takes longer than most requests take to decide.
"""

import asyncio


class JoinedWrites:
    """A transport that joins the writes of one iteration of the event loop.

    Every other method is that of the transport. `close` sends what was written before.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._call_soon = asyncio.get_running_loop().call_soon
        self._waiting: list[bytes] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._waiting:
            self._call_soon(self._flush)
        self._waiting.append(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._waiting:
            data = b"".join(self._waiting)
            self._waiting.clear()
            self._transport.write(data)
