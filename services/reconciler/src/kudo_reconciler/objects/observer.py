"""Watches the applied objects, or reads them where watching is not allowed.

One informer per kind, for all objects with the label `heritage=kudo`. See `cached_objects` for the
fields that are kept. Of deleted objects only the final state of Jobs is kept. A kind that may not
be watched is read on request, and so is one whose first list is not complete; callers are told, and
poll.

The caches are read with the reconciler's own rights. So `current` returns an object from them only
if the account that asks may get its kind; else it reads as the account. A read that fails is never
answered from a cache.
"""

import asyncio
import logging
import random
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

from kubeio.cache.informer import REFUSALS, Informer
from kubeio.cache.informers import Informers
from kubeio.cache.reflector import Phase, Status, Timing
from kubeio.cache.store import Delta
from kubeio.cache.store import key_of as store_key
from kubeio.client import Client
from kubeio.errors import ApiError, ConnectionLost, Forbidden, KubeError, NotFound
from kubeio.resource import Resource
from kudo.api import JsonObject, names
from kudo.objects.health import needs_body
from kudo.objects.inventory.record import Place as RecordedPlace
from kudo.objects.sharing import lists_all, sharers
from kudo_reconciler.common.clock import loop_seconds
from kudo_reconciler.common.errors import error_text
from kudo_reconciler.common.keys import Key
from kudo_reconciler.objects.cached_objects import only_shares_differ, reduced
from kudo_reconciler.objects.run_context import place_of
from kudo_reconciler.objects.sharers import Spread
from kudo_reconciler.store.freshness import OwnWrites
from kudo_reconciler.store.inventories import InventoryStore
from kudo_reconciler.tenancy.access import AccessReviews

log = logging.getLogger(__name__)

_SELECTOR = f"{names.LABEL_HERITAGE}={names.HERITAGE}"
_BY_INSTANCE = "instance"
_REMEMBERED = 2000
_JOB = ("batch", "Job")
_QUOTED = 200
"""Characters of an API server's message that are quoted for a kind that cannot be watched."""

ObjectVersion = tuple[str | None, str | None]
"""uid and resourceVersion of an object; few kinds have none, such as those of metrics."""
_Kind = tuple[str, str]
_WriteKey = tuple[_Kind, str, str, Key]


class Observer:
    """Informers of the applied objects, one for each kind.

    Args:
        client: Watches; objects are read with the client that the caller passes.
        group: Runs the informers; they end with it.
        changed: Called with the Instance whose object changed.
        timing: Of the watches.
        reviews: Tell who may read what is in the caches.
        may_watch: Whether a kind may be watched by the rules of the installation; all others are
            never requested with the reconciler's rights.
        on_status: Called at each change of phase of a watch.
        on_watched: Called with a kind whose first list is complete, also if it was late.
        sync_timeout: Seconds that the first callers of `watch` wait for the first list of a kind.
        refusal_ttl: Seconds after which a kind that was refused is tried again.
        rng: Source of jitter.
        inventories: Tell who shares an object if its annotation does not list all; None if nobody
            has a record.
    """

    def __init__(
        self,
        client: Client,
        group: asyncio.TaskGroup,
        changed: Callable[[Key], None],
        timing: Timing,
        reviews: AccessReviews | None = None,
        may_watch: Callable[[Resource], bool] = lambda _: True,
        on_status: Callable[[Resource, Status], None] | None = None,
        on_watched: Callable[[Resource], None] | None = None,
        sync_timeout: float = 1.0,
        refusal_ttl: float = 30.0,
        rng: random.Random | None = None,
        inventories: InventoryStore | None = None,
    ) -> None:
        self.reviews = AccessReviews(loop_seconds) if reviews is None else reviews
        self.may_watch = may_watch
        self._on_status = on_status
        self._on_watched = on_watched
        self._refusal_ttl = refusal_ttl
        self._informers = Informers(
            client,
            group,
            on_change=self._on_change,
            on_status=self._status,
            sync_timeout=sync_timeout,
            refusal_ttl=refusal_ttl,
            timing=timing,
            clock=loop_seconds,
            rng=rng,
        )
        self._synced: set[_Kind] = set()
        self._gone: OrderedDict[str, JsonObject] = OrderedDict()
        self.own: OwnWrites[_WriteKey] = OwnWrites(lambda key, _: changed(key[-1]))
        self._inventories = inventories
        self._spread = None
        if inventories is not None:
            self._spread = Spread(group, inventories.each_sharer, changed)

    async def watch(self, resource: Resource) -> bool:
        """Watch a kind; return False if it is not watched now and must be read.

        Waits for the first list until `sync_timeout` after the first call for a kind, and not at
        all later on. A list that failed is retried with backoff, independently of the callers; one
        that was refused is retried by the first call after `refusal_ttl`.
        """
        if self.watched(resource):
            return True
        if not self.may_watch(resource):
            return False
        try:
            await self._informers.get(
                resource,
                label_selector=_SELECTOR,
                indexers={_BY_INSTANCE: _instance_of},
                transform=reduced,
                metadata_only=_metadata_only(resource),
            )
        except REFUSALS as error:
            log.debug("kind is read, not watched", extra={"kind": resource.kind, "why": str(error)})
        return self.watched(resource)

    async def watch_all(self, kinds: Iterable[Resource]) -> None:
        """Watch kinds concurrently: each that does not answer takes until its timeout."""
        missing = [kind for kind in dict.fromkeys(kinds) if not self.watched(kind)]
        await asyncio.gather(*map(self.watch, missing))

    async def keep_watching(self, kinds: Sequence[Resource]) -> NoReturn:
        """Retry kinds that are refused, until cancelled: an idle Instance never does."""
        while True:
            await asyncio.sleep(self._refusal_ttl)
            await self.watch_all(kinds)

    def why_unwatched(self, resource: Resource) -> str:
        """Return a message with the reason why a kind is polled; empty if it is watched."""
        if not self.may_watch(resource):
            return f"{resource.name} are not among the kinds that are watched: polled"
        informer, refusal = self._find(resource), self._refusal(resource)
        if informer is None and refusal is not None:
            return f"{_refusal_text(refusal, resource)}: polled"
        error = None if informer is None else informer.error
        if informer is not None and informer.has_synced:
            why = "" if error is None else _short_text(error, resource)
            return f"the watch of {resource.name} is interrupted ({why}): polled" if why else ""
        if error is None:
            return f"{resource.name} are not watched yet (no answer yet): polled"
        return f"{resource.name} cannot be watched now ({_short_text(error, resource)}): polled"

    def is_late(self, resource: Resource) -> bool:
        """Return whether the first list of a kind is in progress and has not failed."""
        informer = self._find(resource)
        return informer is not None and not informer.has_synced and informer.error is None

    def close(self) -> None:
        """End all watches."""
        for informer in self._informers.running():
            self._informers.stop(informer.resource)
        if self._spread is not None:
            self._spread.close()

    def informers(self) -> list[Informer]:
        """Return the informers that have synced; may be called from any thread."""
        return [informer for informer in self._informers.running() if informer.has_synced]

    def watched(self, resource: Resource) -> bool:
        return self._informer(resource) is not None

    def _informer(self, resource: Resource) -> Informer | None:
        """Return the informer of a kind; None if it has none, such as after its CRD was deleted."""
        informer = self._find(resource)
        return informer if informer is not None and informer.has_synced else None

    def _find(self, resource: Resource) -> Informer | None:
        informer = self._informers.find(
            resource, label_selector=_SELECTOR, metadata_only=_metadata_only(resource)
        )
        if informer is None and _kind(resource) in self._synced:
            self._synced.discard(_kind(resource))
            log.warning("kind is not watched any more", extra={"kind": resource.kind})
        return informer

    def _refusal(self, resource: Resource) -> KubeError | None:
        return self._informers.refusal(
            resource, label_selector=_SELECTOR, metadata_only=_metadata_only(resource)
        )

    def _status(self, resource: Resource, status: Status) -> None:
        if self._on_status is not None:
            self._on_status(resource, status)
        if _kind(resource) in self._synced:
            return
        if status.phase is Phase.WATCHING:
            self._synced.add(_kind(resource))
            if self._on_watched is not None:
                self._on_watched(resource)
        elif status.error is not None and not isinstance(status.error, REFUSALS):
            fields = {"kind": resource.kind, "retry_seconds": status.delay}
            why = _short_text(status.error, resource)
            log.warning("kind is not watched yet", extra={**fields, "why": why})

    async def current(
        self, resource: Resource, namespace: str | None, name: str, *, client: Client
    ) -> JsonObject | None:
        """Return the object as it is now, or None if there is none.

        From the cache it is what `cached_objects.reduced` keeps, and only if the identity of the
        client may get it. An object that the cache lacks is read live: it may have lost the label
        that the watch selects.

        Raises:
            KubeError: it could not be read.
        """
        if self._cached(resource, namespace, name) is not None and await self.may_tell(
            resource, namespace, client=client
        ):
            # Again: it may have changed during the review.
            cached = self._cached(resource, namespace, name)
            if cached is not None:
                return cached
        return await self.body(resource, namespace, name, client=client)

    async def may_tell(self, resource: Resource, namespace: str | None, *, client: Client) -> bool:
        """Return whether the identity of a client may know what the cache of a kind holds."""
        return await self.reviews.may_get(client, resource, namespace)

    def _cached(self, resource: Resource, namespace: str | None, name: str) -> JsonObject | None:
        informer = self._informer(resource)
        return None if informer is None else informer.get(namespace, name)

    async def body(
        self, resource: Resource, namespace: str | None, name: str, *, client: Client
    ) -> JsonObject | None:
        """Read the whole object from the API server, and update the cache.

        Args:
            resource: Its kind.
            namespace: Its namespace; None if it is cluster-scoped.
            name: Its name.
            client: Reads with the identity that the task acts as, which must have permission.

        Returns:
            None if there is none.

        Raises:
            NotFound: the kind is not served in this version; the object may exist in another one.
            KubeError: it could not be read.
        """
        try:
            live = await client.get(resource, name, namespace=namespace)
        except NotFound as error:
            if not error.names_object:
                raise
            informer = self._informer(resource)
            if informer is not None:
                informer.observe_gone(namespace, name)
            return None
        self.read(resource, live)
        return live

    def sees(self, resource: Resource, namespace: str | None, name: str, by: Key) -> bool:
        """Return whether a change of this object would enqueue this Instance at once.

        It would not if the object does not name the Instance: a cluster-scoped object that KUDO
        0.19 left has the label that the watch selects, and no annotation that lists its sharers.
        """
        informer = self._informer(resource)
        # A watch that cannot be opened is retried with delays that grow.
        if informer is None or informer.error is not None:
            return False
        cached = informer.get(namespace, name)
        if cached is None:
            return False
        if by in _instances_of(cached):
            return True
        if self._inventories is None or resource.namespaced or not _has_unlisted(cached):
            return False
        return self._inventories.is_shared_by_name(*by, place_of(resource, None, name))

    def version_of(
        self, resource: Resource, namespace: str | None, name: str, by: Key
    ) -> ObjectVersion | None:
        """Return the version of an object of which `sees` is true; None of any other one."""
        if not self.sees(resource, namespace, name, by):
            return None
        cached = self._cached(resource, namespace, name)
        return None if cached is None else version_of(cached)

    def versions_of(self, resource: Resource, key: Key) -> frozenset[ObjectVersion] | None:
        """Return the versions of the objects of a kind that belong to an Instance.

        Returns:
            None if their changes would not enqueue the Instance at once.
        """
        informer = self._informer(resource)
        if informer is None or informer.error is not None:
            return None
        return frozenset(map(version_of, informer.by_index(_BY_INSTANCE, str(key))))

    def lacks(self, resource: Resource, namespace: str | None, name: str) -> bool:
        """Return whether a kind is watched and no such object was seen.

        It may exist without the label that the watch selects, or its event may be pending.
        """
        informer = self._informer(resource)
        return informer is not None and informer.get(namespace, name) is None

    def last_state(self, uid: str) -> JsonObject | None:
        """Return the final state of a Job that was deleted recently, if it was watched.

        The caller has looked for the Job before: `current` and `body` fail for who may not get it.
        """
        return self._gone.get(uid)

    def read(self, resource: Resource, obj: JsonObject) -> None:
        """Put an object that was read into the cache; the Instances that it concerns are enqueued.

        Also the Instance that read it: another of its steps may wait for an event of the same
        object, which is dropped as outdated from now on. That costs a reconcile only if the watch
        was behind.
        """
        informer = self._informer(resource)
        if informer is not None:
            informer.observe(obj)

    def gone(self, resource: Resource, obj: JsonObject) -> None:
        """Remove a deleted object from the cache, unless it was created again under its name."""
        informer, metadata = self._informer(resource), obj["metadata"]
        if informer is None:
            return
        namespace, name = metadata.get("namespace"), metadata["name"]
        cached = informer.get(namespace, name)
        if cached is not None and cached["metadata"]["uid"] == metadata["uid"]:
            informer.observe_gone(namespace, name)

    @contextmanager
    def writing(
        self, resource: Resource, namespace: str | None, name: str, by: Key
    ) -> Iterator["ObjectWrite"]:
        """Write an object for an Instance, which is not enqueued for its own change.

        Others that share the object are enqueued at once. The author is enqueued once the write
        has ended if others changed the object meanwhile.
        """
        informer = self._informer(resource)
        before = None if informer is None else informer.get(namespace, name)
        write = ObjectWrite(self, resource, (_kind(resource), namespace or "", name, by), before)
        with self.own.writing(write.key):
            yield write

    def of_instance(self, resource: Resource, key: Key) -> list[JsonObject]:
        """Return the watched objects of a kind that belong to an Instance.

        Nothing of them may be told before the account of the Instance is known to be allowed to get
        them; see `may_tell`.
        """
        informer = self._informer(resource)
        return [] if informer is None else informer.by_index(_BY_INSTANCE, str(key))

    def shared(self, namespace: str, name: str) -> list[tuple[Resource, JsonObject]]:
        """Return the watched cluster-scoped objects that list an Instance of this name."""
        return [
            (informer.resource, obj)
            for informer in self.informers()
            if not informer.resource.namespaced
            for obj in informer.by_index(_BY_INSTANCE, f"{namespace}/{name}")
        ]

    def cluster_scoped(self, place: RecordedPlace) -> list[tuple[Resource, JsonObject]]:
        """Return the watched object of a place, in each version in which its kind is watched."""
        return [
            (informer.resource, obj)
            for informer in self.informers()
            if (informer.resource.group, informer.resource.kind) == (place.group, place.kind)
            and (obj := informer.get(None, place.name)) is not None
        ]

    def _on_change(self, resource: Resource, delta: Delta) -> None:
        if delta.kind == "deleted" and (resource.group, resource.kind) == _JOB:
            self._gone[delta.object["metadata"]["uid"]] = delta.object
            if len(self._gone) > _REMEMBERED:
                self._gone.popitem(last=False)
        concerned, has_unlisted = _concerned(delta)
        written = (_kind(resource), *store_key(delta.object))
        for key in concerned:
            self.own.changed((*written, key), delta)
        if has_unlisted and self._spread is not None:
            # Of those that the annotation does not list, the Instances that are writing the object
            # come first: whether the change is theirs is known only until their write has ended.
            writing = {key[-1] for key in self.own.in_flight() if key[:-1] == written}
            for key in writing - concerned:
                self.own.changed((*written, key), delta)
            place = place_of(resource, None, delta.object["metadata"]["name"])
            self._spread.tell(place, frozenset(writing | concerned))


@dataclass(frozen=True, slots=True)
class ObjectWrite:
    """A write to an object that is in flight.

    Attributes:
        key: The object that is written, and the Instance that writes it.
        before: The cached object when the write began.
    """

    observer: Observer
    resource: Resource
    key: _WriteKey
    before: JsonObject | None

    def answered(self, answer: JsonObject, *, after: JsonObject | None) -> None:
        """Record the answer to the write.

        Args:
            answer: The object as it is now.
            after: The object whose resourceVersion the write tested; None if it created one.
        """
        # Own is an answer that contains no change but that of the write. One that tested a
        # resourceVersion changed exactly that state; if the cache had an older one, the answer
        # contains the changes in between, whose events are outdated from now on. The answer to a
        # creation contains nothing else, unless the cache had an object of that name.
        if after is None:
            is_own = self.before is None
        else:
            is_own = self.before is not None and version_of(self.before) == version_of(after)
        if is_own:
            self.observer.own.answered(self.key, answer)
        self.observer.read(self.resource, answer)

    def deleted(self, obj: JsonObject, answer: JsonObject) -> None:
        """Record the answer to a deletion that tested the uid and resourceVersion of an object.

        Args:
            obj: The object as it was read.
            answer: The object, if finalizers block its deletion; else a Status.
        """
        uid = obj["metadata"]["uid"]
        if "uid" in answer.get("metadata", {}):
            self.answered(answer, after=obj)
            return
        self.observer.own.deleted(self.key, uid)
        self.observer.gone(self.resource, obj)


def version_of(obj: JsonObject) -> ObjectVersion:
    """Return the version of an object, from the cache or from the API server."""
    metadata = obj["metadata"]
    return metadata.get("uid"), metadata.get("resourceVersion")


def _metadata_only(resource: Resource) -> bool:
    return not needs_body(resource.api_version, resource.kind)


def _refusal_text(refusal: KubeError, resource: Resource) -> str:
    """Return why a kind cannot be watched until somebody changes something."""
    name, said = resource.name, _short_text(refusal, resource)
    match refusal:
        case Forbidden():
            grant = f"grant the reconciler permission to list and watch {name} in all namespaces"
            return f"{name} may not be watched ({said}); {grant}"
        case NotFound():
            return f"{name} cannot be watched: the API server does not serve them ({said})"
        case _:
            return f"{name} cannot be watched: the API server cannot list or watch them ({said})"


def _short_text(error: KubeError, resource: Resource) -> str:
    """Return the text of an error without secrets, truncated for a message."""
    text = (
        error_text(error, resource) if isinstance(error, ApiError | ConnectionLost) else str(error)
    )
    return text if len(text) <= _QUOTED else f"{text[: _QUOTED - 4]} ..."


def _kind(resource: Resource) -> _Kind:
    """Return the key of a kind, which does not depend on where the resource comes from."""
    return resource.api_version, resource.plural


def _concerned(delta: Delta) -> tuple[set[Key], bool]:
    """Return the Instances that a change concerns, and whether it concerns sharers not listed.

    An object that moved to another Instance concerns both. If only the sharers of a cluster-scoped
    object changed, it concerns only those added or removed: hundreds may share it.
    """
    after = set(_instances_of(delta.object))
    before = after if delta.old is None else set(_instances_of(delta.old))
    if delta.object["metadata"].get("namespace"):
        return before | after, False
    old = delta.old or delta.object
    if delta.kind == "updated" and only_shares_differ(old, delta.object):
        # Who is taken off a full list for another one shares the object as before.
        whole = lists_all(old["metadata"]) or lists_all(delta.object["metadata"])
        return before ^ after if whole else set(), False
    return before | after, _has_unlisted(delta.object) or _has_unlisted(old)


def _has_unlisted(obj: JsonObject) -> bool:
    """Return whether Instances may share a cluster-scoped object that it does not list."""
    metadata = obj["metadata"]
    return not (sharers(metadata) and lists_all(metadata))


def _instances_of(obj: JsonObject) -> list[Key]:
    """Return the Instances that an object belongs to, or lists as its sharers."""
    metadata = obj["metadata"]
    namespace = metadata.get("namespace")
    if not namespace:
        return [Key(instance.namespace, instance.name) for instance in sharers(metadata)]
    name = (metadata.get("labels") or {}).get(names.LABEL_INSTANCE)
    return [Key(namespace, name)] if name else []


def _instance_of(obj: JsonObject) -> list[str]:
    """Index of the objects by their Instances, as `namespace/name`."""
    return [str(key) for key in _instances_of(obj)]
