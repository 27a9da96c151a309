"""Reads and writes Instances. Every write tests the state that it expects.

* Status writes have the resourceVersion that they were computed from.
* The clear of a run tests its uid, so that a newer run is left alone.
* The answer to each own write goes into the cache at once: no reconcile works on an older object.
* Own writes do not enqueue the Instance. An answer is an own write only if it contains no change of
  anybody else: a write that tested the resourceVersion cannot, and the answer to a clear is
  compared with the state that was cached before.
"""

from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from kubeio import jsonpatch
from kubeio.cache.informer import Informer
from kubeio.cache.store import Delta
from kubeio.client import Client
from kubeio.errors import InvalidPath, NotFound
from kubeio.preconditions import ObjectChanged, unchanged
from kubeio.types import resource_version
from kudo.api import Instance, InstanceStatus, JsonObject, PlanExecution, names, new_run
from kudo.plans.runs.history import with_history
from kudo_reconciler.common.errors import Outdated
from kudo_reconciler.common.keys import INSTANCES, Key, key_of
from kudo_reconciler.store.freshness import Freshness, OwnWrites

_KEPT: Final = 128
"""Number of Instances; those being reconciled are read again and again."""


@dataclass(slots=True)
class ParsedInstances:
    """The most recently used Instances, by the cached object that they were parsed from.

    Not by resourceVersion: after a restore of etcd one may be used a second time.
    """

    _items: OrderedDict[Key, tuple[JsonObject, Instance]] = field(default_factory=OrderedDict)

    def of(self, key: Key, cached: JsonObject) -> Instance:
        """Return the Instance parsed from a cached object."""
        parsed = self._items.get(key)
        if parsed is not None and parsed[0] is cached:
            self._items.move_to_end(key)
            return parsed[1]
        instance = Instance.from_wire(cached)
        self.put(key, cached, instance)
        return instance

    def put(self, key: Key, cached: JsonObject, instance: Instance) -> None:
        """Store an Instance and drop the least recently used one."""
        self._items[key] = cached, instance
        self._items.move_to_end(key)
        if len(self._items) > _KEPT:
            self._items.popitem(last=False)

    def forget(self, key: Key) -> None:
        self._items.pop(key, None)


@dataclass(frozen=True, slots=True)
class InstanceStore:
    """The Instances of the cluster: reads from the cache, writes to the API server.

    Attributes:
        own: Tells own writes from changes that need a reconcile.
        freshness: Decides whether the cached state is fresh enough.
    """

    client: Client
    informer: Informer
    own: OwnWrites[Key]
    freshness: Freshness = field(default_factory=Freshness)
    _parsed: ParsedInstances = field(default_factory=ParsedInstances)

    def changed(self, delta: Delta) -> None:
        """Process a change of the cache; it enqueues the Instance unless it is an own write."""
        metadata = delta.object["metadata"]
        key = Key(metadata["namespace"], metadata["name"])
        self.freshness.changed(key, delta)
        if delta.kind == "deleted":
            self._parsed.forget(key)
        self.own.changed(key, delta)

    def cached(self, key: Key) -> Instance | None:
        raw = self.informer.get(key.namespace, key.name)
        return None if raw is None else self._parsed.of(key, raw)

    async def of_this_term(self, key: Key) -> Instance | None:
        """Return the Instance with every write of former leaders.

        From the cache if that state was stored in this term of leadership; else it is read live.

        Raises:
            KubeError: it could not be read.
        """
        raw = self.informer.get(key.namespace, key.name)
        if raw is None or not self.freshness.is_of_this_term(raw):
            return await self.live(key)
        return self._parsed.of(key, raw)

    async def live(self, key: Key) -> Instance | None:
        """Read the Instance from the API server and update the cache."""
        raw = await self.read(key)
        return None if raw is None else Instance.from_wire(raw)

    async def read(self, key: Key, *, client: Client | None = None) -> JsonObject | None:
        """Read an Instance as JSON and update the cache; None if there is none.

        There is none of a name that no object can have: an annotation may contain any.

        Args:
            key: Of the Instance.
            client: Sends the request, if not the reconciler's own.

        Raises:
            KubeError: it could not be read.
        """
        try:
            raw = await (client or self.client).get(INSTANCES, key.name, namespace=key.namespace)
        except (NotFound, InvalidPath):
            self.informer.observe_gone(key.namespace, key.name)
            return None
        self.informer.observe(raw)
        return raw

    async def write_status(
        self, instance: Instance, status: InstanceStatus, reason: str = ""
    ) -> Instance:
        """Replace the status, if it differs; runs that it ends are recorded in its history.

        Args:
            instance: The Instance as it was read.
            status: Its new status.
            reason: Why the scheduled run ended, if it failed here.

        Raises:
            Outdated: the Instance changed since it was read, or was deleted.
        """
        status = with_history(instance, status, reason)
        if status == instance.status:
            return instance
        body: JsonObject = {
            "apiVersion": instance.api_version,
            "kind": instance.kind,
            "metadata": {
                "name": instance.metadata.name,
                "namespace": instance.metadata.namespace,
                "uid": instance.metadata.uid,
                "resourceVersion": instance.metadata.resource_version,
            },
            "spec": instance.spec.to_wire(),
            "status": status.to_wire(),
        }
        with self.own.writing(key_of(instance)):
            async with self._as_read(instance):
                answer = await self.client.replace(INSTANCES, body, subresource="status")
            return self._observed(answer, own=True)

    async def clear_run(self, instance: Instance, uid: str) -> Instance:
        """End the scheduled run, if it is still the one with this uid.

        Raises:
            Outdated: another run was scheduled meanwhile, or the Instance was deleted.
        """
        key = key_of(instance)
        before = self.informer.get(key.namespace, key.name)
        with self.own.writing(key):
            answer = await self._send(
                instance,
                jsonpatch.test("/metadata/uid", instance.metadata.uid),
                jsonpatch.test("/spec/planExecution/uid", uid),
                jsonpatch.replace("/spec/planExecution", {}),
            )
            # Only the uid is tested, so that a change of labels does not delay the end of a run. So
            # the object may have changed before, such as by a deletion whose event is pending: once
            # this answer is in the cache, that event is outdated and enqueues nothing.
            own = before is not None and _only_cleared(before, answer)
            return self._observed(answer, own=own)

    async def schedule(
        self, instance: Instance, plan: str, uid: str, *, asked: PlanExecution | None = None
    ) -> Instance:
        """Schedule a run, replacing the one that is scheduled.

        Args:
            instance: The Instance.
            plan: The plan.
            uid: Identity of the run.
            asked: The request that it honours; the retry that it asks for is kept, and the
                parameters of the run.

        Raises:
            Outdated: the Instance changed since it was read, or was deleted.
        """
        run = new_run(plan, uid, asked, asked.parameters if asked is not None else None)
        # `add` sets a field that exists, too; `replace` would fail for one that is missing.
        change = jsonpatch.add("/spec/planExecution", run)
        return await self._patch(instance, _same_version(instance), change)

    async def drop_request(self, instance: Instance) -> Instance:
        """Clear the scheduled run, which asks for nothing.

        Raises:
            Outdated: the Instance changed since it was read, or was deleted.
        """
        change = jsonpatch.add("/spec/planExecution", {})
        return await self._patch(instance, _same_version(instance), change)

    async def set_finalizers(self, instance: Instance, finalizers: list[str]) -> Instance | None:
        """Replace the finalizers; return None if that deleted the Instance.

        Raises:
            Outdated: the Instance changed since it was read.
        """
        operations = (
            _same_version(instance),
            jsonpatch.add("/metadata/finalizers", finalizers),
        )
        if instance.metadata.deleting and not finalizers:
            await self._send(instance, *operations)
            # Otherwise a reconcile before its watch event would process the deletion once more.
            cached = self.informer.get(*key_of(instance))
            if cached is not None and cached["metadata"]["uid"] == instance.metadata.uid:
                # Else it was created again meanwhile.
                self.informer.observe_gone(*key_of(instance))
            return None
        return await self._patch(instance, *operations)

    async def remove_annotation(self, instance: Instance, name: str, value: str) -> Instance:
        """Remove an annotation that has this value.

        Raises:
            Outdated: the Instance changed since it was read, or was deleted.
        """
        path = jsonpatch.pointer(("metadata", "annotations", name))
        change = jsonpatch.test(path, value), jsonpatch.remove(path)
        return await self._patch(instance, _same_version(instance), *change)

    async def add_finalizer(self, instance: Instance, finalizer: str) -> bool:
        """Add a finalizer to the Instance; return False if it is present already.

        Raises:
            Outdated: the Instance changed since it was last seen, or is another one.
        """
        now = self.cached(key_of(instance))
        if now is None or now.metadata.uid != instance.metadata.uid:
            raise Outdated
        present = now.metadata.finalizers or ()
        if finalizer in present:
            return False
        await self.set_finalizers(now, [*present, finalizer])
        return True

    async def apply_child(
        self, target: JsonObject, seen: JsonObject | None, *, client: Client
    ) -> JsonObject:
        """Apply the child of another Instance on the state that was read, by force; or create it.

        The write does not count as own: it enqueues the child, which is then reconciled.

        Args:
            target: The child as it is sent.
            seen: As it was read; None to create it.
            client: Of the task that the child belongs to.

        Raises:
            ObjectChanged: it changed since it was read.
            KubeError: the request failed.
        """
        if seen is not None:
            version = {key: seen["metadata"][key] for key in ("uid", "resourceVersion")}
            target = {**target, "metadata": {**target["metadata"], **version}}
        try:
            applied = await client.apply(
                INSTANCES, target, field_manager=names.FIELD_MANAGER, force=seen is not None
            )
        except NotFound as error:
            if seen is None:
                raise
            raise ObjectChanged from error
        self.informer.observe(applied)
        return applied

    async def patch_child(
        self, seen: JsonObject, *changes: JsonObject, client: Client
    ) -> JsonObject:
        """Send a JSON Patch for a child in the state that was read; else like `apply_child`.

        Raises:
            ObjectChanged: it changed since it was read.
            KubeError: the request failed.
        """
        metadata = seen["metadata"]
        version, key = metadata["resourceVersion"], Key(metadata["namespace"], metadata["name"])
        async with unchanged(version, lambda: self.read(key, client=client)):
            patched = await client.json_patch(
                INSTANCES,
                key.name,
                [jsonpatch.test("/metadata/resourceVersion", version), *changes],
                namespace=key.namespace,
                field_manager=names.FIELD_MANAGER,
            )
        self.informer.observe(patched)
        return patched

    async def _patch(self, instance: Instance, *operations: JsonObject) -> Instance:
        """Change an Instance that is still as it was read: the operations test that."""
        with self.own.writing(key_of(instance)):
            return self._observed(await self._send(instance, *operations), own=True)

    async def _send(self, instance: Instance, *operations: JsonObject) -> JsonObject:
        metadata = instance.metadata
        async with self._as_read(instance):
            return await self.client.json_patch(
                INSTANCES, metadata.name, list(operations), namespace=metadata.namespace
            )

    @asynccontextmanager
    async def _as_read(self, instance: Instance) -> AsyncIterator[None]:
        """Update the cache if the write in this context fails.

        Raises:
            Outdated: the Instance changed since it was read, or was deleted.
        """
        version, key = instance.metadata.resource_version, key_of(instance)
        try:
            async with unchanged(version, lambda: self.read(key)):
                yield
        except ObjectChanged as error:
            raise Outdated from error

    def _observed(self, raw: JsonObject, *, own: bool) -> Instance:
        instance = Instance.from_wire(raw)
        key = key_of(instance)
        if own:
            self.own.answered(key, raw)
        self.informer.observe(raw)
        cached = self.informer.get(*key)
        if cached is not None and resource_version(cached) == resource_version(raw):
            self._parsed.put(key, cached, instance)
        return instance


def _only_cleared(before: JsonObject, after: JsonObject) -> bool:
    """Return whether two states of an Instance differ only by the clear of a run."""
    metadata = {**before["metadata"], "generation": before["metadata"].get("generation", 0) + 1}
    spec = {**before["spec"], "planExecution": {}}
    expected = {**before, "spec": spec, "metadata": _described(metadata)}
    return expected == {**after, "metadata": _described(after["metadata"])}


def _described(metadata: JsonObject) -> JsonObject:
    """Return metadata without the fields that every write changes."""
    bookkeeping = ("resourceVersion", "managedFields")
    return {name: value for name, value in metadata.items() if name not in bookkeeping}


def _same_version(instance: Instance) -> JsonObject:
    return jsonpatch.test("/metadata/resourceVersion", instance.metadata.resource_version)
