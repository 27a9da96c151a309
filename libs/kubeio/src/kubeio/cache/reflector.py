"""Reflector: lists and then watches without end, to keep a store in sync with the API server.

What follows each way in which a list or watch ends:

* the server ends the watch after its timeout: watch again from the last version;
* the connection breaks or is idle: the same, after a delay;
* 410, as HTTP status or in the stream, or the server cannot read the version, or it is too large:
  list again;
* an event cannot be read: list again, since a watch from the version before would deliver the same
  event again;
* a watch ends early, breaks or is idle, or the server fails: read the current version of the server
  first, and list again if it is lower than the highest version seen;
* any other error of a watch: watch again after a growing delay, since lists would add load to a
  server in trouble;
* a list fails: list again after a growing delay, without end; ``on_status`` reports the error.

Delays have full jitter and honour Retry-After, up to a minute. A list is a consistent read (no
resourceVersion), so it is never older than what was seen before. If its version is lower three
times in a row, etcd was restored from a backup, and the list replaces the store. After a restore
the server accepts a watch from a version in its future and sends nothing until it reaches that
version; this is why the version is read first.
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
from kubeio.watch import WatchEvent, fault_in

log = logging.getLogger(__name__)

_TRIES = 3  # lists in a row with a lower version before one replaces the store
_EARLY = 5.0  # seconds; a watch that ends earlier than this before its timeout ended early
_YIELD_EVERY = 100  # listed objects stored before other tasks run


class Phase(enum.StrEnum):
    """What a reflector does; WATCHING begins when the server has accepted the watch."""

    LISTING = "listing"
    OPENING = "opening"
    WATCHING = "watching"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Status:
    """A change of phase; ``error`` and ``delay`` (seconds) are those of WAITING."""

    phase: Phase
    error: KubeError | None = None
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Timing:
    """All in seconds.

    Attributes:
        watch: range of the timeout of a watch, drawn at random so that the watches of many clients
            do not end together.
        idle: time without data after which a watch counts as lost; the server sends a bookmark
            about every minute. Of a server that never sent one, the watch is reopened without
            an error.
        backoff: base and cap of the delays after errors.
        steady: a watch that lasted this long resets the backoff.
    """

    watch: tuple[int, int] = (240, 480)
    idle: float = 200.0
    backoff: tuple[float, float] = (0.5, 30.0)
    steady: float = 10.0


@dataclass(frozen=True, slots=True)
class Scope:
    """The objects that a reflector lists and watches."""

    resource: Resource
    namespace: str | None = None
    label_selector: str | None = None
    metadata_only: bool = False
    page_size: int = 500


class StaleList(KubeError):
    """A consistent list has a lower version than was seen before."""


@dataclass(slots=True)
class Reflector:
    """Keeps one store in sync; the module docstring has the rules.

    Attributes:
        version: from which the next watch starts, None if a list is due.
        last_contact: clock time of the last data from the server, None before the first.
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
    _maybe_restored: bool = False
    """Whether etcd may have been restored since `version` was seen."""
    _stale_lists: int = 0
    _backoff: Backoff = field(init=False)
    _relists: Backoff = field(init=False)
    """Of lists after events that cannot be read; readable events before those do not reset it."""

    def __post_init__(self) -> None:
        base, cap = self.timing.backoff
        self._backoff = Backoff(base=base, cap=cap, rng=self.rng)
        self._relists = Backoff(base=base, cap=cap, rng=self.rng)

    async def run(self) -> NoReturn:
        """List and watch until cancelled; raises only exceptions of handlers and indexers."""
        while True:
            try:
                if self.version is not None and self._maybe_restored:
                    await self._compare_versions()
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
        self._maybe_restored = False
        self._stale_lists = 0

    def _prepared(self, item: JsonObject) -> JsonObject:
        resource = self.scope.resource
        fault = fault_in(item, namespaced=resource.namespaced, versioned=False)
        if fault:
            # Skipped, it would be treated as deleted.
            raise Malformed(f"a list item is not a Kubernetes object: {fault}")
        return self.store.prepared(item)

    def _must_force(self, version: str) -> bool:
        number = parse_version(version)
        if number is None or number >= self.store.highest:
            return False
        self._stale_lists += 1
        if self._stale_lists < _TRIES:
            raise StaleList(
                f"the list of {self.scope.resource.name} is at resourceVersion {number}, "
                f"but {self.store.highest} was seen before"
            )
        return True

    async def _compare_versions(self) -> None:
        """Schedule a list if the server is at a lower version than was seen."""
        scope = self.scope
        # Only the version of the list is needed, so it is limited to the metadata of one object.
        pages = self.client.pages(
            scope.resource, namespace=scope.namespace, limit=1, metadata_only=True
        )
        async with aclosing(pages):
            version = (await anext(pages)).resource_version
        self.last_contact = self.clock()
        self._maybe_restored = False
        self._relist_if_earlier(version)

    def _relist_if_earlier(self, version: str) -> None:
        number = parse_version(version)
        if number is None or number >= self.store.highest:
            return
        log.warning(
            "listing %s again: the API server is at resourceVersion %s, but %s was seen before; "
            "etcd may have been restored from a backup",
            self.scope.resource.name,
            number,
            self.store.highest,
        )
        self.version = None
        # The delay grew while the server was down; the list should not wait for it.
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
            self._maybe_restored = True
            if self._bookmarks or not idled:
                self._steady_after(started)
                raise
        else:
            self._maybe_restored = self.clock() - started < seconds - _EARLY
        if not self._steady_after(started) and silent:
            # The server accepts watches and ends them at once: back off.
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
            on_open=lambda: self.on_status(Status(Phase.WATCHING)),
        )

    def _take(self, event: WatchEvent) -> None:
        self.last_contact = self.clock()
        version = event.object["metadata"]["resourceVersion"]
        match event.type:
            case "ADDED" | "MODIFIED":
                self.store.put(event.object)
            case "DELETED":
                self.store.remove(event.object)
            case "BOOKMARK":
                self._bookmarks = True
                self.version = version
                # A server whose etcd was restored counts from an older version.
                self._relist_if_earlier(version)
                self.store.reach(parse_version(version))
                return
        self.version = version

    def _steady_after(self, started: float) -> bool:
        """Reset the backoff if a watch lasted long enough; return whether it did."""
        lasted = self.clock() - started >= self.timing.steady
        if lasted:
            self._backoff.reset()
            self._relists.reset()
        return lasted

    async def _wait_after(self, error: KubeError) -> None:
        backoff = self._backoff
        if isinstance(error, Malformed):
            log.warning("listing %s again: %s", self.scope.resource.name, error)
            self.version, backoff = None, self._relists
        elif isinstance(error, ApiError) and _is_about_version(error):
            self.version = None
        elif isinstance(error, ServerError):
            # Also what a load balancer answers while no API server is up.
            self._maybe_restored = True
        delay = backoff.next(error)
        self.on_status(Status(Phase.WAITING, error, delay))
        await self.sleep(delay)


def _is_about_version(error: ApiError) -> bool:
    """Return whether a watch was rejected because of its resourceVersion.

    Of the parameters of a watch only that one varies, so a 400 or 422 counts, too.
    """
    if isinstance(error, Gone | BadRequest | Invalid) or error.version_too_large:
        return True
    # Kubernetes 1.36 answers 500 with this text to a version that it cannot read.
    return error.message.startswith("resourceVersion: Invalid value")
