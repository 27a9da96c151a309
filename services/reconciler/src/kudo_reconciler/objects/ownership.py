"""Decides whose an object is, and so how it may be applied.

* An object that the Instance owns is applied by force: it wins conflicts over fields.
* An object that another controller owns, such as another Instance, is never changed.
* A cluster-scoped object can have no owner: an annotation lists the Instances that apply it.
* Any other object is applied without force, and adopted unless a field conflicts. Objects that hold
  data get no owner reference then; see `kudo.objects.adoption`.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubeio.resource import Resource
from kudo import names
from kudo.api import Instance, Json, JsonObject
from kudo.identity import InstanceIdentity, identity
from kudo.objects.adoption import applied_by, holds_data
from kudo.objects.sharing import Claim, claim, instance_label, shared_by, sharers
from kudo.rendering import Manifest
from kudo.tasks import FatalTaskError, TransientTaskError
from kudo_reconciler.keys import Key
from kudo_reconciler.objects.cached_objects import written_by
from kudo_reconciler.objects.run_context import Place
from kudo_reconciler.resources import INSTANCES
from kudo_reconciler.store.instances import InstanceStore

_AT_ONCE = 16
"""Number of Instances that are read at the same time."""


@dataclass(frozen=True, slots=True)
class Desired:
    """An object that is to be applied.

    Attributes:
        manifest: Where it comes from, for messages.
        resource: Its kind.
        target: The object to send.
    """

    manifest: Manifest
    resource: Resource
    target: JsonObject

    @property
    def place(self) -> Place:
        return self.resource, self.namespace, self.name

    @property
    def namespace(self) -> str | None:
        return self.target["metadata"]["namespace"] if self.resource.namespaced else None

    @property
    def name(self) -> str:
        return str(self.target["metadata"]["name"])


@dataclass(frozen=True, slots=True)
class Ownership:
    """Decides whose an object is, and so how it may be applied."""

    instances: InstanceStore

    async def claim(
        self, desired: Desired, known: JsonObject, instance: Instance
    ) -> tuple[Claim, tuple[str, ...]]:
        """Return the claim of an Instance to an existing object, and who shares the object.

        Raises:
            FatalTaskError: another controller owns it, or another Instance applies it.
            TransientTaskError: its owner is an earlier Instance of this name, which was deleted.
            KubeError: the Instances that share it could not be read.
        """
        _refuse_foreign_controller(desired, known, instance)
        if not desired.resource.namespaced:
            living = frozenset(await self._existing_sharers(known))
            return claim(known["metadata"], instance, living.__contains__)
        if is_owned(known, instance.metadata.uid):
            return Claim.OURS, ()
        return (await self._unowned(desired, known, instance)), ()

    async def _unowned(self, desired: Desired, known: JsonObject, instance: Instance) -> Claim:
        """Return the claim of an Instance to an object of its namespace that has no owner.

        Raises:
            FatalTaskError: another Instance applies it.
        """
        if not holds_data(desired.resource.group, desired.resource.kind):
            return Claim.FOREIGN
        # All Instances share our field manager, so the API server reports no conflict between them.
        name, metadata = applied_by(known["metadata"], written_by(known)), instance.metadata
        if name == metadata.name:
            return Claim.KEPT
        if name and await self.at(Key(metadata.namespace, name)) is not None:
            text = f"the object is already applied by another Instance {name}"
            raise FatalTaskError(
                "TaskEnhancementError", f"failed to apply {desired.manifest}: {text}"
            )
        return Claim.FOREIGN

    async def shared(
        self, desired: Desired, known: JsonObject | None, instance: Instance
    ) -> JsonObject:
        """Return the object to send, with the annotation that lists the Instances that share it.

        Raises:
            KubeError: they could not be read.
        """
        if desired.resource.namespaced:
            return desired.target
        metadata = desired.target["metadata"]
        sharing = shared_by((*await self._existing_sharers(known), identity(instance)))
        annotations = {
            **(metadata.get("annotations") or {}),
            names.ANNOTATION_SHARED_BY: sharing,
        }
        return {**desired.target, "metadata": {**metadata, "annotations": annotations}}

    async def _existing_sharers(self, known: JsonObject | None) -> list[InstanceIdentity]:
        """Return the Instances that share an object and exist.

        Those that the cache lacks are read live, since an Instance that does not exist is removed
        from the sharers: the cache may just have been started.
        """
        named = () if known is None else sharers(known["metadata"])
        unknown = [one for one in named if not self.is_cached(one)]
        gone = set(unknown).difference(await self._existing(unknown))
        return [one for one in named if one not in gone]

    async def _existing(self, named: Sequence[InstanceIdentity]) -> list[InstanceIdentity]:
        """Return those Instances that exist, read from the API server."""
        existing = []
        for start in range(0, len(named), _AT_ONCE):
            some = named[start : start + _AT_ONCE]
            found = await asyncio.gather(*map(self.exists, some))
            existing += [one for one, exists in zip(some, found, strict=True) if exists]
        return existing

    def is_cached(self, one: InstanceIdentity) -> bool:
        """Return whether an Instance exists in the cache, which may be behind."""
        raw = self.instances.informer.get(one.namespace, one.name)
        return raw is not None and raw["metadata"]["uid"] == one.uid

    async def exists(self, one: InstanceIdentity) -> bool:
        """Return whether an Instance exists, read from the API server.

        Raises:
            KubeError: the request failed.
        """
        return await self.at(Key(one.namespace, one.name)) == one

    async def at(self, key: Key) -> InstanceIdentity | None:
        """Return the Instance of a name, read from the API server; None if there is none.

        Raises:
            KubeError: the request failed.
        """
        found = await self.instances.live(key)
        return None if found is None else identity(found)

    async def another(
        self, metadata: Mapping[str, Json], ours: InstanceIdentity
    ) -> InstanceIdentity | None:
        """Return an Instance other than ours that shares a cluster-scoped object.

        Reads from the API server: the deletion that may follow cannot be undone, and the cache may
        just have been started.

        Raises:
            KubeError: a request failed.
        """
        named = sharers(metadata)
        if not named:
            return await self._of_label(metadata, ours)
        others = [one for one in named if one != ours]
        for one in filter(self.is_cached, others):
            # One is enough, and the first that is cached most likely exists.
            if await self.exists(one):
                return one
        unknown = [one for one in others if not self.is_cached(one)]
        return next(iter(await self._existing(unknown)), None)

    async def _of_label(
        self, metadata: Mapping[str, Json], ours: InstanceIdentity
    ) -> InstanceIdentity | None:
        """Return an Instance other than ours that the label names: KUDO 0.19 wrote nothing else."""
        name = instance_label(metadata)
        if not name:
            return None
        found = await self.instances.client.list(
            INSTANCES, field_selector=f"metadata.name={name}", metadata_only=True
        )
        places = (obj["metadata"] for obj in found.items)
        living = (InstanceIdentity(one["namespace"], one["name"], one["uid"]) for one in places)
        return next((one for one in living if one != ours), None)


def controller_of(obj: JsonObject) -> JsonObject | None:
    """Return the owner reference of the controller."""
    owners = obj["metadata"].get("ownerReferences") or []
    return next((owner for owner in owners if owner.get("controller")), None)


def is_owned(obj: JsonObject, owner: str) -> bool:
    """Return whether the Instance with this uid is the controller."""
    return (controller_of(obj) or {}).get("uid") == owner


def is_applied(obj: JsonObject, resource: Resource, instance: Instance) -> bool:
    """Return whether a namespaced object is the Instance's, with or without an owner reference."""
    if is_owned(obj, instance.metadata.uid):
        return True
    if controller_of(obj) is not None or not holds_data(resource.group, resource.kind):
        return False
    return applied_by(obj["metadata"], written_by(obj)) == instance.metadata.name


def _refuse_foreign_controller(desired: Desired, known: JsonObject, instance: Instance) -> None:
    controller = controller_of(known)
    if controller is None or controller.get("uid") == instance.metadata.uid:
        return
    kind, name = controller.get("kind"), controller.get("name")
    text = f"failed to apply {desired.manifest}: the object is already owned by another "
    if (kind, name) == ("Instance", instance.metadata.name):
        # The garbage collector will delete it: no two Instances of a name exist at once.
        text = (
            f"{text}Instance {name}, which was deleted; waiting for garbage collection of the "
            "old object"
        )
        raise TransientTaskError("TaskEnhancementError", text)
    raise FatalTaskError("TaskEnhancementError", f"{text}{kind} controller {name}")
