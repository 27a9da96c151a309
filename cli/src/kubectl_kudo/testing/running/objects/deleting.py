"""Deletes objects by uid and waits until they are gone."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from kubectl_kudo.testing.running.objects.cluster import Cluster
from kubectl_kudo.testing.running.polling import until
from kubeio.errors import Conflict, KubeError, NotFound
from kubeio.resource import Resource
from kubeio.types import JsonObject
from kudo_harness.suite import Deletion

_POLL: Final = 0.25
_SHOWN: Final = 5


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
            waiting = [one for one in objects if not await delete(cluster, one)]
            for one in tuple(waiting):
                await until(partial(is_gone, cluster, one), every=_POLL)
                waiting.remove(one)
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
        return True
    metadata = answer.get("metadata") or {}
    # A Status, or the last state of an object that nothing keeps.
    return not metadata.get("deletionTimestamp")


async def is_gone(cluster: Cluster, obj: Existing) -> bool:
    """Return whether the object is gone, or another one has its name."""
    found = await cluster.find(obj.resource, obj.namespace, obj.name)
    return found is None or found["metadata"]["uid"] != obj.uid


async def meant_by(cluster: Cluster, deletion: Deletion, namespace: str) -> list[Existing]:
    """Return what a line of `delete` means: by name, by labels, or all of the kind.

    Raises:
        NotDeleted: it means all objects of a cluster-scoped kind, or they cannot be read.
    """
    try:
        resource = await cluster.find_kind(deletion.api_version, deletion.kind)
        if resource is None:
            return []
        found = [one async for one in _meant(cluster, resource, deletion, namespace)]
    except (KubeError, ValueError) as error:
        raise NotDeleted(f"{deletion.place}: {error}") from error
    return [_existing(resource, one) for one in found]


async def _meant(
    cluster: Cluster, resource: Resource, deletion: Deletion, namespace: str
) -> AsyncIterator[JsonObject]:
    where = (deletion.namespace or namespace) if resource.namespaced else ""
    if deletion.name:
        found = await cluster.find(resource, where, deletion.name)
        if found is not None:
            yield found
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


def _existing(resource: Resource, obj: JsonObject) -> Existing:
    metadata = obj["metadata"]
    return Existing(
        resource, str(metadata.get("namespace") or ""), str(metadata["name"]), str(metadata["uid"])
    )


def _listed(objects: Sequence[Existing]) -> str:
    shown = ", ".join(str(one) for one in objects[:_SHOWN])
    more = len(objects) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
