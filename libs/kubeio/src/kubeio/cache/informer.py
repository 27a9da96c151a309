"""A local, always current copy of the objects of one kind, with indexes and change handlers.

Readers never wait: ``get``, ``list`` and ``by_index`` answer from memory. ``observe`` puts the
answers to own writes in, so that a reconciler never acts on a state older than its own last
write. Objects are shared by all readers and must not be changed (``types.copy_json``).
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping

from kubeio.cache.reflector import Phase, Reflector, Scope, Status, Timing
from kubeio.cache.selector import label_matcher
from kubeio.cache.store import Delta, Indexer, Objects, Store
from kubeio.client import Client
from kubeio.errors import (
    ConnectionLost,
    Forbidden,
    KubeError,
    MethodNotAllowed,
    NotFound,
)
from kubeio.resource import Resource
from kubeio.types import JsonObject, Transform

Handler = Callable[[Delta], None]

REFUSALS = (Forbidden, NotFound, MethodNotAllowed)
"""Errors of a list that will not go away by waiting a little."""


class Informer:
    """Watches one kind in one namespace, or in all.

    Args:
        client: used for lists and watches.
        resource: the kind.
        namespace: None for all.
        label_selector: what the API server selects by.
        indexers: name → function giving the keys under which ``by_index`` finds an object.
        metadata_only: ask for, and keep, no more than the metadata.
        transform: shrinks objects before they are stored.
        page_size: objects per page of a list.
        on_status: told of every change of phase, for metrics and logs.
        timing: of lists and watches, such as the silence after which a watch counts as dead.
        clock, rng, sleep: for tests.
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
        """Keep the copy current until cancelled.

        Errors of the API never end it; what a handler or an indexer raises does, since the copy
        could no longer be trusted.
        """
        await self._reflector.run()

    async def wait_synced(self, timeout: float | None = None, *, fail_fast: bool = False) -> None:
        """Wait until the first list is in, and the API server has accepted the watch after it.

        Args:
            timeout: seconds, None for no limit.
            fail_fast: raise the first Forbidden, NotFound or MethodNotAllowed at once.

        Raises:
            KubeError: the last error, if it did not sync in time; ConnectionLost if there was
                none.
        """
        try:
            async with asyncio.timeout(timeout):
                while not self.has_synced:
                    if fail_fast and isinstance(self.error, REFUSALS):
                        raise self.error
                    await self._changed.wait()
        except TimeoutError:
            text = f"the cache of {self.resource.name} did not fill within {timeout} s"
            raise self.error or ConnectionLost(text, timeout=True) from None

    @property
    def last_contact(self) -> float | None:
        """Clock time of the last event, bookmark or list page, None before the first.

        The API server sends a bookmark about every minute, so minutes of silence mean that
        the copy may be behind.
        """
        return self._reflector.last_contact

    def add_handler(self, handler: Handler) -> None:
        """Call ``handler`` with every change from now on, and at once with what is there.

        Handlers run in the order in which they were added, inside the loop that reads the
        stream: they put a key into a queue, and no more. They must not raise.
        """
        self._handlers.append(handler)
        for obj in tuple(self._store.objects.values()):
            handler(Delta("added", obj, None))

    def get(self, namespace: str | None, name: str) -> JsonObject | None:
        """Return an object, None if there is none; the namespace is None for cluster scope."""
        return self._store.objects.get((namespace or "", name))

    def list(self) -> Objects:
        """Return all objects."""
        return [*self._store.objects.values()]

    def by_index(self, index: str, key: str) -> Objects:
        """Return the objects for which the indexer gave this key.

        Raises:
            KeyError: there is no such index.
        """
        return self._store.by_index(index, key)

    def __len__(self) -> int:
        return len(self._store.objects)

    def observe(self, obj: JsonObject) -> bool:
        """Take the answer to an own write, if it is ahead of the stream; True if it was.

        Objects outside this informer's namespace or selector are left alone.
        """
        return self._in_scope(obj) and self._store.observe(obj)

    def observe_gone(self, namespace: str | None, name: str) -> bool:
        """Take note that a consistent read found no such object. True if that was news."""
        known = self.get(namespace, name)
        return known is not None and self._store.observe_deleted(known)

    def _in_scope(self, obj: JsonObject) -> bool:
        metadata = obj["metadata"]
        if self.namespace is not None and metadata.get("namespace") != self.namespace:
            return False
        return self._selects(metadata.get("labels") or {})

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
    # A server without this representation sends whole objects.
    def shrink(obj: JsonObject) -> JsonObject:
        small = {key: obj[key] for key in ("apiVersion", "kind", "metadata")}
        return small if transform is None else transform(small)

    return shrink
