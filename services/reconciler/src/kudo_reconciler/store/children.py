"""Reads and writes the Instances that are children of others.

Writes to children do not count as own writes: each enqueues the child, which is then reconciled. A
write names the resourceVersion that was read, so that it never overwrites a later change.
"""

from dataclasses import dataclass

from kubeio import jsonpatch
from kubeio.client import Client
from kubeio.errors import NotFound
from kubeio.preconditions import ObjectChanged, unchanged
from kudo.api import Instance, JsonObject, names
from kudo_reconciler.common.keys import INSTANCES, Key
from kudo_reconciler.store.instances import InstanceStore


@dataclass(frozen=True, slots=True)
class ChildStore:
    """The children of Instances.

    Requests use the client of the task that the child belongs to.
    """

    instances: InstanceStore

    def cached(self, key: Key) -> JsonObject | None:
        """Return a child from the cache, without its `managedFields`."""
        return self.instances.informer.get(key.namespace, key.name)

    def find(self, namespace: str, name: str) -> Instance | None:
        """Return an Instance from the cache."""
        return self.instances.cached(Key(namespace, name))

    async def live(self, key: Key, *, client: Client) -> JsonObject | None:
        """Read a child from the API server; None if there is none.

        Raises:
            KubeError: it could not be read.
        """
        return await self.instances.read(key, client=client)

    async def apply(
        self, target: JsonObject, seen: JsonObject | None, *, client: Client
    ) -> JsonObject:
        """Apply a child on the state that was read, by force since it is ours; or create it.

        Raises:
            ObjectChanged: it changed since it was read.
            KubeError: the request failed.
        """
        if seen is not None:
            known = {key: seen["metadata"][key] for key in ("uid", "resourceVersion")}
            target = {**target, "metadata": {**target["metadata"], **known}}
        try:
            applied = await client.apply(
                INSTANCES, target, field_manager=names.FIELD_MANAGER, force=seen is not None
            )
        except NotFound as error:
            if seen is None:
                raise
            raise ObjectChanged from error
        return self._observed(applied)

    async def patch(self, seen: JsonObject, *changes: JsonObject, client: Client) -> JsonObject:
        """Send a JSON Patch for a child in the state that was read.

        Raises:
            ObjectChanged: it changed since it was read.
            KubeError: the request failed.
        """
        metadata = seen["metadata"]
        version, key = metadata["resourceVersion"], Key(metadata["namespace"], metadata["name"])
        async with unchanged(version, lambda: self.live(key, client=client)):
            patched = await client.json_patch(
                INSTANCES,
                key.name,
                [jsonpatch.test("/metadata/resourceVersion", version), *changes],
                namespace=key.namespace,
                field_manager=names.FIELD_MANAGER,
            )
        return self._observed(patched)

    def _observed(self, raw: JsonObject) -> JsonObject:
        self.instances.informer.observe(raw)
        return raw
