"""The dependency hash: pods restart when a ConfigMap or Secret that they use has changed.

The content of a dependency is taken from the objects of the same task, otherwise from the object in
the cluster: what was last applied counts, not what somebody edited since. Of one that is only
created, the content in the cluster counts: each rendering of its template may be another one.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from kubeio.errors import ApiError, ConnectionLost
from kubeio.resource import CONFIG_MAPS, SECRETS, Resource
from kudo.api import JsonObject, names
from kudo.api.task_kinds import TransientTaskError
from kudo.objects.dependency_hash import (
    MISSING,
    Dependency,
    dependencies_hash,
    dependencies_of,
    digest_text,
    with_dependencies_hash,
)
from kudo_reconciler.common.concurrency import FEW_AT_ONCE, paced
from kudo_reconciler.common.errors import error_text
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.objects.ownership import Desired
from kudo_reconciler.objects.run_context import ObjectKey, RunContext

_RESOURCES: dict[str, Resource] = {
    "ConfigMap": CONFIG_MAPS,
    "Secret": SECRETS,
}
Digests = dict[Dependency, bytes]


@dataclass(frozen=True, slots=True)
class DependencyHasher:
    """Adds hash annotations to the objects of a task."""

    observer: Observer

    async def hashed(
        self,
        desired: Sequence[Desired],
        context: RunContext,
        stored: Mapping[ObjectKey, JsonObject] = MappingProxyType({}),
    ) -> list[Desired]:
        """Return the objects with the hash of their dependencies, or of their own content.

        Args:
            desired: The objects of a task.
            context: Its run.
            stored: Those that are only created, as the API server has them. What is missing is
                read if an object depends on it.

        Raises:
            FatalTaskError: the content of one is too large to be hashed.
            TransientTaskError: a dependency could not be read, or no worker process was available.
        """
        digests: Digests = {}
        for item in desired:
            dependency = as_dependency(item)
            if dependency is None:
                continue
            secret = context.is_confidential(item.manifest)
            if not item.only_created:
                digests[dependency] = await context.digest(
                    item.target, live=False, confidential=secret
                )
            elif item.key in stored:
                digests[dependency] = await context.digest(
                    stored[item.key], live=True, confidential=secret
                )
            # A digest that is computed at once takes up to 16 ms, and there may be many.
            await asyncio.sleep(0)
        return [
            await self._one(item, digests, context) async for item in paced(desired, FEW_AT_ONCE)
        ]

    async def _one(self, desired: Desired, digests: Digests, context: RunContext) -> Desired:
        dependency = as_dependency(desired)
        if dependency is not None and desired.only_created:
            # Its annotation would tell what was rendered once, for ever.
            return desired
        if dependency is not None:
            metadata = desired.target["metadata"]
            annotations = {
                **(metadata.get("annotations") or {}),
                names.ANNOTATION_DEPENDENCY_CONTENT: digest_text(digests[dependency]),
            }
            target = {**desired.target, "metadata": {**metadata, "annotations": annotations}}
            return replace(desired, target=target)
        used = dependencies_of(desired.target)
        if not used or not desired.resource.namespaced:
            return desired
        for dependency in used:
            if dependency not in digests:
                digests[dependency] = await self._live(dependency, context)
        value = dependencies_hash([digests[dependency] for dependency in used])
        return replace(desired, target=with_dependencies_hash(desired.target, value))

    async def _live(self, dependency: Dependency, context: RunContext) -> bytes:
        """Return the digest of a dependency in the cluster, read live.

        Every other write names the resourceVersion that it was decided on. A hash names none: one
        of outdated content would keep the old pods for good.
        """
        if not dependency.name:
            return MISSING
        try:
            live = await self.observer.body(
                _RESOURCES[dependency.kind],
                context.instance.metadata.namespace,
                dependency.name,
                client=context.client,
            )
        except (ApiError, ConnectionLost) as error:
            why = error_text(error, _RESOURCES[dependency.kind])
            text = f"failed to add dependencies hash: {dependency.kind} {dependency.name}: {why}"
            raise TransientTaskError("TaskEnhancementError", text) from error
        if live is None:
            return MISSING
        return await context.digest(live, live=True)


def as_dependency(desired: Desired) -> Dependency | None:
    """Return an object as what pods may depend on; None if its kind is no ConfigMap or Secret."""
    for kind, resource in _RESOURCES.items():
        if (desired.resource.group, desired.resource.kind) == (resource.group, kind):
            return Dependency(kind, desired.name)
    return None
