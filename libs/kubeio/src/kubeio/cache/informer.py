"""Informer: a cache of the objects of one kind, kept current by a watch, with indexes and handlers.

Reads (``get``, ``list``, ``by_index``) are served from memory. ``observe`` adds the answers to the
caller's own writes, so a reconciler never acts on a state older than its last write; those come
unselected, so the label selector is evaluated here as well. All readers share the objects and must
not change them (``types.copy_json``).
"""

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Callable, KeysView, Mapping

from kubeio.cache.reflector import Phase, Reflector, Scope, Status, Timing
from kubeio.cache.store import Delta, Indexer, Key, Objects, Store
from kubeio.client import Client
from kubeio.errors import ConnectionLost, Forbidden, KubeError, MethodNotAllowed, NotFound
from kubeio.resource import Resource
from kubeio.types import JsonObject, Transform

_Labels = Mapping[str, str]
_SET = re.compile(r"^(\S+)\s+(in|notin)\s*\((.*)\)$")
_EQUALITY = re.compile(r"^([^!=\s]+)\s*(==|=|!=)\s*(\S*)$")
_COMMA = re.compile(r",(?![^(]*\))")


def label_matcher(selector: str | None) -> Callable[[_Labels], bool]:
    """Return a predicate over labels for a selector in the syntax of the API; None matches all.

    Raises:
        ValueError: a requirement cannot be parsed.
    """
    parts = [part.strip() for part in _COMMA.split(selector or "") if part.strip()]
    requirements = [_requirement(part) for part in parts]
    return lambda labels: all(holds(labels) for holds in requirements)


def _requirement(text: str) -> Callable[[_Labels], bool]:
    if match := _SET.match(text):
        return _in_set(match[1], match[3], negated=match[2] == "notin")
    if match := _EQUALITY.match(text):
        return _in_set(match[1], match[3], negated=match[2] == "!=")
    key = text.removeprefix("!").strip()
    if not key or re.search(r"[\s=!()]", key):
        raise ValueError(f"cannot parse the label selector requirement {text!r}")
    negated = text.startswith("!")
    return lambda labels: (key in labels) is not negated


def _in_set(key: str, listed: str, *, negated: bool) -> Callable[[_Labels], bool]:
    values = {value.strip() for value in listed.split(",")}
    if negated:
        return lambda labels: key not in labels or labels[key] not in values
    return lambda labels: key in labels and labels[key] in values


Handler = Callable[[Delta], None]

REFUSALS = (Forbidden, NotFound, MethodNotAllowed)
"""Errors of a list that a retry in a moment will not cure."""


class Informer:
    """Watches one kind in one namespace, or in all.

    Args:
        namespace: None for all namespaces.
        indexers: name → function that returns the keys of an object for ``by_index``.
        metadata_only: request and store only the metadata.
        transform: applied to objects before they are stored, to make them smaller.
        on_status: called at every change of phase, for metrics and logs.
        clock, rng, sleep: replaced in tests.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        indexers: Mapping[str, Indexer] | None = None,
        metadata_only: bool = False,
        transform: Transform | None = None,
        page_size: int = 500,
        on_status: Callable[[Status], None] | None = None,
        timing: Timing | None = None,
        clock: Callable[[], float] = time.monotonic,
        rng: random.Random | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.resource = resource
        self.namespace = namespace
        self.label_selector = label_selector
        self.has_synced = False
        self.error: KubeError | None = None
        self._on_status = on_status
        self._selects = label_matcher(label_selector)
        self._handlers: list[Handler] = []
        self._changed = asyncio.Event()
        self._store = Store(
            self._notify,
            indexers=indexers,
            transform=_metadata_and(transform) if metadata_only else transform,
        )
        self._reflector = Reflector(
            client,
            Scope(resource, namespace, label_selector, metadata_only, page_size),
            self._store,
            self._take_status,
            timing=timing or Timing(),
            clock=clock,
            rng=rng or random.Random(),  # noqa: S311 - jitter
            sleep=sleep,
        )

    async def run(self) -> None:
        """List and watch until cancelled.

        Errors of the API do not end it. An exception of a handler or an indexer does, since the
        cache may then be inconsistent.
        """
        await self._reflector.run()

    async def wait_synced(self, timeout: float | None = None, *, fail_fast: bool = False) -> None:
        """Wait until the first list is stored and the API server has accepted the watch after it.

        Args:
            timeout: seconds, None for no limit.
            fail_fast: raise the first Forbidden, NotFound or MethodNotAllowed at once.

        Raises:
            KubeError: the last error if the cache did not sync in time, ConnectionLost if there
                was none.
        """
        try:
            async with asyncio.timeout(timeout):
                while not self.has_synced:
                    if fail_fast and isinstance(self.error, REFUSALS):
                        raise self.error
                    await self._changed.wait()
        except TimeoutError:
            text = f"the cache of {self.resource.name} did not sync within {timeout} s"
            raise self.error or ConnectionLost(text, timeout=True) from None

    @property
    def last_contact(self) -> float | None:
        """Clock time of the last event, bookmark or list page, None before the first one.

        The API server sends a bookmark about every minute: after several minutes without one the
        cache may be stale.
        """
        return self._reflector.last_contact

    def add_handler(self, handler: Handler) -> None:
        """Call ``handler`` with every object in the cache now, and with every later change.

        Handlers run in the order in which they were added, in the task that reads the watch: they
        should only put a key into a queue. They must not raise.
        """
        self._handlers.append(handler)
        for obj in tuple(self._store.objects.values()):
            handler(Delta("added", obj, None))

    @property
    def version(self) -> int:
        """The resourceVersion that the watch has reached, 0 before the first list.

        Every change of the kind up to it is in the cache.
        """
        return self._store.highest

    def get(self, namespace: str | None, name: str) -> JsonObject | None:
        """Return an object or None; the namespace is None for a cluster-scoped kind."""
        return self._store.objects.get((namespace or "", name))

    def list(self) -> Objects:
        """Return all objects."""
        return [*self._store.objects.values()]

    def by_index(self, index: str, key: str) -> Objects:
        """Return the objects for which the indexer returned this key.

        Raises:
            KeyError: the index does not exist.
        """
        return self._store.by_index(index, key)

    def keys_by_index(self, index: str, key: str) -> KeysView[Key]:
        """Return (namespace, name) of the objects for which the indexer returned this key.

        It is a view: whoever needs only some, or whether one is among them, does not pay for all.
        It must not be iterated across an await.

        Raises:
            KeyError: the index does not exist.
        """
        return self._store.keys_by_index(index, key)

    def __len__(self) -> int:
        return len(self._store.objects)

    def observe(self, obj: JsonObject) -> bool:
        """Store the answer to an own write if it is newer than the cache; return whether it was.

        Ignores objects outside the informer's namespace or selector.
        """
        metadata = obj["metadata"]
        if self.namespace is not None and metadata.get("namespace") != self.namespace:
            return False
        return self._selects(metadata.get("labels") or {}) and self._store.observe(obj)

    def observe_gone(self, namespace: str | None, name: str) -> bool:
        """Remove an object that a consistent read did not find; return whether it was cached."""
        cached = self.get(namespace, name)
        return cached is not None and self._store.observe_deleted(cached)

    def _notify(self, delta: Delta) -> None:
        for handler in self._handlers:
            handler(delta)

    def _take_status(self, status: Status) -> None:
        if status.phase is Phase.WATCHING:
            self.has_synced = True
            self.error = None
        elif status.error is not None:
            self.error = status.error
        if self._on_status is not None:
            self._on_status(status)
        waiters, self._changed = self._changed, asyncio.Event()
        waiters.set()


def _metadata_and(transform: Transform | None) -> Transform:
    # A server without PartialObjectMetadata sends whole objects.
    def shrink(obj: JsonObject) -> JsonObject:
        small = {key: obj[key] for key in ("apiVersion", "kind", "metadata")}
        return small if transform is None else transform(small)

    return shrink
