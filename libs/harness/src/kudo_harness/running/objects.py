"""Creates objects of a step or patches those that exist; deletes objects by uid."""

import asyncio
import copy
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, Final

from kubeio.errors import AlreadyExists, ApiError, Conflict, ConnectionLost, KubeError, NotFound
from kubeio.loops import finished
from kubeio.resource import Resource, namespace_of
from kubeio.types import JsonObject
from kudo_harness.running.clusters import Cluster, NotServed, is_crd
from kudo_harness.running.record import MadeObject, Record
from kudo_harness.running.waiting import until
from kudo_harness.suite import Deletion, Document


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
            if self.record is None:
                return Outcome.CREATED, await self.cluster.client.create(resource, obj)
            stored = await create_recorded(
                self.cluster, self.record, resource, obj, scope=self.scope
            )
        except AlreadyExists:
            if not name:
                raise
            # Somebody, such as a controller, has created it meanwhile.
            return Outcome.CONFIGURED, await self._patch(resource, obj, namespace, name)
        return Outcome.CREATED, stored

    async def _patch(
        self, resource: Resource, obj: JsonObject, namespace: str, name: str
    ) -> JsonObject:
        client = self.cluster.client
        return await client.merge_patch(resource, name, obj, namespace=namespace or None)


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


_POLL: Final = 0.25
_SHOWN: Final = 5
"""Objects that a message lists."""


class NotDeleted(Exception):
    """Objects could not be deleted, or are still there when the time is over."""


@dataclass(frozen=True, slots=True)
class Existing:
    """An object to delete, as it was found."""

    resource: Resource
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.resource.kind} {where}{self.name}"


async def delete_objects(cluster: Cluster, objects: Sequence[Existing], seconds: float) -> None:
    """Delete objects and wait until all are gone.

    Raises:
        NotDeleted: the API server refused it, or some are still there after so many seconds.
    """
    waiting = list(objects)
    try:
        async with asyncio.timeout(seconds):
            waiting = [obj for obj in objects if not await delete(cluster, obj)]
            for obj in tuple(waiting):
                await until(partial(is_gone, cluster, obj), every=_POLL)
                waiting.remove(obj)
    except TimeoutError:
        raise NotDeleted(f"still there after {seconds:.0f} s: {_listed(waiting)}") from None
    except KubeError as error:
        raise NotDeleted(str(error)) from error


async def delete(cluster: Cluster, obj: Existing) -> bool:
    """Delete an object; return whether it is gone already. Another one of its name stays."""
    try:
        answer = await cluster.client.delete(
            obj.resource,
            obj.name,
            namespace=obj.namespace or None,
            # The default of the API server leaves the pods of a Job.
            propagation="Background",
            uid=obj.uid,
        )
    except (NotFound, Conflict):
        # Conflict: the uid is that of a newer object of the same name, which is not meant.
        return True
    metadata = answer.get("metadata") or {}
    # A Status, or the last state of an object that nothing keeps.
    return not metadata.get("deletionTimestamp")


async def is_gone(cluster: Cluster, obj: Existing) -> bool:
    """Return whether the object is gone, or another one has its name."""
    current = await cluster.find(obj.resource, obj.namespace, obj.name)
    return current is None or current["metadata"]["uid"] != obj.uid


async def meant_by(cluster: Cluster, deletion: Deletion, namespace: str) -> list[Existing]:
    """Return what a line of `delete` means: by name, by labels, or all of the kind.

    Raises:
        NotDeleted: it means all objects of a cluster-scoped kind, or they cannot be read.
    """
    try:
        resource = await cluster.find_kind(deletion.api_version, deletion.kind)
        if resource is None:
            return []
        objects = [obj async for obj in _meant(cluster, resource, deletion, namespace)]
    except (KubeError, ValueError) as error:
        raise NotDeleted(f"{deletion.place}: {error}") from error
    return [
        Existing(
            resource,
            str(obj["metadata"].get("namespace") or ""),
            str(obj["metadata"]["name"]),
            str(obj["metadata"]["uid"]),
        )
        for obj in objects
    ]


async def _meant(
    cluster: Cluster, resource: Resource, deletion: Deletion, namespace: str
) -> AsyncIterator[JsonObject]:
    where = (deletion.namespace or namespace) if resource.namespaced else ""
    if deletion.name:
        obj = await cluster.find(resource, where, deletion.name)
        if obj is not None:
            yield obj
        return
    if not (where or deletion.labels):
        text = (
            f"{deletion.place}: would delete every {deletion.kind} of the cluster; give a name or "
            "labels"
        )
        raise NotDeleted(text)
    pages = cluster.client.pages(
        resource,
        namespace=where or None,
        label_selector=selector(deletion.labels),
        metadata_only=True,
    )
    async for page in pages:
        for item in page.items:
            yield item


def selector(labels: Mapping[str, str]) -> str | None:
    """Return a label selector; None for no labels."""
    return ",".join(f"{key}={value}" for key, value in labels.items()) or None


def _listed(objects: Sequence[Existing]) -> str:
    shown = ", ".join(str(obj) for obj in objects[:_SHOWN])
    more = len(objects) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
