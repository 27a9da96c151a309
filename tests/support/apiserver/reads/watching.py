"""Watches: the changes of a resource after a version, as lines of JSON."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import orjson

from kubeio.types import JsonObject
from tests.support.apiserver.reads.selection import Selection, partial
from tests.support.apiserver.storage import Revision, Storage, StorageName

BOOKMARK_SECONDS = 60.0
_METADATA_KIND = {"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata"}


@dataclass(slots=True, eq=False)
class Watch:
    """The events of one watch, until its time is over.

    Attributes:
        seconds: How long it lasts.
        since: The version that it begins after. In the future it is silent until that is reached,
            as recorded from Kubernetes 1.36: no event, no bookmark, no error.
        delay: Returns how many seconds the next event takes to arrive.
    """

    storage: Storage
    name: StorageName
    api_version: str
    kind: str
    selection: Selection
    bookmarks: bool
    seconds: float
    since: int = 0
    delay: Callable[[], float] = lambda: 0.0
    broken: bool = False
    _lines: deque[tuple[float, bytes]] = field(default_factory=deque)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _last: float = 0.0
    _end: float = 0.0
    _bookmark_at: float = 0.0

    def begin(self, changes: list[Revision], initial: list[JsonObject]) -> None:
        """Take what there is already, and every change from now on."""
        self._end = self._time() + self.seconds
        self._bookmark_at = self._time() + BOOKMARK_SECONDS
        for obj in initial:
            self._put(self._line("ADDED", obj))
        for revision in changes:
            self.take(revision)
        self.storage.table(self.name).listeners.append(self.take)

    def take(self, revision: Revision) -> None:
        """Put a change into the stream, as the event that it is to this selection."""
        event = self._event(revision)
        if event is None or revision.version <= self.since:
            return
        key = (event, self.api_version, self.selection.metadata_only)
        line = revision.lines.get(key)
        if line is None:
            line = revision.lines[key] = self._line(event, _shown(revision, event))
        self._put(line)

    def _event(self, revision: Revision) -> str | None:
        before = revision.old is not None and self.selection.selects(revision.old)
        after = not revision.deleted and self.selection.selects(revision.new)
        if before and after:
            return "MODIFIED"
        if after:
            return "ADDED"
        return "DELETED" if before else None

    def _line(self, event: str, obj: JsonObject) -> bytes:
        shown = partial(obj) if self.selection.metadata_only else obj
        if not self.selection.metadata_only:
            shown = {**obj, "apiVersion": self.api_version, "kind": self.kind}
        return orjson.dumps({"type": event, "object": shown}) + b"\n"

    def _bookmark(self) -> bytes:
        metadata = {"resourceVersion": str(self.storage.version), "creationTimestamp": None}
        identity = {"apiVersion": self.api_version, "kind": self.kind}
        if self.selection.metadata_only:
            identity = _METADATA_KIND
        obj = {**identity, "metadata": metadata}
        return orjson.dumps({"type": "BOOKMARK", "object": obj}) + b"\n"

    def _put(self, line: bytes) -> None:
        # Events of one watch stay in their order, whatever the delays.
        self._last = max(self._last, self._time() + self.delay())
        self._lines.append((self._last, line))
        self._wake.set()

    def cut(self) -> None:
        """Break the connection; events that have not arrived are lost."""
        self.broken = True
        self._wake.set()

    async def next_line(self) -> bytes | None:
        """Return the next event; None when the time is over, or the connection is broken."""
        while not self.broken:
            now = self._time()
            if self._lines and self._lines[0][0] <= now:
                return self._lines.popleft()[1]
            if now >= self._end:
                return None
            if self.bookmarks and now >= self._bookmark_at and not self._lines:
                self._bookmark_at = now + BOOKMARK_SECONDS
                if self.storage.version >= self.since:
                    return self._bookmark()
            # A bookmark does not overtake an event that is on its way.
            comes = self._lines[0][0] if self._lines else self._bookmark_at
            await self._wait(min(self._end, comes))
        return None

    def end(self) -> None:
        """Stop taking changes."""
        listeners = self.storage.table(self.name).listeners
        if self.take in listeners:
            listeners.remove(self.take)

    async def _wait(self, until: float) -> None:
        self._wake.clear()
        try:
            async with asyncio.timeout_at(until):
                await self._wake.wait()
        except TimeoutError:
            return

    def _time(self) -> float:
        return asyncio.get_running_loop().time()


def _shown(revision: Revision, event: str) -> JsonObject:
    """Return what an event shows: of an object that left the selection, how it was before."""
    if event != "DELETED" or revision.deleted or revision.old is None:
        return revision.new
    metadata = {**revision.old["metadata"], "resourceVersion": str(revision.version)}
    return {**revision.old, "metadata": metadata}
