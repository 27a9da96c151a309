"""A small HTTPS client that makes load, and `python -m tests.bench.load` to make it elsewhere.

It speaks HTTP/1.1 by hand, so that on a machine with few cores the client leaves them to the
server. The process says that it is ready with an empty line, then reads one job a line as JSON on
stdin and writes its result as a line of JSON to stdout; bodies stand in a file, one a line as
`path<TAB>body`.
"""

import asyncio
import contextlib
import http
import itertools
import json
import ssl
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.bench.rounds import percentile

_HOST = "127.0.0.1"
_TIMEOUT = 30.0
_LINE = 64 << 20
"""Bytes that a result may have as JSON."""
_LATE = 0.002
"""Seconds by which a timer of the event loop may come late; a request that is sent within them
counts from when it was sent, any other from when it was due."""


@dataclass(frozen=True)
class Job:
    """What to send.

    Attributes:
        port: Where to, on the loopback interface.
        ca: The authority of the server's certificate, PEM.
        bodies: File of what to send, in turn.
        requests: How many in all.
        connections: How many are open at once.
        rate: Requests a second; 0 sends the next one as soon as the last is answered.
        fresh: Open a connection for each request instead of keeping them.
    """

    port: int
    ca: str
    bodies: str
    requests: int
    connections: int = 16
    rate: float = 0.0
    fresh: bool = False


@dataclass
class Result:
    """Seconds that each request took, and what failed."""

    latencies: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def percentile(self, share: float) -> float:
        """Return the latency that this share of the requests stays within, in seconds."""
        return percentile(self.latencies, share)


class Connection:
    """A TLS connection that takes one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def post(self, message: bytes) -> tuple[int, bytes]:
        """Send a request and return status and body of the answer."""
        self._writer.write(message)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
        length = next(line for line in head if line.startswith(b"content-length:"))
        body = await self._reader.readexactly(int(length.partition(b":")[2]))
        return int(head[0].split()[1]), body


@asynccontextmanager
async def opened(port: int, context: ssl.SSLContext) -> AsyncIterator[Connection]:
    """Open a connection to the loopback interface for the block."""
    reader, writer = await asyncio.open_connection(_HOST, port, ssl=context)
    try:
        yield Connection(reader, writer)
    finally:
        writer.close()
        await writer.wait_closed()


async def run(job: Job, stop: asyncio.Event | None = None) -> Result:
    """Make the load, until `stop` is set at the latest."""
    context = ssl.create_default_context(cafile=job.ca)
    messages = itertools.cycle(_messages(Path(job.bodies)))
    due, result = _due(job, stop), Result()

    async def keep() -> None:
        async with opened(job.port, context) as connection:
            for at in due:
                began = await _reached(at)
                await _noted(result, began, connection.post(next(messages)))

    async def renew() -> None:
        for at in due:
            began = await _reached(at)
            await _noted(result, began, _post_fresh(job.port, context, next(messages)))

    async with asyncio.TaskGroup() as group:
        for _ in range(job.connections):
            group.create_task(renew() if job.fresh else keep())
    return result


def _due(job: Job, stop: asyncio.Event | None) -> Iterator[float]:
    """Yield when each request is due; all connections take from it."""
    start = time.perf_counter()
    for number in range(job.requests):
        if stop is not None and stop.is_set():
            return
        yield start + number / job.rate if job.rate else 0.0


async def _reached(at: float) -> float:
    """Wait for a moment, and return from when its request counts."""
    await asyncio.sleep(at - time.perf_counter())
    now = time.perf_counter()
    return at if at and now - at > _LATE else now


async def _post_fresh(port: int, context: ssl.SSLContext, text: bytes) -> tuple[int, bytes]:
    async with opened(port, context) as connection:
        return await connection.post(text)


async def _noted(result: Result, began: float, answer: Awaitable[tuple[int, bytes]]) -> None:
    try:
        async with asyncio.timeout(_TIMEOUT):
            status, body = await answer
    except (OSError, EOFError, TimeoutError) as error:
        result.failures.append(repr(error))
        return
    result.latencies.append(time.perf_counter() - began)
    if status != http.HTTPStatus.OK:
        result.failures.append(f"HTTP {status}: {body[:200]!r}")


def _messages(file: Path) -> list[bytes]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return [_message(path, body.encode()) for path, body in (line.split("\t") for line in lines)]


def _message(path: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: {_HOST}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class Elsewhere:
    """A process that makes loads, one after the other; see `elsewhere`."""

    def __init__(self, answers: asyncio.StreamReader, jobs: asyncio.StreamWriter) -> None:
        self._answers, self._jobs = answers, jobs

    async def run(self, job: Job) -> Result:
        """Make a load in the process.

        Raises:
            RuntimeError: the process has ended.
        """
        self._jobs.write(json.dumps(asdict(job)).encode() + b"\n")
        return Result(**json.loads(await self.line()))

    async def line(self) -> bytes:
        """Return the next line of the process."""
        found = await self._answers.readline()
        if not found.endswith(b"\n"):
            raise RuntimeError("the process that makes the load has ended; see its traceback above")
        return found


@asynccontextmanager
async def elsewhere() -> AsyncIterator[Elsewhere]:
    """Start a process for loads, and wait until its start takes no more CPU from what it loads."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.bench.load"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_LINE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    made = Elsewhere(process.stdout, process.stdin)
    try:
        await made.line()
        yield made
    finally:
        # It ends with its input; nothing of a job that is still running is of use to anybody.
        process.stdin.close()
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def once(job: Job) -> Result:
    """Make one load in a process of its own."""
    async with elsewhere() as process:
        return await process.run(job)


def main() -> None:
    _say("")
    for line in sys.stdin:
        result = asyncio.run(run(Job(**json.loads(line))))
        _say(json.dumps(asdict(result)))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
