"""Answers in one piece: head and body of a response leave in one write.

uvicorn writes them one after the other. Under TLS that is two records, two calls into the kernel
and two packets for each answer, which costs more than most requests take to answer.
"""

import asyncio


class JoinedWrites:
    """A transport whose writes of one tick of the event loop go out together.

    Everything else is the transport's own. What was written before `close` still goes out.
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
