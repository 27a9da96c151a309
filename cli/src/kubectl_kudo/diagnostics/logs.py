"""Streams logs of containers, and metrics, to files; redacted, and not more than is allowed."""

from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Final

from kubectl_kudo.diagnostics.bundle import Bundle, LogFile, file_name
from kubectl_kudo.diagnostics.owned import containers
from kubectl_kudo.diagnostics.reading import Reader
from kubectl_kudo.session.output import JsonObject
from kubeio.resource import PODS
from kudo.redaction.objects import Redactor
from kudo.redaction.texts import Lines

ALL_LOGS: Final = 40
"""All logs together have as many bytes as this number of them."""
METRICS_LIMIT: Final = 4 * 2**20
LONGEST_LINE: Final = 64 * 1024
"""Characters; the rest of a line is left out."""

_BLOCK: Final = 64 * 1024
_LAST_LINES: Final = 5
_SHORTEST_LINE: Final = 64
"""Bytes of a line of a log on average, at least: so many lines are asked for."""
_SENT_AT_MOST: Final = 4
"""Times the limit that the kubelet sends at most; lines may be long."""
_TOO_MANY_VALUES: Final = "left out: there are too many secret values to be looked for in each line"


@dataclass(frozen=True, slots=True)
class Log:
    """A log of a container.

    Attributes:
        pod: The pod.
        container: Name of the container.
        previous: Whether it is that of the container before its last restart.
        path: File of the log in the bundle, without its end.
    """

    pod: JsonObject
    container: str
    previous: bool
    path: str


@dataclass(slots=True)
class LogWriter:
    """Collects logs.

    Attributes:
        reader: Reads.
        bundle: Takes the files.
        redactor: Knows the secret values of all objects.
        limit: Bytes of each log.
        since: Seconds that logs go back; 0 for all.
        left: Bytes that all further logs may have.
        last_lines: The last lines of each log that was written, by its path.
    """

    reader: Reader
    bundle: Bundle
    redactor: Redactor
    limit: int
    since: int
    left: int = 0
    last_lines: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.left = self.limit * ALL_LOGS

    async def write(self, log: Log) -> None:
        """Write the end of a log to its file; a failure is noted beside it."""
        path = f"{log.path}.log"
        allowed = min(self.limit, self.left)
        if allowed <= 0:
            self.reader.fail(path, "left out: the logs before it have all bytes that are allowed")
            return
        metadata = log.pod["metadata"]
        query = {
            "container": log.container,
            "timestamps": "true",
            # The last lines, since those are wanted: `limitBytes` alone would give the first ones.
            "tailLines": str(max(100, self.limit // _SHORTEST_LINE)),
            "limitBytes": str(self.limit * _SENT_AT_MOST),
            **({"sinceSeconds": str(self.since)} if self.since else {}),
            **({"previous": "true"} if log.previous else {}),
        }
        address = PODS.path(metadata["namespace"], metadata["name"], "log")
        # Several logs are written at a time: each holds its share until its length is known.
        self.left -= allowed
        written = await self._stream(path, f"{path}.gz", address, query, allowed)
        self.left += allowed - min(written, allowed)

    async def write_metrics(self, path: str, address: str) -> None:
        """Write what a service answers at an address that the API server reaches."""
        await self._stream(path, f"{path}.txt.gz", address, {}, METRICS_LIMIT)

    async def _stream(
        self, path: str, file: str, address: str, query: dict[str, str], limit: int
    ) -> int:
        """Copy an answer to a file, and return how many bytes there were."""
        if self.redactor.known.overflow:
            self.reader.fail(path, _TOO_MANY_VALUES)
            return 0
        log = LogFile(self.bundle.place(file), limit=limit)
        last: deque[str] = deque(maxlen=_LAST_LINES)
        try:
            await self.reader.attempt(path, self._copy(address, query, log, last))
        finally:
            # What has come before a failure is worth having.
            log.close()
        self.last_lines[path] = tuple(last)
        return log.written

    async def _copy(
        self, address: str, query: dict[str, str], log: LogFile, last: deque[str]
    ) -> None:
        secrets, lines = self.redactor.known, Lines()
        async with self.reader.client.text(address, query=query) as chunks:
            async for block in blocks_of(chunks, overlap=secrets.longest):
                for line in secrets.replace(block).split("\n"):
                    shown = lines.redact(line)
                    last.append(shown)
                    log.write(f"{shown}\n".encode())


async def blocks_of(chunks: AsyncIterable[bytes], *, overlap: int) -> AsyncIterator[str]:
    """Yield the lines of a text that arrives in parts, many of them at a time.

    Looking for known values takes about as long in one line as in many.

    Args:
        chunks: The text.
        overlap: Characters that are dropped from the end of a line that is cut: a value that begins
            before the cut and ends after it would not be recognized.
    """
    lines: list[str] = []
    size = 0
    async for line in lines_of(chunks):
        if len(line) > LONGEST_LINE:
            beginning = line[: max(0, LONGEST_LINE - overlap)]
            line = f"{beginning}... (the rest of the line is left out)"
        lines.append(line)
        size += len(lines[-1])
        if size >= _BLOCK:
            yield "\n".join(lines)
            lines, size = [], 0
    if lines:
        yield "\n".join(lines)


async def lines_of(chunks: AsyncIterable[bytes]) -> AsyncIterator[str]:
    """Yield the lines of a text that arrives in parts; no more than one of them is in memory.

    Of a line that is longer than `LONGEST_LINE`, what is beyond twice that is dropped here.
    """
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line[: 2 * LONGEST_LINE].decode("utf-8", "replace")
        rest = rest[: 2 * LONGEST_LINE]
    if rest:
        yield rest.decode("utf-8", "replace")


def logs_of(pod: JsonObject, folder: str) -> Iterator[Log]:
    """Yield the logs that the containers of a pod have, by their status.

    Args:
        pod: The pod.
        folder: Where its files are, in the bundle.
    """
    status = pod.get("status") or {}
    lists = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
    states = {state.get("name"): state for name in lists for state in status.get(name) or []}
    for container in containers(pod):
        name = str(container.get("name"))
        path = f"{folder}{file_name(name)}"
        state = states.get(name) or {}
        if has_started(state):
            yield Log(pod, name, previous=False, path=path)
        if (state.get("lastState") or {}).get("terminated"):
            yield Log(pod, name, previous=True, path=f"{path}.previous")


def has_started(state: JsonObject) -> bool:
    """Return whether a container has ever run, by its status: otherwise it has no log."""
    now = state.get("state") or {}
    terminated = (state.get("lastState") or {}).get("terminated")
    return bool(now.keys() & {"running", "terminated"} or terminated)
