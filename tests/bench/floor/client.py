"""`python -m tests.bench.floor.client`: sends the writes of a recorded deploy for each Instance.

It reads nothing and decides nothing: this is the least that any controller sends with the same
protocol. The process says that it is ready with an empty line, then reads the facts of one Instance
a line as JSON on stdin, and ends with its input. What fails ends it with a traceback.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Protocol

import aiohttp
import orjson
from yarl import URL

from kubeio.client import Client
from kubeio.connection.config import load_config
from tests.bench.floor.recording import Exchange, Facts, Json, Write, templates

CONNECTIONS: Final = 32
TRANSPORTS: Final = ("kubeio", "aiohttp")


class Sender(Protocol):
    """Sends a write and returns the decoded answer; raises if it is no success."""

    async def __call__(self, write: Write, path: str, body: Json) -> Json: ...


@asynccontextmanager
async def through_kubeio(kubeconfig: Path) -> AsyncIterator[Sender]:
    """Send through the reconciler's own transport."""
    async with Client(load_config(kubeconfig), max_connections=CONNECTIONS) as client:

        async def send(write: Write, path: str, body: Json) -> Json:
            return await client.raw(
                write.method, path, query=write.query, body=body, content_type=write.content_type
            )

        yield send


@asynccontextmanager
async def through_aiohttp(kubeconfig: Path) -> AsyncIterator[Sender]:
    """Send through a session of aiohttp as it comes, with orjson on both sides."""
    config = load_config(kubeconfig)
    connector = aiohttp.TCPConnector(ssl=config.ssl or True, limit=CONNECTIONS)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def send(write: Write, path: str, body: Json) -> Json:
            async with session.request(
                write.method,
                URL(config.server + path).with_query(write.query),
                data=orjson.dumps(body),
                headers={"Content-Type": write.content_type, "Accept": "application/json"},
            ) as response:
                content = await response.read()
            if response.status >= 300:
                raise RuntimeError(f"{write.method} {path}: {response.status} {content!r}")
            return orjson.loads(content)

        yield send


async def deploy(send: Sender, writes: list[Write], facts: Facts) -> None:
    """Send all writes for one Instance, each after the answer to the one before."""
    for write in writes:
        path, body = write.request(facts)
        write.learn(await send(write, path, body), facts)


async def run(transport: str, kubeconfig: Path, writes: list[Write]) -> None:
    """Deploy the Instances that stdin tells of."""
    through = through_kubeio if transport == "kubeio" else through_aiohttp
    queue: asyncio.Queue[Facts | None] = asyncio.Queue()
    async with through(kubeconfig) as send, asyncio.TaskGroup() as group:

        async def work() -> None:
            while (facts := await queue.get()) is not None:
                await deploy(send, writes, facts)

        for _ in range(CONNECTIONS):
            group.create_task(work())
        async for line in _lines():
            queue.put_nowait(json.loads(line))
        for _ in range(CONNECTIONS):
            queue.put_nowait(None)


async def _lines() -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    pipe, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    sys.stdout.write("\n")
    sys.stdout.flush()
    try:
        async for line in reader:
            yield line
    finally:
        pipe.close()


def recorded(file: Path) -> list[Write]:
    """Read a recording: the Instance as it was created, and the exchanges of its deploy."""
    found: dict[str, Any] = json.loads(file.read_bytes())
    return templates(found["created"], [Exchange(**one) for one in found["exchanges"]])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--transport", choices=TRANSPORTS, required=True)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--recording", type=Path, required=True)
    options = parser.parse_args()
    asyncio.run(run(options.transport, options.kubeconfig, recorded(options.recording)))


if __name__ == "__main__":
    main()
