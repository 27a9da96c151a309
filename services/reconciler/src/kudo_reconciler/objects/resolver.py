"""Resolves the kind of a template's object to the resource that the cluster serves.

An object in an API version that the server no longer serves is converted to its successor, if that
changes only the form.
"""

from dataclasses import dataclass

from kubeio.discovery import Discovery
from kubeio.errors import ApiError, ConnectionLost, UnknownKind
from kubeio.resource import Resource
from kudo.api import JsonObject
from kudo.objects.enrichment import Origin, enrich
from kudo.removed_apis import NoSuccessor, modernized
from kudo.rendering import Manifest
from kudo.tasks import FatalTaskError, TransientTaskError
from kudo_reconciler.objects.run_context import RunContext


@dataclass(frozen=True, slots=True)
class Resolved:
    """An object of a template, and its kind as the cluster serves it.

    Attributes:
        removed: Whether the API version that the template names is no longer served.
    """

    manifest: Manifest
    resource: Resource
    removed: bool = False

    def target(self, origin: Origin) -> JsonObject:
        """Return the object to apply: enriched, then converted to the version that is served.

        In this order, fields that the old version defaulted from labels get the new labels, such
        as a selector.

        Raises:
            FatalTaskError: the template names another controller as owner.
        """
        target = enrich(self.manifest.object, origin, namespaced=self.resource.namespaced)
        return _modern(self.manifest, target) if self.removed else target


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolves manifests.

    Attributes:
        discovery: Uses the reconciler's own identity: it reads which kinds are served, and no
            tenant's object.
    """

    discovery: Discovery

    async def resolve(
        self, manifest: Manifest, context: RunContext, *, ahead: bool = False
    ) -> Resolved:
        """Return the resource of an object's kind, or of its successor.

        Args:
            manifest: The object.
            context: The run.
            ahead: Whether it is to be applied later: an earlier step may bring its kind.

        Raises:
            FatalTaskError: neither is served.
            TransientTaskError: discovery failed.
        """
        found = await self._served(manifest, manifest.object, ahead)
        if found is not None:
            return Resolved(manifest, found)
        modern = _modern(manifest, manifest.object)
        found = await self._served(manifest, modern, ahead)
        if found is None:
            raise _unknown(manifest)
        old, new = manifest.object["apiVersion"], modern["apiVersion"]
        text = f"{manifest} is written for {old}, which is no longer served: it is applied as {new}"
        context.tell("Warning", "RemovedAPIVersion", text)
        return Resolved(manifest, found, removed=True)

    async def _served(self, manifest: Manifest, obj: JsonObject, ahead: bool) -> Resource | None:
        try:
            return await self.discovery.for_object(obj, ahead=ahead)
        except UnknownKind:
            return None
        except (ApiError, ConnectionLost) as error:
            raise TransientTaskError(
                "TaskEnhancementError", f"cannot look up the kind of {manifest}: {error}"
            ) from error


class KindNotServed(FatalTaskError):
    """The cluster does not serve the kind."""


def _modern(manifest: Manifest, obj: JsonObject) -> JsonObject:
    try:
        modern = modernized(obj)
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
