"""Reading and writing the Instances that are children of others.

Their writes are not those of the pass that makes them: each wakes the child, whose own pass works
on it. A write names the object as it was read, so that it never lands on one that changed since.
"""

from dataclasses import dataclass

from kubeio.client import Client
from kubeio.errors import Conflict, Invalid, NotFound
from kubeio.patches import jsonpatch
from kudo import names
from kudo.api import Instance, JsonObject
from kudo_reconciler.keys import Key
from kudo_reconciler.resources import INSTANCES
from kudo_reconciler.store.instances import InstanceStore


@dataclass(frozen=True, slots=True)
class ChildStore:
    """The children of Instances.

    Requests go out by the client of the task that has the child.
    """

    instances: InstanceStore

    def cached(self, key: Key) -> JsonObject | None:
        """Return a child as we know it, without its `managedFields`."""
        return self.instances.informer.get(key.namespace, key.name)

    def find(self, namespace: str, name: str) -> Instance | None:
        """Return an Instance as we know it."""
        return self.instances.cached(Key(namespace, name))

    async def live(self, key: Key, *, client: Client) -> JsonObject | None:
        """Read a child from the API server; None if there is none.

        Raises:
            KubeError: it could not be read.
        """
        try:
            raw = await client.get(INSTANCES, key.name, namespace=key.namespace)
        except NotFound:
            self.instances.informer.observe_gone(key.namespace, key.name)
            return None
        return self._observed(raw)

    async def apply(
        self, target: JsonObject, seen: JsonObject | None, *, client: Client
    ) -> JsonObject:
        """Apply a child as it was seen; by force, since it is ours, or create one.

        Raises:
            Conflict: it is not as it was seen.
            KubeError: the API server refused, or could not be asked.
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
            raise _changed() from error
        return self._observed(applied)

    async def patch(self, seen: JsonObject, *changes: JsonObject, client: Client) -> JsonObject:
        """Send a JSON Patch to a child as it was seen.

        Raises:
            Conflict: it is not as it was seen.
            KubeError: the API server refused, or could not be asked.
        """
        metadata = seen["metadata"]
        version = jsonpatch.test("/metadata/resourceVersion", metadata["resourceVersion"])
        try:
            patched = await client.json_patch(
                INSTANCES,
                metadata["name"],
                [version, *changes],
                namespace=metadata["namespace"],
                field_manager=names.FIELD_MANAGER,
            )
        except (Invalid, NotFound) as error:
            # A failed test is answered with 422, and so is a refusal by a policy.
            live = await self.live(Key(metadata["namespace"], metadata["name"]), client=client)
            if live is not None and _version(live) == metadata["resourceVersion"]:
                raise
            raise _changed() from error
        return self._observed(patched)

    def _observed(self, raw: JsonObject) -> JsonObject:
        self.instances.informer.observe(raw)
        return raw


def _version(raw: JsonObject) -> str:
    return str(raw["metadata"]["resourceVersion"])


def _changed() -> Conflict:
    return Conflict("the Instance changed meanwhile", status=409)
