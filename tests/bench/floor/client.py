"""`python -m tests.bench.floor.client`: sends the writes of a recorded run for each Instance.

It reads nothing and decides nothing: this is the least that any controller sends with the same
protocol. The first line on stdin names the Instances to come, as JSON; the process reads what stood
before of each, and says that it is ready with an empty line. Each further line holds the facts of
one Instance. The process ends with its input; what fails ends it with a traceback.
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
from tests.bench.floor.recording import (
    Exchange,
    Facts,
    Json,
    Template,
    Templates,
    key_of,
    templates,
)

CONNECTIONS: Final = 32
TRANSPORTS: Final = ("kubeio", "aiohttp")
_LINE: Final = 2**24
"""Bytes that the first line may have."""


class Sender(Protocol):
    """Sends a request and returns the decoded answer; raises if it is no success."""

    async def __call__(self, one: Template, path: str, body: Json) -> Json: ...


@asynccontextmanager
async def through_kubeio(kubeconfig: Path) -> AsyncIterator[Sender]:
    """Send through the reconciler's own transport."""
    async with Client(load_config(kubeconfig), max_connections=CONNECTIONS) as client:

        async def send(one: Template, path: str, body: Json) -> Json:
            return await client.raw(
                one.method, path, query=one.query, body=body, content_type=one.content_type
            )

        yield send


@asynccontextmanager
async def through_aiohttp(kubeconfig: Path) -> AsyncIterator[Sender]:
    """Send through a session of aiohttp as it comes, with orjson on both sides."""
    config = load_config(kubeconfig)
    connector = aiohttp.TCPConnector(ssl=config.ssl or True, limit=CONNECTIONS)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def send(one: Template, path: str, body: Json) -> Json:
            async with session.request(
                one.method,
                URL(config.server + path).with_query(one.query),
                data=None if body is None else orjson.dumps(body),
                headers={"Content-Type": one.content_type, "Accept": "application/json"},
            ) as response:
                content = await response.read()
            if response.status >= 300:
                raise RuntimeError(f"{one.method} {path}: {response.status} {content!r}")
            return orjson.loads(content)

        yield send


async def send_all(send: Sender, requests: list[Template], facts: Facts) -> None:
    """Send requests for one Instance, each after the answer to the one before."""
    for one in requests:
        path, body = one.request(facts)
        one.learn(await send(one, path, body), facts)


async def run(transport: str, kubeconfig: Path, found: Templates) -> None:
    """Send the writes for the Instances that stdin tells of."""
    through = through_kubeio if transport == "kubeio" else through_aiohttp
    queue: asyncio.Queue[Facts | None] = asyncio.Queue()
    async with _stdin() as lines, through(kubeconfig) as send, asyncio.TaskGroup() as group:
        before = await _read_before(send, found.before, json.loads(await lines.readline()))
        sys.stdout.write("\n")
        sys.stdout.flush()

        async def work() -> None:
            while (facts := await queue.get()) is not None:
                await send_all(send, found.writes, {**before.get(key_of(facts), {}), **facts})

        for _ in range(CONNECTIONS):
            group.create_task(work())
        async for line in lines:
            queue.put_nowait(json.loads(line))
        for _ in range(CONNECTIONS):
            queue.put_nowait(None)


async def _read_before(
    send: Sender, reads: list[Template], instances: list[Facts]
) -> dict[tuple[str, str], Facts]:
    """Return what the writes need of objects that stand already, by Instance."""
    found = {}
    for facts in instances if reads else ():
        await send_all(send, reads, facts)
        found[key_of(facts)] = facts
    return found


@asynccontextmanager
async def _stdin() -> AsyncIterator[asyncio.StreamReader]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_LINE)
    pipe, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    try:
        yield reader
    finally:
        pipe.close()


def recorded(file: Path) -> Templates:
    """Read a recording: the Instance as answered, and the exchanges of the run."""
    found: dict[str, Any] = json.loads(file.read_bytes())
    return templates(found["answered"], [Exchange(**one) for one in found["exchanges"]])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--transport", choices=TRANSPORTS, required=True)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--recording", type=Path, required=True)
    options = parser.parse_args()
    asyncio.run(run(options.transport, options.kubeconfig, recorded(options.recording)))


if __name__ == "__main__":
    main()
