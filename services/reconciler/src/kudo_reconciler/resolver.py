"""Finds out where the kind of a template's object is served today.

An object in an API version that the server no longer serves is brought into the one that took its
place, where that changes nothing but the writing.
"""

from dataclasses import dataclass, replace

from kubeio.discovery import Discovery
from kubeio.errors import ApiError, ConnectionLost, UnknownKind
from kubeio.resource import Resource
from kudo.api import JsonObject
from kudo.removed_apis import NoSuccessor, modernized
from kudo.rendering import Manifest
from kudo.tasks import FatalTaskError, TransientTaskError
from kudo_reconciler.task_context import TaskContext


@dataclass(frozen=True, slots=True)
class Resolved:
    """An object of a template, and its kind as the cluster serves it."""

    manifest: Manifest
    resource: Resource


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolves manifests."""

    discovery: Discovery

    async def resolve(self, manifest: Manifest, context: TaskContext) -> Resolved:
        """Return the manifest as it can be applied, and its kind.

        Raises:
            FatalTaskError: no such kind is served, and nothing that took its place.
            TransientTaskError: the API server could not be asked.
        """
        found = await self._served(manifest)
        if found is not None:
            return Resolved(manifest, found)
        modern = replace(manifest, object=_modern(manifest))
        found = await self._served(modern)
        if found is None:
            raise _unknown(manifest)
        await context.tell("Warning", "RemovedAPIVersion", _upgraded(manifest, modern))
        return Resolved(modern, found)

    async def _served(self, manifest: Manifest) -> Resource | None:
        try:
            return await self.discovery.for_object(manifest.object)
        except UnknownKind:
            return None
        except (ApiError, ConnectionLost) as error:
            raise TransientTaskError(
                "TaskEnhancementError", f"cannot ask for the kind of {manifest}: {error}"
            ) from error


class KindNotServed(FatalTaskError):
    """The cluster knows no such kind."""


def _modern(manifest: Manifest) -> JsonObject:
    try:
        modern = modernized(manifest.object)
    except NoSuccessor as error:
        raise KindNotServed("TaskEnhancementError", f"{manifest}: {error}") from error
    if modern is None:
        raise _unknown(manifest)
    return modern


def _unknown(manifest: Manifest) -> KindNotServed:
    api_version, kind = manifest.object["apiVersion"], manifest.object["kind"]
    return KindNotServed(
        "TaskEnhancementError",
        f"failed to determine if object {manifest} is namespaced: a resource with GVK "
        f"{api_version}, Kind={kind} seems to be missing in API resource list",
    )


def _upgraded(manifest: Manifest, modern: Manifest) -> str:
    old, new = manifest.object["apiVersion"], modern.object["apiVersion"]
    return f"{manifest} is written for {old}, which is no longer served: it is applied as {new}"
