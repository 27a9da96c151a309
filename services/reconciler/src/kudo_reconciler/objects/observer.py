"""The applied objects as they are now, by watch where that is allowed.

One informer a kind, on everything that carries `heritage=kudo`. `cached_objects` says what is kept
of an object; of deleted ones, how Jobs ended and nothing else. A kind that may not be watched is
read when it is asked for, and so is one whose first list has not come in yet; the caller learns
that and comes back after a while.
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
from kudo import names
from kudo.api import JsonObject
from kudo.health import needs_body
from kudo.objects.sharing import sharers
from kudo_reconciler.clock import loop_seconds
from kudo_reconciler.keys import Key
from kudo_reconciler.objects.cached_objects import only_shares_differ, reduced
from kudo_reconciler.objects.refusals import told
from kudo_reconciler.store.own_writes import OwnWrites

log = logging.getLogger(__name__)

_SELECTOR = f"{names.LABEL_HERITAGE}={names.HERITAGE}"
_BY_INSTANCE = "instance"
_REMEMBERED = 2000
_JOB = ("batch", "Job")
_QUOTED = 200
"""Characters of what the API server says of a kind that it does not let us watch."""

_Kind = tuple[str, str]
_WriteKey = tuple[_Kind, str, str, Key]


class Observer:
    """Knows the applied objects of each kind.

    Args:
        client: What watches; objects are read with the client of who asks for them.
        group: Where informers run; they end with it.
        changed: Called with the Instance whose object changed.
        timing: Of the watches.
        on_status: Told of each change of phase of a watch.
        on_watched: Told of a kind whose first list has come in, also where that came late.
        sync_timeout: Seconds that the first callers of `watch` wait for the first list of a kind.
        refusal_ttl: Seconds after which a kind that was refused is asked for anew.
        rng: Source of jitter.
    """

    def __init__(
        self,
        client: Client,
        group: asyncio.TaskGroup,
        changed: Callable[[Key], None],
        timing: Timing,
        on_status: Callable[[Resource, Status], None] | None = None,
        on_watched: Callable[[Resource], None] | None = None,
        sync_timeout: float = 1.0,
        refusal_ttl: float = 30.0,
        rng: random.Random | None = None,
    ) -> None:
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

    async def watch(self, resource: Resource) -> bool:
        """Watch a kind; return False if it is not watched now, so that it must be read.

        Waits for the first list until `sync_timeout` after the first call for a kind, and not at
        all later on. Beside its callers a list that failed is tried again with backoff; one that
        was refused is tried again by who asks after `refusal_ttl`.
        """
        if self.watched(resource):
            return True
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
        """Watch kinds, all at once: each that does not answer takes its time."""
        missing = dict.fromkeys(kind for kind in kinds if not self.watched(kind))
        await asyncio.gather(*map(self.watch, missing))

    async def keep_watching(self, kinds: Sequence[Resource]) -> NoReturn:
        """Ask anew for kinds that are refused, until cancelled: an idle Instance never does."""
        while True:
            await asyncio.sleep(self._refusal_ttl)
            await self.watch_all(kinds)

    def why_unwatched(self, resource: Resource) -> str:
        """Return why a kind is read again and again, for people; empty if it is watched."""
        informer, refusal = self._find(resource), self._refusal(resource)
        if informer is None and refusal is not None:
            return f"{_why_refused(refusal, resource)}: polled"
        error = None if informer is None else informer.error
        if informer is not None and informer.has_synced:
            why = "" if error is None else _said(error, resource)
            return f"the watch of {resource.name} is interrupted ({why}): polled" if why else ""
        if error is None:
            return f"{resource.name} are not watched yet (no answer yet): polled"
        return f"{resource.name} cannot be watched now ({_said(error, resource)}): polled"

    def is_late(self, resource: Resource) -> bool:
        """Return whether the first list of a kind is under way and nothing speaks against it."""
        informer = self._find(resource)
        return informer is not None and not informer.has_synced and informer.error is None

    def close(self) -> None:
        """End all watches."""
        for informer in self._informers.running():
            self._informers.stop(informer.resource)

    def informers(self) -> list[Informer]:
        """Return what watches; any thread may ask."""
        return [one for one in self._informers.running() if one.has_synced]

    def watched(self, resource: Resource) -> bool:
        return self._informer(resource) is not None

    def _informer(self, resource: Resource) -> Informer | None:
        """Return what watches a kind, as long as it may: its CRD or the right can be taken away."""
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
            why = _said(status.error, resource)
            log.warning("kind is not watched yet", extra={**fields, "why": why})

    async def current(
        self, resource: Resource, namespace: str | None, name: str, *, client: Client
    ) -> JsonObject | None:
        """Return the object as it is now, or None if there is none.

        From the cache it is what `cached_objects.reduced` keeps. What the cache lacks is asked for:
        it may have lost the label that we watch by.

        Raises:
            KubeError: it could not be read.
        """
        informer = self._informer(resource)
        found = None if informer is None else informer.get(namespace, name)
        if found is not None:
            return found
        return await self.body(resource, namespace, name, client=client)

    async def body(
        self, resource: Resource, namespace: str | None, name: str, *, client: Client
    ) -> JsonObject | None:
        """Read the whole object from the API server, and bring the cache up to date.

        Args:
            resource: Its kind.
            namespace: Its namespace; None if it is cluster-scoped.
            name: Its name.
            client: Reads as whom the task acts, who must have the right to.

        Returns:
            None if there is none.

        Raises:
            KubeError: it could not be read.
        """
        try:
            live = await client.get(resource, name, namespace=namespace)
        except NotFound:
            informer = self._informer(resource)
            if informer is not None:
                informer.observe_gone(namespace, name)
            return None
        self.read(resource, live)
        return live

    def sees(self, resource: Resource, namespace: str | None, name: str, by: Key) -> bool:
        """Return whether a change of this object would wake this Instance at once.

        It would not where the object does not name the Instance: a cluster-scoped object that KUDO
        0.19 left has the label that we watch by, and no annotation of who shares it.
        """
        informer = self._informer(resource)
        # A watch that cannot be opened is retried with delays that grow.
        if informer is None or informer.error is not None:
            return False
        found = informer.get(namespace, name)
        return found is not None and str(by) in _instance_of(found)

    def lacks(self, resource: Resource, namespace: str | None, name: str) -> bool:
        """Return whether a kind is watched and no such object was seen.

        There may be one without the label that we watch by, or one whose event is still to come.
        """
        informer = self._informer(resource)
        return informer is not None and informer.get(namespace, name) is None

    def last_state(self, uid: str) -> JsonObject | None:
        """Return how a Job ended that was deleted lately, if it was watched."""
        return self._gone.get(uid)

    def read(self, resource: Resource, obj: JsonObject) -> None:
        """Take in what the API server says of an object; whoever it concerns is woken.

        Also the Instance that asked: one step read it, and another may wait for the same object by
        events that are old from now on. It costs a reconcile only where the watch was behind.
        """
        informer = self._informer(resource)
        if informer is not None:
            informer.observe(obj)

    def gone(self, resource: Resource, obj: JsonObject) -> None:
        """Take note that an object is gone, but not one that was made anew under its name."""
        informer, metadata = self._informer(resource), obj["metadata"]
        if informer is None:
            return
        namespace, name = metadata.get("namespace"), metadata["name"]
        known = informer.get(namespace, name)
        if known is not None and known["metadata"]["uid"] == metadata["uid"]:
            informer.observe_gone(namespace, name)

    @contextmanager
    def writing(
        self, resource: Resource, namespace: str | None, name: str, by: Key
    ) -> Iterator["ObjectWrite"]:
        """Write an object for an Instance, which is not woken by what it did itself.

        Others that share the object are woken at once, and so is the author, once the write has
        ended, by what others did meanwhile.
        """
        informer = self._informer(resource)
        before = None if informer is None else informer.get(namespace, name)
        write = ObjectWrite(self, resource, (_kind(resource), namespace or "", name, by), before)
        with self.own.writing(write.key):
            yield write

    def of_instance(self, resource: Resource, key: Key) -> list[JsonObject]:
        """Return the watched objects of a kind that belong to an Instance."""
        informer = self._informer(resource)
        return [] if informer is None else informer.by_index(_BY_INSTANCE, str(key))

    def shared(self, namespace: str, name: str) -> list[tuple[Resource, JsonObject]]:
        """Return the watched cluster-scoped objects that an Instance of this name shares."""
        return [
            (informer.resource, obj)
            for informer in self.informers()
            if not informer.resource.namespaced
            for obj in informer.list()
            if any((s.namespace, s.name) == (namespace, name) for s in sharers(obj["metadata"]))
        ]

    def _on_change(self, resource: Resource, delta: Delta) -> None:
        if delta.kind == "deleted" and (resource.group, resource.kind) == _JOB:
            self._gone[delta.object["metadata"]["uid"]] = delta.object
            if len(self._gone) > _REMEMBERED:
                self._gone.popitem(last=False)
        for one in _concerned(delta):
            namespace, _, name = one.partition("/")
            key = Key(namespace, name)
            self.own.changed((_kind(resource), *store_key(delta.object), key), delta)


@dataclass(frozen=True, slots=True)
class ObjectWrite:
    """A write to an object that is on the way.

    Attributes:
        key: What is written, and for which Instance.
        before: The object as the cache had it when the write began.
    """

    observer: Observer
    resource: Resource
    key: _WriteKey
    before: JsonObject | None

    def answered(self, answer: JsonObject, *, after: JsonObject | None) -> None:
        """Take in the answer.

        Args:
            answer: The object as it is now.
            after: The object whose resourceVersion the write tested; None if it created one.
        """
        if self._is_own(after):
            self.observer.own.answered(self.key, answer)
        self.observer.read(self.resource, answer)

    def deleted(self, obj: JsonObject, answer: JsonObject) -> None:
        """Take in the answer to a deletion that tested the uid and resourceVersion of an object.

        Args:
            obj: The object as it was seen.
            answer: The object, if finalizers hold it; else a Status.
        """
        uid = obj["metadata"]["uid"]
        if "uid" in answer.get("metadata", {}):
            self.answered(answer, after=obj)
            return
        self.observer.own.deleted(self.key, uid)
        self.observer.gone(self.resource, obj)

    def _is_own(self, after: JsonObject | None) -> bool:
        """Return whether the answer brings nothing but what was written.

        A write that tested a resourceVersion changed exactly that state; had the cache an older
        one, then the answer brings what came between, and the events of that are old from now on.
        A write that created the object brings nothing else, unless the cache had another one.
        """
        if after is None:
            return self.before is None
        return self.before is not None and _version(self.before) == _version(after)


def _version(obj: JsonObject) -> tuple[str | None, str | None]:
    metadata = obj["metadata"]
    return metadata.get("uid"), metadata.get("resourceVersion")


def _metadata_only(resource: Resource) -> bool:
    return not needs_body(resource.api_version, resource.kind)


def _why_refused(refusal: KubeError, resource: Resource) -> str:
    """Return what keeps a kind from being watched until somebody does something about it."""
    name, said = resource.name, _said(refusal, resource)
    match refusal:
        case Forbidden():
            right = f"give the reconciler the right to list and watch {name} in all namespaces"
            return f"{name} may not be watched ({said}); {right}"
        case NotFound():
            return f"{name} cannot be watched: the API server does not serve them ({said})"
        case _:
            return f"{name} cannot be watched: the API server has no list or watch of them ({said})"


def _said(error: KubeError, resource: Resource) -> str:
    """Return what may be said of an error, cut to what a message has room for."""
    text = told(error, resource) if isinstance(error, ApiError | ConnectionLost) else str(error)
    return text if len(text) <= _QUOTED else f"{text[: _QUOTED - 4]} ..."


def _kind(resource: Resource) -> _Kind:
    """Return what a kind is watched as, wherever the resource comes from."""
    return resource.api_version, resource.plural


def _concerned(delta: Delta) -> set[str]:
    """Return the Instances that a change concerns, as `namespace/name`.

    An object that moved to another Instance concerns both. Of a cluster-scoped object that has
    another sharer and is as it was, only that one: hundreds may share it.
    """
    after = set(_instance_of(delta.object))
    if delta.old is None:
        return after
    before = set(_instance_of(delta.old))
    cluster_scoped = not delta.object["metadata"].get("namespace")
    if cluster_scoped and delta.kind == "updated" and only_shares_differ(delta.old, delta.object):
        return before ^ after
    return before | after


def _instance_of(obj: JsonObject) -> list[str]:
    """Return the Instances that an object belongs to, as `namespace/name`."""
    metadata = obj["metadata"]
    namespace = metadata.get("namespace")
    if not namespace:
        return [str(one) for one in sharers(metadata)]
    name = (metadata.get("labels") or {}).get(names.LABEL_INSTANCE)
    return [f"{namespace}/{name}"] if name else []
