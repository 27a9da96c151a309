"""Gives the connections to a port to one of several other ports; no tests of its own."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

_BYTES = 1 << 16


@asynccontextmanager
async def balanced(host: str, port: int, to: Sequence[int]) -> AsyncIterator[None]:
    """Accept connections on a port, and give each to the first port that accepts it."""

    async def passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(_BYTES):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for one in to:
            with suppress(OSError):
                there, back = await asyncio.open_connection(host, one)
                await asyncio.gather(passed(reader, back), passed(there, writer))
                return
        writer.close()

    server = await asyncio.start_server(accepted, host, port)
    try:
        yield
    finally:
        server.close()
