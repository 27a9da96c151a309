"""Resolves the kind of an object to the resource that the cluster serves.

An object in an API version that the server no longer serves is converted to its successor, if that
changes only the form. A kind that is not served although its CRD exists is waited for: a CRD is
established, and known to every API server, some time after it was applied.
"""

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from kubeio.discovery import Discovery
from kubeio.errors import ApiError, ConnectionLost, UnknownKind
from kubeio.resource import CRDS, Resource, split_api_version
from kudo.api import JsonObject
from kudo.api.task_kinds import FatalTaskError, TransientTaskError
from kudo.objects.enrichment import Origin, enrich
from kudo.objects.inventory.record import Entry
from kudo.objects.removed_apis import NoSuccessor, modernized
from kudo.tasks.rendering import Manifest
from kudo_reconciler.objects.run_context import RunContext

Purpose = Literal["apply", "delete", "look ahead"]
"""What an object is resolved for. One that is looked at ahead is applied by a later step, and an
earlier one may bring its kind."""
_VERBS: Final[dict[Purpose, frozenset[str]]] = {
    "apply": frozenset({"get", "patch"}),
    "delete": frozenset({"get", "delete"}),
    "look ahead": frozenset(),
}
"""What a kind must offer; every apply is a patch."""
_T = TypeVar("_T")


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
        self, manifest: Manifest, context: RunContext, purpose: Purpose = "apply"
    ) -> Resolved:
        """Return the resource of an object's kind, or of its successor.

        Raises:
            KindNotServed: neither is served, and no CRD is to serve the kind.
            FatalTaskError: the kind cannot be applied, or deleted.
            TransientTaskError: discovery failed, or the kind is not served yet.
        """
        try:
            resolved = await self._find(manifest, purpose)
        except KindNotServed:
            await self._check_definition(manifest, context)
            raise
        if resolved.removed:
            old, new = manifest.object["apiVersion"], resolved.resource.api_version
            text = (
                f"{manifest} is written for {old}, which is no longer served: it is applied as "
                f"{new}"
            )
            context.tell("Warning", "RemovedAPIVersion", text)
        return resolved

    async def look_ahead(self, manifest: Manifest) -> Resource:
        """Return the resource of an object that a later step applies, as far as it is known now.

        Raises:
            KindNotServed: its kind is not served; an earlier step may bring it.
            FatalTaskError, TransientTaskError: as of `resolve`.
        """
        return (await self._find(manifest, "look ahead")).resource

    async def _find(self, manifest: Manifest, purpose: Purpose) -> Resolved:
        served = await self._served(manifest, manifest.object, purpose)
        if served is not None:
            return Resolved(manifest, _fit(served, manifest, purpose))
        served = await self._served(manifest, _modern(manifest, manifest.object), purpose)
        if served is None:
            raise _unknown(manifest)
        return Resolved(manifest, _fit(served, manifest, purpose), removed=True)

    async def _served(
        self, manifest: Manifest, obj: JsonObject, purpose: Purpose
    ) -> Resource | None:
        try:
            look = self.discovery.for_object(obj, ahead=purpose == "look ahead")
            return await _looked_up(look, manifest)
        except UnknownKind:
            return None

    async def _check_definition(self, manifest: Manifest, context: RunContext) -> None:
        """Wait for a kind that a CRD is to serve, whoever applied it.

        Raises:
            TransientTaskError: there is such a CRD, or it is not known whether there is.
        """
        api_version, kind = str(manifest.object["apiVersion"]), str(manifest.object["kind"])
        group, _ = split_api_version(api_version)
        applied = [
            place.name
            for place in context.answers
            if (place.group, place.kind) == (CRDS.group, CRDS.kind)
            and place.name.endswith(f".{group}")
        ]
        look = self.discovery.definition(api_version, kind, applied)
        crd = await _looked_up(look, manifest)
        if crd is not None:
            text = f"{manifest} waits until the API server serves its kind, defined by CRD {crd}"
            raise TransientTaskError("TaskEnhancementError", text)


class KindNotServed(FatalTaskError):
    """The cluster does not serve the kind."""


async def _looked_up(look: Awaitable[_T], manifest: Manifest) -> _T:
    try:
        return await look
    except (ApiError, ConnectionLost) as error:
        raise TransientTaskError(
            "TaskEnhancementError", f"cannot look up the kind of {manifest}: {error}"
        ) from error


def _fit(resource: Resource, manifest: Manifest, purpose: Purpose) -> Resource:
    """Return the resource if its kind can be applied, or deleted.

    Without this, the API server would answer 405 each time, also where rights are reviewed.
    """
    missing = _VERBS[purpose] - resource.verbs
    if not missing or not resource.verbs:
        return resource
    offered = ", ".join(sorted(resource.verbs))
    raise FatalTaskError(
        "TaskEnhancementError",
        f"failed to {purpose} {manifest}: the API server does not offer "
        f"{' and '.join(sorted(missing))} for {resource.name}, only {offered}; "
        "leave it out of the package, or send it in a Job",
    )


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


async def served_kind(entry: Entry, discovery: Discovery) -> Resource | None:
    """Return the kind of an entry, in another version if that of the entry is not served any more.

    Returns:
        None if no version is served, or if the entry has a namespace and its kind has none, or the
        other way round.

    Raises:
        KubeError: discovery failed.
    """
    try:
        resource = await discovery.resolve(entry.api_version, entry.place.kind)
    except UnknownKind:
        versions = await discovery.versions(entry.place.group, entry.place.kind)
        if not versions:
            return None
        resource = versions[0]
    # Somebody may have written the entry by hand.
    return resource if resource.namespaced != entry.cluster_scoped else None
