"""The applied objects as they are now, by watch where that is allowed.

One informer a kind, on everything that carries `heritage=kudo`. `cached_objects` says what is kept
of an object; of deleted ones, how Jobs ended and nothing else. A kind that may not be watched is
read when it is asked for; the caller learns that and comes back after a while.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable

from kubeio.client import Client
from kubeio.errors import KubeError, NotFound
from kubeio.informer import REFUSALS, Informer
from kubeio.informers import Informers
from kubeio.reflector import Status, Timing
from kubeio.resource import Resource
from kubeio.store import Change
from kudo import names
from kudo.api import JsonObject
from kudo.health import needs_body
from kudo.sharing import sharers
from kudo_reconciler.keys import Key
from kudo_reconciler.objects.cached_objects import reduced

log = logging.getLogger(__name__)

_SELECTOR = f"{names.LABEL_HERITAGE}={names.HERITAGE}"
_BY_INSTANCE = "instance"
_REMEMBERED = 2000
_JOB = ("batch", "Job")


class Observer:
    """Knows the applied objects of each kind.

    Args:
        client: Access to the API server.
        group: Where informers run; they end with it.
        changed: Called with the Instance whose object changed.
        timing: Of the watches.
        on_status: Told of each change of phase of a watch.
    """

    def __init__(
        self,
        client: Client,
        group: asyncio.TaskGroup,
        changed: Callable[[Key], None],
        timing: Timing,
        on_status: Callable[[Resource, Status], None] | None = None,
    ) -> None:
        self._client = client
        self._changed = changed
        self._informers = Informers(
            client, group, on_change=self._on_change, on_status=on_status, timing=timing
        )
        self._watched: dict[tuple[str, str], Informer] = {}
        self._gone: OrderedDict[str, JsonObject] = OrderedDict()

    async def watch(self, resource: Resource) -> bool:
        """Watch a kind; return False if that is not possible now, so that it must be read."""
        if self.watched(resource):
            return True
        try:
            self._watched[_kind(resource)] = await self._informers.get(
                resource,
                label_selector=_SELECTOR,
                indexers={_BY_INSTANCE: _instance_of},
                transform=reduced,
                metadata_only=not needs_body(resource.api_version, resource.kind),
            )
        except REFUSALS as error:
            log.debug("kind is read, not watched", extra={"kind": resource.kind, "why": str(error)})
        except KubeError as error:
            log.warning("kind is not watched", extra={"kind": resource.kind, "why": str(error)})
        return self.watched(resource)

    def close(self) -> None:
        """End all watches."""
        for informer in self._informers.running():
            self._informers.stop(informer.resource)

    def informers(self) -> list[Informer]:
        """Return what watches, made in one step, so that any thread may ask."""
        return list(self._watched.values())

    def watched(self, resource: Resource) -> bool:
        return self._informer(resource) is not None

    def _informer(self, resource: Resource) -> Informer | None:
        """Return what watches a kind, as long as it may: its CRD or the right can be taken away."""
        informer = self._watched.get(_kind(resource))
        if informer is None or not isinstance(informer.error, REFUSALS):
            return informer
        log.warning("kind is not watched any more", extra={"kind": resource.kind})
        del self._watched[_kind(resource)]
        self._informers.stop(resource)
        return None

    async def current(
        self, resource: Resource, namespace: str | None, name: str
    ) -> JsonObject | None:
        """Return the object as it is now, or None if there is none.

        From the cache it is what `cached_objects.reduced` keeps. What the cache lacks is asked for:
        it may have lost the label that we watch by.

        Raises:
            KubeError: it could not be read.
        """
        informer = self._informer(resource)
        found = None if informer is None else informer.get(namespace, name)
        return await self.body(resource, namespace, name) if found is None else found

    async def body(self, resource: Resource, namespace: str | None, name: str) -> JsonObject | None:
        """Read the whole object from the API server, and bring the cache up to date.

        Returns:
            None if there is none.

        Raises:
            KubeError: it could not be read.
        """
        try:
            live = await self._client.get(resource, name, namespace=namespace)
        except NotFound:
            informer = self._informer(resource)
            if informer is not None:
                informer.observe_gone(namespace, name)
            return None
        self.applied(resource, live)
        return live

    def sees(self, resource: Resource, namespace: str | None, name: str) -> bool:
        """Return whether a change of this object would be noticed."""
        informer = self._informer(resource)
        return informer is not None and informer.get(namespace, name) is not None

    def last_state(self, uid: str) -> JsonObject | None:
        """Return how a Job ended that was deleted lately, if it was watched."""
        return self._gone.get(uid)

    def applied(self, resource: Resource, obj: JsonObject) -> None:
        """Take in the answer to an own write."""
        informer = self._informer(resource)
        if informer is not None:
            informer.observe(obj)

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

    def _on_change(self, resource: Resource, change: Change) -> None:
        if change.kind == "deleted" and (resource.group, resource.kind) == _JOB:
            self._gone[change.object["metadata"]["uid"]] = change.object
            if len(self._gone) > _REMEMBERED:
                self._gone.popitem(last=False)
        # An object that another Instance took over concerns both.
        keys = {*_instance_of(change.object), *(_instance_of(change.old) if change.old else ())}
        for key in keys:
            namespace, _, name = key.partition("/")
            self._changed(Key(namespace, name))


def _kind(resource: Resource) -> tuple[str, str]:
    """Return what a kind is watched as, wherever the resource comes from."""
    return resource.api_version, resource.plural


def _instance_of(obj: JsonObject) -> list[str]:
    """Return the Instances that an object belongs to, as `namespace/name`."""
    metadata = obj["metadata"]
    namespace = metadata.get("namespace")
    if not namespace:
        return [str(one) for one in sharers(metadata)]
    name = (metadata.get("labels") or {}).get(names.LABEL_INSTANCE)
    return [f"{namespace}/{name}"] if name else []
