"""List, then watch, for ever: the process that keeps a store equal to the API server.

How each way of ending goes on:

* the server ends the watch after its time: watch again from the last version;
* the connection breaks or stands still: the same, after a moment;
* 410, as HTTP status or in the stream: list again; so where the version is too large for the
  server, or it cannot read the version;
* an event that cannot be read: list again, since whoever goes on from the version before is sent
  the same event;
* a watch ends before its time, breaks, stands still, or the server fails: ask for the version of
  the server first, and list again if it is lower than what was seen before;
* any other refusal: watch again after a growing delay. Lists would be the last thing that a
  server in trouble needs;
* a list fails: list again after a growing delay, for ever; ``on_status`` carries the error.

Every delay has full jitter and honours Retry-After, up to a minute. A list is a consistent read (no
resourceVersion), so what it shows is never older than what was seen before. Should its version
be lower all the same, three times in a row, then the server's storage was restored from a
backup and is taken as it is. A watch that goes on from before that is accepted, and silent for as
long as its version is in the future; hence the question before it.
"""

import asyncio
import enum
import logging
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import NoReturn

from kubeio.backoff import Backoff
from kubeio.cache.store import Store
from kubeio.client import Client
from kubeio.decoding.metadata import fault_in
from kubeio.decoding.watch import WatchEvent
from kubeio.errors import (
    ApiError,
    BadRequest,
    ConnectionLost,
    Gone,
    Invalid,
    KubeError,
    Malformed,
    ServerError,
)
from kubeio.resource import Resource
from kubeio.types import JsonObject, parse_version

log = logging.getLogger(__name__)

_TRIES = 3  # lists older than what was seen before one is taken as it is
_EARLY = 5.0  # seconds before its time at which the end of a watch is none of the usual
_YIELD_EVERY = 100  # objects taken from a list before other tasks get a turn


class Phase(enum.StrEnum):
    """What a reflector is doing; WATCHING only once the server has accepted the watch."""

    LISTING = "listing"
    OPENING = "opening"
    WATCHING = "watching"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Status:
    """Reported at each change of phase; ``error`` is why it waits, ``delay`` how long (s)."""

    phase: Phase
    error: KubeError | None = None
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Timing:
    """All in seconds.

    Attributes:
        watch: range from which the length of each watch is drawn, so that the watches of many
            clients do not end together.
        idle: silence after which a watch counts as dead: the server sends a bookmark about every
            minute. If it never sent one, the watch is merely opened anew.
        backoff: base and cap of the delays after errors.
        steady: a watch that lasted this long starts the delays over.
    """

    watch: tuple[int, int] = (240, 480)
    idle: float = 200.0
    backoff: tuple[float, float] = (0.5, 30.0)
    steady: float = 10.0


@dataclass(frozen=True, slots=True)
class Scope:
    """What a reflector looks at."""

    resource: Resource
    namespace: str | None = None
    label_selector: str | None = None
    metadata_only: bool = False
    page_size: int = 500


class StaleList(KubeError):
    """A consistent list came back older than what was seen before."""


@dataclass(slots=True)
class Reflector:
    """Feeds one store; see the module's text.

    Attributes:
        version: where the next watch goes on, None if a list is due.
        last_contact: clock time at which the server last said something, None before that.
    """

    client: Client
    scope: Scope
    store: Store
    on_status: Callable[[Status], None]
    timing: Timing = field(default_factory=Timing)
    clock: Callable[[], float] = time.monotonic
    rng: random.Random = field(default_factory=random.Random)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    version: str | None = None
    last_contact: float | None = None
    _bookmarks: bool = False
    _doubtful: bool = False
    """Whether the server may have been restored since the version was seen."""
    _stale_lists: int = 0
    _backoff: Backoff = field(init=False)
    _relists: Backoff = field(init=False)
    """Of lists after unreadable events; what comes before such an event does not reset it."""

    def __post_init__(self) -> None:
        base, cap = self.timing.backoff
        self._backoff = Backoff(base=base, cap=cap, rng=self.rng)
        self._relists = Backoff(base=base, cap=cap, rng=self.rng)

    async def run(self) -> NoReturn:
        """List and watch until cancelled; raises only what a handler or indexer raises."""
        while True:
            try:
                if self.version is not None and self._doubtful:
                    await self._compare()
                if self.version is None:
                    await self._list()
                await self._watch()
            except KubeError as error:
                await self._wait_after(error)

    async def _list(self) -> None:
        self.on_status(Status(Phase.LISTING))
        self.store.begin_list()
        force = False
        version = ""
        scope = self.scope
        pages = self.client.pages(
            scope.resource,
            namespace=scope.namespace,
            label_selector=scope.label_selector,
            limit=scope.page_size,
            metadata_only=scope.metadata_only,
            transform=self._prepared,
        )
        async with aclosing(pages):
            async for page in pages:
                self.last_contact = self.clock()
                force = force or self._must_force(page.resource_version)
                version = page.resource_version
                for start in range(0, len(page.items), _YIELD_EVERY):
                    self.store.add_page(page.items[start : start + _YIELD_EVERY], force=force)
                    await asyncio.sleep(0)
        self.store.end_list(parse_version(version), force=force)
        self.version = version
        self._doubtful = False
        self._stale_lists = 0

    def _prepared(self, item: JsonObject) -> JsonObject:
        resource = self.scope.resource
        fault = fault_in(item, namespaced=resource.namespaced, versioned=False)
        if fault:
            # Left out, it would be taken for deleted.
            raise Malformed(f"an item of the list is no object of the API: {fault}")
        return self.store.prepared(item)

    def _must_force(self, version: str) -> bool:
        number = parse_version(version)
        if number is None or number >= self.store.highest:
            return False
        self._stale_lists += 1
        if self._stale_lists < _TRIES:
            raise StaleList(
                f"list of {self.scope.resource.name} is at version {number}, "
                f"but {self.store.highest} was seen before"
            )
        return True

    async def _compare(self) -> None:
        """Have everything listed anew if the server is at an earlier version than was seen."""
        scope = self.scope
        # Of one object, whichever that is, the metadata: the version of the list is what counts.
        pages = self.client.pages(
            scope.resource, namespace=scope.namespace, limit=1, metadata_only=True
        )
        async with aclosing(pages):
            version = (await anext(pages)).resource_version
        self.last_contact = self.clock()
        self._doubtful = False
        self._must_not_be_earlier(version)

    def _must_not_be_earlier(self, version: str) -> None:
        number = parse_version(version)
        if number is None or number >= self.store.highest:
            return
        log.warning(
            "%s is listed anew: the API server is at resource version %s, but %s was seen before, "
            "as after a restore of its storage",
            self.scope.resource.name,
            number,
            self.store.highest,
        )
        self.version = None
        # How long it could not be reached says nothing of how long it takes from here on.
        self._backoff.reset()

    async def _watch(self) -> None:
        self.on_status(Status(Phase.OPENING))
        started = self.clock()
        seconds = self.rng.randint(*self.timing.watch)
        silent = True
        try:
            async with aclosing(self._stream(seconds)) as stream:
                async for event in stream:
                    self._take(event)
                    if self.version is None:
                        return
                    if silent:
                        silent = False
                        self._backoff.reset()
        except ConnectionLost as lost:
            idled = lost.timeout and self.clock() - started >= self.timing.idle
            self._doubtful = True
            if self._bookmarks or not idled:
                self._steady_after(started)
                raise
        else:
            self._doubtful = self.clock() - started < seconds - _EARLY
        if not self._steady_after(started) and silent:
            # A server that accepts watches only to end them at once must not be hammered.
            await self.sleep(self._backoff.next())

    def _stream(self, seconds: int) -> AsyncGenerator[WatchEvent, None]:
        assert self.version is not None
        scope = self.scope
        return self.client.watch(
            scope.resource,
            namespace=scope.namespace,
            resource_version=self.version,
            label_selector=scope.label_selector,
            timeout_seconds=seconds,
            metadata_only=scope.metadata_only,
            idle_timeout=self.timing.idle,
            on_open=self._opened,
        )

    def _opened(self) -> None:
        self.on_status(Status(Phase.WATCHING))

    def _take(self, event: WatchEvent) -> None:
        self.last_contact = self.clock()
        match event.type:
            case "ADDED" | "MODIFIED":
                self.store.put(event.object)
            case "DELETED":
                self.store.remove(event.object)
            case "BOOKMARK":
                self._bookmarks = True
                self._take_bookmark(event.object["metadata"]["resourceVersion"])
                return
        self.version = event.object["metadata"]["resourceVersion"]

    def _take_bookmark(self, version: str) -> None:
        self.version = version
        self._must_not_be_earlier(version)
        self.store.reach(parse_version(version))

    def _steady_after(self, started: float) -> bool:
        """Start the delays over if a watch lasted long enough; return whether it did."""
        lasted = self.clock() - started >= self.timing.steady
        if lasted:
            self._backoff.reset()
            self._relists.reset()
        return lasted

    async def _wait_after(self, error: KubeError) -> None:
        if isinstance(error, Malformed):
            await self._wait_to_list(error)
            return
        if isinstance(error, ApiError) and _speaks_of_version(error):
            self.version = None
        elif isinstance(error, ServerError):
            # Such as from a load balancer while no API server is there.
            self._doubtful = True
        retry_after = error.retry_after if isinstance(error, ApiError) else None
        delay = self._backoff.next(retry_after)
        self.on_status(Status(Phase.WAITING, error, delay))
        await self.sleep(delay)

    async def _wait_to_list(self, error: Malformed) -> None:
        log.warning("%s is listed anew: %s", self.scope.resource.name, error)
        self.version = None
        delay = self._relists.next()
        self.on_status(Status(Phase.WAITING, error, delay))
        await self.sleep(delay)


def _speaks_of_version(error: ApiError) -> bool:
    """Return whether a watch was refused for where it was to begin; nothing else of it varies."""
    if isinstance(error, Gone | BadRequest | Invalid) or error.version_too_large:
        return True
    # Kubernetes 1.36 answers so, with 500, where it cannot read the version.
    return error.message.startswith("resourceVersion: Invalid value")
