"""Creates the objects of a step, or changes those that exist by a merge patch."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kubectl_kudo.testing.running.objects.cluster import Cluster, NotServed, is_crd
from kubectl_kudo.testing.running.record import MadeObject, Record
from kubeio.connection.completion import finished
from kubeio.errors import AlreadyExists, ApiError, ConnectionLost, KubeError
from kubeio.resource import Resource, namespace_of
from kubeio.types import JsonObject
from kudo_harness.suite import Document


class NotApplied(Exception):
    """An object could not be applied; the text names the place and the reason."""


class Outcome(StrEnum):
    CREATED = "created"
    CONFIGURED = "configured"


@dataclass(frozen=True, slots=True)
class Applier:
    """Applies objects to a cluster.

    Attributes:
        cluster: The cluster.
        namespace: Of objects that name none.
        record: Where created objects are noted; None if they stay after the run.
        scope: What they are deleted with.
    """

    cluster: Cluster
    namespace: str
    record: Record | None
    scope: str

    async def apply(self, document: Document) -> str:
        """Apply an object, and return what was done with it as a line of the log.

        Raises:
            NotApplied: the API server refused it, or could not be reached.
        """
        try:
            resource = await self.cluster.discovery.for_object(document.value)
            obj = _placed(document.value, resource, self.namespace)
            outcome, stored = await self._write(resource, obj)
            if is_crd(obj):
                await self.cluster.until_served(obj)
        except (KubeError, NotServed, ValueError) as error:
            text = f"{document.place()}: {object_name(document.value)}: {error}"
            raise NotApplied(text) from error
        return f"{object_name(stored)} {outcome}"

    async def _write(self, resource: Resource, obj: JsonObject) -> tuple[Outcome, JsonObject]:
        metadata = obj["metadata"]
        name, namespace = str(metadata.get("name") or ""), str(metadata.get("namespace") or "")
        # An existing object is patched rather than created first: admission would judge the
        # creation, with other rules than those of the change.
        if name and await self.cluster.find(resource, namespace, name) is not None:
            return Outcome.CONFIGURED, await self._patch(resource, obj, namespace, name)
        try:
            return Outcome.CREATED, await self._create(resource, obj)
        except AlreadyExists:
            if not name:
                raise
            # Somebody, such as a controller, has created it meanwhile.
            return Outcome.CONFIGURED, await self._patch(resource, obj, namespace, name)

    async def _patch(
        self, resource: Resource, obj: JsonObject, namespace: str, name: str
    ) -> JsonObject:
        client = self.cluster.client
        return await client.merge_patch(resource, name, obj, namespace=namespace or None)

    async def _create(self, resource: Resource, obj: JsonObject) -> JsonObject:
        if self.record is None:
            return await self.cluster.client.create(resource, obj)
        return await create_recorded(self.cluster, self.record, resource, obj, scope=self.scope)


def items_of(document: Document) -> list[Document]:
    """Return the items of a List as documents; of another object, the document itself."""
    value = document.value
    items = value.get("items")
    if (value["apiVersion"], value["kind"]) != ("v1", "List") or not isinstance(items, list):
        return [document]
    # The node of an item is unknown, so messages name the line of the List.
    file = str(document.place())
    return [Document(item, file) for item in items if isinstance(item, dict)]


def _placed(value: JsonObject, resource: Resource, namespace: str) -> JsonObject:
    """Return a copy of an object in its namespace."""
    obj: dict[str, Any] = copy.deepcopy(value)
    metadata = obj["metadata"] = obj.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise ValueError("metadata must be a mapping")
    if not resource.namespaced:
        metadata.pop("namespace", None)
    elif not metadata.get("namespace"):
        metadata["namespace"] = namespace
    return obj


def object_name(obj: Mapping[str, object]) -> str:
    """Return an object as messages name it: `ConfigMap ns/name`."""
    metadata = obj.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name = metadata.get("name") or f"{metadata.get('generateName', '')}*"
    namespace = metadata.get("namespace")
    return f"{obj.get('kind')} {f'{namespace}/' if namespace else ''}{name}"


async def create_recorded(
    cluster: Cluster, record: Record, resource: Resource, obj: JsonObject, *, scope: str
) -> JsonObject:
    """Create an object, and note it before that and its uid after that.

    Args:
        cluster: Where.
        record: Where it is noted.
        resource: Its kind.
        obj: The object; a namespaced one with its namespace.
        scope: What it is deleted with.

    Raises:
        AlreadyExists: the name is taken.
        KubeError: the API server refused it, or could not be reached.
    """
    name = str(obj["metadata"].get("name") or "")
    namespace = namespace_of(obj) or ""
    made = record.will_create(resource, namespace, name, scope=scope, kubeconfig=cluster.kubeconfig)
    # A run that is interrupted meanwhile waits for the answer: without its uid, the object stays.
    return await finished(_create(cluster, record, resource, obj, made))


async def _create(
    cluster: Cluster, record: Record, resource: Resource, obj: JsonObject, made: MadeObject
) -> JsonObject:
    try:
        stored = await cluster.client.create(resource, obj)
    except ApiError:
        record.gone(made)
        raise
    except ConnectionLost as error:
        # Of a request that may have been sent, nobody knows whether it had an effect.
        if not error.maybe_sent:
            record.gone(made)
        raise
    metadata = stored["metadata"]
    record.created(made, str(metadata["name"]), str(metadata["uid"]))
    return stored
